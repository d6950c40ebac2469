"""Kinds of campaign for its tests.

``python -m planted_kinds ...`` is ``openwmma campaign ...`` with these kinds.
"""

import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from regression.campaign.kind import Case, Kind, Outcome, Task
from regression.campaign.kinds import KINDS

COUNT = 40


class Squares(Kind):
    """Squares of numbers; one is wrong, and one raises an error."""

    name = "squares"
    unit = "squares"
    options = {"path": ["0.1"]}  # noqa: RUF012

    def tasks(self):
        for number in range(COUNT):
            yield Task(key=f"square {number:02}", arguments={"number": number}, results=1)

    def run(self, task):
        number = task.arguments["number"]
        time.sleep(float(self.configuration["path"][0]))
        if number == 11:
            raise ArithmeticError("eleven")
        failure = "wrong" if number == 7 else ""
        case = Case(name=task.key, failure=failure, command=self.command(task))
        return Outcome(cases=(case,), results=1, data=self.seed + number**2)


class Deadly(Squares):
    """One task kills its worker; each attempt leaves a line in a file."""

    name = "deadly"

    def run(self, task):
        if task.arguments["number"] == 3:
            with Path(self.configuration["path"][1]).open("a") as log:
                print(os.getpid(), file=log)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(task)


class Starting(Squares):
    """Each task waits for a process that it starts, whose number is a line in a file."""

    name = "starting"

    def run(self, task):
        command = [sys.executable, "-c", "import time; time.sleep(60)"]
        # The client's pipes would stay open with a process that is left.
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            with Path(self.configuration["path"][1]).open("a") as log:
                print(process.pid, file=log)
        return super().run(task)


PLANTED = {
    "squares": ("planted_kinds:Squares", "squares"),
    "deadly": ("planted_kinds:Deadly", "squares and a death"),
    "starting": ("planted_kinds:Starting", "squares and processes"),
    "broken-fuzz": ("planted_fuzz:BrokenFuzz", "inputs that meet a defect"),
}


@pytest.fixture
def planted(monkeypatch):
    """These kinds are kinds of this process."""
    for name, entry in PLANTED.items():
        monkeypatch.setitem(KINDS, name, entry)


def main():
    """Run `openwmma campaign`, which is no part of a worker."""
    KINDS.update(PLANTED)
    return import_module("regression.campaign.__main__").main()


if __name__ == "__main__":
    sys.exit(main())
