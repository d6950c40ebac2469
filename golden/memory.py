"""Global memory: a window of bytes at a base address, and nothing elsewhere."""

import numpy as np
from numpy.typing import NDArray

from golden.integers import checked_integer, shortened
from golden.invalid_argument import InvalidArgument
from golden.limits import DEVICE_BYTES

_LAST = (1 << 64) - 1


class Memory:
    """Bytes that exist from `base` to ``base + size``; all else answers with a decode error.

    Parameters
    ----------
    size : int
        Bytes; a multiple of 64, the widest bus.
    base : int
        Address of the first byte; a multiple of 4096.

    Attributes
    ----------
    data : ndarray of uint8
        The bytes themselves; other owners (a simulation) may share the buffer.

    Raises
    ------
    InvalidArgument
        For a size or base that breaks the rules above, for more than `golden.limits.DEVICE_BYTES`, and for
        more than the host has.
    """

    def __init__(self, size: int, base: int = 0) -> None:
        size = checked_integer("memory size", size, 64, DEVICE_BYTES, unit="bytes")
        base = checked_integer("memory base", base, 0, _LAST)
        if size % 64:
            raise InvalidArgument("memory size", str(size), "a positive multiple of 64 bytes")
        if base % 4096:
            raise InvalidArgument("memory base", shortened(base), "a multiple of 4096")
        self.base = base
        try:
            self.data: NDArray[np.uint8] = np.zeros(size, dtype=np.uint8)
        except MemoryError:
            raise InvalidArgument("memory size", str(size), "bytes that the host has memory for") from None

    @property
    def size(self) -> int:
        """Bytes in the window."""
        return int(self.data.size)

    def contains(self, address: int, count: int) -> bool:
        """Whether all `count` bytes from `address` on exist."""
        address, count = _checked(address, count)
        return self.base <= address and address + count <= self.base + self.size

    def read(self, address: int, count: int) -> NDArray[np.uint8]:
        """A copy of `count` bytes; IndexError where not all of them exist."""
        return self.data[self._slice(address, count)].copy()

    def write(self, address: int, values: NDArray[np.uint8]) -> None:
        """Write bytes; IndexError, with nothing written, where not all of them exist."""
        if not isinstance(values, np.ndarray) or values.dtype != np.uint8 or values.ndim != 1:
            raise InvalidArgument("values", shortened(values), "an array of uint8 with one axis")
        self.data[self._slice(address, values.size)] = values

    def _slice(self, address: int, count: int) -> slice:
        address, count = _checked(address, count)
        end = self.base + self.size
        if not self.base <= address <= end - count:
            raise IndexError(
                f"{count} bytes at {address:#x} are outside the memory {self.base:#x} .. {end:#x}"
            )
        return slice(address - self.base, address - self.base + count)


def _checked(address: int, count: int) -> tuple[int, int]:
    if type(address) is type(count) is int and 0 <= address <= _LAST >= count >= 0:
        return address, count  # as in every command
    return checked_integer("address", address, 0, _LAST), checked_integer("count", count, 0, _LAST)
