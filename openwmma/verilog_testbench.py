"""A testbench of a core's example in SystemVerilog, with results of the golden model, for any simulator."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from golden.memory import Memory
from golden.tables.commands import Command, Load, Mma, Store
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.command import COMMAND_WORDS, encode
from hdl.config import CoreConfig
from hdl.control.host.register_map import IDENTITY, REGISTER_MAP, REGISTERS, WINDOW
from hdl.memory.axi import HOST_ADDRESS_BITS
from hdl.memory.fragment_geometry import legal_fragments
from hdl.verilog.example import EXAMPLE
from sim.testbench.reference import golden_machine

__all__ = ["TESTBENCH", "generate_testbench"]

TESTBENCH: Final = "openwmma_testbench"
"""Name of the testbench's module."""

_A, _B, _C, _D, _USED = range(0, 40, 8)
"""First registers of the fragments, and how many of the 32 registers that every core has are used."""

_MULTIPLIER, _INCREMENT, _KEPT = 1_664_525, 1_013_904_223, 0xBFFF_BFFF
"""Of the random words; without the upper exponents of f16 and f32, so that few results are not numbers."""

_PLACE: Final = 0x1000
_MEMORY_BYTES: Final = 1 << 16
_IN_A_ROW: Final = 8


def generate_testbench(config: CoreConfig) -> str:
    """Generate a testbench that drives the core through its host port alone.

    It sets registers to random words, multiplies, stores the result to the memory of the example and loads
    it back, and compares registers with the golden machine. It prints ``PASS``, or ends with ``$fatal``.

    Parameters
    ----------
    config : CoreConfig

    Returns
    -------
    str
        The module `TESTBENCH`; core and example are in files of their own.
    """
    commands = _commands(config)
    before = _random_words()
    machine = golden_machine(config, Memory(_MEMORY_BYTES, 0))
    machine.write_registers(0, before)
    for command in commands:
        machine.execute(command)
    after = machine.read_registers()[:_USED]
    if np.array_equal(after, before):
        raise AssertionError("the commands of a testbench must change registers")
    pushes = "\n".join(
        f"    push({_concatenated(encode(command))});  // {type(command).__name__}" for command in commands
    )
    status = REGISTER_MAP["STATUS"]
    values = {
        "ADDRESS_BITS": HOST_ADDRESS_BITS,
        "COMMAND": REGISTERS["COMMAND"],
        "COMMAND_WORDS": COMMAND_WORDS,
        "STATUS": status.offset,
        "BUSY": status["busy"].low,
        "FAULT": status["fault"].low,
        "WINDOW": WINDOW,
        "WORDS": _USED * LANES,
    }
    parameters = "\n".join(f"  localparam {name} = {value};" for name, value in values.items())
    return _TEXT.format(
        testbench=TESTBENCH,
        example=EXAMPLE,
        parameters=parameters,
        expected=_concatenated(after.reshape(-1).tolist()),
        multiplier=_MULTIPLIER,
        increment=_INCREMENT,
        kept=_KEPT,
        identity=IDENTITY,
        pushes=pushes,
    )


def _commands(config: CoreConfig) -> list[Command]:
    """A multiply, and its result to memory and back."""
    fragments = set(legal_fragments(config))
    multiply = next(
        item
        for item in config.multiplies()
        if {(use, item.types["d"], item.shape, "row") for use in ("c", "d")} <= fragments
    )
    result = multiply.types["d"]
    store = StoreInstruction(layout="row", shape=multiply.shape, type=result)
    load = LoadInstruction(use="c", layout="col", shape=multiply.shape, type=result)
    return [Mma(multiply, _D, _A, _B, _C), Store(store, _D, _PLACE, 32), Load(load, _C, _PLACE, 32)]


def _random_words() -> NDArray[np.uint32]:
    word, words = 1, []
    for _ in range(_USED * LANES):
        word = (word * _MULTIPLIER + _INCREMENT) & 0xFFFF_FFFF
        words.append((word >> 16 | word << 16) & _KEPT)
    return np.array(words, dtype=np.uint32).reshape(_USED, LANES)


