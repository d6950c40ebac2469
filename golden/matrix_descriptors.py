"""Matrix descriptors of ``wgmma``: where the elements of A and B lie in shared memory.

An operand has rows (m of A, n of B) of 32 bytes of k; a B that meets a sparse A has rows of 64 bytes. It is
read in chunks of 16 bytes, which the swizzle moves as a whole: bits 4 to 6 of an address in shared memory are
XORed with bits 7 to 9, as many as the span of the swizzle has. The base offset is subtracted from bits 7 to 9
before.
"""

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.tables.formats import FORMATS
from golden.tables.layouts import LANES

CHUNK: Final = 16
"""Bytes that lie together whatever the swizzle."""

K_BYTES: Final = 32
"""Bytes of k of an operand, except a B that meets a sparse A."""

SPANS: Final = (16, 128, 64, 32)
"""Bytes of a row within a swizzle, by the field of the descriptor; 16 is no swizzle."""

_ROWS: Final = 8
"""Rows of a core matrix."""

_SIGNED: Final = {"s8": np.int8, "s32": np.int32}


class MatrixDescriptor(NamedTuple):
    """The fields of a descriptor, in bytes."""

    start: int
    leading: int
    """Leading byte offset: between spans along k; with a swizzle, also along contiguous m or n."""
    stride: int
    """Stride byte offset: between groups of eight rows."""
    base: int
    """Base offset, in units of 128 bytes."""
    span: int
    """Of `SPANS`."""

    @classmethod
    def from_bits(cls, bits: int) -> "MatrixDescriptor":
        """The fields of the 64 bits that an instruction takes."""
        start, leading, stride = (16 * (bits >> low & 0x3FFF) for low in (0, 16, 32))
        return cls(start, leading, stride, bits >> 49 & 7, SPANS[bits >> 62 & 3])

    def chunks(self, rows: int, transposed: bool, k_bytes: int = K_BYTES) -> NDArray[np.int64]:
        """The addresses of all chunks of an operand of `rows` rows.

        Shape (rows, k_bytes / 16) where k is contiguous; with `transposed`, of 16-bit elements with m or n
        contiguous, shape (k_bytes / 2, rows / 8).
        """
        offsets = _offsets(self.leading, self.stride, self.span, rows, transposed, k_bytes)
        return self.swizzled(self.start + offsets)

    def reach(self, rows: int, transposed: bool) -> int:
        """The end of what an operand of `rows` rows may read; rows of a swizzle count as whole."""
        groups, part = rows // _ROWS, self.span // CHUNK
        if not transposed:
            last = (groups - 1) * self.stride + (self.leading if part == 1 else CHUNK)
        elif part == 1:
            last = (groups - 1) * self.stride + self.leading
        else:
            last = (groups - 1) // part * self.leading + (min(groups, part) - 1) * CHUNK + self.stride
        return self.start + (_ROWS - 1) * self.span + last + CHUNK

    def swizzled(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the bytes at some addresses lie after the swizzle."""
        mask = self.span - CHUNK
        return addresses ^ (((addresses >> 3) - (self.base << 4)) & mask) if mask else addresses

    def __str__(self) -> str:
        swizzle = f"swizzle of {self.span} bytes" if self.span > CHUNK else "no swizzle"
        offsets = f"leading {self.leading}, stride {self.stride}, base offset {self.base}"
        return f"descriptor with start {self.start:#x}, {offsets}, {swizzle}"


@lru_cache(maxsize=256)
def _offsets(
    leading: int, stride: int, span: int, rows: int, transposed: bool, k_bytes: int
) -> NDArray[np.int64]:
    """As `MatrixDescriptor.chunks`, from the start on and before the swizzle."""
    if not transposed:
        row, byte = np.arange(rows)[:, None], np.arange(0, k_bytes, CHUNK)
        return row % _ROWS * span + row // _ROWS * stride + byte % span + byte // span * leading
    k, byte = np.arange(k_bytes // 2)[:, None], np.arange(0, 2 * rows, CHUNK)
    along, across = (stride, leading) if span == CHUNK else (leading, stride)
    return byte % span + byte // span * along + k % _ROWS * span + k // _ROWS * across


def matrix_of_chunks(chunks: NDArray[np.uint64], dtype: str, transposed: bool) -> NDArray[Any]:
    """The rows of an operand, shape (..., rows, k), from its chunks as `MatrixDescriptor.chunks` orders them.

    A chunk is two words of 64 bits; the dtype is an unsigned integer of the width of an element.
    """
    found = chunks.reshape(*chunks.shape[:-2], -1).view(dtype)
    return found.swapaxes(-1, -2) if transposed else found


def element_dtype(type_: str) -> str:
    """The dtype of the bits of an element; single bits are bytes of eight."""
    return f"u{max(1, FORMATS[type_].bits // 8)}"


def element_values(matrix: NDArray[Any], type_: str) -> NDArray[Any]:
    """The elements as `golden.mma` takes them."""
    if type_ == "b1":
        return np.unpackbits(matrix, axis=-1, bitorder="little")
    return matrix.view(_SIGNED.get(type_, matrix.dtype))


def signed(words: NDArray[Any], type_: str, negated: bool) -> NDArray[Any]:
    """Words, or elements, with the sign bits of their elements inverted if they are negated."""
    if not negated:
        return words
    elements = words.view(element_dtype(type_))
    found: NDArray[Any] = (elements ^ elements.dtype.type(1 << FORMATS[type_].bits - 1)).view(words.dtype)
    return found


def fragments_of_rows(rows: NDArray[Any], tile_rows: int) -> NDArray[np.uint32]:
    """The fragments of tiles of 16 rows of A, or 8 of B: shape (tiles, registers, 32).

    `rows` have shape (..., rows, k) and 32 bytes each.
    """
    words = np.ascontiguousarray(rows).view(np.uint32).reshape(-1, tile_rows // _ROWS, _ROWS, 2, 4)
    fragments: NDArray[np.uint32] = words.transpose(0, 3, 1, 2, 4).reshape(-1, tile_rows // 4, LANES)
    return fragments
