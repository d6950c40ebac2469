"""The host's end of the serial line: requests with their answers, however often that takes."""

import errno
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import serial
from numpy.typing import NDArray
from serial.tools.list_ports import comports

from boards.gateware.frames import IDENTITY, MOST_WORDS, PROTOCOL, Kind, Status
from boards.host.frame_codec import MOST_SKIPPED, encode_request, read_answer
from hdl.command import COMMAND_WORDS

__all__ = [
    "BoardIdentity",
    "BoardRefusal",
    "BoardTimeout",
    "Link",
    "LinkError",
    "PortError",
    "SerialPort",
    "Transport",
]

_WORD_BYTES: Final = 4
_WRITE_SECONDS: Final = 10.0
"""After which a line that takes no bytes is given up; a busy computer may be slow to take them."""

_ANSWER_SECONDS: Final = 0.2
"""What a board and a USB adapter may take beside the time of the bytes: ten times the silence that ends a
frame."""
_LONGEST_FRAMES_BITS: Final = 10 * 2 * 280


class LinkError(RuntimeError):
    """The board did not answer, or is not one that this software knows."""


class PortError(LinkError):
    """The serial port cannot be opened."""


class BoardRefusal(RuntimeError):
    """The board refused an access.

    Parameters
    ----------
    kind : Kind
    address : int
        Of the first word.
    done : int
        Words read or written before the one that was refused.
    """

    def __init__(self, kind: Kind, address: int, done: int) -> None:
        name = kind.name.lower().replace("_", " ")
        super().__init__(
            f"the board refused to {name} at {address:#x}: word {done} does not exist or is busy"
        )
        self.kind = kind
        self.address = address
        self.done = done


class BoardTimeout(LinkError):
    """The core or the memory of a board did not answer an access in time.

    Parameters
    ----------
    kind : Kind
    address : int
        Of the word that was not answered.
    limit : str
        The time, in words.
    """

    def __init__(self, kind: Kind, address: int, limit: str) -> None:
        name = kind.name.lower().replace("_", " ")
        super().__init__(
            f"nothing answered the board's try to {name} at {address:#x} within {limit}; reset the board"
        )
        self.kind = kind
        self.address = address


class Transport(Protocol):
    """Bytes to and from a board."""

    def write(self, data: bytes) -> None:
        """Send bytes."""

    def read(self, count: int) -> bytes:
        """The next bytes, as many as asked for, or fewer when no more came for the time-out."""

    def close(self) -> None:
        """Give the line back."""


class SerialPort:
    """A serial port of this computer, for this program alone.

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
        From every method, when it is gone.
    """

    def __init__(self, port: str, baud: int) -> None:
        timeout = _ANSWER_SECONDS + _LONGEST_FRAMES_BITS / baud
        try:
            self._port: Any = serial.serial_for_url(
                port, baudrate=baud, timeout=timeout, write_timeout=_WRITE_SECONDS, exclusive=True
            )
        except (OSError, ValueError) as error:
            raise PortError(_why_not_opened(port, error)) from error
        # Without it an FTDI adapter keeps an answer back for 16 ms. Only ports of POSIX systems have the
        # method; it raises one error on a system and another for a device that have no such mode.
        if hasattr(self._port, "set_low_latency_mode"):
            with suppress(NotImplementedError, ValueError):
                self._port.set_low_latency_mode(True)

    def write(self, data: bytes) -> None:
        """Send bytes."""
        try:
            self._port.write(data)
        except OSError as error:
            raise LinkError(f"cannot write to the serial port: {error}") from error

    def read(self, count: int) -> bytes:
        """The next bytes, as many as asked for, or fewer when no more came for the time-out."""
        try:
            return bytes(self._port.read(count))
        except OSError as error:
            raise LinkError(f"cannot read from the serial port: {error}") from error

    def close(self) -> None:
        """Give the port back."""
        self._port.close()


@dataclass(frozen=True, kw_only=True)
class BoardIdentity:
    """What a board says of itself.

    Parameters
    ----------
    memory_base, memory_bytes : int
        Where the core's global memory lies.
    clock_hz : int
    dropped : int
        Frames that the board has given up since its reset.
    access_cycles : int
        Clocks after which the board gives up an access that nobody answers.
    """

    memory_base: int
    memory_bytes: int
    clock_hz: int
    dropped: int
    access_cycles: int


