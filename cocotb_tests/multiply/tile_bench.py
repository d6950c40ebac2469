"""A tile multiplier between registers and dot-product units, its work checked against golden."""

import random
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from cocotb_tests.configurations import ALL_FORMATS
from cocotb_tests.multiply.golden_units import Units
from cocotb_tests.multiply.tiles import Tile
from cocotb_tests.register_ports import RegisterPorts
from cocotb_tests.streams import StreamSource, never, pauses
from hdl.config import CoreConfig
from sim.testbench.parameters import parameters

__all__ = ["TileBench", "config_of"]

_LONGEST: Final = 10_000
"""Cycles for a tile, whoever is in its way."""


def config_of(units: int) -> CoreConfig:
    """All formats, for so many units."""
    return CoreConfig(dot_product=ALL_FORMATS.dot_product, dot_product_units=units, registers=256)


class TileBench:
    """The multiplier, its surroundings, and the scoreboard that keeps reads behind writes.

    Parameters
    ----------
    dut : handle
    share : float
        How often each port pauses; the one from which registers are read never does.
    ports_share : float or None
        The same for the register file, if it differs.
    """

    def __init__(self, dut: Any, share: float = 0, ports_share: float | None = None) -> None:
        self.dut = dut
        self.config = config_of(parameters()["units"])
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.bits = np.random.default_rng(cocotb.RANDOM_SEED)

        def pause(share: float = share) -> Iterator[bool]:
            return pauses(random.Random(self.rng.random()), share) if share else never()

        ports_share = share if ports_share is None else ports_share
        self.registers = RegisterPorts(dut, self.config, write_pause=pause(ports_share))
        self.units = Units(dut, self.config.dot_product_units, self.config.dot_product.depth, pause)
        self.request = StreamSource(dut, "request", pause())
        self.expected = self.registers.values.copy()
        self.to_fetch: deque[Tile] = deque()
        self.to_finish: deque[Tile] = deque()
        self.reads = self.writes = self.operations = 0
        self.read_words = self.written_words = 0
        self.scribble = False
        cocotb.start_soon(self._watch())

    def fill(self) -> None:
        """New values, most of them numbers of any format that are near each other."""
        shape = self.expected.shape
        values = self.bits.integers(0, 1 << 32, shape, dtype=np.uint32)
        near = self.bits.random(shape) < 0.9
        values[near] = values[near] & np.uint32(0x87FF87FF) | np.uint32(0x38003800)
        self.expected[:] = self.registers.values[:] = values

    async def put(self, tile: Tile) -> None:
        """Send a tile as soon as its operands are written."""
        edge = RisingEdge(self.dut.aclk)
        sources = tile.sources()
        while any(sources & set(older.registers("d")) for older in self.to_finish):
            await edge
        self.to_fetch.append(tile)
        self.to_finish.append(tile)
        self.operations += tile.operations()
        tile.execute(self.expected)
        await self.request.send(tile.payload())

    async def finish(self) -> None:
        """Wait for the end, and compare everything."""
        edge = RisingEdge(self.dut.aclk)
        while self.to_finish:
            await edge
        for _ in range(8):
            await edge
        assert not self.to_fetch
        assert (self.read_words, self.written_words) == (self.reads, self.writes)
        assert self.units.busy == self.units.operations == self.operations
        wrong = np.argwhere(self.registers.values != self.expected)
        assert not len(wrong), f"register, lane {wrong[:4].tolist()}"

    def forget(self) -> None:
        """After a reset: nothing is in flight."""
        self.request.drop()
        self.to_fetch.clear()
        self.to_finish.clear()
        self.reads = self.writes = self.read_words = self.written_words = 0
        self.units.operations = self.units.busy = self.operations = 0

    async def _watch(self) -> None:
        """Every pulse comes once for each tile, in the cycle after its last word was read or written."""
        dut = self.dut
        edge = RisingEdge(dut.aclk)
        ports = [f"read_{number}" for number in range(self.config.word_registers)]
        enables = [getattr(dut, f"{port}_enable") for port in (*ports, "c_read")]
        quiet = 0
        while True:
            await edge
            if not dut.aresetn.value:
                quiet = 0
                continue
            quiet = 0 if dut.done.value or not self.to_finish else quiet + 1
            assert quiet < _LONGEST, f"no end of {len(self.to_finish)} tiles"
            if dut.fetched.value:
                assert self.to_fetch, "fetched what was not sent"
                tile = self.to_fetch.popleft()
                self.reads += tile.reads(self.config)
                assert self.read_words == self.reads, f"{self.read_words} words read, not {self.reads}"
                if self.scribble:
                    self._scribble(tile)
            if dut.done.value:
                assert self.to_finish, "done what was not sent"
                tile = self.to_finish.popleft()
                self.writes += tile.writes(self.config)
                assert self.written_words == self.writes, f"{self.written_words} written, not {self.writes}"
            assert len(self.to_finish) >= len(self.to_fetch), "done before it was fetched"
            self.read_words += sum(bool(enable.value) for enable in enables)
            if dut.write_enable.value and dut.write_ready.value:
                self.written_words += 1

    def _scribble(self, tile: Tile) -> None:
        """Write registers that nobody needs any more: a younger load would."""
        free = tile.sources()
        for other in self.to_finish:
            free -= set(other.registers("d"))
        for other in self.to_fetch:
            free -= other.sources()
        for register in free:
            values = self.bits.integers(0, 1 << 32, 32, dtype=np.uint32)
            self.expected[register] = self.registers.values[register] = values
