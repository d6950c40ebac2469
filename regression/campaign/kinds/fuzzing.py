"""Drawn and damaged input for every entrance: a result, a documented error, or a failure, shrunk and kept."""

import hashlib
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import ClassVar, Final

from regression.campaign.kind import Case, Configuration, Kind, Outcome, Task, Verdict
from regression.fuzz.kind import Files
from regression.fuzz.kind import Outcome as Found
from regression.fuzz.saved import save
from regression.fuzz.worker import KINDS, SCHEDULE, Input, Limits, Worker, make
from regression.random_programs.failing import minimise
from regression.table import Table

_TWICE_EVERY: Final = 16
"""One of so many inputs runs twice."""

_OUTCOMES: Final = ("result", "error", "failure")
_MAX_PIECES = 3000


class Fuzz(Kind):
    """The inputs 0, 1, 2, ... of a seed; the same whoever runs them."""

    name = "fuzz"
    unit = "inputs"
    options: ClassVar[Configuration] = {"family": list(KINDS)}
    known: ClassVar = {"family": KINDS}
    amount = 10_000

    inputs: ClassVar[int] = 500
    """Of a task."""

    limits: ClassVar[Limits] = Limits()

    def tasks(self) -> Iterator[Task]:
        """Some inputs each, without end."""
        for first in count(0, self.inputs):
            yield Task(key=f"inputs {first:09}", arguments={"first": first}, results=self.inputs)

    def drawn(self, number: int) -> Input:
        """An input."""
        chosen = self.configuration["family"]
        kinds = SCHEDULE if chosen == self.options["family"] else chosen
        times = 2 if number // len(kinds) % _TWICE_EVERY == 0 else 1
        return Input(kinds[number % len(kinds)], self.seed, number, times=times)

    def run(self, task: Task) -> Outcome:
        """Run the inputs; of failures of one class, the first is a case."""
        first = task.arguments["first"]
        failed: dict[str, Case] = {}
        data = []
        with Worker(self.limits) as worker:
            for number in range(first, first + self.inputs):
                drawn = self.drawn(number)
                found = worker.run(drawn)
                data.append((number, drawn.kind, found.kind, found.what))
                if found.is_failure and found.what not in failed:
                    failed[found.what] = Case(
                        name=f"input {number}", failure=found.what, command=self.command(task)
                    )
        return Outcome(cases=tuple(failed.values()) or (Case(name=task.key),), results=self.inputs, data=data)

    def save(self, case: Case, task: Task, folder: Path) -> Case:
        """Shrink an input that fails, and save it."""
        drawn = self.drawn(int(case.name.removeprefix("input ")))
        with Worker(self.limits) as worker:
            found = worker.run(drawn)
        if found.what != case.failure:
            return replace(case, failure=f"{case.failure}: on a worker, but not here")
        files, found = shrink(drawn, found, self.limits)
        place = save(folder, drawn, files, found)
        return replace(
            case,
            failure=f"{found.what}\n{found.detail}",
            command=f"python -m regression.fuzz --replay {place}",
        )

    def verdict(self, outcomes: Iterable[tuple[Task, Outcome]]) -> Verdict:
        """Counts by kind of input, and a digest of all outcomes: the same for the same inputs."""
        ran = [item for _, outcome in outcomes for item in outcome.data or ()]
        counts = Counter((kind, outcome) for _, kind, outcome, _ in ran)
        rows = [
            (kind, *(str(counts[kind, outcome]) for outcome in _OUTCOMES))
            for kind in self.configuration["family"]
        ]
        told = sorted(f"{number:012} {kind} {outcome} {what}\n" for number, kind, outcome, what in ran)
        digest = hashlib.blake2b("".join(told).encode("utf-8", "replace"), digest_size=8).hexdigest()
        return Verdict(
            lines=[f"outcomes {digest}"],
            tables=[Table(title="inputs", header=("kind", *(f"{name}s" for name in _OUTCOMES)), rows=rows)],
        )


def shrink(drawn: Input, outcome: Found, limits: Limits, seconds: float = 60) -> tuple[Files, Found]:
    """Leave out lines, then smaller pieces, as long as the same failure comes; what is left, and its failure.

    An input that takes too long is tried with a quarter of the time. After `seconds` nothing more is tried.
    """
    files = make(drawn.kind, drawn.seed, drawn.number) if drawn.files is None else drawn.files
    pieces, end = KINDS[drawn.kind].pieces, time.monotonic() + seconds
    if pieces is None:
        return files, outcome
    last = outcome
    with Worker(replace(limits, seconds=limits.seconds / 4)) as worker:

        def fails(files: Files, name: str, parts: Sequence[str]) -> bool:
            nonlocal last
            if time.monotonic() > end:
                return False
            found = worker.run(replace(drawn, files=_with(files, name, parts)))
            same = found.is_failure and _class(found) == _class(outcome)
            last = found if same else last
            return same

        for pattern in (r"[^\n]*\n|[^\n]+", pieces):
            for name, content in tuple(files.items()):
                parts = re.findall(pattern, content.decode("latin-1"), re.DOTALL)
                if len(parts) <= _MAX_PIECES and fails(files, name, parts):
                    files = _with(files, name, minimise(parts, partial(fails, files, name)))
    return files, last


def _with(files: Files, name: str, parts: Sequence[str]) -> Files:
    """The files, one of them made of the parts."""
    return {**files, name: "".join(parts).encode("latin-1")}


def _class(outcome: Found) -> str:
    """Failures of one class; a process may end at any place of what takes too long."""
    ended = outcome.what.startswith(("waits too long", "takes too long"))
    return outcome.what.split(":")[0] if ended else outcome.what
