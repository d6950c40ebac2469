"""What was reached and what was not: tables by file, and every hole."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Final

from regression.campaign.kind import Table
from regression.code_coverage.counts import KINDS, Kind, Point
from regression.code_coverage.requirements import REQUIRED, Benches, Exclusion

_BIT: Final = re.compile(r"^(?P<signal>.*)\[(?P<bit>\d+)\] (?P<edge>.*)$")


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
        found = []
        for kind, required in REQUIRED.items():
            reached, count = _reached(self.counts, kind)
            if reached < required * count:
                found.append(
                    f"{kind} coverage in all must be at least {required:.1%}, not {reached / count:.2%}"
                )
        return found

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
            match = _BIT.match(point.name) if point.kind == "toggle" else None
            signal, edge = (match["signal"], match["edge"]) if match else (point.name, "")
            key = (point.place.file, point.place.line, point.kind, signal, edge)
            bits[key] += [int(match["bit"])] if match else []
        return [
            f"{file}:{line}: {kind} {signal}{_ranges(places)} {edge}".rstrip()
            for (file, line, kind, signal, edge), places in bits.items()
        ]

    @cached_property
    def _by_file(self) -> dict[str, Counter[Point]]:
        found: dict[str, Counter[Point]] = defaultdict(Counter)
        for point, count in sorted(self.counts.items()):
            found[point.place.file][point] = count
        return found


def _cells(points: Counter[Point]) -> list[str]:
    cells = []
    for kind in KINDS:
        reached, count = _reached(points, kind)
        cells += [f"{reached} of {count}", f"{reached / count:.1%}"] if count else ["", ""]
    return cells


def _reached(points: Counter[Point], kind: Kind) -> tuple[int, int]:
    hits = [count > 0 for point, count in points.items() if point.kind == kind]
    return sum(hits), len(hits)


def _ranges(bits: list[int]) -> str:
    """Bits as in ``[0, 4 to 7]``; nothing without any."""
    numbered = groupby(enumerate(sorted(bits)), lambda item: item[1] - item[0])
    runs = [[bit for _, bit in run] for _, run in numbered]
    told = [f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"[{', '.join(told)}]" if told else ""
