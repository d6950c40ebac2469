"""What must be reached of each source by which testbenches, what need not be, and what a change touches."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

from regression.code_coverage.counts import KINDS, Point, PointKind
from regression.identity import captured

BENCHES: Final = "regression/code_coverage/benches.toml"
"""From the root of the repository."""

REQUIRED: Final[Mapping[PointKind, float]] = {"line": 1.0, "branch": 1.0, "toggle": 0.99}
"""The share of each kind that must be reached in each source."""


class RequirementError(ValueError):
    """A row or an exclusion that is malformed."""


@dataclass(frozen=True, kw_only=True)
class Benches:
    """The testbenches of a source."""

    files: frozenset[str]
    """From the root of the repository."""
    required: Mapping[PointKind, float]
    """Shares of each kind: `REQUIRED`, or less for those that only other testbenches reach."""


def read_benches(text: str) -> dict[str, Benches]:
    """Read the text of `BENCHES`, by sources.

    RequirementError for a lower share without a reason, or a share that is not lower.
    """
    return {f"hdl/{source}": _benches(source, row) for source, row in tomllib.loads(text).items()}


def _benches(source: str, row: list[str] | dict[str, Any]) -> Benches:
    if isinstance(row, list):
        row = {"benches": row}
    lower: dict[PointKind, float] = {kind: row[kind] for kind in KINDS if kind in row}
    if unknown := set(row) - {"benches", "reason", *KINDS}:
        raise RequirementError(f"{source}: expected benches, {', '.join(KINDS)} and reason, not {unknown}")
    if bool(lower) != bool(row.get("reason", "").strip()):
        raise RequirementError(f"{source}: a lower share must have a reason, and a reason a lower share")
    if any(share >= REQUIRED[kind] for kind, share in lower.items()):
        raise RequirementError(f"{source}: shares must be lower than {dict(REQUIRED)}, not {lower}")
    files = frozenset(f"cocotb_tests/{bench}" for bench in row["benches"])
    return Benches(files=files, required={**REQUIRED, **lower})


EXCLUSIONS: Final = "regression/code_coverage/exclusions.toml"
"""From the root of the repository."""


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """Points that need not be reached; RequirementError for an unknown kind, no reason, or bits too high."""

    file: str
    """Pattern of source files."""
    kind: str
    """Of the points."""
    reason: str
    name: str = "*"
    """Pattern of their names, as in ``address[6?] *``."""
    statement: str = "*"
    """Pattern of the source line, without the blanks around it. Unlike its number it stays when the file is
    changed elsewhere."""
    bits: tuple[int, int] | None = None
    """The first and the last of the bits of a signal; None for all."""
    every: int | None = None
    """The bits are of each place of so many: of bits 8 to 15 of every 16 also 24 to 31, and so on."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise RequirementError(f"kind of an exclusion must be one of {', '.join(KINDS)}, not {self.kind}")
        if not self.reason.strip():
            raise RequirementError(
                f"an exclusion must have a reason; {self.name} in {self.file} has an empty one"
            )
        if self.every is not None and (self.bits is None or self.bits[1] >= self.every):
            raise RequirementError(f"bits of every {self.every} must lie among these, not {self.bits}")

    def matches(self, point: Point, statement: str) -> bool:
        """Whether a point is one of those; `statement` is its source line."""
        bit = point.bit if self.every is None else point.bit % self.every
        return (
            point.kind == self.kind
            and _matches(point.file, self.file)
            and _matches(point.name, self.name)
            and _matches(statement, self.statement)
            and (self.bits is None or self.bits[0] <= bit <= self.bits[1])
        )


def read_exclusions(text: str) -> list[Exclusion]:
    """Read the text of `EXCLUSIONS`, each a table ``[[exclusion]]``.

    RequirementError for a table with keys that are missing or unknown.
    """
    known = {field.name for field in fields(Exclusion)}
    exclusions = []
    entries: list[dict[str, Any]] = tomllib.loads(text).get("exclusion", [])
    for entry in entries:
        if unknown := set(entry) - known:
            raise RequirementError(f"an exclusion must have keys among {known}, not {unknown}")
        try:
            exclusions.append(Exclusion(**{**entry, "bits": _bits(entry)}))
        except TypeError as error:
            raise RequirementError(f"{entry}: {error}") from error
    return exclusions


