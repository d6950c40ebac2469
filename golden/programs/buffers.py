"""Where the arrays of a program lie in global memory."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.machine import Storage

BASE = 0x1000
"""Address of the first byte of memory: a null pointer reaches nothing."""

ALIGNMENT = 256
"""Every array begins at a multiple of it, as the CUDA allocator's do."""

_PAGE = 4096


class Buffers:
    """Arrays in memory, one after the other.

    `sizes` are the bytes of each array, by name, in the order in which they are placed.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self.addresses: dict[str, int] = {}
        end = BASE
        for name, size in sizes.items():
            self.addresses[name] = end
            end += -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        self.memory_size = max(1, -(-(end - BASE) // _PAGE)) * _PAGE
        """Bytes of a memory that begins at `BASE` and holds them all."""

    def write(self, memory: Storage, name: str, data: NDArray[Any]) -> None:
        """Put the bytes of `data` at the beginning of an array."""
        memory.write(self.addresses[name], np.ascontiguousarray(data).reshape(-1).view(np.uint8))

    def read(self, memory: Storage, name: str) -> NDArray[np.uint8]:
        """The bytes of an array."""
        return memory.read(self.addresses[name], self._sizes[name])
