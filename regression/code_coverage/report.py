"""What was reached and what was not: tables by file, and every hole."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from regression.campaign.kind import Table
from regression.code_coverage.counts import KINDS, Kind, Point
from regression.code_coverage.exclusions import Exclusion

__all__ = ["REQUIRED", "CoverageReport"]

REQUIRED: Final[dict[Kind, float]] = {"line": 1.0, "branch": 1.0, "toggle": 0.95}
"""The share of each kind that must be reached."""

_BIT: Final = re.compile(r"^(?P<signal>.*)\[(?P<bit>\d+)\] (?P<edge>.*)$")


@dataclass(frozen=True, kw_only=True)
class CoverageReport:
    """Counts without what need not be reached.

    Parameters
    ----------
    counts : Counter of Point
    excluded : Counter of Exclusion
        How many points each has left out.
    """

    counts: Counter[Point]
    excluded: Counter[Exclusion]

    def share(self, kind: Kind) -> float:
        """The share of a kind that was reached; 1 of nothing."""
        reached, count = _reached((point, hits) for point, hits in self.counts.items() if point.kind == kind)
        return reached / count if count else 1.0

    @property
    def failures(self) -> list[str]:
        """What is too little, and the exclusions that are needed no more; empty when all is well."""
        short = [
            f"{kind} coverage must be at least {required:.0%}, not {self.share(kind):.2%}"
            for kind, required in REQUIRED.items()
            if self.share(kind) < required
        ]
        idle = [
            f"an exclusion must exclude something; {item.kind} {item.name} in {item.file} does not"
            for item, count in self.excluded.items()
            if not count
        ]
        return short + idle

    def tables(self) -> list[Table]:
        """The share of each kind by file, and what is excluded."""
        header = ("file", *(word for kind in KINDS for word in (kind, "share")))
        shares = Table(
            title="code coverage", header=header, rows=[(name, *cells) for name, cells in self._rows()]
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

    def _rows(self) -> list[tuple[str, list[str]]]:
        by_file: dict[str, list[tuple[Point, int]]] = defaultdict(list)
        for point, count in sorted(self.counts.items()):
            by_file[point.place.file].append((point, count))
        return [
            *((file, _cells(items)) for file, items in by_file.items()),
            ("all", _cells(list(self.counts.items()))),
        ]


def _cells(items: list[tuple[Point, int]]) -> list[str]:
    cells = []
    for kind in KINDS:
        reached, count = _reached((point, hits) for point, hits in items if point.kind == kind)
        cells += [f"{reached} of {count}", f"{reached / count:.1%}"] if count else ["", ""]
    return cells


def _reached(items: Iterable[tuple[Point, int]]) -> tuple[int, int]:
    hits = [count > 0 for _, count in items]
    return sum(hits), len(hits)


def _ranges(bits: list[int]) -> str:
    """Bits as in ``[0, 4 to 7]``; nothing without any."""
    if not bits:
        return ""
    runs: list[list[int]] = []
    for bit in sorted(bits):
        if runs and runs[-1][1] == bit - 1:
            runs[-1][1] = bit
        else:
            runs.append([bit, bit])
    return f"[{', '.join(f'{first}' if first == last else f'{first} to {last}' for first, last in runs)}]"
