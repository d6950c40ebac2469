"""The on-chip memory as its user of single words sees it: served from a list, others in the way."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from cocotb_tests.streams import never
from hdl.config import CoreConfig
from hdl.memory.shared_memory import WORD_READ_LATENCY

__all__ = ["SharedWords"]

_NOBODYS_DATA = 0xDEAD_BEEF


class SharedWords:
    """Serves the port ``shared_...`` of a unit.

    What was read is on the port in the one cycle `WORD_READ_LATENCY` later.

    Parameters
    ----------
    dut : handle
    config : CoreConfig
    pause : iterator of bool or None
        Whether another user has the memory in a cycle; None for never.

    Attributes
    ----------
    values : list of int
        All words, each its own number at first.
    reads, writes : int
        Words read and written.
    """

    def __init__(self, dut: Any, config: CoreConfig, pause: Iterator[bool] | None = None) -> None:
        self.values = [0x5A00_0000 | word for word in range(config.shared_bytes // 4)]
        self.reads = 0
        self.writes = 0
        self._dut = dut
        cocotb.start_soon(self._serve(pause or never()))

    async def _serve(self, pause: Iterator[bool]) -> None:
        dut = self._dut
        edge = RisingEdge(dut.aclk)
        held: tuple[int, ...] | None = None
        under_way = deque([_NOBODYS_DATA] * (WORD_READ_LATENCY - 1))
        while True:
            dut.shared_ready.value = not next(pause)
            await edge
            dut.shared_read_data.value = under_way.popleft()
            under_way.append(_NOBODYS_DATA)
            asked = None
            if dut.shared_enable.value:
                ports = dut.shared_is_write, dut.shared_address, dut.shared_write_data
                asked = tuple(int(port.value) for port in ports)
            assert held in (None, asked) or not dut.aresetn.value, f"{held} became {asked}"
            held = asked
            if asked is None or not dut.shared_ready.value:
                continue
            held = None
            is_write, address, value = asked
            if is_write:
                self.writes += 1
                self.values[address] = value
            else:
                self.reads += 1
                under_way[-1] = self.values[address]
