"""Where the arrays of a program lie in global memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.machine import Storage

BASE = 0x1000
"""Address of the first byte of memory: a null pointer reaches nothing."""

ALIGNMENT = 256
"""Every array begins at a multiple of it, as the CUDA allocator's do."""

_PAGE = 4096


@dataclass(frozen=True)
class Buffers:
    """Arrays in memory, one after the other."""

    sizes: Mapping[str, int]
    """Bytes of each array, by name, in the order in which they are placed."""

    @property
    def addresses(self) -> dict[str, int]:
        """The address of each array."""
        addresses = {}
        address = BASE
        for name, size in self.sizes.items():
            addresses[name] = address
            address += _rounded(max(size, 1), ALIGNMENT)
        return addresses

    @property
    def memory_size(self) -> int:
        """Bytes of a memory that begins at `BASE` and holds them all."""
        return _rounded(sum(_rounded(max(size, 1), ALIGNMENT) for size in self.sizes.values()) or 1, _PAGE)

    def write(self, memory: Storage, name: str, data: NDArray[Any]) -> None:
        """Put the bytes of `data` at the beginning of an array."""
        memory.write(self.addresses[name], np.ascontiguousarray(data).reshape(-1).view(np.uint8))

    def read(self, memory: Storage, name: str) -> NDArray[np.uint8]:
        """The bytes of an array."""
        return memory.read(self.addresses[name], self.sizes[name])


def _rounded(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
