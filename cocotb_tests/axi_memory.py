"""The memory at an AXI4 port: cocotbext-axi's slave over golden memory, with faults on request."""

import logging
import random
from typing import Any

from cocotbext.axi import AxiBus, AxiResp
from cocotbext.axi.axi_slave import AxiSlaveRead, AxiSlaveWrite

from cocotb_tests.streams import pause_channels
from golden.memory import Memory

__all__ = ["BusMemory"]


class _Read(AxiSlaveRead):  # type: ignore[misc]
    """Answers each beat with the response that the memory chooses."""

    def __init__(self, owner: "BusMemory", *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._owner = owner
        self._response = AxiResp.OKAY
        self._send = self.r_channel.send
        self.r_channel.send = self._answer
        self._receive = self.ar_channel.recv
        self.ar_channel.recv = self._take
        self._beat = 0
        self._step = 0

    async def _take(self) -> Any:
        burst = await self._receive()
        self._beat, self._step = int(burst.araddr), 1 << int(burst.arsize)
        return burst

    async def _read(self, address: int, length: int) -> bytes:
        """Give the whole width of the bus, of which the beat may be a part."""
        self._response = self._owner.response(self._beat)
        self._beat += self._step
        if self._response != AxiResp.OKAY:
            return bytes(length)
        return self._owner.memory.read(address, length).tobytes()

    async def _answer(self, beat: Any) -> None:
        beat.rresp = self._response
        await self._send(beat)


class _Write(AxiSlaveWrite):  # type: ignore[misc]
    """Answers each burst with the worst of its beats' responses, and writes the beats that can be written."""

    def __init__(self, owner: "BusMemory", *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._owner = owner
        self._response = AxiResp.OKAY
        self._send = self.b_channel.send
        self.b_channel.send = self._answer

    async def _write(self, address: int, data: bytes) -> None:
        response = self._owner.response(address)
        self._response = max(self._response, response)
        if response == AxiResp.OKAY:
            self._owner.memory.data[address - self._owner.memory.base :][: len(data)] = list(data)

    async def _answer(self, answer: Any) -> None:
        answer.bresp = self._response
        self._response = AxiResp.OKAY
        await self._send(answer)


class BusMemory:
    """Serves the port ``m_axi_...``.

    Parameters
    ----------
    dut : handle
    memory : Memory
        What exists; all else is answered with DECERR.
    beat : int
        Bytes of a beat, or more than the bus has.

    Attributes
    ----------
    faults : dict of int to AxiResp
        Addresses of beats that are answered otherwise than with OKAY.
    """

    def __init__(self, dut: Any, memory: Memory, beat: int = 16) -> None:
        self.memory = memory
        self.faults: dict[int, AxiResp] = {}
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
        bus = AxiBus.from_prefix(dut, "m_axi")
        arguments = {"reset": dut.aresetn, "reset_active_level": False}
        self._write = _Write(self, bus.write, dut.aclk, **arguments)
        self._read = _Read(self, bus.read, dut.aclk, **arguments)
        self._beat_bytes = min(len(dut.m_axi_wdata) // 8, beat)

    def response(self, address: int) -> AxiResp:
        """What the beat that holds this address is answered with."""
        beat = address // self._beat_bytes * self._beat_bytes
        if beat in self.faults:
            return self.faults[beat]
        return AxiResp.OKAY if self.memory.contains(beat, self._beat_bytes) else AxiResp.DECERR

    def hold(self, channel: str, *, hold: bool) -> None:
        """Stop a channel, one of ``ar``, ``r``, ``aw``, ``w`` and ``b``, or let it go on."""
        side = self._read if channel in ("ar", "r") else self._write
        getattr(side, f"{channel}_channel").pause = hold

    def pause(self, rng: random.Random, share: float) -> None:
        """Make every channel wait in `share` of the cycles, each at its own times."""
        channels = (
            *(self._write.aw_channel, self._write.w_channel, self._write.b_channel),
            *(self._read.ar_channel, self._read.r_channel),
        )
        pause_channels(channels, rng, share)
