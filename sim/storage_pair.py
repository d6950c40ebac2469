"""Two memories that must hold the same bytes: one is read, both are written, and they are compared."""

import numpy as np
from numpy.typing import NDArray

from golden.machine import Storage
from golden.memory import Memory
from golden.tables.commands import Command
from sim.mismatch import memory_difference


class StoragePair:
    """A memory of two machines in lockstep: read from the golden one, written to both.

    `name` is for messages. ValueError for memories that differ in base or size, and for one and the same.
    """

    def __init__(self, golden: Storage, rtl: Storage, name: str) -> None:
        if (golden.base, golden.size) != (rtl.base, rtl.size):
            raise ValueError(
                f"memories in lockstep must have the same base and size, not {golden.base:#x} and "
                f"{golden.size}, {rtl.base:#x} and {rtl.size}"
            )
        if golden is rtl:
            raise ValueError("machines in lockstep must not share one memory")
        self.base = golden.base
        self.size = golden.size
        self._golden = golden
        self._rtl = rtl
        self._name = name

    @property
    def is_near(self) -> bool:
        """Whether both lie in this process, so that comparing all bytes costs little."""
        return isinstance(self._golden, Memory) and isinstance(self._rtl, Memory)

    def contains(self, address: int, count: int) -> bool:
        """Whether all `count` bytes from `address` on exist."""
        return self._golden.contains(address, count)

    def read(self, address: int, count: int) -> NDArray[np.uint8]:
        """A copy of `count` bytes of the golden machine; IndexError where not all of them exist."""
        return self._golden.read(address, count)

    def write(self, address: int, values: NDArray[np.uint8]) -> None:
        """Write bytes into both; IndexError, with nothing written, where not all of them exist."""
        self._golden.write(address, values)
        self._rtl.write(address, values)

    def difference(
        self, command: Command | None, reached: tuple[int, int] | None = None, shift: int = 0
    ) -> str | None:
        """Compare bytes after a command, or after many; returns the first difference in words.

        `reached` is the first address, and the address behind the last; None for all bytes. Addresses of this
        memory are by `shift` above those that the command and the message name.
        """
        first, last = self.base, self.base + self.size
        if reached is not None:
            first, last = max(reached[0], first), min(reached[1], last)
        if first >= last:
            return None
        ours, theirs = (side.read(first, last - first) for side in (self._golden, self._rtl))
        return memory_difference(command, first - shift, ours, theirs, self._name)
