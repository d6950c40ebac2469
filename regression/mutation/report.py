"""What is known of each mutant, and the result: which of them the tests noticed."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from regression.campaign.kind import Table, Verdict

LEAST_SHARE = 0.95
"""Of the mutants that are faults, this share is to be killed."""

_QUANTILE: Final = 1.959964
"""Of the normal distribution, at 97.5 %."""


Proof = Literal["", "equal", "none"]


@dataclass(frozen=True, kw_only=True)
class Record:
    """One mutant and its outcome."""

    unit: str
    number: int
    """Within the unit, from 1."""
    what: str
    """The fault."""
    source: str
    text: str
    """The line at `source`, which is ``file:line``."""
    command: str
    """How yosys makes the mutant."""
    how: str
    """As `regression.mutation.trial.run_mutants` says it."""
    killed_by: str
    """The test that failed, or nothing."""
    proof: Proof = ""
    """Of a survivor: ``equal`` if it is proven to be no fault, ``none`` if that was tried in vain, empty
    before."""

    @property
    def survived(self) -> bool:
        """Whether every test passed."""
        return self.how == "survived"


@dataclass(frozen=True, kw_only=True)
class Score:
    """The mutants of one unit, or of all."""

    name: str
    killed: int
    """By a test that failed, took too long, or saw the simulation break off."""
    equal: int
    """Proven to be no fault."""
    survivors: tuple[Record, ...]
    """The rest."""

    @property
    def mutants(self) -> int:
        """All of them."""
        return self.killed + self.equal + len(self.survivors)

    @property
    def share(self) -> float:
        """The share of faults that were noticed; one where there was none."""
        faults = self.killed + len(self.survivors)
        return self.killed / faults if faults else 1.0


def scores(records: Iterable[Record]) -> tuple[list[Score], Score]:
    """Count by unit, and in all."""
    records = list(records)
    names = dict.fromkeys(record.unit for record in records)
    units = [_score(name, [record for record in records if record.unit == name]) for name in names]
    return units, _score("all", records)


def judge(units: Sequence[Score], total: Score) -> Verdict:
    """Tables of units and of survivors, the share of faults killed, and whether that is enough.

    The interval is Wilson's (Probable inference, JASA 22, 1927): mutants are a random sample of all faults.
    """
    rows = [
        (
            score.name,
            *map(str, (score.mutants, score.killed, score.equal, len(score.survivors))),
            f"{score.share:.1%}",
        )
        for score in (*units, total)
    ]
    header = ("unit", "mutants", "killed", "proven equal", "survivors", "killed of faults")
    survivors = [(record.unit, record.source, record.what, record.text) for record in total.survivors]
    tables = [Table(title="mutants of the hardware", header=header, rows=rows)]
    if survivors:
        tables.append(Table(title="survivors", header=("unit", "place", "fault", "source"), rows=survivors))
    faults = total.killed + len(total.survivors)
    low, high = wilson(total.killed, faults)
    interval = f"95 % interval {low:.1%} to {high:.1%}"
    share = f"{total.killed} of {faults} faults are killed: {total.share:.1%}, {interval}"
    failures = []
    if total.share < LEAST_SHARE:
        failures.append(f"killed must be at least {LEAST_SHARE:.0%} of the faults, not {total.share:.1%}")
    return Verdict(failures=failures, lines=[share], tables=tables)


def wilson(hits: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share of which a sample is known; everything where the sample is empty."""
    if not count:
        return 0.0, 1.0
    share, spread = hits / count, _QUANTILE**2 / count
    centre = share + spread / 2
    reach = math.sqrt(spread * share * (1 - share) + spread**2 / 4)
    return max(0.0, (centre - reach) / (1 + spread)), min(1.0, (centre + reach) / (1 + spread))


def _score(name: str, records: list[Record]) -> Score:
    survivors = [record for record in records if record.survived]
    equal = sum(record.proof == "equal" for record in survivors)
    return Score(
        name=name,
        killed=len(records) - len(survivors),
        equal=equal,
        survivors=tuple(record for record in survivors if record.proof != "equal"),
    )
