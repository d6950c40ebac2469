"""The file of a trace: the matrix instructions of a launch, in the order of the program, with their data.

A file begins with `MAGIC`, whose last word is the version. Parts follow, each with a head of 12 bytes: a tag
of four letters, the length of the content and its CRC-32, both little-endian. ``HEAD`` is a JSON object that
describes the launch. Each ``WORK`` has four lengths (u4) and what they are of: a JSON list of texts, an array
of `RECORD`, the sizes of arrays of bytes (u4), and those arrays, its *blobs*. A record names texts and blobs
by their place in the part. ``DONE``, the last part, is a JSON list of the segments: address and length of
each buffer in global memory that is read or written.
"""

import json
import zlib
from array import array
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import IO, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.integers import shortened
from golden.simt.errors import LaunchError

MAGIC: Final = b"openwmma trace 3\n"

_ARRAYS: Final = ("threads", "a", "b", "c", "d", "addresses", "strides")
RECORD: Final = np.dtype([(name, "<i4") for name in ("kind", "block", "instruction", "line", *_ARRAYS)])
"""What the warps of a block do together.

`instruction` and `line` name texts, the others blobs; -1 where there is none. `threads` are the first of each
warp (i8); `a`, `b`, `c` and `d` the fragments that they read and write, register after register (u4), behind
`c` the registers of metadata and block scales, for selectors of 0; `addresses`, of a fragment or of rows of
matrices, are generic (u8), `strides` count elements (u4). Of `wgmma`, `a` and `b` are the rows of the
matrices, each with 32 bytes of k, `c` and `d` registers of all threads; `addresses` are the descriptors of A
in all warps, then of B, and `strides` bits: A is in shared memory, C is D, A and B are negated, A and B are
transposed.
"""

_PART_BYTES: Final = 16 << 20
_PART_RECORDS: Final = 1 << 13
_MAX_BYTES: Final = 1 << 30
"""Of one part."""
_NONE: Final = -1
_TOGETHER: Final = 16


class Kind(IntEnum):
    """What a record says."""

    MATRIX = 0
    """A matrix instruction."""
    WRITE = 1
    """The host wrote the bytes `a` at `addresses`."""
    END = 2
    """A block ended."""


class Head(NamedTuple):
    """The launch of a trace."""

    kernel: str
    profile: str
    shared_bytes: int
    """Of a block."""


Segment = tuple[int, int]
"""Address and bytes of a buffer."""


class Part(NamedTuple):
    """Consecutive records."""

    texts: list[str]
    records: NDArray[Any]
    """Of `RECORD`."""
    blobs: list[bytes]


