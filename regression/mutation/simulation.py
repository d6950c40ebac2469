"""Runs a unit's tests on each of its mutants."""

import json
import shutil
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cocotb_tools.runner import get_runner

from regression.mutation.netlist import Mutated
from regression.mutation.settings import FAILED, SURVIVED, Settings
from regression.mutation.units import Simulation
from sim.testbench.parameters import bench_variables
from sim.testbench.runner import BenchFailure, build, tool_environment

__all__ = ["Outcome", "run_mutants"]

_FORK_POINT: Final = "regression.mutation.fork_point"
_SEED: Final = 1
"""Of the tests' randomness."""

_POLL_SECONDS: Final = 0.3

_WALL_FACTOR: Final = 50.0
_WALL_SECONDS: Final = 900.0
_UNMUTATED_SECONDS: Final = 300.0
_LIMIT_FACTOR: Final = 3.0
_LIMIT_SECONDS: Final = 1.0
"""A test may take so many times, and so many seconds beside, as on the unit without a fault."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one mutant.

    Parameters
    ----------
    number : int
        Its number within its unit, from 1.
    killed_by : str
        The test that failed; empty where all passed.
    how : str
        ``failed``, ``time`` (it took too long), ``crash`` (the simulation broke off), or ``survived``.
    seconds : float
        Of computing.
    """

    number: int
    killed_by: str
    how: str
    seconds: float


def run_mutants(
    mutated: Mutated,
    simulation: Simulation,
    numbers: Sequence[int],
    report: Callable[[Outcome], None],
) -> None:
    """Run the tests on the unit without a fault, and then on each mutant until one of them fails.

    Parameters
    ----------
    mutated : Mutated
    simulation : Simulation
        What `mutated` was made of.
    numbers : sequence of int
        The mutants, from 1.
    report : callable
        Is told the outcome of each as soon as it is known.

    Raises
    ------
    BenchFailure
        If the unit fails without a fault, or the simulation broke off between two mutants.
    """
    place = build(mutated.design) / "mutants"
    run = _Run(mutated.design.name, place, simulation)
    limits = run.time_tests()
    waiting = set(numbers)

    def told(outcome: Outcome) -> None:
        waiting.discard(outcome.number)
        report(outcome)

    run.mutants(tuple(numbers), limits, told)
    if waiting:
        raise BenchFailure(f"{mutated.design.name}: no outcome of mutants {sorted(waiting)}", run.log)


class _Run:
    """The simulator, started for some mutants."""

    def __init__(self, name: str, folder: Path, simulation: Simulation) -> None:
        self._name = name
        self._folder = folder
        self._simulation = simulation
        self.log = folder / "simulation.log"

    def time_tests(self) -> dict[str, float]:
        """Seconds of computing that each test may take."""
        settings = self._settings((0,), {}, _UNMUTATED_SECONDS, measure=True)
        outcomes: list[Outcome] = []
        self._run(settings, outcomes.append)
        if [outcome.how for outcome in outcomes] != ["survived"]:
            raise BenchFailure(f"{self._name}: the unit without a fault must pass: {outcomes}", self.log)
        times = json.loads(settings.times.read_text())
        return {name: _LIMIT_FACTOR * seconds + _LIMIT_SECONDS for name, seconds in times.items()}

    def mutants(
        self, numbers: tuple[int, ...], limits: Mapping[str, float], report: Callable[[Outcome], None]
    ) -> None:
        """Try mutants."""
        self._run(self._settings(numbers, limits, max(limits.values()), measure=False), report)

    def _settings(
        self, numbers: tuple[int, ...], limits: Mapping[str, float], limit: float, *, measure: bool
    ) -> Settings:
        return Settings(
            cases=self._simulation.cases,
            mutants=numbers,
            folder=str(self._folder),
            limits=dict(limits),
            limit=limit,
            wall_seconds=_WALL_SECONDS + _WALL_FACTOR * sum(limits.values()),
            measure=measure,
        )

    def _run(self, settings: Settings, report: Callable[[Outcome], None]) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        simulator = threading.Thread(target=self._simulate, args=(settings,))
        simulator.start()
        reported = 0
        while True:
            alive = simulator.is_alive()
            lines = settings.ended.read_text().splitlines() if settings.ended.exists() else []
            for line in lines[reported:]:
                report(_outcome(json.loads(line)))
            reported = len(lines)
            if not alive:
                return
            simulator.join(_POLL_SECONDS)

    def _simulate(self, settings: Settings) -> None:
        variables = {
            **bench_variables(self._simulation.module, self._simulation.values),
            **settings.variables(),
            "COCOTB_LOG_LEVEL": "ERROR",
        }
        with tool_environment():
            get_runner("verilator").test(
                test_module=_FORK_POINT,
                hdl_toplevel=self._simulation.design.top,
                hdl_toplevel_lang="verilog",
                build_dir=self._folder.parent,
                test_dir=self._folder,
                seed=_SEED,
                extra_env=variables,
                results_xml=str(self._folder / "none.xml"),
                log_file=self.log,
            )


def _outcome(ended: Mapping[str, Any]) -> Outcome:
    """The outcome that a line about a mutant's end tells."""
    status = ended["status"]
    how = {SURVIVED: "survived", FAILED: "failed", -signal.SIGPROF: "time", -signal.SIGKILL: "time"}.get(
        status, "crash"
    )
    killed_by = "" if how == "survived" else ended["test"]
    return Outcome(number=ended["number"], killed_by=killed_by, how=how, seconds=ended["seconds"])
