"""A task of a campaign, and what came of it: all of it JSON."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

Configuration = Mapping[str, Any]
"""The options of a campaign's kind by name."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One piece of work, which depends on nothing else."""

    key: str
    """Its name in the campaign; the same arguments always have the same key."""
    arguments: Mapping[str, Any]
    """Whatever JSON can hold."""
    results: int = 0
    """`Outcome.results` if known before the task runs, else 0."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A test, program, family or mutant of a task."""

    name: str
    failure: str = ""
    """What was wrong; empty where nothing was."""
    command: str = ""
    """Runs a case that failed again, on one machine."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a task."""

    cases: tuple[Case, ...]
    results: int = 0
    """What the amount of work of the kind counts, such as compared elements of D."""
    data: Any = field(default=None)
    """What the kind collects, such as bins of coverage; whatever JSON can hold."""

    @property
    def failures(self) -> tuple[Case, ...]:
        """The cases that failed."""
        return tuple(case for case in self.cases if case.failure)

    def packed(self) -> bytes:
        """As a store keeps it: compressed JSON."""
        return zlib.compress(json.dumps(asdict(self)).encode())

    @classmethod
    def unpacked(cls, packed: bytes) -> "Outcome":
        """From what `packed` returned."""
        content = json.loads(zlib.decompress(packed))
        cases = tuple(Case(**case) for case in content.pop("cases"))
        return cls(cases=cases, **content)


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a worker says of a task."""

    outcome: Outcome
    seconds: float
    worker: str
    """Its address."""
    refusal: str = ""
    """Why the worker must not do tasks of this campaign, as a sentence; empty where it may."""
