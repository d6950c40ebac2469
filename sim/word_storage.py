"""Bytes behind something that carries words: a host interface, a serial line."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

_WORD_BYTES: Final = 4


class WordStorage:
    """A `golden.machine.Storage` of which only whole words can be read and written.

    Where a range begins or ends within a word, the rest of that word is read and written back; so nothing
    else may write there at the time, and the core is to be idle. `base` and `size` are multiples of 4.
    `read_words` takes the distance of a word from `base`, in bytes, and a number of words; `write_words` such
    a distance and values.
    """

    def __init__(
        self,
        base: int,
        size: int,
        read_words: Callable[[int, int], NDArray[np.uint32]],
        write_words: Callable[[int, NDArray[np.uint32]], None],
    ) -> None:
        self.base = base
        self.size = size
        self._read_words = read_words
        self._write_words = write_words

    def contains(self, address: int, count: int) -> bool:
        """Whether all `count` bytes from `address` on exist."""
        return self.base <= address and address + count <= self.base + self.size

    def read(self, address: int, count: int) -> NDArray[np.uint8]:
        """A copy of `count` bytes; IndexError where not all of them exist."""
        first, last = self._words(address, count)
        start = address - self.base - first
        return self._bytes(first, last)[start : start + count]

    def write(self, address: int, values: NDArray[np.uint8]) -> None:
        """Write bytes; IndexError, with nothing written, where not all of them exist."""
        first, last = self._words(address, values.size)
        if not values.size:
            return
        start = address - self.base - first
        content = np.zeros(last - first, dtype=np.uint8)
        if start:
            content[:_WORD_BYTES] = self._bytes(first, first + _WORD_BYTES)
        if (start + values.size) % _WORD_BYTES:
            content[-_WORD_BYTES:] = self._bytes(last - _WORD_BYTES, last)
        content[start : start + values.size] = values
        self._write_words(first, content.view("<u4"))

    def _bytes(self, first: int, last: int) -> NDArray[np.uint8]:
        return self._read_words(first, (last - first) // _WORD_BYTES).astype("<u4").view(np.uint8)

    def _words(self, address: int, count: int) -> tuple[int, int]:
        """Distances from the base, in whole words, between which a range lies."""
        if not self.contains(address, count):
            end = self.base + self.size
            raise IndexError(
                f"{count} bytes at {address:#x} are outside the memory {self.base:#x} .. {end:#x}"
            )
        offset = address - self.base
        return offset // _WORD_BYTES * _WORD_BYTES, -(-(offset + count) // _WORD_BYTES) * _WORD_BYTES
