"""Device memory: buffers with 64-bit addresses, and nothing between them."""

import itertools
from bisect import bisect_right, insort
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.simt.address_map import GLOBAL
from golden.simt.errors import LaunchError

__all__ = ["TYPES", "Allocation", "DeviceMemory"]

_ALIGNMENT: Final = 512
_GAP: Final = 1 << 16
"""Bytes without memory behind each buffer, so that what runs past its end reaches nothing."""

_PADDING: Final = 16
_MOST_BYTES: Final = 1 << 36
_REMEMBERED: Final = 4096
"""Freed buffers whose names are known to messages."""

TYPES: Final = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
"""The dtype of raw bits, by bytes."""


class Allocation:
    """The bytes of one buffer, or of a memory that a block has for itself.

    Parameters
    ----------
    address : int
        Of the first byte, in its state space.
    nbytes : int
    name : str
        For messages.

    Attributes
    ----------
    data : ndarray of uint8
        The bytes, padded at the end.
    views : dict of int to ndarray
        The same memory as elements of 1, 2, 4 and 8 bytes.
    written : ndarray of bool or None
        Which bytes have ever been written; None where all of them count as written.
    constant : bool
        Whether kernels may only load from it.
    """

    def __init__(self, address: int, nbytes: int, name: str) -> None:
        self.address = address
        self.nbytes = nbytes
        self.end = address + nbytes
        self.name = name
        self.data: NDArray[np.uint8] = np.zeros(-(-nbytes // _PADDING) * _PADDING + _PADDING, dtype=np.uint8)
        self.views: dict[int, NDArray[Any]] = {size: self.data.view(dtype) for size, dtype in TYPES.items()}
        self.written: NDArray[np.bool_] | None = None
        self.constant = False

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """The bytes themselves, not a copy."""
        return self.data[: self.nbytes]


class DeviceMemory:
    """All buffers of a device, by address. Addresses are not used again."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._allocations: dict[int, Allocation] = {}
        self._freed: dict[int, tuple[int, str]] = {}
        self._next = GLOBAL
        self._numbers = itertools.count(1)

    @property
    def first_address(self) -> int:
        """No buffer begins below it."""
        return GLOBAL

    def allocate(self, nbytes: int, name: str = "") -> Allocation:
        """Make a buffer of zeros.

        Raises
        ------
        LaunchError
            For a negative or excessive size.
        """
        if not 0 <= nbytes <= _MOST_BYTES:
            raise LaunchError(f"a buffer has 0 to {_MOST_BYTES} bytes, not {nbytes}")
        allocation = Allocation(self._next, nbytes, name or f"buffer {next(self._numbers)}")
        self._next += -(-(nbytes + _GAP) // _ALIGNMENT) * _ALIGNMENT
        self._allocations[allocation.address] = allocation
        insort(self._starts, allocation.address)
        return allocation

    def free(self, allocation: Allocation) -> None:
        """Give back a buffer; accesses to it are errors from now on."""
        if self._allocations.pop(allocation.address, None) is None:
            return
        self._starts.remove(allocation.address)
        self._freed[allocation.address] = (allocation.end, allocation.name)
        while len(self._freed) > _REMEMBERED:
            del self._freed[next(iter(self._freed))]

    def find(self, address: int) -> Allocation | None:
        """The buffer that holds the byte at an address."""
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        allocation = self._allocations[self._starts[place]]
        return allocation if address < allocation.end else None

    def describe(self, address: int) -> str:
        """Where an address lies, for a message: buffer and offset, or the nearest buffer."""
        found = self.find(address)
        if found is not None:
            return f"byte {address - found.address} of {found.name} ({found.nbytes} bytes)"
        for start, (end, name) in self._freed.items():
            if start <= address < end:
                return f"byte {address - start} of {name}, which has been freed"
        nearest = self._nearest(address)
        if nearest is None:
            return "there are no buffers"
        if address >= nearest.end:
            return f"{address - nearest.end} bytes past the end of {nearest.name} ({nearest.nbytes} bytes)"
        return f"{nearest.address - address} bytes before {nearest.name} ({nearest.nbytes} bytes)"

    def _nearest(self, address: int) -> Allocation | None:
        place = bisect_right(self._starts, address)
        near = [self._allocations[start] for start in self._starts[max(0, place - 1) : place + 1]]

        def distance(allocation: Allocation) -> int:
            return max(allocation.address - address, address - allocation.end)

        return min(near, key=distance, default=None)
