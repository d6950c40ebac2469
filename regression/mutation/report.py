"""The result: how many mutants the tests of each unit noticed, and which they did not."""

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from regression.mutation.listed import Listed, match
from regression.mutation.records import Record

__all__ = ["LEAST_SHARE", "Score", "print_report", "scores"]

LEAST_SHARE = 0.95
"""Of the mutants that are faults, this share is to be killed."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """The mutants of one unit, or of all.

    Parameters
    ----------
    name : str
    killed : int
        By a test that failed, took too long, or saw the simulation break off.
    equal : int
        Proven to be no fault.
    listed : int
        No fault for a reason that is written down.
    survivors : tuple of Record
        The rest.
    """

    name: str
    killed: int
    equal: int
    listed: int
    survivors: tuple[Record, ...]

    @property
    def mutants(self) -> int:
        """All of them."""
        return self.killed + self.equal + self.listed + len(self.survivors)

    @property
    def share(self) -> float:
        """The share of faults that were noticed; one where there was none."""
        faults = self.killed + len(self.survivors)
        return self.killed / faults if faults else 1.0


def scores(records: Iterable[Record], entries: Iterable[Listed]) -> tuple[list[Score], Score, list[Listed]]:
    """Count.

    Parameters
    ----------
    records : iterable of Record
    entries : iterable of Listed

    Returns
    -------
    units : list of Score
    total : Score
    superfluous : list of Listed
        Entries that stand for no survivor.
    """
    records = list(records)
    excused, superfluous = match(entries, records)
    names = dict.fromkeys(record.unit for record in records)
    units = [_score(name, [record for record in records if record.unit == name], excused) for name in names]
    return units, _score("all", records, excused), superfluous


def print_report(console: Console, units: list[Score], total: Score, superfluous: list[Listed]) -> bool:
    """Print tables of units and of survivors.

    Returns
    -------
    bool
        Whether enough mutants were killed and the list holds nothing superfluous.
    """
    table = Table("unit", title="mutants of the hardware")
    for column in ("mutants", "killed", "proven equal", "listed", "survivors", "killed of faults"):
        table.add_column(column, justify="right")
    for score in (*units, total):
        if score is total:
            table.add_section()
        counts = (score.mutants, score.killed, score.equal, score.listed, len(score.survivors))
        table.add_row(score.name, *map(str, counts), f"{score.share:.1%}")
    console.print(table)
    for record in total.survivors:
        console.print(
            f"survived: {record.unit}, {record.source}: {record.what}", markup=False, highlight=False
        )
        console.print(f"    {record.text}", markup=False, highlight=False)
    for entry in superfluous:
        console.print(
            f"listed, but no survivor: {entry.unit}: {entry.what}: {entry.text}",
            markup=False,
            highlight=False,
        )
    if total.share < LEAST_SHARE:
        console.print(f"killed must be at least {LEAST_SHARE:.0%} of the faults, not {total.share:.1%}")
    return total.share >= LEAST_SHARE and not superfluous


def _score(name: str, records: list[Record], excused: list[Record]) -> Score:
    survivors = [record for record in records if record.survived]
    open_ones = tuple(record for record in survivors if record.proof != "equal" and record not in excused)
    equal = sum(record.proof == "equal" for record in survivors)
    return Score(
        name=name,
        killed=len(records) - len(survivors),
        equal=equal,
        listed=len(survivors) - equal - len(open_ones),
        survivors=open_ones,
    )
