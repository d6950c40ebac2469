"""Many inputs, and what came of them."""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from regression.fuzz.kinds import SCHEDULE
from regression.fuzz.outcomes import Outcome
from regression.fuzz.workers import Limits, Task, run_tasks

__all__ = ["Campaign", "Finding", "Tally", "command"]

_TWICE_EVERY = 16
"""One of so many inputs runs twice."""


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """A run over the inputs 0, 1, 2, ... of a seed.

    Parameters
    ----------
    seed : int
    kinds : sequence of str
        Of input `number`: ``kinds[number % len(kinds)]``.
    limits : Limits
    prepare : callable or None
        Called in each worker before its first input.
    """

    seed: int
    kinds: tuple[str, ...] = SCHEDULE
    limits: Limits = field(default_factory=Limits)
    prepare: Callable[[], None] | None = None

    def task(self, number: int) -> Task:
        """An input."""
        kind = self.kinds[number % len(self.kinds)]
        return Task(kind, self.seed, number, times=2 if number // len(self.kinds) % _TWICE_EVERY == 0 else 1)

    def run(
        self, inputs: int | None, *, jobs: int = 1, seconds: float | None = None
    ) -> Iterator[tuple[Task, Outcome]]:
        """Run inputs in workers.

        Parameters
        ----------
        inputs : int or None
            How many; None for no end.
        jobs : int
            Workers at once.
        seconds : float or None
            After which no further input begins.
        """
        end = None if seconds is None else time.monotonic() + seconds

        def tasks() -> Iterator[Task]:
            for number in count() if inputs is None else range(inputs):
                if end is not None and time.monotonic() > end:
                    return
                yield self.task(number)

        return run_tasks(tasks(), jobs=jobs, limits=self.limits, prepare=self.prepare)


@dataclass
class Finding:
    """Failures of one class."""

    task: Task
    outcome: Outcome
    times: int = 1


class Tally:
    """Counts outcomes, and keeps the first failure of each class."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.findings: dict[str, Finding] = {}
        self._outcomes: list[str] = []

    def add(self, task: Task, outcome: Outcome) -> None:
        """Take one outcome."""
        self.counts[task.kind, outcome.kind] += 1
        self._outcomes.append(f"{task.number:012} {task.kind} {outcome.kind} {outcome.what}\n")
        if outcome.is_failure:
            found = self.findings.setdefault(outcome.what, Finding(task, outcome, 0))
            found.times += 1
            if task.number < found.task.number:
                found.task, found.outcome = task, outcome

    @property
    def digest(self) -> str:
        """Of all outcomes: the same for the same inputs, in whatever order they ended."""
        return hashlib.blake2b(
            "".join(sorted(self._outcomes)).encode("utf-8", "replace"), digest_size=8
        ).hexdigest()

    def table(self) -> str:
        """Counts by kind of input, as lines."""
        lines = [f"{'kind':8}{'results':>10}{'errors':>10}{'failures':>10}"]
        for kind in dict.fromkeys(SCHEDULE):
            numbers = [self.counts[kind, outcome] for outcome in ("result", "error", "failure")]
            if any(numbers):
                lines.append(f"{kind:8}" + "".join(f"{number:10}" for number in numbers))
        return "\n".join(lines)


def command(task: Task) -> str:
    """The command that runs one input again."""
    return f"python -m regression.fuzz --seed {task.seed} --kind {task.kind} --only {task.number}"
