"""Kinds of campaign for its tests; `--preload planted_kinds` brings them to a worker.

``python -m planted_kinds ...`` is ``openwmma campaign ...`` with these kinds.
"""

import os
import signal
import sys
import time
from pathlib import Path

import planted

from regression.campaign.__main__ import main
from regression.campaign.kind import Kind
from regression.campaign.kinds import KINDS, fuzzing
from regression.campaign.task import Case, Outcome, Task

COUNT = 40


class Squares(Kind):
    """Squares of numbers; one is wrong, and one raises an error."""

    name = "squares"
    what = "squares"
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


class BrokenFuzz(fuzzing.Fuzz):
    """Inputs meet a defect."""

    name = "broken-fuzz"
    inputs = 20
    prepare = staticmethod(planted.raises)


for _kind in (Squares, Deadly, BrokenFuzz):
    KINDS[_kind.name] = _kind

if __name__ == "__main__":
    sys.exit(main())
