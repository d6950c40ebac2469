"""Lines, branches and signal bits of the hardware that the testbenches reach."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar, Final

from regression.campaign.identity import ROOT
from regression.campaign.kind import Kind, Verdict
from regression.campaign.kinds.pytest_runs import run_tests
from regression.campaign.task import Configuration, Outcome, Task
from regression.code_coverage.counts import Point, read_counts
from regression.code_coverage.exclusions import apply_exclusions, read_exclusions
from regression.code_coverage.places import Place
from regression.code_coverage.report import CoverageReport

__all__ = ["CodeCoverage"]

_HARDWARE: Final = ("hdl/",)
_PLUGIN: Final = "regression.code_coverage.plugin"
_EXCLUSIONS: Final = ROOT / "regression" / "code_coverage" / "exclusions.toml"
_MARKS: Final = "(not long or coverage) and not icarus"


class CodeCoverage(Kind):
    """Testbenches with Verilator's counters; a task is one file of them."""

    name = "coverage"
    what = "testbenches: lines, branches and signal bits of the hardware that they reach"
    unit = "tests"
    options: ClassVar[Configuration] = {"path": ["cocotb_tests"]}

    def tasks(self) -> Iterator[Task]:
        """One for each file of testbenches."""
        for path in self.configuration["path"]:
            place = ROOT / path
            for file in sorted(place.rglob("test_*.py")) if place.is_dir() else [place]:
                name = str(file.relative_to(ROOT))
                yield Task(key=name, arguments={"file": name})

    def run(self, task: Task) -> Outcome:
        """Run the testbenches of a file, and add their counts up."""
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data"
            options = ("-p", _PLUGIN, f"--code-coverage={data}", "-m", _MARKS)
            cases = run_tests([task.arguments["file"]], Path(folder) / "report.xml", *options)
            counts: Counter[Point] = Counter()
            for verilog in sorted(data.glob("*.v")):
                counts.update(read_counts(verilog, verilog.with_suffix(".dat"), ROOT))
        rows = [
            (point.place.file, point.place.line, point.kind, point.name, count)
            for point, count in sorted(counts.items())
            if point.place.file.startswith(_HARDWARE)
        ]
        return Outcome(cases=cases, results=len(cases), data=rows)

    def verdict(self, outcomes: Iterable[tuple[Task, Outcome]]) -> Verdict:
        """Shares by file and in all, less what is excluded with a reason."""
        counts: Counter[Point] = Counter()
        for _, outcome in outcomes:
            counts.update(_counts(outcome.data or ()))
        seen = {point.place.file for point in counts}
        exclusions = read_exclusions(_EXCLUSIONS)
        unseen = [file for file in _hardware_files() if file not in seen]
        if self.configuration["path"] != self.options["path"]:  # only what these testbenches simulate
            exclusions = [item for item in exclusions if any(fnmatchcase(file, item.file) for file in seen)]
            unseen = []
        kept, excluded = apply_exclusions(counts, exclusions, ROOT)
        report = CoverageReport(counts=kept, excluded=excluded)
        holes = [*report.holes(), *(f"{file}: not simulated" for file in unseen)]
        return Verdict(failures=report.failures, holes=holes, tables=report.tables())


def _counts(rows: Iterable[Any]) -> Counter[Point]:
    return Counter({Point(Place(file, line), kind, name): count for file, line, kind, name, count in rows})


def _hardware_files() -> list[str]:
    """The sources of units; sources of layouts and constants have no hardware."""
    return [
        path.relative_to(ROOT).as_posix()
        for folder in _HARDWARE
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "def elaborate(" in path.read_text()
    ]
