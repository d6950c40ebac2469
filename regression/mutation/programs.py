"""``python -m regression.mutation.programs LIBRARY PRESET``: random programs on each mutant of a whole core.

The library is a simulation of all mutants, for `sim.rtl_machine.RtlMachine`. A mutant is noticed by what it
does otherwise than the golden machine, and by what it counts otherwise than the core without a fault: the
cycles of each program and up to each fault, and the core's own counters.
"""

import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

from regression.mutation.forks import become_mutant, compare_cycles, limited, settings
from regression.mutation.settings import MUTANT
from regression.random_programs.faulting import FaultSession
from regression.random_programs.generator import make_program
from regression.random_programs.program import Program
from regression.random_programs.running import Core, difference
from sim.rtl_machine import RtlMachine

_SEED: Final = 1
_MULTIPLIES: Final = (2, *(48,) * 23)
"""Of each program."""

_SESSIONS: Final = 4
"""Of `FaultSession`, each with a seed of its own."""


def _count(test: str, core: Core) -> None:
    assert isinstance(core, RtlMachine)
    compare_cycles(test, (core.simulation.cycles, *asdict(core.counters).values()))


def _run(program: Program, open_core: Callable[[Program], RtlMachine], test: str) -> None:
    found = difference(program, open_core, on_end=partial(_count, test))
    assert found is None, found


def _fail(seed: int, preset: str, open_core: Callable[[Program], RtlMachine], test: str) -> None:
    session = FaultSession(preset, seed, open_core)
    for *_, found in session.run():
        assert found is None, found
        _count(test, session.core)


def main(library: Path, preset: str) -> None:
    """Try the mutants that the settings name, each until a test fails; the process ends."""

    def open_core(program: Program) -> RtlMachine:
        memory = program.fresh_memory()
        return RtlMachine(program.config, memory, timing=program.timing, library=library)

    programs = [make_program(preset, _SEED, number, size) for number, size in enumerate(_MULTIPLIES)]
    tests: dict[str, Callable[[str], None]] = {
        **{f"program {number}": partial(_run, program, open_core) for number, program in enumerate(programs)},
        **{f"faults {seed}": partial(_fail, seed, preset, open_core) for seed in range(_SESSIONS)},
    }
    names = sorted(tests, key=lambda name: settings.limits.get(name, 0.0))  # the shortest first
    MUTANT.write_text(str(become_mutant()))
    for name in names:
        with limited(name, is_last=name == names[-1]):
            tests[name](name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
