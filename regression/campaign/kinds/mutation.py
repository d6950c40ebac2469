"""Faults put into the hardware one by one: whether the tests of each unit notice."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import ClassVar

from openwmma.usage_error import UsageError
from regression.campaign.identity import ROOT
from regression.campaign.kind import Case, Configuration, Kind, Outcome, Task, Verdict
from regression.mutation.report import Record, judge, scores
from regression.mutation.trial import try_unit
from regression.mutation.units import units_named


class Mutation(Kind):
    """The mutants of some units; a task is all mutants of one, which have one netlist."""

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
        """One for each unit, those with most mutants first."""
        units = units_named(self.configuration["unit"])
        for unit in sorted(units, key=lambda unit: -unit.mutants):
            yield Task(key=unit.name, arguments={"unit": unit.name})

    def run(self, task: Task) -> Outcome:
        """Try every mutant of a unit, and to prove each survivor no fault."""
        (unit,) = units_named([task.arguments["unit"]])
        count = self.configuration["mutants"] or unit.mutants
        records = try_unit(unit, ROOT / "build" / "mutation", count=count, seed=self.seed)
        return Outcome(
            cases=(Case(name=unit.name),), results=len(records), data=[asdict(record) for record in records]
        )

    def verdict(self, outcomes: Iterable[tuple[Task, Outcome]]) -> Verdict:
        """The share of faults that were noticed, by unit and in all, and every survivor."""
        records = [Record(**record) for _, outcome in outcomes for record in outcome.data or ()]
        return judge(*scores(records))
