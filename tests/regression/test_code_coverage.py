"""The coverage suite on a made-up unit whose holes are known: exactly those are found, and at their lines."""

from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import cocotb
import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from cocotb.triggers import FallingEdge

from cocotb_tests.streams import start
from hdl.config import PRESETS
from regression.campaign.kinds.code_coverage import CodeCoverage, CoverageReport
from regression.code_coverage.counts import Place, Point, VerilogPlaces, read_counts
from regression.code_coverage.requirements import (
    EXCLUSIONS,
    Exclusion,
    RequirementError,
    apply_exclusions,
    read_exclusions,
)
from regression.code_coverage.sources import convert_with_sources
from sim import build
from sim.testbench.runner import Coverage, run
from sim.testbench.unit import unit_design

PROJECT = Path(__file__).parents[2]
FILE = Path(__file__).relative_to(PROJECT).as_posix()
CHOICE = "m.d.comb += self.second.eq(Mux(self.select == 2, 3, self.data[:2]))"


class MadeUp(wiring.Component):
    """Of what `select` chooses, 2 is never chosen; `always` is always 1; `data` never has its highest bit."""

    select: In(2)
    always: In(1)
    data: In(3)
    result: Out(4)
    second: Out(2)

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        chosen = Signal(4)
        m.d.sync += self.result.eq(chosen)
        with m.Switch(self.select):
            with m.Case(0):
                m.d.comb += chosen.eq(self.data)
            with m.Case(1):
                with m.If(self.data[0]):
                    m.d.comb += chosen.eq(5)
                with m.Else():
                    m.d.comb += chosen.eq(6)
            with m.Case(2):
                m.d.comb += chosen.eq(7)
            with m.Default():
                with m.If(self.always):
                    m.d.comb += chosen.eq(9)
        m.d.comb += self.second.eq(Mux(self.select == 2, 3, self.data[:2]))
        return m


@cocotb.test
async def all_but_two(dut: Any) -> None:
    dut.select.value = dut.data.value = 0
    dut.always.value = 1
    await start(dut)
    for _ in range(2):
        for select in (0, 1, 3):
            for data in range(4):
                dut.select.value, dut.data.value = select, data
                await FallingEdge(dut.aclk)


def place_of(statement: str) -> Place:
    lines = Path(__file__).read_text().splitlines()
    numbers = [number for number, line in enumerate(lines, 1) if line.strip() == statement]
    assert len(numbers) == 1, statement
    return Place(FILE, numbers[0])


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Counter[Point]:
    folder = tmp_path_factory.mktemp("coverage")
    coverage = Coverage(folder=folder, conversion=convert_with_sources)
    run(unit_design("code-coverage", MadeUp()), __name__, coverage=coverage)
    (verilog,) = folder.glob("*.v")
    return read_counts(verilog, verilog.with_suffix(".dat"), PROJECT)


@pytest.mark.parametrize("environment", ["/project/.venv", "/project/env", "/elsewhere"])
def test_a_signal_of_a_library_counts_at_its_module_wherever_the_environment_lies(environment: str) -> None:
    library = f"{environment}/lib/python3.11/site-packages/amaranth/lib/wiring.py:198"
    sources = {"inner": "/project/hdl/unit.py:7", "port": library, "own": "/project/hdl/unit.py:9"}
    module, *signals = (f'(* src = "{place}" *)\n' for place in sources.values())
    text = f"{module}module inner(port);\n  {signals[0]}  wire port;\n  {signals[1]}  wire own;\nendmodule\n"
    found = VerilogPlaces(text, "/project/").signals.values()
    assert dict(found) == {"port": Place("/project/hdl/unit.py", 7), "own": Place("/project/hdl/unit.py", 9)}


def points(counts: Counter[Point], kind: str, *, reached: bool) -> set[tuple[Place, str]]:
    return {
        (Place(point.file, point.line), point.name)
        for point, count in counts.items()
        if point.kind == kind and point.file == FILE and (count > 0) == reached
    }


@pytest.mark.long
def test_lines(counts: Counter[Point]) -> None:
    assert points(counts, "line", reached=False) == {(place_of("m.d.comb += chosen.eq(7)"), "")}
    assert points(counts, "line", reached=True) == {
        (place_of(f"m.d.comb += chosen.eq({value})"), "") for value in ("self.data", "5", "6", "9")
    } | {(place_of("result: Out(4)"), "")}, "and the reset of the register"


@pytest.mark.long
def test_branches(counts: Counter[Point]) -> None:
    choice = place_of(CHOICE)
    never = {(place_of("m.d.comb += chosen.eq(9)"), "not taken"), (choice, "first value")}
    assert points(counts, "branch", reached=False) == never
    assert points(counts, "branch", reached=True) == {
        (choice, "second value"),
        (place_of("result: Out(4)"), "not taken"),
    }


@pytest.mark.long
def test_toggles(counts: Counter[Point]) -> None:
    def bits(signal: str, *names: str) -> set[tuple[Place, str]]:
        declaration = {
            "chosen": "chosen = Signal(4)",
            "always": "always: In(1)",
            "data": "data: In(3)",
            "result": "result: Out(4)",
        }[signal]
        edges = ("0->1", "1->0")
        return {(place_of(declaration), f"{signal}{name} {edge}") for name in names for edge in edges}

    assert points(counts, "toggle", reached=False) == bits("data", "[2]") | {
        (place_of("always: In(1)"), "always 1->0")
    }
    reached = points(counts, "toggle", reached=True)
    assert bits("chosen", "[0]", "[1]", "[2]", "[3]") | bits("result", "[3]") | bits("data", "[0]") <= reached


