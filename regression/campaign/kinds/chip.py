"""Results of instructions by the million: the golden model against an NVIDIA GPU."""

from collections.abc import Iterator
from itertools import count
from typing import ClassVar

from golden.simt.errors import LaunchError
from openwmma.core_settings import require_profile
from openwmma.gpu.certify import RESULTS, compare, instructions
from regression.campaign.kind import Configuration, Kind, Outcome, Task


class Chip(Kind):
    """Every instruction that both have, as `openwmma certify` compares them; each worker needs a GPU."""

    name = "chip"
    options: ClassVar[Configuration] = {"profile": "hopper"}
    amount = 1_000_000_000

    def require(self) -> None:
        """UsageError for a profile that is not there."""
        require_profile(self.configuration["profile"])

    def tasks(self) -> Iterator[Task]:
        """The instructions in turn, without end."""
        for number in count():
            for text in instructions():
                arguments = {"instruction": text, "number": number}
                yield Task(key=f"{text} {number:06}", arguments=arguments, results=RESULTS)

    def run(self, task: Task) -> Outcome:
        """Compare the results of one instruction; one that the GPU does not have gives none."""
        text, number = task.arguments["instruction"], task.arguments["number"]
        try:
            _, found = compare(text, self.seed + number, self.configuration["profile"])
        except LaunchError as error:
            return Outcome(cases=(self.case(task, str(error)),))
        failure = f"{found.wrong} of {found.results} differ: {found.examples[0]}" if found.wrong else ""
        return Outcome(cases=(self.case(task, failure),), results=found.results)
