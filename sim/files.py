"""Files that are written whole or not at all, and one process at a time."""

import errno
import fcntl
import os
import threading
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

    Each text goes to a file beside its place, which takes the place when all have been written. A link stays,
    and its target is written. A device or a pipe is not replaced: it takes the text at the end.

    Parameters
    ----------
    texts : mapping of Path to str
        All of the paths in folders that exist.

    Raises
    ------
    OSError
        As writing or renaming fails.
    """
    for path in texts:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    own = f"{os.getpid()}.{threading.get_ident()}"
    streams = [path for path in texts if path.exists() and not path.is_file()]
    files = [path for path in texts if path not in streams]
    places = [Path(os.path.realpath(path)) for path in files]
    partial = {path: path.with_name(f".{own}.{number}.partial") for number, path in enumerate(places)}
    try:
        for path, unfinished in zip(files, partial.values(), strict=True):
            unfinished.write_text(texts[path], encoding="utf-8", newline="\n")
        for path, unfinished in partial.items():
            unfinished.replace(path)
        for path in streams:
            path.write_text(texts[path], encoding="utf-8", newline="\n")
    finally:
        for unfinished in partial.values():
            unfinished.unlink(missing_ok=True)
