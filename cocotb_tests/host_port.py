"""The host's side of the AXI4-Lite port: cocotbext-axi's master, and the register map."""

import logging
import random
from collections.abc import Sequence
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from cocotb_tests.streams import pause_channels
from hdl.control.host.register_map import REGISTERS, SHARED_WINDOW, lane_address

__all__ = ["HostPort"]

_ANSWERS = {"b": ("resp",), "r": ("data", "resp")}


class HostPort:
    """Reads and writes the registers behind ``s_axil_...``, and checks that answers stay until taken.

    Parameters
    ----------
    dut : handle
    """

    def __init__(self, dut: Any) -> None:
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
        bus = AxiLiteBus.from_prefix(dut, "s_axil")
        self.master = AxiLiteMaster(bus, dut.aclk, dut.aresetn, reset_active_level=False)
        for channel, fields in _ANSWERS.items():
            cocotb.start_soon(_watch(dut, channel, fields))

    def pause(self, rng: random.Random, share: float) -> None:
        """Make every channel wait in `share` of the cycles, each at its own times."""
        write, read = self.master.write_if, self.master.read_if
        channels = write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel
        pause_channels(channels, rng, share)

    async def write_word(self, address: int, value: int) -> AxiResp:
        """Write a whole word; returns the response."""
        return (await self.master.write(address, value.to_bytes(4, "little"))).resp

    async def read_word(self, address: int) -> tuple[int, AxiResp]:
        """Read a word; returns it with the response."""
        answer = await self.master.read(address, 4)
        return int.from_bytes(answer.data, "little"), answer.resp

    async def set(self, name: str, value: int) -> None:
        """Write a register, which must accept it."""
        assert await self.write_word(REGISTERS[name], value) == AxiResp.OKAY, name

    async def get(self, name: str) -> int:
        """Read a register, which must exist."""
        value, response = await self.read_word(REGISTERS[name])
        assert response == AxiResp.OKAY, name
        return value

    async def counter(self, name: str) -> int:
        """Read a 64-bit counter."""
        low = await self.get(name)
        high, response = await self.read_word(REGISTERS[name] + 4)
        assert response == AxiResp.OKAY, name
        return high << 32 | low

    async def push(self, words: Sequence[int]) -> AxiResp:
        """Queue a command; returns the response to its last word."""
        for index in range(len(words) - 1, 0, -1):
            assert await self.write_word(REGISTERS["COMMAND"] + 4 * index, words[index]) == AxiResp.OKAY
        return await self.write_word(REGISTERS["COMMAND"], words[0])

    async def read_lane(self, register: int, lane: int) -> tuple[int, AxiResp]:
        """Read one lane of a fragment register through the window."""
        return await self.read_word(lane_address(register, lane))

    async def write_lane(self, register: int, lane: int, value: int) -> AxiResp:
        """Write one lane of a fragment register through the window."""
        return await self.write_word(lane_address(register, lane), value)

    async def read_shared(self, word: int) -> tuple[int, AxiResp]:
        """Read one 32-bit word of the on-chip memory."""
        return await self.read_word(SHARED_WINDOW + 4 * word)

    async def write_shared(self, word: int, value: int) -> AxiResp:
        """Write one 32-bit word of the on-chip memory."""
        return await self.write_word(SHARED_WINDOW + 4 * word, value)


async def _watch(dut: Any, channel: str, fields: tuple[str, ...]) -> None:
    """Fail when an answer changes or goes before it is taken."""
    valid, ready = (getattr(dut, f"s_axil_{channel}{name}") for name in ("valid", "ready"))
    payload = [getattr(dut, f"s_axil_{channel}{name}") for name in fields]
    edge = RisingEdge(dut.aclk)
    offered: list[int] | None = None
    while True:
        await edge
        is_valid = valid.value
        if not is_valid and offered is None:
            continue
        if not dut.aresetn.value:
            offered = None
            continue
        answer = [int(port.value) for port in payload] if is_valid else None
        assert offered in (None, answer), f"{channel}: the answer {offered} became {answer}"
        offered = None if ready.value else answer
