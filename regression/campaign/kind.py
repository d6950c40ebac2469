"""What a kind of campaign says of itself, its tasks, and what comes of them: all of it JSON."""

import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from openwmma.usage_error import UsageError
from regression.table import Table

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


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The judgement of a campaign."""

    failures: Sequence[str] = ()
    """Why it has not passed, a sentence each; failed cases are not among them."""
    lines: Sequence[str] = ()
    """For the terminal and the report."""
    holes: Sequence[str] = ()
    """What was not covered."""
    tables: Sequence[Table] = ()


class Kind(ABC):
    """A kind of campaign: a seed of all tasks, and a value for each name of `options`.

    A new kind is a subclass and its entry in `regression.campaign.kinds.KINDS`. The client calls `tasks`,
    `add`, `holes` and `verdict`; a worker calls `run`, in any process and on any machine.
    """

    name: ClassVar[str]
    """As on the command line."""

    unit: ClassVar[str] = "results"
    """What `Outcome.results` counts."""

    options: ClassVar[Configuration] = {}
    """Names of the options that the kind takes, with their defaults."""

    known: ClassVar[Mapping[str, Collection[str]]] = {}
    """All values that an option may have, of options of which they are known."""

    amount: ClassVar[int | None] = None
    """Results of a campaign for which no amount is given; None where the tasks come to an end."""

    has_coverage: ClassVar[bool] = False
    """Whether `holes` says something, so that a campaign can end when there are none."""

    def __init__(self, seed: int, configuration: Configuration) -> None:
        self.seed = seed
        self.configuration = configuration

    def require(self) -> None:
        """Check the configuration before anything runs; UsageError for what is wrong."""
        for option, known in self.known.items():
            self.require_known(option, known)

    def require_known(self, option: str, known: Collection[str]) -> None:
        """UsageError for a value of an option that is not among those known; none given is well."""
        for value in _listed(self.configuration[option]):
            if value not in known:
                raise UsageError(f"--{option}: expected one of {', '.join(known)}, not {value}")

    @abstractmethod
    def tasks(self) -> Iterator[Task]:
        """All tasks, in an order that may depend on what `add` was told."""

    @abstractmethod
    def run(self, task: Task) -> Outcome:
        """Do a task, and return what came of it. An exception counts as a failure."""

    def add(self, task: Task, outcome: Outcome) -> None:  # noqa: B027  # most kinds collect nothing
        """Take what came of a task, once for each."""

    def holes(self) -> list[str]:
        """What is still to be covered."""
        return []

    def command(self, task: Task) -> str:
        """The command that runs a task again; for one that ended its worker."""
        settings = "".join(
            f" --{name} {value}"
            for name, values in self.configuration.items()
            for value in _listed(values)
            if values != self.options[name]
        )
        return f"openwmma campaign {self.name} --seed {self.seed}{settings} --only '{task.key}'"

    def case(self, task: Task, failure: str = "") -> Case:
        """The only case of a task, with the command that runs it again if it failed."""
        return Case(name=task.key, failure=failure, command=self.command(task) if failure else "")

    def save(self, case: Case, task: Task, folder: Path) -> Case:
        """Make a failure smaller, and keep it in files; the case with the command that repeats it."""
        return case

    def verdict(self, outcomes: Iterable[tuple[Task, Outcome]]) -> Verdict:
        """Judge a campaign by all its outcomes; failed cases count without a word here."""
        return Verdict()


def _listed(value: Any) -> list[Any]:
    """The values of an option that takes one, if it is given, or several."""
    return value if isinstance(value, list) else [value] if value is not None else []
