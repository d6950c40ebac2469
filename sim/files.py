"""Files that are written whole or not at all, and one process at a time."""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["locked", "write_files"]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file's lock, so that parallel processes build a thing once."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_files(texts: Mapping[Path, str]) -> None:
    """Write files so that nobody ever finds half of one, and an error leaves the old ones as they were.

    Each text goes to a file beside its place, which takes the place when all have been written.

    Parameters
    ----------
    texts : mapping of Path to str
        All of the paths in folders that exist.

    Raises
    ------
    OSError
        As writing or renaming fails.
    """
    partial = {path: path.with_name(f".{path.name}.{os.getpid()}.partial") for path in texts}
    try:
        for path, text in texts.items():
            partial[path].write_text(text, encoding="utf-8", newline="\n")
        for path, unfinished in partial.items():
            unfinished.replace(path)
    finally:
        for unfinished in partial.values():
            unfinished.unlink(missing_ok=True)
