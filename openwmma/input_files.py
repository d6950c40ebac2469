"""Arrays and JSON from files: one reader for each, with limits, and one sentence for an error.

A file may be a pipe. What a header declares is checked before memory is allocated for it, and memory grows
with the bytes that are there, not with those that are declared.
"""

import io
import json
import lzma
import math
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from golden.integers import shortened
from golden.limits import ARRAY_BYTES, JSON_BYTES
from golden.locks import LOCK
from openwmma.usage_error import UsageError

_CHUNK: Final = 1 << 20
_MAGIC: Final = b"\x93NUMPY"
_ARCHIVE: Final = b"PK\x03\x04"
_MAX_HEADER: Final = 1 << 16
_REASON: Final = 200
"""Most characters of a reader's own words in a message."""

_DAMAGED: Final = (
    *(ValueError, TypeError, KeyError, IndexError, OverflowError, SyntaxError, tokenize.TokenError, EOFError),
    *(MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What numpy, zipfile and json raise for files that are damaged or made up; RuntimeError covers recursion,
encryption and unknown compression."""


class UnreadableFile(UsageError):
    """A file that cannot be read as what it should be, and the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


class NoArray(UnreadableFile):
    """A file that is no .npy file at all; `reason` says what it is, or is empty."""


def is_readable(path: Path) -> bool:
    """Whether there is something to read at a path: a file, a pipe or a device, not a folder."""
    return path.exists() and not path.is_dir()


def require_input(path: Path, expected: str) -> None:
    """UsageError, which begins with `expected`, where a path has nothing to read."""
    if not is_readable(path):
        found = f"{path} is a folder" if path.is_dir() else f"there is no file {path}"
        raise UsageError(f"{expected}, but {found}")


def is_pipe(path: Path) -> bool:
    """Whether a pipe lies at a path; what cannot be a path is none."""
    try:
        return path.is_fifo()
    except OSError:
        return False


def read_json(path: Path) -> Any:
    """Read a JSON file; UnreadableFile for names that occur twice in an object, and infinite numbers too."""
    with _explained(path, "not JSON"), path.open("rb") as file:
        text = _at_most(file, JSON_BYTES).decode("utf-8-sig")
        found = json.loads(text, object_pairs_hook=_distinct, parse_float=_finite, parse_constant=_finite)
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()  # refuses halves of characters
        return found


def read_array(path: Path) -> NDArray[Any]:
    """Read an .npy file of at most `ARRAY_BYTES`, not of Python objects; UnreadableFile for another."""
    with _explained(path, ""), path.open("rb") as file:
        return _array(path, file, ARRAY_BYTES)


def read_archive(path: Path) -> dict[str, NDArray[Any]]:
    """Read all arrays of an .npz file, of at most `ARRAY_BYTES` together; or UnreadableFile."""
    with _explained(path, "expected an archive of arrays"), path.open("rb") as file:
        whole = file if file.seekable() else io.BytesIO(_at_most(file, ARRAY_BYTES))
        with zipfile.ZipFile(whole) as archive:
            members = archive.infolist()
            declared = sum(member.file_size for member in members)
            if declared > ARRAY_BYTES:
                raise ValueError(f"its {declared} bytes are more than {ARRAY_BYTES}, the limit")
            found: dict[str, NDArray[Any]] = {}
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name in found:
                    raise ValueError(f"two arrays {shortened(name)}")
                with archive.open(member) as stream:
                    found[name] = _array(path, stream, member.file_size)  # type: ignore[arg-type]
            return found


@contextmanager
def _explained(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a reader raises into one sentence."""
    try:
        yield
    except NoArray as error:
        raise (UnreadableFile(path, f"{what} ({error.reason or 'no array'})") if what else error) from None
    except OSError as error:
        reason = error.strerror or str(error)
        is_damaged = what and error.filename is None  # a place outside of the file
        raise UnreadableFile(path, f"{what} ({reason})" if is_damaged else reason) from None
    except _DAMAGED as error:
        reason = {
            MemoryError: "there is no memory for it",
            RecursionError: "it is nested too deeply",
        }.get(type(error)) or shortened(str(error) or type(error).__name__, _REASON)
        raise UnreadableFile(path, f"{what} ({reason})" if what else reason) from None


def _at_most(stream: BinaryIO, most: int) -> bytes:
    """All that is left of a stream; ValueError for more than `most` bytes."""
    data = bytearray()
    while chunk := stream.read(_CHUNK):
        data += chunk
        if len(data) > most:
            raise ValueError(f"more than {most} bytes, the limit")
    return bytes(data)


def _exactly(stream: BinaryIO, count: int) -> bytearray:
    """The next bytes of a stream, as long as there are some."""
    data = bytearray()
    while len(data) < count and (chunk := stream.read(min(_CHUNK, count - len(data)))):
        data += chunk
    return data


def _array(path: Path, stream: BinaryIO, most: int) -> NDArray[Any]:
    magic = _exactly(stream, len(_MAGIC) + 2)
    if not magic.startswith(_MAGIC):
        raise NoArray(path, "an archive" if magic.startswith(_ARCHIVE) else "")
    version = magic[len(_MAGIC)]
    length = _exactly(stream, 2 if version == 1 else 4)
    size = int.from_bytes(length, "little")
    if size > _MAX_HEADER:
        raise ValueError(f"its header of {size} bytes is longer than {_MAX_HEADER}, the limit")
    header = io.BytesIO(bytes(length + _exactly(stream, size)))
    read = np.lib.format.read_array_header_1_0 if version == 1 else np.lib.format.read_array_header_2_0
    with LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of headers that Python 2 wrote
        shape, by_columns, dtype = read(header, max_header_size=_MAX_HEADER)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not read")
    if min(shape, default=0) < 0:
        raise ValueError(f"its shape {shortened(shape)} is negative")
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > most:
        raise ValueError(f"its shape needs {shortened(nbytes)} bytes, more than the {most} that there may be")
    data = _exactly(stream, nbytes)
    if len(data) < nbytes:
        raise ValueError(f"it ends after {len(data)} of {nbytes} bytes")
    if not nbytes:
        return np.zeros(shape, dtype)
    flat: NDArray[Any] = np.frombuffer(data, dtype)
    return flat.reshape(shape[::-1]).T if by_columns else flat.reshape(shape)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {shortened(twice)} stands twice in an object")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{shortened(text)} is no finite number")
    return number
