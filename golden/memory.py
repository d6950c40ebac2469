"""Memories: windows of bytes at base addresses, and nothing elsewhere."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.integers import checked_integer, shortened
from golden.invalid_argument import InvalidArgument
from golden.limits import DEVICE_BYTES
from golden.tables.instruction_set import Space

_LAST = (1 << 64) - 1
_BEAT_BYTES: Final = 16


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


class NoMemory(LookupError):
    """No memory holds the bytes that are to be read, from `address` on."""

    def __init__(self, address: int) -> None:
        self.address = address
        super().__init__(f"no memory at {address:#x}")


@dataclass(frozen=True)
class AddressSpaces:
    """Finds the memory that an address of a state space means.

    A ``.shared`` address counts from the first byte of shared memory. A generic address from its base to its
    end means shared memory, every other one global memory.
    """

    memory: Memory
    """Global memory."""
    shared: Memory | None
    """Shared memory, where there is one."""

    def read(self, address: int, count: int, space: Space) -> NDArray[np.uint8]:
        """Consecutive bytes, beat by beat only where they do not lie in one memory; or NoMemory."""
        whole = self._find(address, count, space) is not None
        data = []
        for start, end in [(address, address + count)] if whole else _beats(address, count):
            found = self._find(start, end - start, space)
            if found is None:
                raise NoMemory(start)
            memory, place = found
            data.append(memory.read(place, end - start))
        return np.concatenate(data)

    def write(self, lines: Iterable[tuple[int, NDArray[Any]]], space: Space) -> tuple[int | None, int]:
        """Write all beats that lie in a memory, of lines at some addresses.

        Returned are the address of the first beat that lies in no memory, None if there is none, and the
        number of bytes written.
        """
        missing: int | None = None
        written = 0
        for address, line in lines:
            for start, end in _beats(address, len(line)):
                found = self._find(start, end - start, space)
                if found is not None:
                    memory, place = found
                    memory.write(place, line[start - address : end - address])
                    written += end - start
                elif missing is None:
                    missing = start
        return missing, written

    def _find(self, address: int, count: int, space: Space) -> tuple[Memory, int] | None:
        """The memory that holds all these bytes, and where in it they begin."""
        if self.shared is not None and space != "global":
            place = address + (self.shared.base if space == "shared" else 0)
            if self.shared.contains(place, count):
                return self.shared, place
        if space != "shared" and self.memory.contains(address, count):
            return self.memory, address
        return None


def _beats(address: int, count: int) -> Iterator[tuple[int, int]]:
    """Start and end of the bytes that each bus beat carries of a line."""
    last = address + count
    while address < last:
        end = min(last, (address // _BEAT_BYTES + 1) * _BEAT_BYTES)
        yield address, end
        address = end
