"""Copies of what drives the resets of too many registers."""

import json

import pytest

from sim.fpga.fanout import split_fanout

RESET, CLOCK, FREE = 2, 3, 100


def register(output, *, reset=RESET):
    return {
        "type": "TRELLIS_FF",
        "connections": {"CLK": [CLOCK], "DI": ["1"], "LSR": [reset], "Q": [output]},
        "attributes": {},
    }


@pytest.fixture
def netlist(tmp_path):
    """A look-up table that resets ten registers of two units; the clock's pin resets one more."""
    cells = {
        f"{unit}.r{index}": register(10 + index + 5 * place)
        for place, unit in enumerate("ab")
        for index in range(5)
    }
    cells["other"] = register(FREE, reset=CLOCK)
    cells["source"] = {"type": "LUT4", "connections": {"A": [4], "Z": [RESET]}, "parameters": {"INIT": "10"}}
    names = {"rst": {"bits": [RESET]}, "clk": {"bits": [CLOCK]}, "q": {"bits": [FREE, "0"]}}
    path = tmp_path / "netlist.json"
    path.write_text(json.dumps({"modules": {"top": {"cells": cells, "netnames": names}}}))
    return path


def cells_of(netlist):
    return json.loads(netlist.read_text())["modules"]["top"]["cells"]


def test_each_copy_resets_neighbours(netlist):
    before = cells_of(netlist)
    assert split_fanout(netlist, "top", 5) == 1
    after = cells_of(netlist)
    (copy,) = set(after) - set(before)
    assert after[copy]["type"] == "LUT4"
    assert after[copy]["parameters"] == before["source"]["parameters"]
    assert after[copy]["connections"]["A"] == [4]
    net = after[copy]["connections"]["Z"]
    assert net[0] > FREE
    for name, cell in before.items():
        if name.startswith("b."):
            cell["connections"]["LSR"] = net
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(("most", "copies"), [(10, 0), (9, 1), (4, 2), (3, 3), (1, 9)])
def test_as_many_copies_as_needed(netlist, most, copies):
    assert split_fanout(netlist, "top", most) == copies
    resets = [cell["connections"]["LSR"][0] for name, cell in cells_of(netlist).items() if "." in name]
    assert len(set(resets)) == copies + 1
    assert max(resets.count(net) for net in resets) <= most
