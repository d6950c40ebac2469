"""What need not be reached, each with a reason."""

import tomllib
from collections import Counter
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

from regression.code_coverage.counts import KINDS, Point

__all__ = ["EXCLUSIONS", "Exclusion", "ExclusionError", "apply_exclusions", "read_exclusions"]

EXCLUSIONS: Final = "regression/code_coverage/exclusions.toml"
"""From the root of the repository."""


class ExclusionError(ValueError):
    """An exclusion that is malformed, or that excludes nothing."""


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """Points that need not be reached.

    Parameters
    ----------
    file : str
        Pattern of source files.
    kind : str
        Of the points.
    reason : str
    name : str
        Pattern of their names, as in ``address[6?] *``.
    statement : str
        Pattern of the source line, without the blanks around it. Unlike its number it stays when the file is
        changed elsewhere.
    bits : (int, int) or None
        The first and the last of the bits of a signal; None for all.
    every : int or None
        The bits are of each place of so many: of bits 8 to 15 of every 16 also 24 to 31, and so on.

    Raises
    ------
    ExclusionError
        For an unknown kind, an empty reason, or bits beyond their place.
    """

    file: str
    kind: str
    reason: str
    name: str = "*"
    statement: str = "*"
    bits: tuple[int, int] | None = None
    every: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ExclusionError(f"kind of an exclusion must be one of {', '.join(KINDS)}, not {self.kind}")
        if not self.reason.strip():
            raise ExclusionError(
                f"an exclusion must have a reason; {self.name} in {self.file} has an empty one"
            )
        if self.every is not None and (self.bits is None or self.bits[1] >= self.every):
            raise ExclusionError(f"bits of every {self.every} must lie among these, not {self.bits}")

    def matches(self, point: Point, statement: str) -> bool:
        """Whether a point is one of those; `statement` is its source line."""
        bit = point.bit if self.every is None else point.bit % self.every
        return (
            point.kind == self.kind
            and _matches(point.place.file, self.file)
            and _matches(point.name, self.name)
            and _matches(statement, self.statement)
            and (self.bits is None or self.bits[0] <= bit <= self.bits[1])
        )


def read_exclusions(text: str) -> list[Exclusion]:
    """Read the text of `EXCLUSIONS`, each a table ``[[exclusion]]``.

    Raises
    ------
    ExclusionError
        For a table with keys that are missing or unknown.
    """
    known = {field.name for field in fields(Exclusion)}
    exclusions = []
    entries: list[dict[str, Any]] = tomllib.loads(text).get("exclusion", [])
    for entry in entries:
        if unknown := set(entry) - known:
            raise ExclusionError(f"an exclusion must have keys among {known}, not {unknown}")
        try:
            exclusions.append(Exclusion(**{**entry, "bits": _bits(entry)}))
        except TypeError as error:
            raise ExclusionError(f"{entry}: {error}") from error
    return exclusions


def apply_exclusions(
    counts: Counter[Point], exclusions: list[Exclusion], folder: Path
) -> tuple[Counter[Point], Counter[Exclusion]]:
    """Leave out the points that need not be reached.

    Parameters
    ----------
    counts : Counter of Point
    exclusions : list of Exclusion
    folder : Path
        Of the project, for the source lines.

    Returns
    -------
    kept : Counter of Point
    excluded : Counter of Exclusion
        How many points that were not reached each has left out; 0 for those that are needed no more.
    """

    @cache
    def source(file: str) -> list[str]:
        return (folder / file).read_text().splitlines()

    kept: Counter[Point] = Counter()
    excluded: Counter[Exclusion] = Counter(dict.fromkeys(exclusions, 0))
    for point, count in counts.items():
        statement = source(point.place.file)[point.place.line - 1].strip()
        match = next((item for item in exclusions if item.matches(point, statement)), None)
        if match is None:
            kept[point] = count
        else:
            excluded[match] += not count
    return kept, excluded


def _bits(entry: dict[str, Any]) -> tuple[int, int] | None:
    match entry.get("bits"):
        case None:
            return None
        case [int(first), int(last)] if first <= last:
            return first, last
        case bits:
            raise ExclusionError(f"bits of an exclusion must be the first and the last, not {bits}")


def _matches(text: str, pattern: str) -> bool:
    # Brackets are of bits and lists, and no sets of characters.
    return fnmatchcase(text, pattern.replace("[", "[[]"))
