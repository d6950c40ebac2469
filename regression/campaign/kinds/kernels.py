"""Launch files, repeated and compared in every byte."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

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
        """UsageError without a launch file, or for one that is not there."""
        if not self.configuration["launch"]:
            raise UsageError("--launch: expected a launch file at least")
        for name in self.configuration["launch"]:
            if not Path(name).is_file():
                raise UsageError(f"--launch: expected a launch file, but there is no file {name}")

    def tasks(self) -> Iterator[Task]:
        """One for each launch."""
        for name in self.configuration["launch"]:
            content = json.loads(Path(name).read_text())
            for launch in content if isinstance(content, list) else [content]:
                yield Task(
                    key=f"{name} {launch['case']}",
                    arguments={"file": str(Path(name).absolute()), "case": launch["case"]},
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
