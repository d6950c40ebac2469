"""Launch files, repeated and compared in every byte."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from openwmma.launch_repeat import read_launches
from openwmma.usage_error import UsageError
from regression.campaign.kind import Case, Configuration, Kind, Outcome, Task
from regression.identity import captured

_TAIL: Final = 4000


class Kernels(Kind):
    """Every launch of some launch files."""

    name = "kernels"
    unit = "launches"
    options: ClassVar[Configuration] = {"launch": [], "on": "golden", "preset": None}

    def require(self) -> None:
        """UsageError without a launch file, LaunchError for one that cannot be read."""
        if not self.configuration["launch"]:
            raise UsageError("--launch: expected at least one launch file")
        for name in self.configuration["launch"]:
            read_launches(name)

    def tasks(self) -> Iterator[Task]:
        """One for each launch."""
        for name in self.configuration["launch"]:
            for launch in read_launches(name):
                yield Task(
                    key=f"{name} {launch.name}",
                    arguments={"file": str(Path(name).absolute()), "case": launch.name},
                    results=1,
                )

    def run(self, task: Task) -> Outcome:
        """Repeat a launch as `openwmma run` does."""
        options = ["run", "--launch", task.arguments["file"], "--case", task.arguments["case"]]
        options += ["--on", self.configuration["on"]]
        options += ["--preset", self.configuration["preset"]] if self.configuration["preset"] else []
        ran = captured(sys.executable, "-m", "openwmma", *options)
        failure = (ran.stdout + ran.stderr)[-_TAIL:] if ran.returncode else ""
        case = Case(name=task.key, failure=failure, command=f"openwmma {' '.join(options)}")
        return Outcome(cases=(case,), results=1)
