"""What was reached and what was not: a table by file, and a page that names every hole."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.table import Table

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
    unseen : sequence of str
        Files with hardware of which no run has had a point.
    """

    counts: Counter[Point]
    excluded: Counter[Exclusion]
    unseen: Sequence[str] = ()

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

    def table(self) -> Table:
        """The share of each kind that was reached, by file."""
        table = Table("file", title="code coverage")
        for kind in KINDS:
            table.add_column(kind, justify="right")
        for name, cells in self._rows():
            table.add_row(name, *cells[1::2])
        return table

    def page(self) -> str:
        """The same in Markdown, with all holes and all exclusions."""
        header = " | ".join(f"{kind} | share" for kind in KINDS)
        lines = ["# Code coverage", "", f"| file | {header} |", "|---" * (1 + 2 * len(KINDS)) + "|"]
        lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in self._rows()]
        lines += ["", "## Not reached", ""]
        lines += self.holes() or ["Nothing."]
        lines += ["", "## Not simulated", ""]
        lines += [f"- {file}" for file in self.unseen] or ["Nothing."]
        lines += [
            "",
            "## Excluded",
            "",
            "| file | kind | name | statement | points | reason |",
            "|---" * 6 + "|",
        ]
        lines += [
            f"| {item.file} | {item.kind} | `{item.name}` | `{item.statement}` | {count} | {item.reason} |"
            for item, count in self.excluded.items()
        ]
        return "\n".join(lines) + "\n"

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
            f"- {file}:{line}: {kind} {signal}{_ranges(places)} {edge}".rstrip()
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
