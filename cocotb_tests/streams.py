"""Drivers and monitors of valid-ready streams; when they pause is a generator handed in."""

import random
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Event, RisingEdge

__all__ = [
    "ChangingInput",
    "StreamMonitor",
    "StreamSink",
    "StreamSource",
    "never",
    "pause_channels",
    "pauses",
    "reset",
    "start",
]


def never() -> Iterator[bool]:
    """No pause at all."""
    while True:
        yield False


def pauses(rng: random.Random, share: float) -> Iterator[bool]:
    """Pause in `share` of the cycles at random, and once in a while for long."""
    while True:
        if rng.random() < 0.01:
            yield from [share > 0] * rng.randrange(20)
        yield rng.random() < share


def pause_channels(channels: Iterable[Any], rng: random.Random, share: float) -> None:
    """Make channels of cocotbext-axi's models wait in `share` of the cycles, each at its own times."""
    for channel in channels:
        channel.clear_pause_generator()
        channel.pause = False
        if share > 0:
            channel.set_pause_generator(pauses(random.Random(rng.random()), share))


async def start(dut: Any) -> None:
    """Start the clock and apply reset, with every input that is not part of a bus at zero."""
    Clock(dut.aclk, 10, "ns").start()
    await reset(dut)


async def reset(dut: Any, cycles: int = 3) -> None:
    """Hold reset for a few cycles."""
    dut.aresetn.value = 0
    for _ in range(cycles):
        await RisingEdge(dut.aclk)
    dut.aresetn.value = 1
    await RisingEdge(dut.aclk)


class ChangingInput:
    """An input of the unit that is written when its value changes: a write costs much more than a comparison.

    Parameters
    ----------
    handle : handle
        Nobody else writes it.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._value: int | None = None

    def set(self, value: int) -> None:
        """Write the value if it is another one."""
        if value != self._value:
            self._handle.value = self._value = value


class StreamSource:
    """Drives a stream into the unit; while there is nothing to offer, the payload is noise.

    Parameters
    ----------
    dut : handle
    name : str
        Prefix of the ports ``_valid``, ``_ready`` and ``_payload``.
    pause : iterator of bool
        Whether to hold valid back in a cycle in which a transfer could begin.
    """

    def __init__(self, dut: Any, name: str, pause: Iterator[bool] | None = None) -> None:
        self._clock = dut.aclk
        self._valid = ChangingInput(getattr(dut, f"{name}_valid"))
        self._ready = getattr(dut, f"{name}_ready")
        self._payload = getattr(dut, f"{name}_payload")
        self._pause = pause or never()
        self._waiting: deque[int] = deque()
        self._empty = Event()
        self._empty.set()
        self._active = False
        self._noise = random.Random(cocotb.RANDOM_SEED)
        self._valid.set(0)
        cocotb.start_soon(self._drive())

    def put(self, *payloads: int) -> None:
        """Queue payloads to be sent."""
        self._waiting.extend(payloads)
        if payloads:
            self._empty.clear()

    async def sent(self) -> None:
        """Wait until everything has been taken."""
        await self._empty.wait()

    @property
    def waiting(self) -> int:
        """Payloads that have not been taken."""
        return len(self._waiting)

    def drop(self) -> None:
        """Take back all that has not been taken, also what is being offered."""
        self._waiting.clear()
        self._empty.set()
        self._active = False
        self._valid.set(0)

    async def send(self, *payloads: int) -> None:
        """Queue payloads and wait until they have been taken."""
        self.put(*payloads)
        await self.sent()

    async def _drive(self) -> None:
        edge = RisingEdge(self._clock)
        while True:
            await edge
            if self._active and self._ready.value:
                self._active = False
                self._waiting.popleft()
                if not self._waiting:
                    self._empty.set()
                self._payload.value = self._noise.getrandbits(len(self._payload))
            if not self._active:
                self._active = bool(self._waiting) and not next(self._pause)
                if self._active:
                    self._payload.value = self._waiting[0]
                self._valid.set(self._active)


class StreamMonitor:
    """Sees every transfer of a stream, and checks that what was offered stays until it is taken.

    Parameters
    ----------
    dut : handle
    name : str
        Prefix of the ports.

    Attributes
    ----------
    received : list of int
        Payloads in order.
    """

    def __init__(self, dut: Any, name: str) -> None:
        self.received: list[int] = []
        self._clock = dut.aclk
        self._reset_n = dut.aresetn
        self._name = name
        self._valid = getattr(dut, f"{name}_valid")
        self._ready = getattr(dut, f"{name}_ready")
        self._payload = getattr(dut, f"{name}_payload")
        self._watching = cocotb.start_soon(self._watch())

    async def _watch(self) -> None:
        edge = RisingEdge(self._clock)
        offered: int | None = None
        while True:
            await edge
            # What is read in every cycle costs most, so the reset is read only where it matters.
            valid = self._valid.value
            if (valid or offered is not None) and not self._reset_n.value:
                offered = None
                continue
            if not valid:
                assert offered is None, f"{self._name}: valid fell before the payload was taken"
                continue
            payload = int(self._payload.value)
            if offered is not None:
                assert payload == offered, f"{self._name}: payload {offered:#x} became {payload:#x}"
            offered = payload
            if self._ready.value:
                offered = None
                self.received.append(payload)


class StreamSink(StreamMonitor):
    """Takes what the unit sends, and checks it as the monitor does.

    Parameters
    ----------
    dut : handle
    name : str
        Prefix of the ports.
    pause : iterator of bool
        Whether to hold ready back in a cycle.
    steady : bool
        Whether ready, once high, stays so until a payload is taken.
    """

    def __init__(
        self, dut: Any, name: str, pause: Iterator[bool] | None = None, *, steady: bool = False
    ) -> None:
        super().__init__(dut, name)
        self._pause = pause or never()
        self._steady = steady
        self._driven_ready = ChangingInput(self._ready)
        self._driven_ready.set(0)
        self._driving = cocotb.start_soon(self._drive())

    def stop(self) -> None:
        """Take nothing any more."""
        self._driving.cancel()
        self._watching.cancel()
        self._driven_ready.set(0)

    async def take(self, count: int, limit: int = 10_000) -> list[int]:
        """Wait until `count` payloads have come, and hand them over.

        Raises
        ------
        AssertionError
            If they have not come within `limit` cycles.
        """
        edge = RisingEdge(self._clock)
        for _ in range(limit):
            if len(self.received) >= count:
                taken, self.received[:] = self.received[:count], self.received[count:]
                return taken
            await edge
        raise AssertionError(f"{self._name}: {len(self.received)} of {count} payloads in {limit} cycles")

    async def _drive(self) -> None:
        edge = RisingEdge(self._clock)
        ready = False
        while True:
            if not (self._steady and ready and not self._valid.value):
                ready = not next(self._pause)
            self._driven_ready.set(ready)
            await edge
