"""Faults put into the hardware one by one: whether the tests of each unit notice."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from statistics import NormalDist
from typing import ClassVar, Final

from openwmma.usage_error import UsageError
from regression.campaign.kind import Configuration, Kind, Outcome, Task, Verdict
from regression.identity import ROOT
from regression.mutation.trial import Record, try_unit
from regression.mutation.units import Unit, units_named
from regression.table import Table

TOGETHER: Final = 50
"""So many mutants at most are one task."""

LEAST_SHARE: Final = 0.95
"""Of the mutants that are faults, this share is to be killed."""


class Mutation(Kind):
    """The mutants of some units; a task is some of one unit, and all of a unit have one netlist."""

    name = "mutation"
    unit = "mutants"
    options: ClassVar[Configuration] = {"unit": [], "mutants": None}

    def require(self) -> None:
        """UsageError for a unit that is not there."""
        try:
            units_named(self.configuration["unit"])
        except ValueError as error:
            raise UsageError(f"--unit: {error}") from None

    def tasks(self) -> Iterator[Task]:
        """Those of each unit, the units with most mutants first."""
        for unit in sorted(units_named(self.configuration["unit"]), key=lambda unit: -unit.mutants):
            count = self._count(unit)
            for first in range(1, count + 1, TOGETHER):
                last = min(first + TOGETHER - 1, count)
                key = f"{unit.name}, {first} to {last} of {count}"
                yield Task(key=key, arguments={"unit": unit.name, "first": first, "last": last})

    def run(self, task: Task) -> Outcome:
        """Try mutants of a unit, and to prove each survivor no fault."""
        (unit,) = units_named([task.arguments["unit"]])
        numbers = range(task.arguments["first"], task.arguments["last"] + 1)
        place = ROOT / "build" / "mutation"
        records = try_unit(unit, place, count=self._count(unit), seed=self.seed, numbers=numbers)
        data = [asdict(record) for record in records]
        return Outcome(cases=(self.case(task),), results=len(records), data=data)

    def _count(self, unit: Unit) -> int:
        return int(self.configuration["mutants"] or unit.mutants)

    def verdict(self, outcomes: Iterable[tuple[Task, Outcome]]) -> Verdict:
        """The share of faults that were noticed, by unit and in all, and every survivor."""
        return judge([Record(**record) for _, outcome in outcomes for record in outcome.data or ()])


def judge(records: Sequence[Record]) -> Verdict:
    """Tables of units and of survivors, the share of faults killed, and whether that is enough.

    The interval is Wilson's (Probable inference, JASA 22, 1927): mutants are a random sample of all faults.
    """
    names = dict.fromkeys(record.unit for record in records)
    rows = [_row(name, [record for record in records if record.unit == name]) for name in names]
    header = ("unit", "mutants", "killed", "proven equal", "survivors", "killed of faults")
    tables = [Table(title="mutants of the hardware", header=header, rows=[*rows, _row("all", records)])]
    survivors = [
        (record.unit, record.source, record.what, record.text) for record in records if _is_missed(record)
    ]
    if survivors:
        tables.append(Table(title="survivors", header=("unit", "place", "fault", "source"), rows=survivors))
    killed, faults, share = _share(records)
    low, high = wilson(killed, faults)
    line = f"{killed} of {faults} faults are killed: {share:.1%}, 95 % interval {low:.1%} to {high:.1%}"
    failure = f"killed must be at least {LEAST_SHARE:.0%} of the faults, not {share:.1%}"
    return Verdict(failures=[failure] if share < LEAST_SHARE else [], lines=[line], tables=tables)


def _is_missed(record: Record) -> bool:
    return record.survived and record.proof != "equal"


def _share(records: Sequence[Record]) -> tuple[int, int, float]:
    """The faults that were killed, all faults, and the share; one where there was none."""
    killed = sum(not record.survived for record in records)
    faults = killed + sum(map(_is_missed, records))
    return killed, faults, killed / faults if faults else 1.0


def _row(name: str, records: Sequence[Record]) -> tuple[str, ...]:
    killed, faults, share = _share(records)
    counts = len(records), killed, len(records) - faults, faults - killed
    return name, *map(str, counts), f"{share:.1%}"


def wilson(hits: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share of which a sample is known; everything where the sample is empty."""
    if not count:
        return 0.0, 1.0
    share, spread = hits / count, NormalDist().inv_cdf(0.975) ** 2 / count
    centre = share + spread / 2
    reach = math.sqrt(spread * share * (1 - share) + spread**2 / 4)
    return max(0.0, (centre - reach) / (1 + spread)), min(1.0, (centre + reach) / (1 + spread))