class Link:
    """Reads and writes of any length, cut into frames; a frame without a good answer is sent again.

    A repetition carries the number of the first try, so that the board does not execute it twice.

    Parameters
    ----------
    transport : Transport
        Its time-out must be longer than the silence after which the board gives up a frame.
    tries : int
        How often a frame is sent before we give up, at least 1.

    Attributes
    ----------
    repeated : int
        Frames that had to be sent again.

    Raises
    ------
    ValueError
        For fewer than one try.
    """

    def __init__(self, transport: Transport, *, tries: int = 6) -> None:
        if tries < 1:
            raise ValueError(f"tries must be at least 1, not {tries}")
        self.repeated = 0
        self._transport = transport
        self._tries = tries
        self._sequence = 0
        self._limit = "its time limit"

    def identify(self) -> BoardIdentity:
        """Begin a session.

        Raises
        ------
        LinkError
            No answer, or that of something else.
        """
        self._await_silence()
        words = np.frombuffer(self._request(Kind.IDENTIFY, 0, 0), dtype="<u4").tolist()
        if words[:1] != [IDENTITY]:
            raise LinkError(f"the board must answer with the identity {IDENTITY:#x}, not {words[:1]}")
        if words[1] != PROTOCOL:
            raise LinkError(f"the board's frames must be of version {PROTOCOL}, not {words[1]}")
        names = ("memory_base", "memory_bytes", "clock_hz", "dropped", "access_cycles")
        if len(words) != 2 + len(names):
            raise LinkError(f"the board's identity must have {2 + len(names)} words, not {len(words)}")
        identity = BoardIdentity(**dict(zip(names, words[2:], strict=True)))
        cycles, clock_hz = identity.access_cycles, identity.clock_hz
        self._limit = f"{cycles} cycles of its clock ({1e6 * cycles / clock_hz:.0f} us)"
        return identity

    def read_host(self, address: int, count: int) -> NDArray[np.uint32]:
        """Successive words of the core's host interface.

        Raises
        ------
        BoardRefusal
        LinkError
        """
        return self._read(Kind.READ_HOST, address, count)

    def write_host(self, address: int, values: NDArray[np.uint32]) -> None:
        """Set successive words of the core's host interface; raises as `read_host`."""
        self._write(Kind.WRITE_HOST, address, values)

    def read_memory(self, address: int, count: int) -> NDArray[np.uint32]:
        """Successive words of the board's memory; raises as `read_host`."""
        return self._read(Kind.READ_MEMORY, address, count)

    def write_memory(self, address: int, values: NDArray[np.uint32]) -> None:
        """Set successive words of the board's memory; raises as `read_host`."""
        self._write(Kind.WRITE_MEMORY, address, values)

    def queue_commands(self, address: int, commands: NDArray[np.uint32]) -> None:
        """Queue encoded commands through the command registers at an address.

        Parameters
        ----------
        address : int
        commands : ndarray of uint32, shape (count, 5)

        Raises
        ------
        BoardRefusal
            The queue was full.
        LinkError
        """
        ordered = np.roll(np.ascontiguousarray(commands, dtype="<u4"), -1, axis=1)
        most = MOST_WORDS // COMMAND_WORDS
        for first in range(0, len(ordered), most):
            part = ordered[first : first + most]
            self._request(Kind.QUEUE_COMMANDS, address, part.size, part.tobytes())

    def close(self) -> None:
        """Give the line back."""
        self._transport.close()

    def _read(self, kind: Kind, address: int, count: int) -> NDArray[np.uint32]:
        parts = [
            self._request(kind, address + _WORD_BYTES * first, min(MOST_WORDS, count - first))
            for first in range(0, count, MOST_WORDS)
        ]
        return np.frombuffer(b"".join(parts), dtype="<u4").astype(np.uint32)

    def _write(self, kind: Kind, address: int, values: NDArray[np.uint32]) -> None:
        words = np.ascontiguousarray(values, dtype="<u4").reshape(-1)
        for first in range(0, words.size, MOST_WORDS):
            part = words[first : first + MOST_WORDS]
            self._request(kind, address + _WORD_BYTES * first, part.size, part.tobytes())

    def _request(self, kind: Kind, address: int, words: int, payload: bytes = b"") -> bytes:
        self._sequence = (self._sequence + 1) % 256
        frame = encode_request(self._sequence, kind, address, words, payload)
        for attempt in range(self._tries):
            if attempt:
                self.repeated += 1
                self._await_silence()
            self._transport.write(frame)
            answer = read_answer(self._transport.read, self._sequence)
            if answer is None:
                continue
            if answer.status is Status.REFUSED:
                raise BoardRefusal(kind, address, int.from_bytes(answer.payload, "little"))
            if answer.status is Status.TIMED_OUT:
                done = int.from_bytes(answer.payload, "little")
                raise BoardTimeout(kind, _word_address(kind, address, done), self._limit)
            if answer.status is Status.MALFORMED:
                raise LinkError(
                    f"the board found a request malformed: {kind.name} of {words} words at {address:#x}"
                )
            return answer.payload
        raise LinkError(
            f"the board gave no good answer to {kind.name} at {address:#x} in {self._tries} tries"
        )

    def _await_silence(self) -> None:
        """Read what is still on its way, and leave the line alone until the board has given up its frame."""
        for _ in range(MOST_SKIPPED):
            if not self._transport.read(1):
                return
        raise LinkError(f"the line sent {MOST_SKIPPED} bytes that nobody asked for")


def _word_address(kind: Kind, address: int, word: int) -> int:
    """Where a word of a request belongs; of each command word 0 comes last."""
    if kind is Kind.QUEUE_COMMANDS:
        return address + _WORD_BYTES * ((word + 1) % COMMAND_WORDS)
    return address + _WORD_BYTES * word


def _why_not_opened(port: str, error: OSError | ValueError) -> str:
    match error.errno if isinstance(error, OSError) else None:
        case errno.ENOENT:
            found = ", ".join(sorted(item.device for item in comports())) or "none"
            reason = f"there is no such device; found: {found}"
        case errno.EACCES:
            reason = "no permission; on most systems its group, dialout or uucp, must be one of yours"
        case errno.EAGAIN | errno.EBUSY:
            reason = "another program has it open"
        case _:
            reason = str(error)
    return f"cannot open the serial port {port}: {reason}"
