"""Lines, branches and signal bits of the hardware that the testbenches reach."""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import ClassVar, Final

from openwmma.usage_error import UsageError
from regression.campaign.kind import Configuration, Kind, Outcome, Task, Verdict
from regression.campaign.kinds.tests import run_tests
from regression.code_coverage.counts import KINDS, Point, PointKind, read_counts
from regression.code_coverage.requirements import (
    BENCHES,
    EXCLUSIONS,
    REQUIRED,
    Benches,
    Change,
    Exclusion,
    NoRevision,
    apply_exclusions,
    change_since,
    read_benches,
    read_exclusions,
    touched,
)
from regression.identity import ROOT
from regression.table import Table

_HARDWARE: Final = "hdl/"
_PLUGIN: Final = "regression.code_coverage.sources"
_MARKS: Final = "(not long or coverage) and not icarus and not cuda"


@dataclass(frozen=True, kw_only=True)
class CoverageReport:
    """Counts without what need not be reached."""

    counts: Counter[Point]
    excluded: Counter[Exclusion]
    """How many points each has left out."""
    benches: Mapping[str, Benches] = field(default_factory=dict)
    """What is required of sources; of others it is `REQUIRED`."""

    @property
    def failures(self) -> list[str]:
        """What is too little, and the exclusions that are needed no more; empty when all is well."""
        shares = []
        for file, points in self._by_file.items():
            needed = self.benches[file].required if file in self.benches else REQUIRED
            for kind in KINDS:
                reached, count = _reached(points, kind)
                share = f"{reached} of {count} ({reached / max(count, 1):.2%})"
                if reached < needed[kind] * count:
                    shares.append(f"{file}: {kind} coverage must be at least {needed[kind]:.1%}, not {share}")
                elif needed[kind] < REQUIRED[kind] and reached >= REQUIRED[kind] * count:
                    shares.append(f"{file}: {kind} coverage needs no lower share, since it is {share}")
        idle = [
            f"an exclusion must exclude something; {item.kind} {item.name} in {item.file} does not"
            for item, count in self.excluded.items()
            if not count
        ]
        return shares + idle

    @property
    def failures_in_all(self) -> list[str]:
        """What is too little in all sources together."""
        return [
            f"{kind} coverage in all must be at least {required:.1%}, not {reached / count:.2%}"
            for kind, required in REQUIRED.items()
            for reached, count in [_reached(self.counts, kind)]
            if reached < required * count
        ]

    def tables(self) -> list[Table]:
        """The share of each kind by file, and what is excluded."""
        header = ("file", *(word for kind in KINDS for word in (kind, "share")))
        shares = Table(
            title="code coverage",
            header=header,
            rows=[(file, *_cells(points)) for file, points in (*self._by_file.items(), ("all", self.counts))],
        )
        rows = [
            (item.file, item.kind, item.name, item.statement, str(count), item.reason)
            for item, count in self.excluded.items()
        ]
        words = ("file", "kind", "name", "statement", "points", "reason")
        return [shares, Table(title="excluded", header=words, rows=rows)]

    def holes(self) -> list[str]:
        """A line for each statement, choice and signal that was not reached, in the order of the sources."""
        missed = sorted(point for point, count in self.counts.items() if not count)
        bits: dict[tuple[str, int, str, str, str], list[int]] = defaultdict(list)
        for point in missed:
            name, edge = point.name.rsplit(" ", 1) if point.kind == "toggle" else (point.name, "")
            signal, has_bits, _ = name.partition("[")
            bits[point.file, point.line, point.kind, signal, edge] += [point.bit] if has_bits else []
        return [
            f"{file}:{line}: {kind} {signal}{_ranges(places)} {edge}".rstrip()
            for (file, line, kind, signal, edge), places in bits.items()
        ]

    @cached_property
    def _by_file(self) -> dict[str, Counter[Point]]:
        found: dict[str, Counter[Point]] = defaultdict(Counter)
        for point, count in sorted(self.counts.items()):
            found[point.file][point] = count
        return found


def _cells(points: Counter[Point]) -> list[str]:
    cells = []
    for kind in KINDS:
        reached, count = _reached(points, kind)
        cells += [f"{reached} of {count}", f"{reached / count:.1%}"] if count else ["", ""]
    return cells


def _reached(points: Counter[Point], kind: PointKind) -> tuple[int, int]:
    hits = [count > 0 for point, count in points.items() if point.kind == kind]
    return sum(hits), len(hits)


def _ranges(bits: list[int]) -> str:
    """Bits as in ``[0, 4 to 7]``; nothing without any."""
    numbered = groupby(enumerate(sorted(bits)), lambda item: item[1] - item[0])
    runs = [[bit for _, bit in run] for _, run in numbered]
    told = [f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"[{', '.join(told)}]" if told else ""


class CodeCoverage(Kind):
    """Testbenches, and tests of whole cores, with Verilator's counters; a task is one file of them.

    A source is judged by its own testbenches, when all of them have run.
    """

    name = "coverage"
    unit = "tests"
    options: ClassVar[Configuration] = {"path": ["cocotb_tests", "tests/sim"], "changed-since": None}

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
        if self._change:
            known = [self._benches[source].files for source in self._touched if source in self._benches]
            names = [name for benches in sorted(known, key=len) for name in sorted(benches)]
        else:
            places = [ROOT / path for path in self.configuration["path"]]
            found = [sorted(place.rglob("test_*.py")) if place.is_dir() else [place] for place in places]
            names = [file.relative_to(ROOT).as_posix() for files in found for file in files]
        for name in dict.fromkeys(names):
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
            (*point, count) for point, count in sorted(counts.items()) if point.file.startswith(_HARDWARE)
        ]
        return Outcome(cases=cases, results=len(cases), data=rows)

    def verdict(self, outcomes: Iterable[tuple[Task, Outcome]]) -> Verdict:
        """Shares of each source whose testbenches have all run, less what is excluded with a reason.

        Where every testbench has run, what they reach of all sources is judged too.
        """
        ran = {
            task.arguments["file"]: Counter({Point(*point): count for *point, count in outcome.data or ()})
            for task, outcome in outcomes
        }
        judged = {
            source: its for source, its in self._benches.items() if its.files and its.files <= ran.keys()
        }
        seen = {point.file for counts in ran.values() for point in counts}
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
        counts.update({point: count for point, count in found.items() if point.file in own})
    exclusions = [
        item
        for item in read_exclusions((ROOT / EXCLUSIONS).read_text())
        if any(fnmatchcase(source, item.file) for source in benches)
    ]
    kept, excluded = apply_exclusions(counts, exclusions, ROOT)
    return CoverageReport(counts=kept, excluded=excluded, benches=benches)
