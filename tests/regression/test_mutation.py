"""Mutation of a unit made up for it: a strong test notices everything, a weak one leaves survivors."""

import gc
import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.hdl import UnusedElaboratable

from hdl.config import PRESETS
from hdl.verilog.core_verilog import TOP
from regression.campaign.kinds.mutation import TOGETHER, Mutation, judge, wilson
from regression.identity import ROOT
from regression.mutation.netlist import harnessed, mutate, worth_simulating
from regression.mutation.rules import rules
from regression.mutation.trial import Record, run_mutants, try_unit
from regression.mutation.units import CORE, UNITS, Unit, simulation_of, units_named
from sim.testbench.design import Design

MUTANTS = 9
COUNTER = Unit(
    name="counter",
    bench="saturating_counter",
    test="strong",
    sources=("tests/regression/saturating_counter.py",),
    mutants=MUTANTS,
)
WEAK = replace(COUNTER, test="weak")
RECORD = Record(
    unit="counter",
    number=1,
    what="add.Y[0] inverted",
    source="hdl/counter.py:7",
    text="count + 1",
    command="mutate -mode inv",
    how="survived",
    killed_by="",
)


def tried(unit: Unit, folder: Path) -> list[Record]:
    """In two parts, of which the second asks for more than there are."""
    parts = range(1, 5), range(5, MUTANTS + 5)
    return [
        record
        for numbers in parts
        for record in try_unit(unit, folder, count=MUTANTS, seed=1, numbers=numbers)
    ]


FOLDER = Path(__file__).parents[2] / "build" / "mutation" / "tests"


@pytest.mark.yosys
def test_mutants_of_a_core_have_one_module_of_its_name() -> None:
    design = simulation_of(COUNTER).design
    text = design.verilog.replace(f"module {design.top}(", f"module {TOP}(")
    mutated, _ = mutate(Design.of_text(TOP, text, TOP), COUNTER.sources, 2, 1, FOLDER / "named-as-the-core")
    modules = re.findall(r"^module (\w+)", harnessed(mutated, PRESETS["tiny"]), re.MULTILINE)
    assert sorted(modules) == ["mutated", TOP]


@pytest.mark.yosys
def test_a_module_that_synthesis_keeps_is_flattened() -> None:
    design = simulation_of(COUNTER).design
    kept = re.sub(
        r"^(?=module .bench\.core)", "(* keep_hierarchy = 1 *)\n", design.verilog, flags=re.MULTILINE
    )
    assert kept != design.verilog
    mutated, _ = mutate(Design.of_text("kept", kept, design.top), COUNTER.sources, 2, 1, FOLDER / "kept")
    assert sorted(re.findall(r"^module (\w+)", mutated.verilog, re.MULTILINE)) == [design.top, "mutated"]


@pytest.mark.yosys
def test_only_the_strong_test_kills_every_fault() -> None:
    folder = FOLDER
    strong, weak = tried(COUNTER, folder), tried(WEAK, folder)
    assert [record.number for record in strong] == list(range(1, MUTANTS + 1))
    assert try_unit(WEAK, folder, count=MUTANTS, seed=1, numbers=range(MUTANTS + 1, MUTANTS + 3)) == []
    assert [record.command for record in strong] == [record.command for record in weak]
    assert all(record.killed_by == "walks_everywhere" for record in strong if not record.survived)
    assert all(record.proof == "equal" for record in strong if record.survived)
    missed = {record.number for record in weak if record.survived} - {
        record.number for record in strong if record.survived
    }
    assert missed
    assert all(record.proof == "none" for record in weak if record.number in missed)
    *_, survivors, share = judge(strong).tables[0].rows[-1]
    assert (survivors, share) == ("0", "100.0%")
    *_, survivors, share = judge(weak).tables[0].rows[-1]
    assert survivors == str(len(missed))
    assert share != "100.0%"


SLOW = """
from regression.mutation.forks import become_mutant, compare_cycles, limited
number = become_mutant()
with limited("first", is_last=False):
    compare_cycles("first", [5])
    compare_cycles("first", [8 + (number == 2)])
with limited("second", is_last=True):
    compare_cycles("second", [9])
    assert number != 3
"""


