"""Files that are written whole or not at all, and one process at a time."""

import errno
import fcntl
import os
import re
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file's lock, so that parallel processes build a thing once."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_special(path: Path) -> bool:
    """Whether a path is a pipe or a device, or names an open file of a process: it is written as it is."""
    if path.absolute().parts[1:2] in (("dev",), ("proc",)):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def probe_folder(path: Path) -> None:
    """OSError if no file can be made beside a file, or in its place."""
    partial = _partial(path)
    partial.touch()
    partial.unlink()


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write files so that nobody ever finds half of one, and an error leaves the old ones as they were.

    Each goes to a file beside its place, which takes the place when all have been written. A link stays one:
    the file behind it is written. Pipes and devices are written last, as they are. All paths are in folders
    that exist. OSError as writing or renaming fails.
    """
    for path in contents:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    data = {path: text.encode() if isinstance(text, str) else text for path, text in contents.items()}
    places = [path for path in data if not is_special(path)]
    partial = {path: _partial(path, number) for number, path in enumerate(places)}
    try:
        for path, unfinished in partial.items():
            unfinished.write_bytes(data[path])
            if path.exists():
                unfinished.chmod(stat.S_IMODE(path.stat().st_mode))
        for path, unfinished in partial.items():
            unfinished.replace(os.path.realpath(path))
    finally:
        for unfinished in partial.values():
            unfinished.unlink(missing_ok=True)
    for path, written in data.items():
        if is_special(path):
            with _opened(path) as file:
                file.write(written)


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write and to read, which takes its place when the context ends without an error."""
    unfinished = _partial(path)
    try:
        with unfinished.open("w+b", buffering=1 << 16) as file:
            yield file
        unfinished.replace(os.path.realpath(path))
    finally:
        unfinished.unlink(missing_ok=True)


def _opened(path: Path) -> BinaryIO:
    """A pipe or device; an open file of this process at the place where it stands, not from its beginning."""
    name = {"/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}.get(str(path), str(path))
    descriptor = re.fullmatch(r"/(?:dev|proc/self)/fd/([0-9]+)", name)
    return os.fdopen(os.dup(int(descriptor[1])), "wb") if descriptor else path.open("wb")


def _partial(path: Path, number: int = 0) -> Path:
    """An unused name beside the file that a path leads to, for this thread alone."""
    return Path(os.path.realpath(path)).with_name(
        f".openwmma.{os.getpid()}.{threading.get_ident()}.{number}.partial"
    )
