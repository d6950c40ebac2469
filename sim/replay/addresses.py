"""Where the buffers of a launch lie in the memory of a machine."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.simt.address_map import SHARED, WINDOW_BYTES
from golden.simt.trace_file import Segment

GRANULE: Final = 16
"""Bytes of the units in which accesses are compared with each other."""

_LOW_BITS: Final = (16, 12, 9)
"""Low bits of an address that are the same on the machine; fewer where its memory is small."""

_SCRATCH_BYTES: Final = 1 << 18
_PAGE_BYTES: Final = 4096


class Place(NamedTuple):
    """Bytes of a machine's memory."""

    is_shared: bool
    offset: int
    """From the first byte of the memory."""


class AddressMap:
    """The addresses of a launch on a machine whose global memory begins at `base`.

    `segments` are generic address and bytes of each buffer; a block has `shared_bytes`. Global memory has
    `size` bytes, None for as many as needed; segments for which there is no room have no place. The first
    `scratch_bytes` are for contents.
    """

    def __init__(
        self, segments: Sequence[Segment], shared_bytes: int, base: int, size: int | None = None
    ) -> None:
        self._shared_bytes = shared_bytes
        self.scratch_bytes = _SCRATCH_BYTES if size is None else min(_SCRATCH_BYTES, size // 4)
        self._ends = {address: address + length for address, length in segments}
        for bits in _LOW_BITS:
            used = self._fill(base, size, (1 << bits) - 1)
            if len(self._offsets) == len(segments):
                break
        self.memory_bytes = -(-used // _PAGE_BYTES) * _PAGE_BYTES
        self._addresses = sorted(self._offsets)

    def _fill(self, base: int, size: int | None, low: int) -> int:
        """Give each segment its place, as far as there is room; the bytes that are used."""
        self._offsets: dict[int, int] = {}
        used = self.scratch_bytes
        for address, last in self._ends.items():
            start = used + ((address - base - used) & low)
            end = start + -(-(last - address) // GRANULE) * GRANULE
            if size is None or end <= size:
                self._offsets[address] = start
                used = end
        return used

    def place(self, first: int, last: int) -> Place | None:
        """Where the generic addresses from `first` to before `last` lie; None where they have no place."""
        if SHARED <= first < SHARED + WINDOW_BYTES:
            inside = last <= SHARED + self._shared_bytes
            return Place(True, first - SHARED) if inside else None
        number = bisect_right(self._addresses, first)
        start = self._addresses[number - 1] if number else 0
        if not number or last > -(-self._ends[start] // GRANULE) * GRANULE:
            return None
        return Place(False, self._offsets[start] + first - start)


def memory_bytes(segments: Sequence[Segment], base: int) -> int:
    """The bytes of global memory that a launch needs on a machine."""
    return AddressMap(segments, 0, base).memory_bytes


def granules(starts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """The numbers of the granules that hold `length` bytes from each of some offsets on."""
    first, last = starts // GRANULE, (starts + length - 1) // GRANULE
    most = int((last - first).max()) + 1
    numbers: NDArray[np.int64] = np.minimum(first[:, None] + np.arange(most), last[:, None]).reshape(-1)
    return numbers
