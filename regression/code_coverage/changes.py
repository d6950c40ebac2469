"""What a change touches: sources of the hardware whose coverage it may lower."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from regression.campaign.identity import captured
from regression.code_coverage.requirements import BENCHES, EXCLUSIONS, Benches, read_benches, read_exclusions


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
