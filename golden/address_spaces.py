"""The memories of a machine as its commands address them: global, shared or generic."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.memory import Memory
from golden.tables.instruction_set import Space

_BEAT_BYTES: Final = 16


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
        pieces: Iterable[tuple[int, int]] = [(address, address + count)]
        if self._find(address, count, space) is None:
            pieces = _beats(address, count)
        data = []
        for start, end in pieces:
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
