"""Ways to the bus of a SoC: LiteX's serial bridge, or a running litex_server, also over JTAG or Ethernet."""

import errno
import socket
from contextlib import suppress
from typing import Any, Final

from litex.tools.litex_client import RemoteClient
from litex.tools.remote.comm_uart import CommUART
from serial import SerialException
from serial.tools.list_ports import comports

from boards.host.link.errors import LinkError, PortError

_ANSWER_SECONDS: Final = 1.0
"""What a board and a USB adapter may take beside the time of the bytes."""

_SERVER_SECONDS: Final = 5.0
"""What a server may take, which does what others ask first."""


class SerialBridge(CommUART):
    """The serial line to a UART bridge, for this program alone.

    Parameters
    ----------
    port : str
        Device name, or URL as pyserial understands it.
    baud : int

    Raises
    ------
    PortError
        When it cannot be opened.
    LinkError
        From every method, when nothing answers or the line is gone.
    """

    def __init__(self, port: str, baud: int) -> None:
        try:
            super().__init__(port, baud)
        except (OSError, ValueError) as error:
            raise PortError(f"cannot open the serial port {port}: {_reason_of(error)}") from error
        line: Any = self.port
        try:
            if hasattr(line, "exclusive"):
                line.exclusive = True
        except SerialException as error:
            self.close()
            raise PortError(f"cannot open the serial port {port}: {_reason_of(error)}") from error
        line.timeout = line.write_timeout = _ANSWER_SECONDS
        # Without it an FTDI adapter keeps an answer back for 16 ms. Only ports of POSIX systems have the
        # method; it raises one error on a system and another for a device that have no such mode.
        if hasattr(line, "set_low_latency_mode"):
            with suppress(NotImplementedError, ValueError):
                line.set_low_latency_mode(True)

    def read(self, addr: int, length: int | None = None, burst: str = "incr") -> Any:
        """As LiteX has it."""
        try:
            return super().read(addr, length, burst)
        except OSError as error:
            raise LinkError(f"cannot read from the serial port: {error}") from error

    def write(self, addr: int, data: Any, burst: str = "incr") -> None:
        """As LiteX has it."""
        try:
            super().write(addr, data, burst)
        except OSError as error:
            raise LinkError(f"cannot write to the serial port: {error}") from error

    def _read(self, length: int) -> bytes:
        # LiteX waits for ever.
        found = bytes(self.port.read(length))
        if len(found) < length:
            raise LinkError(f"the bridge did not answer within {_ANSWER_SECONDS:g} s")
        return found


class ServerBridge(RemoteClient):
    """A connection to ``litex_server``.

    Parameters
    ----------
    host : str
    port : int

    Raises
    ------
    PortError
        When there is no server.
    LinkError
        From every method, when nothing answers or the connection is gone.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self._place = f"litex_server at {host}:{port}"
        try:
            self.socket = socket.create_connection((host, port), timeout=_SERVER_SECONDS)
            self.binded = True
            self._receive_server_info()
        except OSError as error:
            self.close()
            raise PortError(f"cannot reach {self._place}: {error.strerror or error}") from error

    def receive_packet(self, socket: socket.socket, addr_size: int) -> bytes:
        """As LiteX has it, but for a silent server, for which LiteX makes zeros up."""
        try:
            packet = super().receive_packet(socket, addr_size)
        except OSError as error:
            raise LinkError(f"{self._place} is gone: {error.strerror or error}") from error
        if not packet:
            raise LinkError(f"{self._place} did not answer within {_SERVER_SECONDS:g} s")
        return bytes(packet)

    def send_packet(self, socket: socket.socket, packet: Any) -> None:
        """As LiteX has it."""
        try:
            super().send_packet(socket, packet)
        except OSError as error:
            raise LinkError(f"{self._place} is gone: {error.strerror or error}") from error


def _reason_of(error: OSError | ValueError) -> str:
    """Why a serial port could not be opened, in words."""
    match error.errno if isinstance(error, OSError) else None:
        case errno.ENOENT:
            found = ", ".join(sorted(item.device for item in comports())) or "none"
            return f"there is no such device; found: {found}"
        case errno.EACCES:
            return "no permission; on most systems its group, dialout or uucp, must be one of yours"
        case errno.EAGAIN | errno.EBUSY:
            return "another program has it open"
        case _:
            return str(error)
