"""What is built once and kept: each file with a checksum beside it, built by one process at a time."""

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import platformdirs

from sim.files import locked

_BUILDS: Final = "build-"
_OWNER: Final = "owner"
"""File in the folder of a build, locked as long as its process lives."""

_found_whole: dict[Path, tuple[int, ...]] = {}
"""Inode, size and time of the files whose checksums this process has compared."""


class CacheError(OSError):
    """A cache that cannot be read or written; its ``strerror`` says what a cache needs."""


def cache_folder() -> Path:
    """Where what was built once is kept: the user's cache directory; CacheError where it cannot be made."""
    folder = platformdirs.user_cache_path("openwmma").absolute()
    with _explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def cached(paths: Sequence[Path], build: Callable[[Path], Sequence[Path]]) -> None:
    """Build files, unless all of them are there as they were built.

    A file that was damaged, emptied or replaced does not have the checksum beside it, and is built again.

    The files are in one folder that exists. `build` takes an empty folder, and returns the files built there
    in the order of `paths`. This folder is removed at the end; one that a killed process left is removed
    before the next build. CacheError when the folder of the files cannot be written.
    """
    if all(map(is_whole, paths)):
        return
    folder = paths[0].parent
    with _explained(folder), locked(paths[0].with_name(f"{paths[0].name}.lock")):
        if all(map(is_whole, paths)):
            return
        with _workspace(folder) as work:
            for built, path in zip(build(work), paths, strict=True):
                beside = built.with_name(f"{built.name}.sha256")
                beside.write_text(checksum(built))
                _move(built, path)
                _move(beside, _checksum_of(path))


def checksum(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksum_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def is_whole(path: Path) -> bool:
    """Whether a file is there with the checksum beside it."""
    try:
        now = path.stat()
        state = (now.st_ino, now.st_size, now.st_mtime_ns)
        if _found_whole.get(path) != state:
            if _checksum_of(path).read_bytes() != checksum(path).encode():
                return False
            _found_whole[path] = state
    except OSError:
        return False
    return True


@contextmanager
def _workspace(folder: Path) -> Iterator[Path]:
    """An empty folder for one build; folders of processes that were killed are removed first."""
    with locked(folder / "builds.lock"):
        for left in folder.glob(f"{_BUILDS}*"):
            _remove_abandoned(left)
        build = Path(tempfile.mkdtemp(prefix=_BUILDS, dir=folder))
        owner = (build / _OWNER).open("w")
        fcntl.flock(owner, fcntl.LOCK_EX)
    with owner:
        work = build / "work"
        work.mkdir()
        try:
            yield work
        finally:
            shutil.rmtree(build, ignore_errors=True)


def _remove_abandoned(build: Path) -> None:
    with suppress(FileNotFoundError, BlockingIOError), (build / _OWNER).open() as owner:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(build, ignore_errors=True)
    if not (build / _OWNER).exists():
        shutil.rmtree(build, ignore_errors=True)


def _move(built: Path, path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    built.replace(path)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except CacheError:
        raise
    except OSError as error:
        rule = "what is built once needs a folder that can be written; XDG_CACHE_HOME names another one"
        raise CacheError(error.errno, f"{error.strerror}; {rule}", str(folder)) from error