def _concatenated(words: Sequence[int]) -> str:
    """Words as one constant, the first one in the lowest bits."""
    texts = [f"32'h{word:08x}" for word in reversed(words)]
    if len(texts) <= _IN_A_ROW:
        return f"{{{', '.join(texts)}}}"
    rows = (", ".join(texts[first : first + _IN_A_ROW]) for first in range(0, len(texts), _IN_A_ROW))
    return "{\n    " + ",\n    ".join(rows) + "\n  }"


_TEXT: Final = """\
// A self-checking testbench of {example}: random registers, a multiply, its result to memory and back,
// everything through the host port. Expected registers are from the golden model.
`timescale 1ns / 1ps
module {testbench};
{parameters}
  localparam [32*WORDS-1:0] EXPECTED = {expected};

  reg aclk = 0, aresetn = 0;
  reg [ADDRESS_BITS-1:0] s_axil_awaddr, s_axil_araddr;
  reg s_axil_awvalid = 0, s_axil_wvalid = 0, s_axil_bready = 0, s_axil_arvalid = 0, s_axil_rready = 0;
  reg [31:0] s_axil_wdata;
  reg [3:0] s_axil_wstrb = 4'b1111;
  reg [2:0] s_axil_awprot = 0, s_axil_arprot = 0;
  wire s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_arready, s_axil_rvalid, irq;
  wire [1:0] s_axil_bresp, s_axil_rresp;
  wire [31:0] s_axil_rdata;

  {example} example (.*);

  always #5 aclk = !aclk;

  initial begin
    #2_000_000;
    $fatal(1, "the core must come to an end within 200 000 cycles");
  end

  task write(input [ADDRESS_BITS-1:0] address, input [31:0] data);
    begin
      s_axil_awaddr <= address;
      s_axil_wdata <= data;
      s_axil_awvalid <= 1;
      s_axil_wvalid <= 1;
      s_axil_bready <= 1;
      @(posedge aclk);
      while (s_axil_awvalid || s_axil_wvalid) begin
        if (s_axil_awready) s_axil_awvalid <= 0;
        if (s_axil_wready) s_axil_wvalid <= 0;
        @(posedge aclk);
      end
      while (!s_axil_bvalid) @(posedge aclk);
      s_axil_bready <= 0;
      if (s_axil_bresp != 0) $fatal(1, "write to %h: response %d", address, s_axil_bresp);
      @(posedge aclk);
    end
  endtask

  task read(input [ADDRESS_BITS-1:0] address, output [31:0] data);
    begin
      s_axil_araddr <= address;
      s_axil_arvalid <= 1;
      @(posedge aclk);
      while (!s_axil_arready) @(posedge aclk);
      s_axil_arvalid <= 0;
      s_axil_rready <= 1;
      @(posedge aclk);
      while (!s_axil_rvalid) @(posedge aclk);
      s_axil_rready <= 0;
      data = s_axil_rdata;
      if (s_axil_rresp != 0) $fatal(1, "read of %h: response %d", address, s_axil_rresp);
      @(posedge aclk);
    end
  endtask

  reg [31:0] found;

  task push(input [32*COMMAND_WORDS-1:0] words);
    integer index;
    begin
      for (index = COMMAND_WORDS - 1; index >= 0; index = index - 1)
        write(COMMAND + 4 * index, words[32*index +: 32]);
      read(STATUS, found);
      while (found[BUSY]) read(STATUS, found);
      if (found[FAULT]) $fatal(1, "command %h must not fail", words);
    end
  endtask

  integer place;
  reg [31:0] random = 1;

  initial begin
    repeat (4) @(posedge aclk);
    aresetn <= 1;
    @(posedge aclk);
    read(0, found);
    if (found !== {identity}) $fatal(1, "a core must be there, not %h", found);
    for (place = 0; place < WORDS; place = place + 1) begin
      random = random * {multiplier} + {increment};
      write(WINDOW + 4 * place, {{random[15:0], random[31:16]}} & {kept});
    end
{pushes}
    for (place = 0; place < WORDS; place = place + 1) begin
      read(WINDOW + 4 * place, found);
      if (found !== EXPECTED[32*place +: 32])
        $fatal(1, "register %0d, lane %0d: expected %h, found %h", place / 32, place % 32,
               EXPECTED[32*place +: 32], found);
    end
    $display("PASS");
    $finish;
  end
endmodule
"""
