"""Copies of what drives too many inputs."""

import json

import pytest
from ecp5_netlists import BUILD, cells_of, equal_within, synthesise

from boards.flow.fanout import split_fanout
from sim.verilate import BuildError

RESET, CLOCK, FREE = 2, 3, 100

OUTPUTS = frozenset({"Q", "Z"})


def cell(kind, **nets):
    return {
        "type": kind,
        "parameters": {"INIT": f"of {nets}"},
        "port_directions": {port: "output" if port in OUTPUTS else "input" for port in nets},
        "connections": {port: [net] for port, net in nets.items()},
    }


def register(output, *, reset=RESET):
    return cell("TRELLIS_FF", CLK=CLOCK, DI="1", LSR=reset, Q=output)


@pytest.fixture
def netlist(tmp_path):
    """A look-up table that resets ten registers of two units; the clock's pin resets one more."""
    cells = {
        f"{unit}.r{index}": register(10 + index + 5 * place)
        for index in range(5)
        for place, unit in enumerate("ab")
    }
    cells["other"] = register(FREE, reset=CLOCK)
    cells["source"] = cell("LUT4", A=4, Z=RESET)
    return written(tmp_path, cells)


def written(folder, cells):
    names = {"rst": {"bits": [RESET]}, "clk": {"bits": [CLOCK]}, "q": {"bits": [FREE, "0"]}}
    path = folder / "netlist.json"
    path.write_text(json.dumps({"modules": {"top": {"cells": cells, "netnames": names}}}))
    return path


def test_each_copy_drives_neighbours(netlist):
    before = cells_of(netlist)
    assert split_fanout(netlist, "top", 5) == 1
    after = cells_of(netlist)
    (copy,) = set(after) - set(before)
    assert copy.startswith("source")
    assert after[copy]["type"] == "LUT4"
    assert after[copy]["parameters"] == before["source"]["parameters"]
    assert after[copy]["connections"]["A"] == [4]
    net = after[copy]["connections"]["Z"]
    assert net[0] > FREE
    for name, changed in before.items():
        if name.startswith("b."):
            changed["connections"]["LSR"] = net
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(("most", "copies"), [(10, 0), (9, 1), (4, 2), (3, 3), (1, 9)])
def test_as_many_copies_as_needed(netlist, most, copies):
    assert split_fanout(netlist, "top", most) == copies
    resets = [cell["connections"]["LSR"][0] for name, cell in cells_of(netlist).items() if "." in name]
    assert len(set(resets)) == copies + 1
    assert max(resets.count(net) for net in resets) <= most


def test_a_clock_stays_whole(tmp_path):
    cells = {"divided": cell("TRELLIS_FF", CLK=CLOCK, DI=4, Q=RESET)}
    cells |= {f"r{index}": cell("TRELLIS_FF", CLK=RESET, DI=4, Q=10 + index) for index in range(5)}
    assert split_fanout(written(tmp_path, cells), "top", 2) == 0


def test_an_input_of_several_bits(tmp_path):
    cells = {"source": cell("LUT4", A=4, Z=RESET)}
    for index in range(4):
        cells[f"m{index}"] = memory = cell("TRELLIS_DPR16X4", RAD=7)
        memory["connections"]["RAD"] = [7, RESET, "0", 8]
    netlist = written(tmp_path, cells)
    assert split_fanout(netlist, "top", 2) == 1
    after = cells_of(netlist)
    (copy,) = set(after) - set(cells)
    (net,) = after[copy]["connections"]["Z"]
    read = [after[f"m{index}"]["connections"]["RAD"] for index in range(4)]
    assert read == [[7, RESET, "0", 8]] * 2 + [[7, net, "0", 8]] * 2


def test_a_multiplexer_is_copied_with_its_tables(tmp_path):
    cells = {
        "high": cell("LUT4", A=4, Z=5),
        "low": cell("LUT4", B=4, Z=6),
        "choice": cell("PFUMX", ALUT=5, BLUT=6, C0=7, Z=RESET),
    }
    cells |= {f"r{index}": register(10 + index) for index in range(4)}
    netlist = written(tmp_path, cells)
    assert split_fanout(netlist, "top", 2) == 1
    new = {name: entry for name, entry in cells_of(netlist).items() if name not in cells}
    (choice,) = (entry for entry in new.values() if entry["type"] == "PFUMX")
    drivers = {entry["connections"]["Z"][0]: entry for entry in new.values()}
    for port, table in (("ALUT", "high"), ("BLUT", "low")):
        copied = drivers[choice["connections"][port][0]]
        assert copied["parameters"] == cells[table]["parameters"]
    assert choice["connections"]["C0"] == [7]
    assert len({*drivers} & {RESET, 5, 6}) == 0, "each copy drives a net of its own"


DESIGN = """
module top (input clk, input rst, input [5:0] chosen, input [31:0] d, output reg [31:0] q);
  reg [5:0] held = 0;
  reg [31:0] seen = 32'h1234;
  wire go = held == 6'd41 || held[2:0] == 3 || (held ^ seen[5:0]) < 7;
  always @(posedge clk) begin
    held <= rst ? 6'd0 : chosen + held;
    seen <= seen ^ d;
    if (rst) q <= 32'h55; else if (go) q <= {d[15:0], d[31:16]} ^ (held[5] ? seen : ~q);
  end
  initial q = 0;
endmodule
"""


def test_the_design_stays_the_same():
    """What yosys makes of a design, before and after: nothing that can be seen differs within ten cycles."""
    folder = BUILD / "fanout"
    synthesise(folder, DESIGN)
    assert split_fanout(folder / "after.json", "top", 3) > 20
    equal_within(folder, 10)

    wrong = json.loads((folder / "after.json").read_text())
    cells = wrong["modules"]["top"]["cells"]
    copy = next(entry for name, entry in cells.items() if "_copy_" in name and entry["type"] == "LUT4")
    copy["parameters"]["INIT"] = copy["parameters"]["INIT"].translate(str.maketrans("01", "10"))
    (folder / "after.json").write_text(json.dumps(wrong))
    with pytest.raises(BuildError, match="proof did fail"):
        equal_within(folder, 10)
