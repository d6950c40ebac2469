"""Device memory: buffers with 64-bit addresses, and nothing between them."""

import itertools
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.integers import checked_integer, checked_text, shortened
from golden.limits import DEVICE_BYTES
from golden.locks import LOCK
from golden.simt.address_map import GLOBAL
from golden.simt.errors import LaunchError

_ALIGNMENT: Final = 512
_GAP: Final = 1 << 16
"""Bytes without memory behind each buffer, so that what runs past its end reaches nothing."""

_PADDING: Final = 16
_LAST_ADDRESS: Final = 1 << 62
_REMEMBERED: Final = 4096
"""Freed buffers whose names are known to messages."""

_ADDRESS: Final = attrgetter("address")
CELLS: Final = {size: np.dtype(f"{'V' if size > 8 else 'u'}{size}") for size in (1, 2, 4, 8, 16)}
"""The types of elements of memory, by their bytes: integers, and raw bytes of atomics of 128 bits."""


class Allocation:
    """The bytes of one buffer, or of a memory that a block has for itself; `name` is for messages."""

    def __init__(self, address: int, nbytes: int, name: str) -> None:
        self.address = address
        self.nbytes = nbytes
        self.end = address + nbytes
        self.name = name
        self.data: NDArray[np.uint8] = np.zeros(-(-nbytes // _PADDING) * _PADDING + _PADDING, dtype=np.uint8)
        """The bytes, padded at the end."""
        self.views: dict[int, NDArray[Any]] = {size: self.data.view(cell) for size, cell in CELLS.items()}
        """The same memory as elements of 1 to 16 bytes."""
        self.written: NDArray[np.bool_] | None = None
        """Which bytes have ever been written; None where all of them count as written."""
        self.dtype: np.dtype[Any] | None = None
        """Of the array that it holds; None where that is not known."""
        self.constant = False
        """Whether kernels may only load from it."""

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """The bytes themselves, not a copy."""
        return self.data[: self.nbytes]


class DeviceMemory:
    """All buffers of a device, by address. Addresses are not used again. Threads may share it."""

    def __init__(self) -> None:
        # In the order of addresses. The list only grows at its end; what leaves or comes between makes a new
        # one. So a reader needs no lock.
        self._allocations: list[Allocation] = []
        self._freed: dict[int, tuple[int, str]] = {}
        self._next = GLOBAL
        self._live_bytes = 0
        self._numbers = itertools.count(1)
        self._dropped: deque[Allocation] = deque()
        self._is_changing = False

    def allocate(self, nbytes: int, name: str = "", *, address: int | None = None) -> Allocation:
        """Make a buffer of zeros, at `address` if there is room; `name` is for messages.

        LaunchError for a name that is no text, an address that is no integer, and a size that is negative, or
        more than is left of `golden.limits.DEVICE_BYTES`.
        """
        name = checked_text("the name of a buffer", name, refuse=LaunchError.refused)
        if address is not None:
            address = checked_integer("address", address, 0, refuse=LaunchError.refused)
        with self._changing():
            left = DEVICE_BYTES - self._live_bytes
            if not 0 <= nbytes <= left:
                raise LaunchError(
                    f"{name or 'a buffer'} must have 0 to {left} bytes, the rest of the {DEVICE_BYTES} bytes "
                    f"of device memory, not {shortened(nbytes)}"
                )
            if address is None or not self._has_room(address, nbytes):
                address = self._next
            try:
                allocation = Allocation(address, nbytes, name or f"buffer {next(self._numbers)}")
            except MemoryError:
                raise LaunchError(f"the host has no memory for a buffer of {nbytes} bytes") from None
            self._next = max(self._next, address + -(-(nbytes + _GAP) // _ALIGNMENT) * _ALIGNMENT)
            self._live_bytes += nbytes
            allocations, place = self._place(address)
            if place == len(allocations):
                allocations.append(allocation)
            else:
                self._allocations = [*allocations[:place], allocation, *allocations[place:]]
        return allocation

    def free(self, allocation: Allocation) -> None:
        """Give back a buffer; accesses to it are errors from now on."""
        self._dropped.append(allocation)
        with LOCK:
            if not self._is_changing:  # otherwise the collector has called this within a change
                with self._changing():
                    pass

    def find(self, address: int) -> Allocation | None:
        """The buffer that holds the byte at an address."""
        allocations, place = self._place(address)
        found = allocations[place - 1] if place else None
        return found if found is not None and address < found.end else None

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """All buffers, in the order of their addresses."""
        return tuple(self._allocations)

    def describe(self, address: int) -> str:
        """Where an address lies, for a message: buffer and offset, or the nearest buffer."""
        found = self.find(address)
        if found is not None:
            return f"byte {address - found.address} of {found.name} ({found.nbytes} bytes)"
        for start, (end, name) in self._freed.items():
            if start <= address < end:
                return f"byte {address - start} of {name}, which has been freed"
        allocations, place = self._place(address)
        near = allocations[max(0, place - 1) : place + 1]
        if not near:
            return "there are no buffers"
        nearest = min(near, key=lambda other: max(other.address - address, address - other.end))
        if address >= nearest.end:
            return f"{address - nearest.end} bytes past the end of {nearest.name} ({nearest.nbytes} bytes)"
        return f"{nearest.address - address} bytes before {nearest.name} ({nearest.nbytes} bytes)"

    def _place(self, address: int) -> tuple[list[Allocation], int]:
        """All buffers, and how many of them begin at an address or before it."""
        allocations = self._allocations
        return allocations, bisect_right(allocations, address, key=_ADDRESS)

    def _has_room(self, address: int, nbytes: int) -> bool:
        """Whether a buffer at an address keeps its distance from all others."""
        if not GLOBAL <= address <= _LAST_ADDRESS or address % _ALIGNMENT:
            return False
        allocations, place = self._place(address)
        before, behind = allocations[max(0, place - 1) : place], allocations[place : place + 1]
        return all(other.end + _GAP <= address for other in before) and all(
            address + nbytes + _GAP <= other.address for other in behind
        )

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock; forget the buffers that have been given back, before and after."""
        with LOCK:
            self._is_changing = True
            try:
                self._forget()
                yield
                self._forget()
            finally:
                self._is_changing = False

    def _forget(self) -> None:
        while self._dropped:
            allocation = self._dropped.popleft()
            allocations, place = self._place(allocation.address)
            if not place or allocations[place - 1] is not allocation:
                continue
            self._allocations = [*allocations[: place - 1], *allocations[place:]]
            self._live_bytes -= allocation.nbytes
            freed = {**self._freed, allocation.address: (allocation.end, allocation.name)}
            while len(freed) > _REMEMBERED:
                del freed[next(iter(freed))]
            self._freed = freed
