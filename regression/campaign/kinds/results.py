"""Results of chosen instructions by the million: the Verilated core against the golden model."""

from collections.abc import Iterator
from itertools import count
from typing import ClassVar, Final

from hdl.config import PRESETS
from regression.campaign.kind import Configuration, Kind, Outcome, Task
from regression.mma_sync.campaign import FAMILIES, Difference, compare, core_of

_RESULTS: Final = 200_000
"""Of a task."""


class Results(Kind):
    """Random tiles of each family of mma.sync, every bit of their results compared."""

    name = "results"
    options: ClassVar[Configuration] = {"preset": "standard", "family": list(FAMILIES)}
    known: ClassVar = {"preset": PRESETS, "family": FAMILIES}
    amount = 1_000_000

    def tasks(self) -> Iterator[Task]:
        """The families in turn, without end."""
        for number in count():
            for family in self.configuration["family"]:
                yield Task(
                    key=f"{family} {number:06}",
                    arguments={"family": family, "number": number},
                    results=_RESULTS,
                )

    def run(self, task: Task) -> Outcome:
        """Compare the results of one family, and stop at the first that differs."""
        family, number = task.arguments["family"], task.arguments["number"]
        config = core_of(family, self.configuration["preset"])
        done = 0
        for found in compare(family, _RESULTS, config=config, seed=(self.seed, number)):
            if isinstance(found, Difference):
                return Outcome(cases=(self.case(task, str(found)),), results=done)
            done += found
        return Outcome(cases=(self.case(task),), results=done)
