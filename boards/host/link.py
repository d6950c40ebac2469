"""The host's link to a SoC: words of its bus, in pieces that the bridge takes."""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from boards.address_map import IDENTITY, INFO
from boards.host.errors import LinkError, PortError
from golden.installation import install_command

_MAX_WORDS: Final = 128
"""Of one access, as a packet of Etherbone has at most 255; and written without an answer, as a serial line
over TCP has a buffer and no brake."""

_SERVER: Final = re.compile(r"([\w.-]+):(\d{1,5})")
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


def open_link(port: str, baud: int) -> Link:
    """Open a way to a board.

    Parameters
    ----------
    port : str
        Device name of a serial port, or URL as pyserial understands it; or ``HOST:PORT`` of a running
        ``litex_server``.
    baud : int
        Of a serial port: what the board was built with.

    Raises
    ------
    PortError
        When it cannot be opened, or LiteX is not installed.
    """
    if find_spec("litex") is None:
        raise PortError(f"a board is reached with LiteX, which is not installed: {install_command('soc')}")
    from boards.host.bridges import SerialBridge, ServerBridge  # noqa: PLC0415  # needs LiteX

    server = _SERVER.fullmatch(port)
    bridge: Any = ServerBridge(server[1], int(server[2])) if server else SerialBridge(port, baud)
    return Link(bridge)
