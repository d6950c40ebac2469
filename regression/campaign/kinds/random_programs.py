"""Random programs on the Verilated core, compared with the golden model."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import ClassVar, Final

from hdl.config import PRESETS
from regression.campaign.kind import Case, Configuration, Kind, Outcome, Task
from regression.random_programs.choices import multiplies_of
from regression.random_programs.failing import save_program, shrink
from regression.random_programs.generator import MULTIPLIES, make_program
from regression.random_programs.program import Program, config_named, named_core
from regression.random_programs.running import compared_results, difference

_PROGRAMS: Final = 2
"""In a task."""

_LOCKSTEP_EVERY: Final = 50
"""Every so many programs one is short and compared after each command."""


class RandomPrograms(Kind):
    """Random programs, most of which are compared in the end."""

    name = "random"
    options: ClassVar[Configuration] = {"preset": "small", "set": [], "type": None}
    known: ClassVar = {"preset": PRESETS}
    amount = 100_000

    def require(self) -> None:
        """UsageError for a preset, a setting, or a type of A, that is not there."""
        super().require()
        types = {item.a_type for item in multiplies_of(config_named(named_core(self.configuration)))}
        self.require_known("type", sorted(types))

    def _program(self, number: int) -> tuple[Program, bool]:
        """A program, and whether it is compared after each command."""
        is_lockstep = number % _LOCKSTEP_EVERY == _LOCKSTEP_EVERY - 1
        multiplies = MULTIPLIES // 8 if is_lockstep else MULTIPLIES
        core, type = named_core(self.configuration), self.configuration["type"]
        return make_program(core, self.seed, number, multiplies, type), is_lockstep

    def tasks(self) -> Iterator[Task]:
        """Some programs each, without end."""
        for first in count(0, _PROGRAMS):
            yield Task(key=f"program {first:08}", arguments={"first": first})

    def run(self, task: Task) -> Outcome:
        """Run the programs, each until it ends or differs."""
        first = task.arguments["first"]
        cases, results = [], 0
        for number in range(first, first + _PROGRAMS):
            program, is_lockstep = self._program(number)
            failure = difference(program, lockstep=is_lockstep) or ""
            cases.append(Case(name=f"program {number}", failure=failure, command=self.command(task)))
            results += compared_results(program.commands)
        return Outcome(cases=tuple(cases), results=results)

    def save(self, case: Case, task: Task, folder: Path) -> Case:
        """Shrink a program that differs, and save it with its memory."""
        number = int(case.name.removeprefix("program "))
        program, is_lockstep = self._program(number)
        differs = partial(difference, lockstep=is_lockstep)
        if differs(program) is None:
            return replace(case, failure=f"on a worker, but not here: {case.failure}")
        program = shrink(program, lambda candidate: differs(candidate) is not None)
        found = differs(program) or case.failure
        place = folder / re.sub(r"[^\w.-]+", "-", f"{program.preset}-{self.seed}-{number}")
        save_program(place, program, found)
        return replace(
            case,
            failure=f"{found} ({len(program.commands)} commands are left)",
            command=f"python -m regression.random_programs {place}",
        )
