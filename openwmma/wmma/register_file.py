"""Where the fragments of a warp are: in registers of the machine, or spilled to the host.

When no registers are free, the fragments that were used least recently are read back and kept on the host
until they are used again.
"""

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from golden.machine import Machine
from openwmma.wmma.element_types import Misuse
from sim.replay.register_file import NEVER, RegisterFile, Resident


@dataclass(eq=False)
class Contents:
    """The registers of one fragment."""

    count: int
    """32-bit registers in each lane."""
    resident: "Resident[weakref.ref[Contents]] | None" = None
    """Where they are in the machine; None while they are on the host alone."""
    words: NDArray[np.uint32] | None = field(default=None, repr=False)
    """What they hold, where the host knows it, shape (count, 32 lanes)."""

    @property
    def first(self) -> int:
        """The first register, of a fragment that is in the machine."""
        assert self.resident is not None
        return self.resident.first


class WarpRegisters(RegisterFile["weakref.ref[Contents]"]):
    """Gives the 32-bit registers of a machine, `size` in each lane, to fragments."""

    def __init__(self, machine: Machine, size: int) -> None:
        super().__init__(size, 1)
        self._machine: Machine | None = machine
        self._clock = 0
        self.spills = 0
        """Fragments that had to leave the machine so far."""

    def place(self, read: Sequence[Contents], written: Sequence[Contents]) -> None:
        """Bring fragments into the machine: those that are read with what they hold.

        The others are about to be overwritten by a command. What the host knows of them is dropped.
        """
        self._clock += 1
        needed = list(dict.fromkeys((*read, *written)))
        keep = [contents.resident for contents in needed if contents.resident is not None]
        for contents in needed:
            if contents.resident is None:
                # Of a fragment that is collected, the registers are free.
                name = weakref.ref(contents, self._drop)
                contents.resident = self.take(name, contents.count, keep)
                keep.append(contents.resident)
                if contents in read:
                    assert contents.words is not None
                    self._open_machine().write_registers(contents.first, contents.words)
            contents.resident.next_use = NEVER - self._clock  # the least recently used is evicted first
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
        found = [resident.content() for resident in self._residents.values()]
        stale = [contents for contents in found if contents is not None and contents.words is None]
        if stale:
            registers = self._open_machine().read_registers()
            for contents in stale:
                contents.words = registers[contents.first : contents.first + contents.count]

    def replace_words(self, contents: Contents, words: NDArray[np.uint32]) -> None:
        """Set what a fragment holds; the machine gets it when it is used next."""
        if contents.resident is not None:
            super().release(contents.resident)
            contents.resident = None
        contents.words = words

    def release(self, resident: Resident[weakref.ref[Contents]]) -> None:
        """Spill a fragment."""
        contents = resident.content()
        if contents is not None:
            self.fetch(contents)
            contents.resident = None
            self.spills += 1
        super().release(resident)

    def detach(self) -> None:
        """Forget the machine, which is about to be closed."""
        self._machine = None

    def _drop(self, name: weakref.ref[Contents]) -> None:
        resident = self.find(name)
        if resident is not None:
            super().release(resident)

    def _open_machine(self) -> Machine:
        if self._machine is None:
            raise Misuse(
                "the registers of a warp that ended with an error", "they can be read while it is open"
            )
        return self._machine