def test_a_mutant_that_takes_more_cycles_is_noticed(tmp_path: Path) -> None:
    def start(folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", SLOW], cwd=folder, env=environment, check=True)

    assert run_mutants(start, (), tmp_path / "run", (1, 2, 3)) == {
        1: ("survived", ""),
        2: ("failed", "cycles of first"),
        3: ("failed", "second"),
    }


def test_a_unit_with_many_mutants_is_several_tasks() -> None:
    core = list(Mutation(1, {"unit": ["core"], "mutants": None}).tasks())
    assert [(task.arguments["first"], task.arguments["last"]) for task in core] == [
        (first, first + TOGETHER - 1) for first in range(1, CORE.mutants, TOGETHER)
    ]
    assert len({task.key for task in core}) == len(core)
    (queue,) = Mutation(1, {"unit": ["queue"], "mutants": TOGETHER}).tasks()
    assert queue.arguments == {"unit": "queue", "first": 1, "last": TOGETHER}
    *_, last = Mutation(1, {"unit": ["queue"], "mutants": TOGETHER + 1}).tasks()
    assert (last.arguments["first"], last.arguments["last"]) == (TOGETHER + 1, TOGETHER + 1)


def record_of(number: int, *, how: str, proof: str = "") -> Record:
    return replace(RECORD, number=number, what=f"fault {number}", how=how, proof=proof)  # type: ignore[arg-type]


def test_report_asks_for_95_percent_of_the_faults() -> None:
    killed = [record_of(number, how="failed") for number in range(1, 20)]
    verdict = judge([*killed, record_of(20, how="survived", proof="none")])
    assert verdict.failures == []
    assert verdict.lines == ["19 of 20 faults are killed: 95.0%, 95 % interval 76.4% to 99.1%"]
    assert verdict.tables[0].rows[-1] == ("all", "20", "19", "0", "1", "95.0%")
    assert verdict.tables[1].rows == [("counter", "hdl/counter.py:7", "fault 20", "count + 1")]
    verdict = judge([*killed[1:], record_of(20, how="survived", proof="none")])
    assert verdict.failures == ["killed must be at least 95% of the faults, not 94.7%"]
    assert judge([*killed[1:], record_of(20, how="survived", proof="equal")]).failures == []


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    # Newcombe, Two-sided confidence intervals for the single proportion (1998), table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_wilson_s(hits: int, count: int, low: float, high: float) -> None:
    assert [round(bound, 4) for bound in wilson(hits, count)] == [low, high]
    assert [round(1 - bound, 4) for bound in wilson(count - hits, count)] == [high, low]


def test_nothing_is_known_of_no_sample() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("port", "bit", "mode", "worth"),
    [
        ("A", 0, "const1", False),  # is 1 already
        ("A", 0, "const0", True),
        ("A", 1, "inv", False),  # undefined
        ("A", 2, "const1", True),
        ("Y", 0, "inv", True),
        ("Y", 1, "inv", False),  # nothing reads it
        ("CLK", 0, "inv", False),
    ],
)
def test_what_is_no_fault_is_not_simulated(port: str, bit: int, mode: str, worth: bool) -> None:
    directions = {"A": "input", "CLK": "input", "Y": "output"}
    connections = {"A": ["1", "x", 5], "CLK": [2], "Y": [6, 7]}
    cell = {"type": "$x", "port_directions": directions, "connections": connections}
    line = f"mutate -mode {mode} -module mutated -cell c -port {port} -portbit {bit}"
    assert worth_simulating(line, {"cells": {"c": cell}}, frozenset({2, 5, 6})) == worth


def test_units() -> None:
    root = Path(__file__).parents[2]
    for unit in (*UNITS, CORE):
        for source in unit.sources:
            assert list(root.glob(f"{source}*")), f"{unit.name}: {source} names no file"
    assert units_named(["credit queue"])[0].bench == "cocotb_tests.stream.test_elastic"
    with pytest.raises(ValueError, match=r"unit must be one of queue, credit queue, .*, not credits$"):
        units_named(["credits"])


@pytest.mark.parametrize("unit", [*UNITS, CORE], ids=lambda unit: unit.name)
def test_unit_has_tests(unit: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests of a unit simulate it, and it is converted so that each cell says which line made it."""

    def told(*_: object, sources: bool) -> str:
        return f"// converted with sources: {sources}\n"

    monkeypatch.setattr("regression.mutation.units.convert", told)
    gc.freeze()  # so that little is searched below
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        simulation = simulation_of(unit)
        module, text = simulation.module, simulation.design.verilog
        del simulation
        gc.collect()  # what was not elaborated says so when it goes
    assert module == unit.bench
    assert "// converted with sources: True\n" in text


def test_each_cell_says_which_line_made_it() -> None:
    assert '(* src = "' in simulation_of(COUNTER).design.verilog


def test_rules_are_of_units_that_exist() -> None:
    assert {name for rule in rules() for name in rule.units} <= {unit.name for unit in (*UNITS, CORE)}
