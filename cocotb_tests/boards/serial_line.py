"""The other end of a serial line: drives ``rx`` and reads ``tx``, in time and not in clocks."""

import random
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, Final

import cocotb
from cocotb.task import resume
from cocotb.triggers import Event, FallingEdge, First, Timer
from cocotb.utils import get_sim_time

__all__ = ["CLOCK_PS", "PinTransport", "SerialLine", "byte_errors"]

CLOCK_PS: Final = 10_000
"""What `cocotb_tests.streams.start` gives a clock."""

_BITS: Final = 8
_BYTE_BITS: Final = 10


class SerialLine:
    """Eight bits, no parity, one stop bit.

    Parameters
    ----------
    dut : handle
    divider : int
        Clocks of a bit.

    Attributes
    ----------
    received : list of int
        Bytes that have come and were not taken.
    starts : list of int
        When their start bits began, in picoseconds.
    to_unit, from_unit : callable
        What becomes of a byte on its way: the bytes that arrive.
    """

    def __init__(self, dut: Any, divider: int) -> None:
        self.received: list[int] = []
        self.starts: list[int] = []
        self.to_unit: Callable[[int], Iterable[int]] = lambda byte: (byte,)
        self.from_unit: Callable[[int], Iterable[int]] = lambda byte: (byte,)
        self._dut = dut
        self._bit = CLOCK_PS * divider
        self._arrived = Event()
        self._resets = 0
        dut.rx.value = 1
        cocotb.start_soon(self._count_resets())
        cocotb.start_soon(self._receive())

    @property
    def bit_ps(self) -> int:
        """Picoseconds of a bit."""
        return self._bit

    async def level(self, level: int, bits: float) -> None:
        """Hold the line for some bits."""
        self._dut.rx.value = level
        await Timer(max(1, round(bits * self._bit)), "ps")

    async def idle(self, bits: float) -> None:
        """Be silent."""
        await self.level(1, bits)

    async def byte(self, byte: int, *, scale: float = 1, stop: int = 1) -> None:
        """Send one byte as it is, its bits longer by a factor."""
        bits = (0, *(byte >> place & 1 for place in range(_BITS)), stop)
        for level, equal in groupby(bits):
            await self.level(level, scale * len(tuple(equal)))

    async def send(self, data: bytes) -> None:
        """Send bytes, back to back."""
        for byte in data:
            for arriving in self.to_unit(byte):
                await self.byte(arriving)

    async def take(self, count: int, bits: float) -> bytes:
        """The next bytes: as many as asked for, or fewer if no more came within some bits."""
        end = get_sim_time("ps") + round(bits * self._bit)
        while len(self.received) < count and (left := end - get_sim_time("ps")) > 0:
            self._arrived.clear()
            await First(Timer(left, "ps"), self._arrived.wait())
        taken, self.received[:] = self.received[:count], self.received[count:]
        return bytes(taken)

    async def _receive(self) -> None:
        while True:
            await FallingEdge(self._dut.tx)
            resets, start = self._resets, int(get_sim_time("ps"))
            await Timer(self._bit // 2, "ps")
            byte = 0
            for place in range(_BITS):
                await Timer(self._bit, "ps")
                byte |= int(self._dut.tx.value) << place
            await Timer(self._bit, "ps")
            if resets != self._resets:
                continue
            assert self._dut.tx.value, "the stop bit is low"
            self.starts.append(start)
            self.received += self.from_unit(byte)
            self._arrived.set()

    async def _count_resets(self) -> None:
        while True:
            await FallingEdge(self._dut.aresetn)
            self._resets += 1


class PinTransport:
    """What the host's software takes for a serial port, in a function run by `cocotb.task.bridge`.

    Parameters
    ----------
    line : SerialLine
    timeout_bits : float
        How long `read` waits, beside the time of the bytes that it is asked for.
    """

    def __init__(self, line: SerialLine, timeout_bits: float) -> None:
        self._write = resume(line.send)
        self._read = resume(line.take)
        self._timeout = timeout_bits
        self.closed = False

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._write(data)

    def read(self, count: int) -> bytes:
        """The next bytes, or fewer after the time-out."""
        return self._read(count, self._timeout + _BYTE_BITS * count)

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


def byte_errors(rng: random.Random, one_in: int, *, adds: bool = False) -> Callable[[int], Iterable[int]]:
    """What a bad line makes of a byte: `SerialLine.to_unit` or `from_unit`.

    Parameters
    ----------
    rng : random.Random
    one_in : int
        One of so many bytes is lost, and one has a bit changed.
    adds : bool
        Whether one is doubled as well, and one made up.
    """

    def arriving(byte: int) -> Iterable[int]:
        match rng.randrange(one_in):
            case 0:
                return ()
            case 1:
                return (byte ^ 1 << rng.randrange(_BITS),)
            case 2 if adds:
                return byte, byte
            case 3 if adds:
                return rng.randrange(256), byte
            case _:
                return (byte,)

    return arriving
