"""A board at the far end of a terminal: frames for a simulated core, without a serial line's bits."""

import os
import pty
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np

from boards.gateware.frames import IDENTITY, MOST_WORDS, PROTOCOL, REQUEST_START, Kind, Status
from boards.host.frame_codec import checksum
from golden.memory import Memory
from hdl.config import PAGE_BYTES, CoreConfig
from sim.build import build_core
from sim.simulation import BusTiming, HostRefusal, Simulation

CLOCK_HZ = 50_000_000
ACCESS_CYCLES = 16_384


class TerminalBoard:
    """Answers requests as `boards.gateware.bridge` does.

    Parameters
    ----------
    config : CoreConfig
    memory_bytes : int

    Attributes
    ----------
    memory : Memory
        From the second page on; noise at first, as after some other program.
    simulation : Simulation
    corrupts : dict of int to int
        What is flipped in words of memory that are read, by their address.
    unanswered : set of int
        Addresses of requests that end with a timeout at their first word.
    """

    def __init__(self, config: CoreConfig, memory_bytes: int) -> None:
        self.memory = Memory(memory_bytes, PAGE_BYTES)
        self.memory.data[:] = np.random.default_rng(1).integers(0, 256, memory_bytes, dtype=np.uint8)
        self.simulation = Simulation(build_core(config), self.memory, timing=BusTiming())
        self.corrupts: dict[int, int] = {}
        self.unanswered: set[int] = set()

    def answer(self, request: bytes) -> bytes:
        """The answer to the content of a request, checksum included."""
        sequence, kind = request[0], Kind(request[1])
        address, words = int.from_bytes(request[2:6], "little"), request[6]
        values = np.frombuffer(request[7:-2], dtype="<u4").astype(np.uint32)
        try:
            payload = self._execute(kind, address, words, values).astype("<u4").tobytes()
            status = Status.DONE
        except (HostRefusal, IndexError):
            payload, status = bytes(4), Status.REFUSED
        if address in self.unanswered:
            payload, status = bytes(4), Status.TIMED_OUT
        content = bytes([sequence, status.value, len(payload) // 4]) + payload
        return b"\x5a" + content + checksum(content)

    def _execute(self, kind: Kind, address: int, words: int, values: np.ndarray) -> np.ndarray:
        match kind:
            case Kind.IDENTIFY:
                return np.array(
                    [IDENTITY, PROTOCOL, PAGE_BYTES, self.memory.size, CLOCK_HZ, 0, ACCESS_CYCLES]
                )
            case Kind.READ_HOST:
                return self.simulation.read(address, words)
            case Kind.WRITE_HOST:
                self.simulation.write(address, values)
            case Kind.READ_MEMORY:
                found = self.memory.read(address, 4 * words).view("<u4")
                for place, flipped in self.corrupts.items():
                    if address <= place < address + 4 * words:
                        found[(place - address) // 4] ^= flipped
                return found
            case Kind.WRITE_MEMORY:
                self.memory.write(address, values.astype("<u4").view(np.uint8))
            case Kind.QUEUE_COMMANDS:
                for words_of_one in values.reshape(-1, 5):
                    for place in (1, 2, 3, 4, 0):
                        word = words_of_one[[1, 2, 3, 4, 0].index(place)]
                        self.simulation.write(address + 4 * place, np.array([word]))
        return np.zeros(0, dtype=np.uint32)


@contextmanager
def open_terminal(board: TerminalBoard | None) -> Iterator[str]:
    """The name of a terminal with a board behind it, or with nobody."""
    far, near = pty.openpty()
    tty.setraw(near)
    served = threading.Thread(target=_serve, args=(far, board))
    if board is not None:
        served.start()
    try:
        yield os.ttyname(near)
    finally:
        os.close(near)
        if board is not None:
            served.join()
            board.simulation.close()
        os.close(far)


def _serve(far: int, board: TerminalBoard) -> None:
    with (
        suppress(OSError),
        os.fdopen(far, "rb", buffering=0, closefd=False) as stream,
    ):  # the near end is closed
        while True:
            start = _exactly(stream, 1)
            assert start[0] == REQUEST_START
            content = _exactly(stream, 7)
            assert content[6] <= MOST_WORDS
            content += _exactly(stream, 4 * content[6] * (content[1] & 1) + 2)
            assert checksum(content[:-2]) == content[-2:]
            os.write(far, board.answer(content))


def _exactly(stream, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += stream.read(count - len(data))
    return data
