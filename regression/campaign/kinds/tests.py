"""The tests of this repository."""

import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import ClassVar, Final

from regression.campaign.kind import Kind
from regression.campaign.kinds.pytest_runs import collect, run_tests
from regression.campaign.task import Configuration, Outcome, Task

_TESTS: Final = 8
"""Of one file, in a task: their process starts once."""


class Tests(Kind):
    """Tests with some marks; a task is a few of one file."""

    name = "tests"
    unit = "tests"
    options: ClassVar[Configuration] = {
        "marks": "not icarus and not cuda and not gpu and not browser and not soc",
        "path": [],
    }

    def tasks(self) -> Iterator[Task]:
        """The tests of each file, a few a task."""
        found = collect(self.configuration["marks"], self.configuration["path"])
        for file, tests in groupby(found, lambda test: test.partition("::")[0]):
            chosen = list(tests)
            for first in range(0, len(chosen), _TESTS):
                some = chosen[first : first + _TESTS]
                yield Task(key=f"{file} {first:04}", arguments={"tests": some}, results=len(some))

    def run(self, task: Task) -> Outcome:
        """Run the tests of a task in one process."""
        with tempfile.TemporaryDirectory() as folder:
            cases = run_tests(task.arguments["tests"], Path(folder) / "report.xml")
        return Outcome(cases=cases, results=len(cases))
