"""Activity gates: what of a block's pipeline has no operation in it is not evaluated."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil
from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data

from hdl.stream.pipeline import Pipeline
from hdl.verilog.modules import MODULE, with_separate_values
from sim.blocks import Block, placed, ports_of

_INITIAL: Final = re.compile(r"^ *attribute \\init .*\n", re.MULTILINE)
_ROUNDS: Final = 30
"""Of optimisation: a register that becomes constant makes the next one so."""

# No clock rises while `clk` is high: what makes one run is there before, or stays.
_GATE: Final = """
module {name} (input clk, input rst, input [{last}:0] {port} , output [{output_bits} - 1:0] {output} );
  wire [{last}:0] coming = {coming};
  reg [{last}:0] taken_every;
  reg [{last}:0] taken_usual;
  reg rare;
  reg [{stages}:0] rares;
  initial rare = 0;
  initial rares = 0;
  wire is_rare = |coming[{rare}];
  wire take_every = ~clk & is_rare;
  wire take_usual = ~clk & ~is_rare;
  wire clk_every = clk & (rare | |rares[{stages} - 1:0]);
  wire clk_usual = clk & ~(rare & &rares[{stages} - 1:0]);
  always @(posedge take_every) taken_every <= coming;
  always @(posedge take_usual) taken_usual <= coming;
  always @(negedge clk) rare <= is_rare;
  always @(posedge clk) rares <= {{rares[{stages} - 1:0], rare}};
  wire [{output_bits} - 1:0] of_every;
  wire [{output_bits} - 1:0] of_usual;
  {every} every (.clk(clk_every), .rst(rst), .{port} (taken_every), .{output} (of_every));
  {usual} usual (.clk(clk_usual), .rst(rst), .operands(taken_usual), .result(of_usual));
  assign {output} = rares[{stages} - 1] ? of_every : of_usual;
endmodule
"""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A pipeline in a block, most of which rests while operations are of the usual kind."""

    module: str
    """The pipeline's name in Verilog."""
    port: str
    """The block's input that is the pipeline's as well."""
    shape: data.Layout
    """Of this port: the fields of the pipeline's input."""
    rare: range
    """Bits of this port, from the first to the last, that are zero in operations of the usual kind."""
    make: Callable[[], Pipeline] = field(repr=False)
    """Makes the pipeline."""


def gated(block: Block, gate: Gate) -> Block:
    """Evaluate what is left of a pipeline where `rare` is zero, and all of it for other operations alone.

    What is left is found by yosys. Each of the two has a clock, which runs as long as operations of its kind
    are in it, and takes their operands alone. So operands, results and cycles equal the block's.

    Parameters
    ----------
    block : Block
    gate : Gate
    """
    modules = {match[1]: match[0] for match in MODULE.finditer(block.verilog)}
    first = {port: bit for way, bit, port in placed(ports_of(modules[block.name])) if way == "input"}
    source, pipeline = modules[gate.module], gate.make()
    (port,) = (port for way, _, port in ports_of(source) if way == "input" and port != "rst")
    ((bits, output),) = ((bits, port) for way, bits, port in ports_of(source) if way == "output")
    every, usual, width = f"{block.name}_every", f"{block.name}_usual", gate.shape.size
    text = _GATE.format(
        name=gate.module,
        coming=f"{block.top}.inputs[{first[gate.port] + width - 1}:{first[gate.port]}]",
        last=width - 1,
        port=port,
        output=output,
        output_bits=bits,
        rare=f"{gate.rare[-1]}:{gate.rare[0]}",
        stages=pipeline.latency,
        every=every,
        usual=usual,
    )
    renamed = source.replace(f"module {gate.module} ", f"module {every} ", 1)
    return Block(
        name=block.name,
        verilog=block.verilog.replace(source, renamed) + _specialised(usual, pipeline, gate) + text,
    )


def _specialised(name: str, pipeline: Pipeline, gate: Gate) -> str:
    """What is left of the pipeline; a register that stays zero goes, too.

    Registers lose their initial values, which no operation sees: what a register is made of may have several.
    """
    m = Module()
    m.submodules.pipeline = pipeline
    given = Signal(gate.shape.size)
    result = Signal(sum(len(Value.cast(getattr(pipeline.output, name))) for name in pipeline.produces))
    operands = data.View(
        gate.shape, given & sum(1 << bit for bit in range(len(given)) if bit not in gate.rare)
    )
    m.d.comb += [
        *(getattr(pipeline.input, name).eq(operands[name]) for name in pipeline.consumes),
        result.eq(Cat(Value.cast(getattr(pipeline.output, name)) for name in pipeline.produces)),
    ]
    ports = {"operands": (given, None), "result": (result, None)}
    text = _INITIAL.sub("", rtlil.convert(m, name=name, ports=ports, emit_src=False))
    script = (
        f"read_rtlil <<rtlil\n{text}\nrtlil\n"
        "delete s:0\nproc\nflatten\n"
        + "opt_expr\nopt_dff\nopt_clean\n" * _ROUNDS
        + "opt_merge\nopt_clean -purge\nwrite_verilog -noattr\n"
    )
    yosys = find_yosys(lambda version: True)
    return with_separate_values(str(yosys.run(["-q", "-"], script, ignore_warnings=True)))
