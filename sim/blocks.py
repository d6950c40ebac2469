"""Modules that are simulated by themselves, however many instances a core has."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from hdl.verilog.modules import INSTANCE, MODULE

_HARNESS: Final = Path(__file__).with_name("harness")
COLD: Final = _HARNESS / "cold.h"
"""The header that a model is compiled with first if it is one file."""

BLOCK_SOURCES: Final = (Path(__file__), Path(__file__).with_name("gates.py"), _HARNESS / "block.h", COLD)
"""What decides, beside the Verilog, how a model is compiled and calls its blocks."""

_KEPT: Final = re.compile(r"^\(\* keep_hierarchy = +1 +\*\)\n", re.MULTILINE)
_PORT: Final = re.compile(r"^  (input|output) (?:\[(\d+):0\] )?(\S+) ?;$", re.MULTILINE)
_CLOCK: Final = "clk"


@dataclass(frozen=True, kw_only=True)
class Block:
    """A module whose outputs follow from its registers alone, to be Verilated apart from the core.

    Verilator copies a module for every instance before it merges what is equal: with 64 dot-product units it
    needs more than 10 minutes. A block is Verilated and compiled once, for all configurations that have it.
    In the core, each instance calls its own model (`sim/harness/block.h`) once a cycle.
    """

    name: str
    """Of the module."""
    verilog: str
    """The module, what is in it, and `top` around it."""

    @property
    def top(self) -> str:
        """The module around it, with ``clk``, ``inputs`` and ``outputs``."""
        return f"{self.name}_block"

    @property
    def model(self) -> str:
        """The source of what the core calls, in C++."""
        headers = (f"V{self.name}.h", f"V{self.name}___024root.h", "harness/block.h")
        return "".join((*(f'#include "{header}"\n' for header in headers), f"OPENWMMA_BLOCK({self.name})\n"))


def instances(verilog: str, name: str) -> int:
    """How many instances of a module a design has, in all of its hierarchy; the module need not be there.

    Parameters
    ----------
    verilog : str
        As `hdl.verilog.modules.to_verilog` writes it.
    name : str
    """
    inside = {match[1]: Counter(_used(match[0])) for match in MODULE.finditer(verilog)}

    @cache
    def count(module: str) -> int:
        users = [(user, used[module]) for user, used in inside.items() if module in used]
        return sum(count(user) * times for user, times in users) if users else 1

    return count(name) if any(name in used for used in inside.values()) else 0


def _used(module: str) -> list[str]:
    return [match[2] for match in INSTANCE.finditer(module)]


def separate(verilog: str, names: Sequence[str]) -> tuple[str, tuple[Block, ...]]:
    """Take modules out of a core's Verilog.

    Parameters
    ----------
    verilog : str
        As `hdl.verilog.modules.to_verilog` writes it.
    names : sequence of str
        Of the modules; those that the text lacks do not count.

    Returns
    -------
    core : str
        The text with modules of the same names and ports that call the blocks.
    blocks : tuple of Block
    """
    # An attribute for synthesis, where a core has several: a block is the same in every core.
    verilog = _KEPT.sub("", verilog)
    modules = {match[1]: match[0] for match in MODULE.finditer(verilog)}
    core, blocks = verilog, []
    for name in names:
        if name not in modules:
            continue
        ports = ports_of(modules[name])
        inside = "".join(text for module, text in modules.items() if module in _needed(name, modules))
        blocks.append(Block(name=name, verilog=inside + _packed(name, ports)))
        core = core.replace(modules[name], _calling(name, ports))
    return core, tuple(blocks)


def ports_of(module: str) -> list[tuple[str, int, str]]:
    """The ports of a module but its clock: direction, bits and name."""
    found = _PORT.findall(module)
    return [(way, int(high or 0) + 1, port) for way, high, port in found if port != _CLOCK]


def placed(ports: Sequence[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
    """The first bit of each port where ports of one direction follow one another."""
    first = {"input": 0, "output": 0}
    placed = []
    for way, width, port in ports:
        placed.append((way, first[way], port))
        first[way] += width
    return placed


def driven(verilog: str, name: str, clock: str) -> str:
    """Put a register behind each input of the top module, which takes it at the rising edge of the clock.

    What follows from inputs is then evaluated with what follows from registers: once a cycle. The registers
    take the inputs at a rising edge of port ``retake``, too.

    Parameters
    ----------
    verilog : str
        As `hdl.verilog.modules.to_verilog` writes it.
    name : str
        Of the top module.
    clock : str
    """
    (module,) = (match[0] for match in MODULE.finditer(verilog) if match[1] == name)
    inputs = [(width, port) for way, width, port in ports_of(module) if way == "input" and port != clock]
    declarations, body = re.split(r"^(?=  assign )", module, maxsplit=1, flags=re.MULTILINE)
    used = re.sub(rf"(?<![.\w])({'|'.join(port for _, port in inputs)})\b", r"taken_\1", body)
    registers = [f"  reg [{width - 1}:0] taken_{port} = 0;\n" for width, port in inputs]
    taking = "".join(f"    taken_{port} <= {port};\n" for _, port in inputs)
    taken = f"  input retake;\n  always @(posedge {clock} or posedge retake) begin\n{taking}  end\n"
    top = "".join((declarations, *registers, taken, used))
    return verilog.replace(module, top.replace(f"module {name}(", f"module {name}(retake,", 1))


def _needed(name: str, modules: Mapping[str, str]) -> set[str]:
    """A module and all that have an instance in it."""
    needed, new = set(), {name}
    while new:
        needed |= new
        new = {used for module in new for used in _used(modules[module])} & modules.keys() - needed
    return needed


def _widths(ports: Sequence[tuple[str, int, str]]) -> tuple[int, int]:
    inputs, outputs = (sum(width for way, width, _ in ports if way == each) for each in ("input", "output"))
    return inputs, outputs


def _packed(name: str, ports: Sequence[tuple[str, int, str]]) -> str:
    """A module around another one, whose ports it packs into two.

    Inputs are taken at the falling edge, so that Verilator computes what follows from them once a cycle.
    """
    inputs, outputs = _widths(ports)
    packed = {"input": "taken", "output": "outputs"}
    connected = [f".{_CLOCK}({_CLOCK})"]
    for (way, width, port), (_, first, _) in zip(ports, placed(ports), strict=True):
        connected.append(f".{port} ({packed[way]}[{first + width - 1}:{first}])")
    return (
        f"\nmodule {name}_block(input {_CLOCK},"
        f" input [{inputs - 1}:0] inputs, output [{outputs - 1}:0] outputs);\n"
        f"  reg [{inputs - 1}:0] taken;\n"
        f"  always @(negedge {_CLOCK}) taken <= inputs;\n"
        f"  {name} inner ({', '.join(connected)});\nendmodule\n"
    )


def _calling(name: str, ports: Sequence[tuple[str, int, str]]) -> str:
    """The module that stands for a block in the core."""
    inputs, outputs = _widths(ports)
    declared = [f"{way} [{width - 1}:0] {port} " for way, width, port in ports]
    given, taken = (
        ", ".join(f"{port} " for way, _, port in reversed(ports) if way == each)
        for each in ("input", "output")
    )
    return (
        f"module {name}(input {_CLOCK}, {', '.join(declared)});\n"
        f'  import "DPI-C" function chandle {name}_create();\n'
        f'  import "DPI-C" function void {name}_destroy(input chandle block);\n'
        f'  import "DPI-C" function void {name}_cycle(input chandle block, input bit [{inputs - 1}:0] inputs,'
        f" output bit [{outputs - 1}:0] outputs);\n"
        f"  chandle block = {name}_create();\n"
        f"  bit [{outputs - 1}:0] following;\n"
        f"  bit [{outputs - 1}:0] outputs;\n"
        f"  assign {{{taken}}} = outputs;\n"
        f"  always @(posedge {_CLOCK}) begin\n"
        f"    {name}_cycle(block, {{{given}}}, following);\n"
        f"    outputs <= following;\n"
        f"  end\n"
        f"  final {name}_destroy(block);\n"
        f"endmodule\n"
    )
