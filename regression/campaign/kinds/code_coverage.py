"""Lines, branches and signal bits of the hardware that the testbenches reach."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final

from openwmma.usage_error import UsageError
from regression.campaign.identity import ROOT
from regression.campaign.kind import Configuration, Kind, Outcome, Task, Verdict
from regression.campaign.kinds.tests import run_tests
from regression.code_coverage.changes import Change, NoRevision, change_since, touched
from regression.code_coverage.counts import Place, Point, read_counts
from regression.code_coverage.report import CoverageReport
from regression.code_coverage.requirements import (
    BENCHES,
    EXCLUSIONS,
    REQUIRED,
    Benches,
    apply_exclusions,
    read_benches,
    read_exclusions,
)

_HARDWARE: Final = "hdl/"
_PLUGIN: Final = "regression.code_coverage.sources"
_MARKS: Final = "(not long or coverage) and not icarus"


class CodeCoverage(Kind):
    """Testbenches with Verilator's counters; a task is one file of them.

    A source is judged by its own testbenches, when all of them have run.
    """

    name = "coverage"
    unit = "tests"
    options: ClassVar[Configuration] = {"path": ["cocotb_tests"], "changed-since": None}

    def require(self) -> None:
        """UsageError for a revision that is not there, or for one beside paths."""
        if self._change and self.configuration["path"] != self.options["path"]:
            raise UsageError("--changed-since: it chooses the testbenches, so no --path can be given")

    @cached_property
    def _benches(self) -> dict[str, Benches]:
        return read_benches((ROOT / BENCHES).read_text())

    @cached_property
    def _change(self) -> Change | None:
        revision = self.configuration["changed-since"]
        try:
            return change_since(ROOT, revision) if revision else None
        except NoRevision as error:
            raise UsageError(f"--changed-since: {error}") from None

    @cached_property
    def _touched(self) -> list[str]:
        return touched(self._change, self._benches) if self._change else []

    def tasks(self) -> Iterator[Task]:
        """A task for each file of testbenches. Of a change, sources with few testbenches come first."""
        names: dict[str, None] = {}
        if self._change:
            known = [self._benches[source].files for source in self._touched if source in self._benches]
            for benches in sorted(known, key=len):
                names |= dict.fromkeys(sorted(benches))
        else:
            for path in self.configuration["path"]:
                place = ROOT / path
                files = sorted(place.rglob("test_*.py")) if place.is_dir() else [place]
                names |= dict.fromkeys(file.relative_to(ROOT).as_posix() for file in files)
        for name in names:
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
        """Shares of each source whose testbenches have all run, less what is excluded with a reason.

        Where every testbench has run, what they reach of all sources is judged too.
        """
        ran = {task.arguments["file"]: _counts(outcome.data or ()) for task, outcome in outcomes}
        judged = {
            source: its for source, its in self._benches.items() if its.files and its.files <= ran.keys()
        }
        seen = {point.place.file for counts in ran.values() for point in counts}
        nameless = sorted({*seen, *self._touched} - {*self._benches})
        report = _report(ran, judged)
        failures = [
            *(f"{source}: {BENCHES} names no testbench" for source in nameless),
            *(f"{source}: its testbenches do not simulate it" for source in sorted({*judged} - seen)),
            *report.failures,
        ]
        if self.configuration == self.options:
            every = Benches(files=frozenset(ran), required=REQUIRED)
            failures += _report(ran, dict.fromkeys(seen, every)).failures_in_all
        lines = list(self._about_change(self._change, judged)) if self._change else []
        return Verdict(failures=failures, lines=lines, holes=report.holes(), tables=report.tables())

    def _about_change(self, change: Change, judged: Iterable[str]) -> Iterator[str]:
        """What a change touches, and what of it there was no time for."""
        revision = self.configuration["changed-since"]
        if change.remark:
            yield change.remark
        if not self._touched:
            yield f"no hardware, testbench or exclusion has changed since {revision}"
            return
        yield f"touched since {revision}: {', '.join(self._touched)}"
        left = [source for source in self._touched if source in self._benches and source not in judged]
        if left:
            yield f"not judged here, only by `make coverage`: {', '.join(left)}"


def _report(ran: Mapping[str, Counter[Point]], benches: Mapping[str, Benches]) -> CoverageReport:
    """What its testbenches reach of each source."""
    counts: Counter[Point] = Counter()
    for bench, found in ran.items():
        own = {source for source, its in benches.items() if bench in its.files}
        counts.update({point: count for point, count in found.items() if point.place.file in own})
    exclusions = [
        item
        for item in read_exclusions((ROOT / EXCLUSIONS).read_text())
        if any(fnmatchcase(source, item.file) for source in benches)
    ]
    kept, excluded = apply_exclusions(counts, exclusions, ROOT)
    return CoverageReport(counts=kept, excluded=excluded, benches=benches)


def _counts(rows: Iterable[Any]) -> Counter[Point]:
    return Counter({Point(Place(file, line), kind, name): count for file, line, kind, name, count in rows})
