"""What is behind the bridge: models of the core's host interface and of the board's memory."""

import random
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import cocotb
from amaranth.hdl import Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from cocotb.triggers import Event, FallingEdge, First, RisingEdge

from boards.gateware.board_memory import WordRequest
from hdl.verilog.top import Top
from sim.testbench.design import Design
from sim.testbench.unit import TOP

__all__ = ["HostModel", "MemoryModel", "plain_design"]

_OKAY: Final = 0


def plain_design(name: str, component: wiring.Component) -> Design:
    """A design of one component, each member of its ports a port ``member_field``."""
    top = Top(component)
    for path, member, signal in component.signature.flatten(component):
        make = top.input if member.flow == In else top.output
        make("_".join(map(str, path)), Value.cast(signal))
    return Design(name=name, top=TOP, write=partial(top.convert, TOP))


class _Channel:
    """One stream, at work only while something passes, so that silence costs no time.

    Parameters
    ----------
    dut : handle
    name : str
        Prefix of the ports ``_valid``, ``_ready`` and ``_payload``.
    rng : random.Random
    share : float
        Of the cycles in which the stream waits.

    Attributes
    ----------
    held : bool
        Set, the stream waits in every cycle.
    """

    def __init__(self, dut: Any, name: str, rng: random.Random, share: float) -> None:
        self._name = name
        self._rng = rng
        self._share = share
        self.held = False
        self._reset_n = dut.aresetn
        self._valid = getattr(dut, f"{name}_valid")
        self._ready = getattr(dut, f"{name}_ready")
        self._payload = getattr(dut, f"{name}_payload")
        self._edge = RisingEdge(dut.aclk)
        self._valid_edge = RisingEdge(self._valid)

    async def take(self) -> int:
        """Take a payload from the unit, and check that it stays until it is taken."""
        try:
            while True:
                self._ready.value = 0
                if not self._valid.value:
                    await self._valid_edge
                offered = int(self._payload.value)
                while self.held or self._rng.random() < self._share:
                    await self._edge
                    self._check(offered)
                self._ready.value = 1
                await self._edge
                if self._check(offered):
                    self._ready.value = 0
                    await self._edge
                    assert not self._valid.value, f"{self._name}: offered again before it was answered"
                    return offered
        finally:
            self._ready.value = 0

    async def give(self, payload: int) -> None:
        """Offer a payload to the unit until it is taken."""
        try:
            while self.held or self._rng.random() < self._share:
                await self._edge
            self._payload.value = payload
            self._valid.value = 1
            await self._edge
            while not self._ready.value:
                await self._edge
        finally:
            self._valid.value = 0

    def _check(self, offered: int) -> bool:
        """Whether the payload is still there; only a reset may take it back."""
        if not self._reset_n.value:
            return False
        assert self._valid.value, f"{self._name}: valid fell before the payload was taken"
        payload = int(self._payload.value)
        assert payload == offered, f"{self._name}: payload {offered:#x} became {payload:#x}"
        return True


class HostModel:
    """An AXI4-Lite slave of words.

    Parameters
    ----------
    dut : handle
        With an AXI4-Lite master named ``host``.
    rng : random.Random
    share : float
        Of the cycles in which each channel waits.

    Attributes
    ----------
    words : dict of int to int
        By address; what is not there reads 0.
    refusals : dict of int to int
        Addresses answered with this response instead of OKAY.
    writes, reads : list
        Every access in order: (address, value), and address.
    hangs : set of int
        Addresses whose answer is held back.
    channels : dict of str to _Channel
        ``aw``, ``w``, ``b``, ``ar``, ``r``.
    """

    def __init__(self, dut: Any, rng: random.Random, share: float) -> None:
        self.words: dict[int, int] = {}
        self.refusals: dict[int, int] = {}
        self.writes: list[tuple[int, int]] = []
        self.reads: list[int] = []
        self.hangs: set[int] = set()
        for channel in ("aw_ready", "w_ready", "b_valid", "ar_ready", "r_valid"):
            getattr(dut, f"host_{channel}").value = 0
        self.channels = {
            name: _Channel(dut, f"host_{name}", rng, share) for name in ("aw", "w", "b", "ar", "r")
        }
        cocotb.start_soon(_serve_for_ever(dut, self._write))
        cocotb.start_soon(_serve_for_ever(dut, self._read))

    async def _write(self) -> None:
        taken = [cocotb.start_soon(self.channels[name].take()) for name in ("aw", "w")]
        try:
            address, beat = [await task for task in taken]
        finally:
            for task in taken:
                task.cancel()
        assert beat >> 32 == 0b1111, "words are written whole"
        response = self.refusals.get(address, _OKAY)
        self.writes.append((address, beat & 0xFFFF_FFFF))
        if response == _OKAY:
            self.words[address] = beat & 0xFFFF_FFFF
        self.channels["b"].held |= address in self.hangs
        await self.channels["b"].give(response)

    async def _read(self) -> None:
        address = await self.channels["ar"].take()
        self.reads.append(address)
        response = self.refusals.get(address, _OKAY)
        self.channels["r"].held |= address in self.hangs
        await self.channels["r"].give(self.words.get(address, 0) | response << 32)


class MemoryModel:
    """A memory of words.

    Parameters
    ----------
    dut : handle
        With streams named ``memory`` and ``memory_answer``.
    rng : random.Random
    share : float
        Of the cycles in which each stream waits.
    base, size : int
        What exists.

    Attributes
    ----------
    words : dict of int to int
        By address; what is not there reads 0.
    writes : list of (int, int)
        Every address and value in order.
    running : Event
        Cleared, it makes the memory answer nothing for the time being.
    channels : dict of str to _Channel
        ``memory`` and ``memory_answer``.
    """

    def __init__(self, dut: Any, rng: random.Random, share: float, base: int, size: int) -> None:
        self.words: dict[int, int] = {}
        self.writes: list[tuple[int, int]] = []
        self.running = Event()
        self.running.set()
        self._exists = range(base, base + size)
        dut.memory_ready.value = 0
        dut.memory_answer_valid.value = 0
        self.channels = {name: _Channel(dut, name, rng, share) for name in ("memory", "memory_answer")}
        cocotb.start_soon(_serve_for_ever(dut, self._serve))

    async def _serve(self) -> None:
        request = WordRequest.from_bits(await self.channels["memory"].take())
        await self.running.wait()
        missing = request.address not in self._exists
        if request.write:
            self.writes.append((request.address, request.data))
            if not missing:
                self.words[request.address] = request.data
        await self.channels["memory_answer"].give(self.words.get(request.address, 0) | missing << 32)


async def _serve_for_ever(dut: Any, serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Serve one access after the other; a reset ends the one under way."""
    reset = FallingEdge(dut.aresetn)
    while True:
        task = cocotb.start_soon(serve())
        await First(task, reset)
        task.cancel()
