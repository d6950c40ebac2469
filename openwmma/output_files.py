"""Files that a command or a launch writes: checked before it runs, written whole when it has ended."""

import io
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.integers import quoted
from openwmma.usage_error import UsageError
from sim.files import is_special, probe_folder


def require_folder(what: str, path: Path) -> None:
    """UsageError, which begins with `what`, for a file in a folder that does not exist."""
    if not path.parent.is_dir():
        raise UsageError(f"{what}: expected a file in a folder that exists, not in {path.parent}")


def require_outputs(
    outputs: Sequence[tuple[str, Path]],
    inputs: Iterable[Path] = (),
    *,
    force: bool = True,
    updated: Iterable[Path] = (),
) -> None:
    """Refuse files that could not be written, and those that would overwrite another one of the same run.

    Each output comes behind what a message about it begins with; pipes and devices are written as they
    are. `inputs` are read. Files that exist may be replaced with `force`. Files in `updated` need no
    `force`, as the command reads each of them first. UsageError.
    """
    read, updated, written = tuple(inputs), tuple(updated), list[Path]()
    for what, path in outputs:
        require_folder(what, path)
        if path.is_dir():
            raise UsageError(f"{what}: expected a file, not a folder")
        if os.path.islink(os.path.realpath(path)):
            raise UsageError(f"{what}: expected a file, and {path} is a link that leads to itself")
        if path.exists() and not (os.access(path, os.W_OK) and path.stat().st_mode & _WRITABLE):
            raise UsageError(f"{what}: expected a file that can be written, and {path} is read-only")
        if is_special(path):
            continue
        for others, purpose in ((read, "read"), (written, "written")):
            other = next((item for item in others if is_same_file(item, path)), None)
            if other is not None:
                raise UsageError(f"{what}: expected another file than {other}, which is {purpose} too")
        if path.exists() and not (force or any(is_same_file(path, item) for item in updated)):
            raise UsageError(f"{what}: expected --force to replace {path}, which exists")
        try:
            probe_folder(path)
        except OSError as error:
            raise UsageError(f"{what}: cannot write in {path.parent} ({error.strerror})") from None
        written.append(path)


_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def require_suffix(option: str, path: Path | None, *suffixes: str) -> None:
    """UsageError for a file whose name does not end as its contents ask for; devices have any name."""
    if path is not None and path.suffix not in suffixes and not is_special(path):
        raise UsageError(f"{option} {path}: expected a file that ends in {' or '.join(suffixes)}")


def checked_path(name: str, given: object) -> Path | None:
    """A path that a caller handed in, or None; UsageError for what is none, which begins with `name`."""
    if given is None:
        return None
    if isinstance(given, str | Path) and str(given):
        with suppress(ValueError):  # half a character
            if b"\0" not in os.fsencode(given):
                return Path(given)
    raise UsageError(f"{name} {quoted(given)}: expected a path")


def is_same_file(first: Path, second: Path) -> bool:
    """Whether two paths lead to one file, whatever their spelling, and whether or not it exists."""
    try:
        return first.samefile(second)
    except OSError:
        return os.path.realpath(first) == os.path.realpath(second)


def array_bytes(array: NDArray[Any]) -> bytes:
    """An array as the contents of an .npy file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()