class TraceWriter:
    """Writes a trace to a binary file; memory holds one part of it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self._texts: dict[str, int] = {}
        self._blobs: list[bytes] = []
        self._seen: dict[tuple[int, bytes], int] = {}
        self._records = array("i")
        self._bytes = 0
        self._waiting: list[tuple[Any, ...]] = []

    def begin(self, head: Head) -> None:
        """Write what the trace is of."""
        self.file.write(MAGIC)
        self._part(b"HEAD", json.dumps(head._asdict()).encode())

    def record(
        self,
        kind: Kind,
        block: int = _NONE,
        texts: tuple[str, ...] = (),
        arrays: Sequence[NDArray[Any] | None] = (None,) * len(_ARRAYS),
    ) -> None:
        """Add a record: its instruction and line, and its arrays, which must not change from now on."""
        self._waiting.append((kind, block, texts, arrays))
        if len(self._waiting) == _TOGETHER:
            self._pack()

    def _pack(self) -> None:
        """Number the texts and arrays of the records that wait; several together take less time."""
        for kind, block, texts, arrays in self._waiting:
            names = [self._texts.setdefault(text, len(self._texts)) for text in texts] or (_NONE, _NONE)
            self._records.extend((kind, block, *names, *map(self._blob, arrays)))
        self._waiting.clear()
        if self._bytes > _PART_BYTES or len(self._records) >= _PART_RECORDS * len(RECORD.names or ()):
            self.flush()

    def _blob(self, content: NDArray[Any] | None) -> int:
        """The number of the bytes of an array, -1 for none; equal ones share it, unless few bytes differ."""
        if content is None:
            return _NONE
        data = content.tobytes()
        key = (len(data), data[:: len(data) // 61 | 1])
        number = self._seen.get(key)
        if number is None or self._blobs[number] != data:
            number = self._seen[key] = len(self._blobs)
            self._blobs.append(data)
            self._bytes += len(data)
        return number

    def flush(self) -> None:
        """Write the records so far."""
        if self._waiting:
            self._pack()
        if self._records:
            sizes = [len(blob) for blob in self._blobs]
            pieces = [
                json.dumps(list(self._texts)).encode(),
                np.array(self._records, "<i4").tobytes(),
                np.array(sizes, "<u4").tobytes(),
            ]
            lengths = np.array([*map(len, pieces), sum(sizes)], "<u4").tobytes()
            self._part(b"WORK", lengths, *pieces, *self._blobs)
        self._texts, self._blobs, self._seen, self._records, self._bytes = {}, [], {}, array("i"), 0

    def end(self, segments: Sequence[Segment]) -> None:
        """Write the rest, and the segments."""
        self.flush()
        self._part(b"DONE", json.dumps(segments).encode())
        self.file.flush()

    def _part(self, tag: bytes, *pieces: bytes) -> None:
        content = b"".join(pieces)
        self.file.write(tag + len(content).to_bytes(4, "little") + zlib.crc32(content).to_bytes(4, "little"))
        self.file.write(content)


class TraceReader:
    """Reads a trace, which is checked whole before anything is made of it.

    `name` is for messages. LaunchError for a file that is no trace, of another version, truncated or damaged.
    """

    def __init__(self, file: IO[bytes], name: str = "the trace") -> None:
        self._file = file
        self._name = name
        self._require_magic()
        tag, content = self._part()
        try:
            self.head = Head(**json.loads(content))
            self._first = file.tell()
            kinds = tuple(map(type, self.head))
            if tag != b"HEAD" or kinds != (str, str, int) or self.head.shared_bytes < 0:
                raise self._damaged()
            while (found := self._part())[0] == b"WORK":
                pass
            segments = [(int(address), int(size)) for address, size in json.loads(found[1])]
        except LaunchError:
            raise
        except (ValueError, TypeError):
            raise self._damaged() from None
        end = file.tell()
        if file.read(1):
            raise LaunchError(f"{name}: expected the end of the trace at byte {end}, not more bytes")
        self.segments = segments
        """In the order in which they were first used."""

    def parts(self) -> Iterator[Part]:
        """All parts, from the first one on."""
        self._file.seek(self._first)
        while (found := self._part())[0] == b"WORK":
            yield self._work(found[1])

    def _require_magic(self) -> None:
        found = self._file.read(len(MAGIC))
        words, own = found.split(), MAGIC.split()
        if words[:2] != own[:2]:
            raise LaunchError(f"{self._name}: expected a trace that openwmma wrote, not another file")
        if found != MAGIC:
            version = shortened(b" ".join(words[2:]).decode("ascii", "replace"))
            raise LaunchError(f"{self._name}: expected a trace of version {own[2].decode()}, not {version}")

    def _part(self) -> tuple[bytes, bytes]:
        """Tag and content of the next part."""
        place = self._file.tell()
        head = self._file.read(12)
        length = int.from_bytes(head[4:8], "little")
        content = self._file.read(min(length, _MAX_BYTES))
        if len(head) < 12 or len(content) < length:
            raise LaunchError(f"{self._name}: the file is truncated in the part that begins at byte {place}")
        if zlib.crc32(content) != int.from_bytes(head[8:], "little"):
            raise LaunchError(f"{self._name}: the part that begins at byte {place} has another checksum")
        return head[:4], content

    def _work(self, content: bytes) -> Part:
        texts, records, sizes, blobs = _split(content[16:], np.frombuffer(content[:16], "<u4"))
        return Part(
            json.loads(texts), np.frombuffer(records, RECORD), _split(blobs, np.frombuffer(sizes, "<u4"))
        )

    def _damaged(self) -> LaunchError:
        return LaunchError(f"{self._name}: expected a trace as this version writes it")


def _split(content: bytes, sizes: NDArray[np.uint32]) -> list[bytes]:
    """Parts of these sizes, one after the other."""
    ends = np.cumsum(sizes, dtype=np.int64)
    return [content[start:end] for start, end in zip((ends - sizes).tolist(), ends.tolist(), strict=True)]
