"""Where the fragments of a warp are: in registers of the machine, or spilled to the host.

A fragment takes 1, 2, 4 or 8 consecutive registers, and begins at a multiple of that number. When none are
free, the fragments that were used least recently are read back and kept on the host until they are used
again. A multiply has four fragments, and the smallest register file has four times eight registers: there is
always a place for them all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from golden.machine import Machine
from openwmma.wmma.misuse import Misuse


@dataclass(eq=False)
class Contents:
    """The registers of one fragment.

    Parameters
    ----------
    count : int
        32-bit registers in each lane.
    first : int or None
        The first of them in the machine; None while they are on the host alone.
    words : ndarray of uint32, shape (count, 32 lanes), or None
        What they hold, where the host knows it.
    last_used : int
        By the clock of the register file.
    """

    count: int
    first: int | None = None
    words: NDArray[np.uint32] | None = field(default=None, repr=False)
    last_used: int = 0

    def overlaps(self, first: int, count: int) -> bool:
        """Whether it is in one of these registers."""
        return self.first is not None and self.first < first + count and first < self.first + self.count


class RegisterFile:
    """Gives registers to fragments.

    Parameters
    ----------
    machine : Machine
    registers : int
        32-bit registers per lane that it has.

    Attributes
    ----------
    spills : int
        Fragments that had to leave the machine so far.
    """

    def __init__(self, machine: Machine, registers: int) -> None:
        self._machine: Machine | None = machine
        self._registers = registers
        self._resident: WeakSet[Contents] = WeakSet()
        self._clock = 0
        self.spills = 0

    def place(self, read: Sequence[Contents], written: Sequence[Contents]) -> None:
        """Bring fragments into the machine.

        Parameters
        ----------
        read : sequence of Contents
            With what they hold.
        written : sequence of Contents
            About to be overwritten by a command. What the host knows of them is dropped.
        """
        self._clock += 1
        needed = list(dict.fromkeys((*read, *written)))
        for contents in needed:
            contents.last_used = self._clock
        for contents in [item for item in needed if item.first is None]:
            self._make_room(contents, needed)
            if contents in read:
                assert contents.first is not None
                assert contents.words is not None
                self._open_machine().write_registers(contents.first, contents.words)
        for contents in written:
            contents.words = None

    def fetch(self, contents: Contents) -> NDArray[np.uint32]:
        """What the registers of a fragment hold, shape (count, 32 lanes); not to be written into."""
        if contents.words is None:
            self.fetch_all()
        assert contents.words is not None, "a fragment is in the machine or on the host"
        return contents.words

    def fetch_all(self) -> None:
        """Read all registers, so that the host knows what every fragment holds."""
        stale = [contents for contents in self._resident if contents.words is None]
        if stale:
            registers = self._open_machine().read_registers()
            for contents in stale:
                assert contents.first is not None
                contents.words = registers[contents.first : contents.first + contents.count]

    def replace(self, contents: Contents, words: NDArray[np.uint32]) -> None:
        """Set what a fragment holds; the machine gets it when it is used next."""
        self._release(contents)
        contents.words = words

    def detach(self) -> None:
        """Forget the machine, which is about to be closed."""
        self._machine = None

    def _open_machine(self) -> Machine:
        if self._machine is None:
            raise Misuse(
                "the registers of a warp that ended with an error", "they can be read while it is open"
            )
        return self._machine

    def _make_room(self, contents: Contents, pinned: Sequence[Contents]) -> None:
        """Place a fragment at a multiple of its size where the last use is the longest ago."""
        best: tuple[int, int] | None = None
        for first in range(0, self._registers - contents.count + 1, contents.count):
            there = [item for item in self._resident if item.overlaps(first, contents.count)]
            if any(item in pinned for item in there):
                continue
            last_used = max((item.last_used for item in there), default=-1)
            if best is None or last_used < best[0]:
                best = last_used, first
        assert best is not None, "four fragments fit into any register file"
        for item in [item for item in self._resident if item.overlaps(best[1], contents.count)]:
            self._spill(item)
        contents.first = best[1]
        self._resident.add(contents)

    def _spill(self, contents: Contents) -> None:
        self.fetch(contents)
        self._release(contents)
        self.spills += 1

    def _release(self, contents: Contents) -> None:
        contents.first = None
        self._resident.discard(contents)
