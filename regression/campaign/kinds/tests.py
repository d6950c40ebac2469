"""The tests of this repository, in processes of their own."""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from subprocess import CompletedProcess
from typing import ClassVar, Final

from junitparser import JUnitXml, TestCase, TestSuite

from regression.campaign.kind import Case, Configuration, Kind, Outcome, Task
from regression.identity import ROOT, captured

_TAIL: Final = 6000
_NO_TESTS: Final = 5

_TESTS: Final = 8
"""Of one file, in a task: their process starts once."""


class Tests(Kind):
    """Tests with some marks; a task is a few of one file."""

    name = "tests"
    unit = "tests"
    options: ClassVar[Configuration] = {
        "marks": "not icarus and not cuda and not gpu and not browser and not soc and not mmasim",
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


class PytestError(RuntimeError):
    """pytest itself failed."""


def collect(marks: str, paths: Sequence[str]) -> list[str]:
    """The node ids of the tests with some marks, in pytest's order; PytestError if a file fails to import."""
    asked = _pytest("--collect-only", "-q", "-m", marks, *paths)
    if asked.returncode not in (0, _NO_TESTS):
        raise PytestError(asked.stdout[-_TAIL:])
    return [line for line in asked.stdout.splitlines() if "::" in line]


def run_tests(tests: Sequence[str], report: Path, *options: str) -> tuple[Case, ...]:
    """Run tests, which are files or node ids; a case for each that was not skipped.

    `report` takes pytest's JUnit XML. PytestError if pytest ends without it.
    """
    ran = _pytest("-q", "-o", "junit_family=xunit1", f"--junitxml={report}", *options, *tests)
    if ran.returncode not in (0, 1, _NO_TESTS) or not report.exists():
        raise PytestError(f"pytest ended with {ran.returncode}: {(ran.stdout + ran.stderr)[-_TAIL:]}")
    found = JUnitXml.fromfile(str(report))
    suites = [found] if isinstance(found, TestSuite) else found
    return tuple(_case(item) for suite in suites for item in suite if not item.is_skipped)


def _case(item: TestCase) -> Case:
    file = item.classname.replace(".", "/")
    name = f"{file}.py::{item.name}"
    failure = "\n".join((result.text or result.message or "")[-_TAIL:] for result in item.result)
    return Case(name=name, failure=failure, command=f"python -m pytest '{name}'" if failure else "")


def _pytest(*options: str) -> CompletedProcess[str]:
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    return captured(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, PYTHONPATH=paths)