@pytest.mark.long
def test_report(counts: Counter[Point]) -> None:
    toggles = Exclusion(file="*", kind="toggle", reason="not the matter here")
    idle = Exclusion(file="hdl/core.py", kind="line", reason="there is nothing")
    branch = Exclusion(
        file=FILE, kind="branch", name="not taken", statement="*chosen.eq(9)", reason="always is 1"
    )
    kept, excluded = apply_exclusions(counts, [toggles, idle, branch], PROJECT)
    assert (excluded[idle], excluded[branch]) == (0, 1)
    report = CoverageReport(counts=kept, excluded=excluded)
    line, choice = place_of("m.d.comb += chosen.eq(7)").line, place_of(CHOICE).line
    assert report.holes() == [f"{FILE}:{line}: line", f"{FILE}:{choice}: branch first value"]
    assert report.failures == [
        f"{FILE}: line coverage must be at least 100.0%, not 5 of 6 (83.33%)",
        f"{FILE}: branch coverage must be at least 100.0%, not 2 of 3 (66.67%)",
        "an exclusion must exclude something; line * in hdl/core.py does not",
    ]
    shares, excluded_points = report.tables()
    assert (FILE, "5 of 6", "83.3%", "2 of 3", "66.7%", "", "") in shares.rows
    assert (FILE, "branch", "not taken", "*chosen.eq(9)", "1", "always is 1") in excluded_points.rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('file = "a"\nkind = "line"', "missing 1 required keyword-only argument: 'reason'"),
        ('file = "a"\nkind = "line"\nreason = " "', "must have a reason"),
        ('file = "a"\nkind = "lines"\nreason = "b"', "must be one of line, branch, toggle, not lines"),
        ('file = "a"\nkind = "toggle"\nreason = "b"\nbits = [3]', r"the first and the last, not \[3\]"),
        ('file = "a"\nkind = "toggle"\nreason = "b"\nevery = 8', "of every 8 must lie among these, not None"),
        (
            'file = "a"\nkind = "toggle"\nreason = "b"\nbits = [3, 8]\nevery = 8',
            r"must lie among these, not \(3, 8\)",
        ),
        ('file = "a"\nkind = "line"\nreason = "b"\nline = 3', r"must have keys among .*, not \{'line'\}"),
    ],
)
def test_malformed_exclusions(text: str, message: str) -> None:
    with pytest.raises(RequirementError, match=message):
        read_exclusions(f"[[exclusion]]\n{text}\n")


def test_bits_are_no_sets_of_characters() -> None:
    exclusion = Exclusion(file="*", kind="toggle", name="address[6?] *", reason="beyond the address width")
    place = Place("hdl/core.py", 1)
    assert exclusion.matches(Point(*place, "toggle", "address[63] 0->1"), "")
    assert not exclusion.matches(Point(*place, "toggle", "address6 0->1"), "")
    assert not exclusion.matches(Point(*place, "toggle", "address[6] 0->1"), "")


def test_excluded_bits() -> None:
    exclusion = Exclusion(file="*", kind="toggle", name="count*", bits=(8, 9), reason="beyond any simulation")
    place = Place("hdl/core.py", 1)
    found = [bit for bit in range(12) if exclusion.matches(Point(*place, "toggle", f"count[{bit}] 1->0"), "")]
    assert found == [8, 9]


def test_excluded_bits_of_every_place() -> None:
    exclusion = Exclusion(file="*", kind="toggle", name="word*", bits=(2, 3), every=4, reason="masked")
    place = Place("hdl/core.py", 1)
    found = [bit for bit in range(12) if exclusion.matches(Point(*place, "toggle", f"word[{bit}] 0->1"), "")]
    assert found == [2, 3, 6, 7, 10, 11]


def test_exclusions_are_of_lines_that_exist() -> None:
    """Without a run: an exclusion whose source line is gone excludes nothing."""
    lines = {
        path.relative_to(PROJECT).as_posix(): [line.strip() for line in path.read_text().splitlines()]
        for path in (PROJECT / "hdl").rglob("*.py")
    }
    for item in read_exclusions((PROJECT / EXCLUSIONS).read_text()):
        found = [
            line
            for name, source in lines.items()
            if fnmatchcase(name, item.file)
            for line in source
            if fnmatchcase(line, item.statement.replace("[", "[[]"))
        ]
        assert found, f"no line is as {item.file}: {item.statement}"


def test_cores_are_built_to_count_while_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def built(verilog: str, constants: object, **options: object) -> Path:
        asked.append((verilog, options["counts"]))
        return Path(f"{len(asked)}.so")

    monkeypatch.setattr(build, "build_verilog", built)
    monkeypatch.setattr(build, "_generated", lambda _, conversion=None: (str(conversion), ""))
    with build.counting(convert_with_sources) as counted:
        build.build_core(PRESETS["tiny"])
    build.build_core(PRESETS["tiny"])
    assert asked == [(str(convert_with_sources), True), ("None", False)]
    assert counted == {Path("1.so"): str(convert_with_sources)}


def test_whole_cores_of_the_tests_are_a_part_of_coverage() -> None:
    tasks = {task.key for task in CodeCoverage(1, CodeCoverage.options).tasks()}
    assert {"cocotb_tests/test_core.py", "tests/sim/test_sim_core.py"} <= tasks
