"""Types of the arrays that stand for many threads or warps at once."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Threads = NDArray[np.int64]
"""Numbers of threads in their block."""

Addresses = NDArray[np.uint64]
"""An address for each thread, or for each warp."""


class Access(NamedTuple):
    """What some threads access by one instruction."""

    threads: Threads
    addresses: Addresses
    """Of each thread, all in one state space."""
    number: int
    """Of the instruction."""

    def some(self, positions: NDArray[Any] | slice) -> "Access":
        """The accesses of the threads at these positions."""
        return Access(self.threads[positions], self.addresses[positions], self.number)

    def one(self, position: int) -> "Access":
        """The access of the thread at a position."""
        return self.some(slice(position, position + 1))

    def at(self, places: NDArray[Any]) -> "Access":
        """Accesses of the same threads to other addresses, one after another and equally many of each."""
        threads = np.repeat(self.threads, places.size // self.threads.size)
        return Access(threads, places.reshape(-1).astype(np.uint64, copy=False), self.number)


Values = Sequence[NDArray[Any]]
"""Raw bits, an element for each thread; an array for each register, or for each element of a vector."""

Words = NDArray[np.uint32]
"""Registers of warps, shape (warps, registers, 32 lanes)."""
