"""What a build reports: cells by unit, and the clock."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from boards.boards import BOARDS
from boards.flow.devices import DEVICES, RESOURCES
from boards.flow.netlist import Utilisation, unit_of, utilisation
from boards.flow.report import BuildReport
from boards.flow.timing import Step, read_timing
from boards.flow.tools import run_tool
from golden.installation import install_command
from sim.verilate import BuildError

ECP5, SERIES7 = "LFE5U-85F-6BG381", "XC7A100T-1CSG324"
CELLS = {
    "board": "$scopeinfo",
    "board.core": "$scopeinfo",
    "board.core.load": "$scopeinfo",
    "board.core.load.word_TRELLIS_FF_Q": "TRELLIS_FF",
    "board.core.load.word_TRELLIS_FF_Q_DI_LUT4_Z": "LUT4",
    "board.core.load.sum_CCU2C_S0": "CCU2C",
    "board.core.loaded_LUT4_Z": "LUT4",
    "board.core.memory.0.0": "DP16KD",
    "board.core.load.places.0.0": "TRELLIS_DPR16X4",
    "leds_LUT4_Z": "LUT4",
    "board.core.product": "MULT18X18D",
    "clock.pll": "EHXPLLL",
}


def netlist(folder: Path, cells: dict[str, str]) -> Path:
    content = {"modules": {"top": {"cells": {name: {"type": type_} for name, type_ in cells.items()}}}}
    file = folder / "netlist.json"
    file.write_text(json.dumps(content))
    return file


def segment(kind: str, delay: float, cell: str, net: str | None = None) -> dict[str, Any]:
    return {"type": kind, "delay": delay, "to": {"cell": cell}, **({"net": net} if net else {})}


def timing_report(folder: Path, achieved: float, clocks: tuple[str, ...] = ("$glbnet$clock",)) -> Path:
    path = [
        segment("clk-to-q", 0.5, "board.first"),
        segment("routing", 2.0, "board.sum", net="board.operand"),
        segment("logic", 0.25, "board.sum"),
        segment("routing", 0, "board.high", net="board.carry"),
        segment("logic", 0, "board.high"),
        segment("routing", 1.0, "board.last", net="board.result"),
        segment("setup", 0.125, "board.last_TRELLIS_FF_Q_7_DI_LUT4_Z"),
    ]
    content = {
        "fmax": {clock: {"achieved": achieved, "constraint": 80.0} for clock in clocks},
        "critical_paths": [
            {"from": "<async>", "to": "posedge $glbnet$clock", "path": [segment("logic", 30.0, "board.pin")]},
            {"from": "posedge $glbnet$clock", "to": "posedge $glbnet$clock", "path": path},
        ],
    }
    file = folder / "timing.json"
    file.write_text(json.dumps(content))
    return file


@pytest.fixture
def counted(tmp_path: Path) -> Utilisation:
    return utilisation(netlist(tmp_path, CELLS), "top", DEVICES[ECP5])


def test_cells_belong_to_the_innermost_unit_and_to_all_around_it(counted: Utilisation) -> None:
    # A look-up table is 1, a carry cell 2, a memory of 16 x 4 bits 4.
    assert counted.units == {
        "": (9, 1, 1, 1),
        "board": (8, 1, 1, 1),
        "board.core": (8, 1, 1, 1),
        "board.core.load": (7, 1, 0, 0),
    }
    assert counted.cells["LUT4"] == 3
    assert "$scopeinfo" not in counted.cells


def test_unit_is_a_whole_component_of_the_path() -> None:
    scopes = frozenset({"core", "core.load"})
    assert unit_of("core.load.x", scopes) == "core.load"
    assert unit_of("core.loaded.x", scopes) == "core"
    assert unit_of("core.load", scopes) == "core"
    assert unit_of("x", scopes) == ""


@pytest.mark.parametrize(
    ("device", "type_", "taken"),
    [
        (ECP5, "TRELLIS_FF", (0, 1, 0, 0)),
        (ECP5, "PFUMX", (0, 0, 0, 0)),
        (ECP5, "TRELLIS_DPR16X4", (4, 0, 0, 0)),
        (SERIES7, "LUT6", (1, 0, 0, 0)),
        (SERIES7, "RAM32M", (4, 0, 0, 0)),
        (SERIES7, "SRLC32E", (1, 0, 0, 0)),
        (SERIES7, "FDRE", (0, 1, 0, 0)),
        (SERIES7, "RAMB36E1", (0, 0, 1, 0)),
        (SERIES7, "RAMB18E1", (0, 0, 0.5, 0)),
        (SERIES7, "DSP48E1", (0, 0, 0, 1)),
        (SERIES7, "MUXF7", (0, 0, 0, 0)),
    ],
)
def test_what_a_cell_takes(device: str, type_: str, taken: tuple[float, ...]) -> None:
    assert DEVICES[device].taken(type_) == taken


def test_excess_names_what_is_missing(tmp_path: Path) -> None:
    cells = {f"multiplier_{index}": "MULT18X18D" for index in range(234)}
    found = utilisation(netlist(tmp_path, cells), "top", DEVICES[ECP5])
    assert found.excess == ["234 multipliers, 1.5 times the 156 there are"]


def test_timing(tmp_path: Path) -> None:
    found = read_timing(timing_report(tmp_path, 79.9), 80)
    assert (found.clock, found.mhz, found.required_mhz) == ("clock", 79.9, 80.0)
    assert not found.is_met
    assert found.path.nanoseconds == 3.875
    assert found.path.routing == 3.0
    assert found.path.levels == 1
    assert [step.name for step in found.path.steps] == [
        "board.first",
        "board.operand",
        "board.sum",
        "board.carry",
        "board.high",
        "board.result",
        "board.last_TRELLIS_FF_Q_7_DI_LUT4_Z",
    ]
    assert read_timing(timing_report(tmp_path, 80.0), 80).is_met


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("core.sum", "core.sum"),
        ("core.sum[16]", "core.sum[16]"),
        ("core.sum_TRELLIS_FF_Q", "core.sum"),
        ("core.sum_TRELLIS_FF_Q_63", "core.sum"),
        ("core.sum_TRELLIS_FF_Q_63_DI_LUT4_Z", "near core.sum"),
        ("core.sum_LUT4_D_Z_PFUMX_BLUT_Z_LUT4_Z_C[3]", "near core.sum"),
        ("core.sum_CCU2C_S0_1", "near core.sum"),
        ("core.sum_SB_DFFESR_Q_26_DFFLC", "core.sum"),
        ("core.sum_SB_DFFESR_Q_1_D_SB_LUT4_O_LC", "near core.sum"),
        ("core.LUT4_count", "core.LUT4_count"),
        ("$nextpnr_ICESTORM_LC_37", "$nextpnr_ICESTORM_LC_37"),
    ],
)
def test_place_of_a_cell_is_that_of_a_signal(name: str, place: str) -> None:
    assert Step(kind="logic", nanoseconds=1.0, name=name).place == place


def test_constants_are_no_clocks(tmp_path: Path) -> None:
    clocks = ("$PACKER_GND_NET_$glb_clk", "$glbnet$clock")
    assert read_timing(timing_report(tmp_path, 81.0, clocks), 80).clock == "clock"


def test_the_clock_that_misses_most_is_reported(tmp_path: Path) -> None:
    file = timing_report(tmp_path, 81.0, ("$glbnet$other", "$glbnet$clock"))
    content = json.loads(file.read_text())
    content["fmax"]["$glbnet$other"] = {"achieved": 99.0, "constraint": 100.0}
    content["critical_paths"][1]["from"] = content["critical_paths"][1]["to"] = "posedge $glbnet$other"
    file.write_text(json.dumps(content))
    found = read_timing(file, 80)
    assert (found.clock, found.required_mhz, found.is_met) == ("other", 100.0, False)


@pytest.mark.parametrize("clocks", [(), ("one", "two")])
def test_timing_without_the_systems_clock(tmp_path: Path, clocks: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=f"A clock must be of 50 MHz, none of {', '.join(clocks) or 'none'}"):
        read_timing(timing_report(tmp_path, 80.0, clocks), 50)


def test_report(tmp_path: Path, counted: Utilisation) -> None:
    timing = read_timing(timing_report(tmp_path, 79.9), 80)
    report = BuildReport(
        board=BOARDS["ulx3s"], utilisation=counted, timing=timing, result=tmp_path / "top.bit"
    )
    report.write(tmp_path)
    text = (tmp_path / "report.txt").read_text()
    assert "timing NOT MET: 79.9 MHz at most, 80.0 MHz required" in text
    assert (
        "3.88 ns, 3.00 of them between cells; levels of logic: 1\n    0.50 ns  clk-to-q  board.first\n"
        in text
    )
    assert "board.carry" not in text
    assert "    0.12 ns  setup     near board.last\n" in text
    rows = {line.split("  ")[0]: line.split()[-4:] for line in text.splitlines()}
    assert rows["everything"] == ["9", "1", "1", "1"]
    assert rows["board.core.load"] == ["7", "1", "0", "0"]
    assert rows["available"] == ["83,640", "83,640", "208", "156"]
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["units"]["board.core.load"] == dict(zip(RESOURCES, (7, 1, 0, 0), strict=True))
    assert found["timing"]["is_met"] is False
    assert found["timing"]["path"]["steps"][1] == {
        "kind": "routing",
        "nanoseconds": 2.0,
        "name": "board.operand",
    }
    assert found["formats"] == ["b1", "bf16", "f16", "f64", "fp8", "i4", "i8", "tf32"]


def test_report_without_timing(tmp_path: Path, counted: Utilisation) -> None:
    report = BuildReport(
        board=BOARDS["arty"], utilisation=counted, timing=None, result=tmp_path / "build.tcl"
    )
    assert report.is_met
    assert "timing: not known before place and route" in report.as_text()
    assert report.as_json()["timing"] is None


def test_tool_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"(?s)python failed:.*ZeroDivisionError.*all of it in .*tool\.log"):
        run_tool("python", ["-c", "1 / 0"], tmp_path, "tool.log")
    assert "ZeroDivisionError" in (tmp_path / "tool.log").read_text()


def test_tool_runs_in_its_folder(tmp_path: Path) -> None:
    run_tool("python", ["-c", "open('made', 'w').write('x'); print('said')"], tmp_path, "tool.log")
    assert (tmp_path / "made").read_text() == "x"
    assert (tmp_path / "tool.log").read_text() == "said\n"


def test_tool_that_ends_without_its_file(tmp_path: Path) -> None:
    """What an earlier run left does not count."""
    (tmp_path / "made").write_text("earlier")
    with pytest.raises(BuildError, match=r"it ended with exit code 0 and has not written made"):
        run_tool("python", ["-c", "pass"], tmp_path, "tool.log", makes="made")
    run_tool("python", ["-c", "open('made', 'w').write('x')"], tmp_path, "tool.log", makes="made")
    assert (tmp_path / "made").read_text() == "x"


@pytest.mark.parametrize(("name", "extra"), [("no-such-tool", "fpga"), ("no-such-tool-gowin", "gowin")])
def test_tool_that_is_missing(tmp_path: Path, name: str, extra: str) -> None:
    with pytest.raises(
        BuildError, match=re.escape(f"{name} failed:\nit is not installed: {install_command(extra)}")
    ):
        run_tool(name, [], tmp_path, "tool.log")
