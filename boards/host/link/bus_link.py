"""The host's link to a SoC: words of its bus, in pieces that the bridge takes."""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from boards.address_map import IDENTITY, INFO
from boards.host.link.errors import LinkError

_MAX_WORDS: Final = 128
"""Of one access, as a packet of Etherbone has at most 255; and written without an answer, as a serial line
over TCP has a buffer and no brake."""

_WORD_BYTES: Final = 4


class Bridge(Protocol):
    """Accesses of a bus, as the bridges of LiteX offer them."""

    def read(self, addr: int, length: int) -> Sequence[int]:
        """Successive words."""

    def write(self, addr: int, data: list[int]) -> None:
        """Set successive words."""

    def close(self) -> None:
        """Give the line back."""


class Link:
    """Reads and writes of any length.

    A bridge does not answer writes: after some of them a constant of the SoC is read, so that a link that
    loses words is noticed.

    Parameters
    ----------
    bridge : Bridge
    """

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._unanswered = 0

    def read(self, address: int, count: int) -> NDArray[np.uint32]:
        """Successive words of the bus.

        Raises
        ------
        LinkError
        """
        words: list[int] = []
        for first in range(0, count, _MAX_WORDS):
            part = min(_MAX_WORDS, count - first)
            words += self._bridge.read(address + _WORD_BYTES * first, part)
        self._unanswered = 0
        return np.array(words, dtype=np.uint32)

    def write(self, address: int, values: NDArray[np.uint32]) -> None:
        """Set successive words of the bus; raises as `read`."""
        words = values.reshape(-1).tolist()
        for first in range(0, len(words), _MAX_WORDS):
            part = words[first : first + _MAX_WORDS]
            if self._unanswered + len(part) > _MAX_WORDS:
                self._await_writes()
            self._bridge.write(address + _WORD_BYTES * first, part)
            self._unanswered += len(part)

    def close(self) -> None:
        """Give the line back."""
        self._bridge.close()

    def _await_writes(self) -> None:
        found = int(self.read(INFO, 1)[0])
        if found != IDENTITY:
            raise LinkError(f"the link lost words: {IDENTITY:#x} must be at {INFO:#x}, not {found:#x}")
