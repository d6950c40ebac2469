"""Opens a link to a board, by the bridge that its port asks for."""

import re
from importlib.util import find_spec
from typing import Any, Final

from boards.host.link.bus_link import Link
from boards.host.link.errors import PortError
from golden.installation import install_command

_SERVER: Final = re.compile(r"([\w.-]+):(\d{1,5})")


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
    from boards.host.bridges.litex_bridges import SerialBridge, ServerBridge  # noqa: PLC0415  # needs LiteX

    server = _SERVER.fullmatch(port)
    bridge: Any = ServerBridge(server[1], int(server[2])) if server else SerialBridge(port, baud)
    return Link(bridge)
