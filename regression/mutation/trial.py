"""Mutates a unit, runs its tests on each mutant, and tries to prove of survivors that they are no faults."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

from cocotb_tools.runner import get_runner

from hdl.config import PRESETS
from regression.identity import ROOT
from regression.mutation.equivalence import is_equivalent, require_rules
from regression.mutation.netlist import NETLIST, harnessed, mutate
from regression.mutation.rules import rules_of
from regression.mutation.settings import ENDED, FAILED, MEASURED, SETTINGS, SURVIVED, Settings
from regression.mutation.units import Simulation, Unit, simulation_of
from sim.build import build_core
from sim.files import locked
from sim.testbench.parameters import bench_variables
from sim.testbench.runner import BenchFailure, build, tool_environment

_ENDS: Final = {SURVIVED: "survived", FAILED: "failed", -signal.SIGPROF: "time", -signal.SIGKILL: "time"}
"""What becomes of a mutant by the status of its process."""

_PASSED: Final = ("survived", "")
"""The outcome where no test fails."""

_LIMIT_FACTOR: Final = 3.0
_LIMIT_SECONDS: Final = 1.0
"""A test may take so many times, and so many seconds beside, as on the unit without a fault."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One mutant and its outcome."""

    unit: str
    number: int
    """Within the unit, from 1."""
    what: str
    """The fault."""
    source: str
    text: str
    """The line at `source`, which is ``file:line``."""
    command: str
    """How yosys makes the mutant."""
    how: str
    """As `run_mutants` says it."""
    killed_by: str
    """The test that failed, or nothing."""
    proof: Literal["", "equal", "none"] = ""
    """Of a survivor: ``equal`` if it is proven to be no fault, ``none`` if that was tried in vain, empty
    before."""

    @property
    def survived(self) -> bool:
        """Whether every test passed."""
        return self.how == "survived"


def try_unit(unit: Unit, place: Path, *, count: int, seed: int, numbers: Sequence[int]) -> list[Record]:
    """Find out which of `count` mutants of a unit, which the seed chooses, its tests notice.

    Only those of some numbers, from 1, are tried; a unit may have fewer mutants. The folder `place` takes the
    netlists. BenchFailure if the unit fails without a fault, and ValueError if a rule does not hold of it
    then.
    """
    name = re.sub(r"\W+", "_", unit.name)
    folder = place / f"{name}-{count}-{seed}"
    place.mkdir(parents=True, exist_ok=True)
    simulation = simulation_of(unit)
    with locked(folder.with_suffix(".lock")):
        design, mutants = mutate(simulation.design, unit.sources, count, seed, folder)
    numbers = [number for number in numbers if number <= len(mutants)]
    if not numbers:
        return []
    part, rules = folder / f"from-{numbers[0]}", rules_of(unit.name)
    part.mkdir(exist_ok=True)
    with locked(part / "lock"):
        outcomes = _outcomes(unit, replace(simulation, design=design), numbers, part)
        if _PASSED in outcomes.values():
            shutil.copy(folder / NETLIST, part)
            require_rules(part, rules)
        records = []
        for number, (how, killed_by) in outcomes.items():
            mutant = mutants[number - 1]
            known = {**asdict(mutant), "text": mutant.text, "killed_by": killed_by}
            record = Record(unit=unit.name, number=number, how=how, proof="", **known)
            if record.survived:
                record = replace(record, proof="equal" if is_equivalent(mutant, part, rules) else "none")
            records.append(record)
    return records


_Outcomes = dict[int, tuple[str, str]]
"""By the number of the mutant: ``failed``, ``time`` (it took too long), ``crash`` (the simulation broke off)
or ``survived``, and the test that failed; empty where all passed."""

_Start = Callable[[Path], None]
"""Runs a simulation to its end in a folder."""


def _outcomes(unit: Unit, simulation: Simulation, numbers: Sequence[int], part: Path) -> _Outcomes:
    """Try mutants with random programs if the unit is a whole core, and what is left with its testbench."""
    outcomes = dict.fromkeys(numbers, _PASSED)
    if unit.programs:
        text = harnessed(simulation.design, PRESETS[unit.programs])
        library = build_core(PRESETS[unit.programs], verilog=text)
        start = partial(_run_programs, library, unit.programs)
        outcomes = run_mutants(start, (), part / "programs", numbers)
    left = [number for number, outcome in outcomes.items() if outcome == _PASSED]
    if left:
        folder = build(simulation.design) / f"mutants-{numbers[0]}"
        outcomes |= run_mutants(partial(_run_bench, simulation), simulation.cases, folder, left)
    return outcomes


def run_mutants(start: _Start, cases: Sequence[str], folder: Path, numbers: Sequence[int]) -> _Outcomes:
    """Run the tests on the unit without a fault, and then on each mutant until one of them fails.

    BenchFailure if the unit fails without a fault, or the simulation broke off between two mutants.
    """
    log = folder / "simulation.log"
    settings = Settings(cases=cases, mutants=(0,), limits={})
    outcomes = _run(start, settings, folder)
    if outcomes != {0: _PASSED}:
        raise BenchFailure(f"{folder}: the unit without a fault must pass: {outcomes}", log)
    measured = json.loads((folder / MEASURED).read_text())
    limits = {name: _LIMIT_FACTOR * time + _LIMIT_SECONDS for name, time in measured["seconds"].items()}
    settings = replace(settings, mutants=numbers, limits=limits, cycles=measured["cycles"])
    outcomes = _run(start, settings, folder)
    missing = sorted({*numbers} - {*outcomes})
    if missing:
        raise BenchFailure(f"{folder}: no outcome of mutants {missing}", log)
    return outcomes


def _run(start: _Start, settings: Settings, folder: Path) -> _Outcomes:
    """Start a simulation in a folder for some mutants; what is known of them when it ends."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / SETTINGS).write_text(json.dumps(asdict(settings)))
    start(folder)
    found = {}
    ended_file = folder / ENDED
    for line in ended_file.read_text().splitlines() if ended_file.exists() else ():
        ended = json.loads(line)
        how = _ENDS.get(ended["status"], "crash")
        found[ended["number"]] = how, "" if how == "survived" else ended["test"]
    return found


def _run_programs(library: Path, preset: str, folder: Path) -> None:
    program = [sys.executable, "-m", "regression.mutation.programs", str(library), preset]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (folder / "simulation.log").open("w") as log:
        subprocess.run(program, cwd=folder, env=environment, stdout=log, stderr=log, check=False)


def _run_bench(simulation: Simulation, folder: Path) -> None:
    bench = bench_variables(simulation.module, simulation.values)
    # One that breaks off leaves mutants without an outcome.
    with tool_environment(), suppress(RuntimeError, SystemExit):
        get_runner("verilator").test(
            test_module="regression.mutation.fork_point",
            hdl_toplevel=simulation.design.top,
            hdl_toplevel_lang="verilog",
            build_dir=folder.parent,
            test_dir=folder,
            seed=1,  # of the tests' randomness
            extra_env={**bench, "COCOTB_LOG_LEVEL": "ERROR"},
            results_xml=str(folder / "none.xml"),
            log_file=folder / "simulation.log",
        )
