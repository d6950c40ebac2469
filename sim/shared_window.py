"""A core's on-chip memory as the host sees it, word by word through its window."""

import numpy as np
from numpy.typing import NDArray

from sim import host_map
from sim.simulation import Simulation

__all__ = ["SharedWindow"]

_WORD = 4


class SharedWindow:
    """The on-chip memory of a simulated core; to be used while the core is idle.

    It has the methods of `golden.memory.Memory`, but no array: every access takes clock cycles, about three
    for each 32-bit word.

    Parameters
    ----------
    simulation : Simulation
    size : int
        Bytes.
    base : int
        Generic address of the first byte.
    """

    def __init__(self, simulation: Simulation, size: int, base: int) -> None:
        self._simulation = simulation
        self._size = size
        self._base = base

    @property
    def base(self) -> int:
        """Generic address of the first byte."""
        return self._base

    @property
    def size(self) -> int:
        """Bytes in the memory."""
        return self._size

    def contains(self, address: int, count: int) -> bool:
        """Whether all `count` bytes from `address` on exist."""
        return self._base <= address and address + count <= self._base + self._size

    def read(self, address: int, count: int) -> NDArray[np.uint8]:
        """A copy of `count` bytes; IndexError where not all of them exist."""
        offset = self._offset(address, count)
        first, words = self._words(offset, count)
        values = self._simulation.read(host_map.SHARED_WINDOW + first, words)
        return values.view(np.uint8)[offset - first :][:count].copy()

    def write(self, address: int, values: NDArray[np.uint8]) -> None:
        """Write bytes; IndexError, with nothing written, where not all of them exist."""
        offset = self._offset(address, values.size)
        first, words = self._words(offset, values.size)
        if not words:
            return
        covered = np.empty(_WORD * words, dtype=np.uint8)
        # Words that are written in part keep their other bytes.
        for word in {0, words - 1}:
            old = self._simulation.read(host_map.SHARED_WINDOW + first + _WORD * word, 1)
            covered[_WORD * word : _WORD * (word + 1)] = old.view(np.uint8)
        covered[offset - first :][: values.size] = values
        self._simulation.write(host_map.SHARED_WINDOW + first, covered.view(np.uint32))

    def _words(self, offset: int, count: int) -> tuple[int, int]:
        """Offset of the first word that holds some of the bytes, and how many words do."""
        first = offset // _WORD * _WORD
        return first, -(-(offset + count - first) // _WORD) if count else 0

    def _offset(self, address: int, count: int) -> int:
        if not self.contains(address, count):
            end = self._base + self._size
            raise IndexError(
                f"{count} bytes at {address:#x} are outside the shared memory {self._base:#x} .. {end:#x}"
            )
        return address - self._base
