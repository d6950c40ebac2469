"""Mutates a unit, runs its tests on each mutant, and tries to prove of survivors that they are no faults."""

import json
import re
import shutil
import signal
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Literal

from cocotb_tools.runner import get_runner

from regression.mutation.equivalence import is_equivalent, require_rules
from regression.mutation.netlist import mutate
from regression.mutation.rules import rules_of
from regression.mutation.settings import ENDED, FAILED, SURVIVED, TIMES, VARIABLE, Settings
from regression.mutation.units import Simulation, Unit, simulation_of
from sim.files import locked
from sim.testbench.parameters import bench_variables
from sim.testbench.runner import BenchFailure, build, tool_environment

_ENDS: Final = {SURVIVED: "survived", FAILED: "failed", -signal.SIGPROF: "time", -signal.SIGKILL: "time"}
"""What becomes of a mutant by the status of its process."""

_FORK_POINT: Final = "regression.mutation.fork_point"
_SEED: Final = 1
"""Of the tests' randomness."""

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


def try_unit(unit: Unit, place: Path, *, count: int, seed: int) -> list[Record]:
    """Find out which of `count` mutants of a unit, which the seed chooses, its tests notice.

    The folder `place` takes the netlists. BenchFailure if the unit fails without a fault, and ValueError if a
    rule does not hold of it then.
    """
    name = re.sub(r"\W+", "_", unit.name)
    folder = place / f"{name}-{count}-{seed}"
    place.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        simulation = simulation_of(unit)
        design, mutants = mutate(simulation.design, unit.sources, count, seed, folder)
        records, rules = [], rules_of(unit.name)
        outcomes = run_mutants(replace(simulation, design=design), len(mutants))
        if any(how == "survived" for how, _ in outcomes.values()):
            require_rules(folder, rules)
        for number, (how, killed_by) in outcomes.items():
            mutant = mutants[number - 1]
            known = {**asdict(mutant), "text": mutant.text, "killed_by": killed_by}
            record = Record(unit=unit.name, number=number, how=how, proof="", **known)
            if record.survived:
                record = replace(record, proof="equal" if is_equivalent(mutant, folder, rules) else "none")
            records.append(record)
    return records


def run_mutants(simulation: Simulation, mutants: int) -> dict[int, tuple[str, str]]:
    """Run the tests on the unit without a fault, and then on each mutant until one of them fails.

    The design of the simulation has so many mutants.

    By the number of the mutant, from 1: ``failed``, ``time`` (it took too long), ``crash`` (the simulation
    broke off) or ``survived``, and the test that failed; empty where all passed. BenchFailure if the unit
    fails without a fault, or the simulation broke off between two mutants.
    """
    folder = build(simulation.design) / "mutants"
    log = folder / "simulation.log"
    settings = Settings(cases=simulation.cases, mutants=(0,), limits={})
    outcomes = _run(settings, simulation, folder, log)
    if outcomes != {0: ("survived", "")}:
        raise BenchFailure(f"{simulation.design.name}: the unit without a fault must pass: {outcomes}", log)
    times = json.loads((folder / TIMES).read_text())
    limits = {name: _LIMIT_FACTOR * seconds + _LIMIT_SECONDS for name, seconds in times.items()}
    settings = replace(settings, mutants=tuple(range(1, mutants + 1)), limits=limits)
    outcomes = _run(settings, simulation, folder, log)
    missing = sorted({*settings.mutants} - {*outcomes})
    if missing:
        raise BenchFailure(f"{simulation.design.name}: no outcome of mutants {missing}", log)
    return outcomes


def _run(settings: Settings, simulation: Simulation, folder: Path, log: Path) -> dict[int, tuple[str, str]]:
    """Start the simulator in a folder for some mutants; what is known of them when it ends."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    variables = {
        **bench_variables(simulation.module, simulation.values),
        VARIABLE: json.dumps(asdict(settings)),
        "COCOTB_LOG_LEVEL": "ERROR",
    }
    # One that breaks off leaves mutants without an outcome.
    with tool_environment(), suppress(RuntimeError, SystemExit):
        get_runner("verilator").test(
            test_module=_FORK_POINT,
            hdl_toplevel=simulation.design.top,
            hdl_toplevel_lang="verilog",
            build_dir=folder.parent,
            test_dir=folder,
            seed=_SEED,
            extra_env=variables,
            results_xml=str(folder / "none.xml"),
            log_file=log,
        )
    found = {}
    ended_file = folder / ENDED
    for line in ended_file.read_text().splitlines() if ended_file.exists() else ():
        ended = json.loads(line)
        how = _ENDS.get(ended["status"], "crash")
        found[ended["number"]] = how, "" if how == "survived" else ended["test"]
    return found