def apply_exclusions(
    counts: Counter[Point], exclusions: list[Exclusion], folder: Path
) -> tuple[Counter[Point], Counter[Exclusion]]:
    """Leave out the points that need not be reached; the others, and how many each exclusion has left out.

    Only points that were not reached count: 0 stands for an exclusion that is needed no more. `folder` is the
    project's, for the source lines.
    """

    @cache
    def source(file: str) -> list[str]:
        return (folder / file).read_text().splitlines()

    kept: Counter[Point] = Counter()
    excluded: Counter[Exclusion] = Counter(dict.fromkeys(exclusions, 0))
    for point, count in counts.items():
        statement = source(point.file)[point.line - 1].strip()
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
            raise RequirementError(f"bits of an exclusion must be the first and the last, not {bits}")


def _matches(text: str, pattern: str) -> bool:
    # Brackets are of bits and lists, and no sets of characters.
    return fnmatchcase(text, pattern.replace("[", "[[]"))


class NoRevision(ValueError):
    """A revision that a whole clone has not."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """The working tree compared with a commit."""

    folder: Path
    """Of the repository."""
    base: str
    """The commit; empty where there is none."""
    files: tuple[str, ...]
    """Changed, new and deleted ones, by paths from the root."""
    remark: str = ""
    """A sentence, if something else was compared than was asked for."""

    def texts(self, file: str) -> tuple[str, str]:
        """A file's text in the commit and now; nothing where it is not."""
        before = _git(self.folder, "show", f"{self.base}:{file}") or ""
        path = self.folder / file
        return before, path.read_text() if path.exists() else ""


def change_since(folder: Path, revision: str) -> Change:
    """What the working tree has changed since its history left a revision; NoRevision if there is none.

    A clone that has no such revision because it is shallow is compared with its last commit.
    """
    base = _git(folder, "merge-base", revision, "HEAD")
    remark = ""
    if base is None:
        commits = _git(folder, "rev-list", "--count", "HEAD")
        if commits is None:
            return Change(
                folder=folder, base="", files=(), remark="there is no git repository, so no change is known"
            )
        if commits != "1" and _git(folder, "rev-parse", "--is-shallow-repository") != "true":
            raise NoRevision(f"expected a revision of this repository, not {revision}")
        base = "HEAD"
        remark = (
            f"this clone is shallow, without {revision}: only changes that are not committed count; "
            "`git fetch --unshallow` completes it"
        )
    changed = _git(folder, "diff", "--name-only", "--no-renames", base) or ""
    new = _git(folder, "ls-files", "--others", "--exclude-standard") or ""
    return Change(folder=folder, base=base, files=(*changed.splitlines(), *new.splitlines()), remark=remark)


def touched(change: Change, benches: Mapping[str, Benches]) -> list[str]:
    """The sources that a change touches: themselves, their testbenches, or their rows in this folder's lists.

    A module that testbenches share stands for those in its folder that import it.
    """
    files = [file for file in change.files if (change.folder / file).exists()]
    found = {
        file
        for file in files
        if file in benches or (file.startswith("hdl/") and has_hardware(change.folder / file))
    }
    changed = {user for file in files for user in _users(file, change.folder)}
    found |= {source for source, its in benches.items() if its.files & changed}
    if BENCHES in files:
        before, now = (read_benches(text) for text in change.texts(BENCHES))
        found |= {source for source, its in now.items() if its != before.get(source)}
    if EXCLUSIONS in files:
        old, new = (set(read_exclusions(text)) for text in change.texts(EXCLUSIONS))
        patterns = {item.file for item in old ^ new}
        found |= {source for source in benches if any(fnmatchcase(source, pattern) for pattern in patterns)}
    return sorted(found)


def has_hardware(path: Path) -> bool:
    """Whether a file of `hdl` is the source of a unit; sources of layouts and constants have no hardware."""
    return path.suffix == ".py" and re.search(r"def _logic\(|m\.submodules", path.read_text()) is not None


def _users(file: str, folder: Path) -> set[str]:
    """A module of `cocotb_tests`, and those in its folder that import it or another user."""
    if not file.startswith("cocotb_tests/") or not file.endswith(".py"):
        return set()
    beside = (folder / file).parent.glob("*.py")
    texts = {path.relative_to(folder).as_posix(): path.read_text() for path in beside}
    users, left = {file}, [file]
    while left:
        imported = f"from {left.pop().removesuffix('.py').replace('/', '.')} import"
        new = {name for name, text in texts.items() if imported in text} - users
        users |= new
        left += new
    return users


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None if it fails."""
    asked = captured("git", *arguments, folder=folder)
    return asked.stdout.strip() if asked.returncode == 0 else None
