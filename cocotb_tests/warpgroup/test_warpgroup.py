"""The warpgroup multiplier with the banks of the on-chip memory: gangs of shares among multiplies.

The bench is the warps, and the tile multiplier: it takes tiles, reads their words from the operand storage,
and reports them fetched and done later, in order.
"""

import random
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import cocotb
import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import ClockCycles, RisingEdge
from numpy.typing import NDArray

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.packing import Packing
from cocotb_tests.streams import StreamSource, never, pauses, start
from cocotb_tests.warpgroup.shares import (
    WARP_REGISTERS,
    M,
    Operands,
    Share,
    draw_descriptor,
    draw_operands,
    draw_share,
    matrix,
)
from golden.matrix_descriptors import MatrixDescriptor
from hdl.component import Component
from hdl.config import MAX_SHARED_BYTES, PRESETS, WARPS_OF_A_GROUP, CoreConfig
from hdl.memory.chunk_banks import ChunkBanks
from hdl.multiply.tile.fetch import request_shape
from hdl.registers.register_ports import READ_LATENCY
from hdl.warpgroup.multiplier import WarpgroupMultiplier
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

SIZE = MAX_SHARED_BYTES
"""Every bit of an address counts."""
SMALL = 4096
"""So much of it is filled sooner."""
LOW_BITS = (16, 32)
"""Where the two offsets of a descriptor begin."""
MOST_IN_FLIGHT = 48
MOST_TILES = 32
"""Of a share."""


def config_of(units: int) -> CoreConfig:
    """A core with so many dot-product units, whose beats have 1, 2 or 4 quads."""
    return replace(
        PRESETS["tiny"],
        warps=8 if units == 4 else 4,
        wgmma=True,
        registers=WARP_REGISTERS,
        dot_product_units=units,
        data_bits={1: 128, 4: 256, 64: 512}[units],
        shared_bytes=SIZE,
    )


class WarpgroupPath(Component):
    """The multiplier and the memory that it reads."""

    def __init__(self, config: CoreConfig) -> None:
        self._multiplier, self._banks = WarpgroupMultiplier(config), ChunkBanks(config)
        ours, banks = self._multiplier.signature.members, self._banks.signature.members
        self._members = {name: item for name, item in ours.items() if "chunk" not in name}
        super().__init__(
            {
                **self._members,
                **{name: banks[name] for name in ("write", "enable")},
                "chunks": Out(banks["chunks"].shape),
            }
        )

    def _logic(self, m: Module) -> None:
        m.submodules.multiplier, m.submodules.banks = inner, banks = self._multiplier, self._banks
        connect(m, inner.chunk_requests, banks.requests)
        connect(m, flipped(self.write), banks.write)
        m.d.comb += [
            inner.chunks.eq(banks.chunks),
            banks.enable.eq(self.enable),
            self.chunks.eq(banks.chunks),
        ]
        for name, member in self._members.items():
            outer, own = getattr(self, name), getattr(inner, name)
            if member.is_port:
                m.d.comb += own.eq(outer) if member.flow == In else outer.eq(own)
                continue
            pairs = zip(outer, own, strict=True) if member.dimensions else [(outer, own)]
            for each, other in pairs:
                connect(m, flipped(each), other)


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A tile in flight: of `mma`, with no share, or the number of one of a share."""

    share: Share | None
    number: int = 0
    x: int = 0
    y: int = 0

    @property
    def is_last(self) -> bool:
        """Of its share."""
        return self.share is not None and self.number == self.share.operands.tiles - 1


@dataclass
class Counts:
    """What came out."""

    chunks: int = 0
    shares: int = 0
    multiplies: int = 0
    taken: list[Tile] = field(default_factory=list)


class Bench:
    """Warps and tile multiplier around the unit."""

    def __init__(self, dut: Any, share: float, size: int = SMALL) -> None:
        self.dut, self.pause, self.size = dut, share, size
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.config = config_of(parameters()["units"])
        self.memory = np.frombuffer(self.rng.randbytes(size), np.uint8)
        self.tiles = Packing(request_shape(self.config))
        waits = [pauses(self.rng, share) if share else never() for _ in range(self.config.warps + 1)]
        self.sources = [
            StreamSource(dut, f"requests_{warp}", waits[warp]) for warp in range(self.config.warps)
        ]
        self.multiplies = StreamSource(dut, "request", waits[-1])
        self.waiting: list[deque[Share]] = [deque() for _ in self.sources]
        self.next_tile = [0] * self.config.warps
        self.in_flight = [0] * self.config.warps
        self.asked: deque[int] = deque()
        self.to_fetch: deque[Tile] = deque()
        self.to_end: deque[Tile] = deque()
        self.counts = Counts()
        self.holds = False
        """No tile ends."""

    async def begin(self) -> None:
        """Fill the memory, and start what is around the unit."""
        dut, beat = self.dut, 16 * self.config.beat_quads
        await start(dut)
        for place in range(self.size // beat):
            dut.write_addr.value, dut.write_en.value = place, (1 << beat) - 1
            dut.write_data.value = int.from_bytes(self.memory[place * beat :][:beat].tobytes(), "little")
            await RisingEdge(dut.aclk)
        dut.write_en.value = 0
        for task in (self.free(), self.take(), self.fetch(), self.end()):
            cocotb.start_soon(task)

    def put(self, *shares: Share) -> None:
        """Queue shares of warps."""
        for share in shares:
            self.waiting[share.warp].append(share)
            self.sources[share.warp].put(share.request)

    def put_multiply(self) -> None:
        """Queue a multiply of `mma`: any bits."""
        bits = self.rng.getrandbits(len(self.dut.request_payload))
        self.asked.append(bits)
        self.multiplies.put(bits)

    async def finish(self) -> None:
        """Wait until everything that was queued has ended."""
        for _ in range(40_000):
            await RisingEdge(self.dut.aclk)
            if not any(self.waiting) and not self.asked and not self.to_fetch and not self.to_end:
                return
        raise AssertionError(f"left: {self.waiting}, {len(self.asked)} multiplies, {self.to_fetch}")

    async def free(self) -> None:
        """Let chunks be read in most cycles; count them."""
        dut = self.dut
        mask = Packing(dict_layout(self.config))
        while True:
            dut.enable.value = self.rng.random() >= self.pause
            await RisingEdge(dut.aclk)
            found = mask.unpack(int(dut.chunks.value))
            if found.valid:
                self.counts.chunks += found.mask.bit_count()

    async def take(self) -> None:
        """Take tiles, and compare them with the next one of their warp."""
        dut = self.dut
        while True:
            has_room = len(self.to_fetch) < 3 and len(self.to_end) < MOST_IN_FLIGHT
            ready = has_room and self.rng.random() >= self.pause
            dut.tile_ready.value = ready
            await RisingEdge(dut.aclk)
            if ready and dut.tile_valid.value:
                found = self.tiles.unpack(int(dut.tile_payload.value))
                tile = self.share_tile(found) if found.y_stored else self.multiply_tile()
                self.to_fetch.append(tile)
                self.counts.taken.append(tile)

    def multiply_tile(self) -> Tile:
        """Compare a tile of `mma` with the one that was asked for."""
        bits = self.asked.popleft()
        found = int(self.dut.tile_payload.value)
        size = len(self.dut.request_payload)
        assert found & (1 << size) - 1 == bits
        assert found >> size == 0, "a multiply of registers"
        return Tile(share=None)

    def share_tile(self, found: Any) -> Tile:
        """Compare a tile with the next one of the oldest share of its warp."""
        warp = found.tile.d // WARP_REGISTERS
        share, number = self.waiting[warp][0], self.next_tile[warp]
        common = share.operands
        d = share.d_of(number)
        # Where the operands lie in the storage is seen when they are read.
        x = share.a if common.in_registers else found.tile.x
        expected = {
            "tile": common.tile(0, x=x, y=found.tile.y, c=d, d=d),
            "x_stored": not common.in_registers,
            "y_stored": 1,
            "zero_c": not common.scale_d,
            "negated": common.negated,
        }
        assert vars(found) == expected, (share, number)
        self.in_flight[warp] += 1
        assert self.in_flight[warp] <= common.tiles, f"warp {warp}: more tiles in flight than a share has"
        self.next_tile[warp] += 1
        if self.next_tile[warp] == common.tiles:
            self.waiting[warp].popleft()
            self.next_tile[warp] = 0
        return Tile(share=share, number=number, x=found.tile.x, y=found.tile.y)

    async def rows(self, port: int, registers: list[int]) -> NDArray[np.uint8]:
        """Registers of the operand storage, each of eight rows of 16 bytes."""
        dut, quads = self.dut, self.config.word_quads
        enable, address, data = (
            getattr(dut, f"read_{port}_{name}") for name in ("enable", "address", "data")
        )
        parts = 8 // quads
        addresses: list[int | None] = [
            register * parts + part for register in registers for part in range(parts)
        ]
        words = []
        for cycle in range(len(addresses) + READ_LATENCY):
            enable.value = cycle < len(addresses)
            if cycle < len(addresses):
                address.value = addresses[cycle]
            await RisingEdge(dut.aclk)
            if cycle >= READ_LATENCY:
                words.append((int(data.value) & (1 << 128 * quads) - 1).to_bytes(16 * quads, "little"))
        return np.frombuffer(b"".join(words), np.uint8).reshape(len(registers), 8, 16)

    async def fetch(self) -> None:
        """Read the words of each tile while they must be there, and then say so."""
        dut = self.dut
        while True:
            if not self.to_fetch:
                await RisingEdge(dut.aclk)
                continue
            tile = self.to_fetch[0]
            if tile.share is not None:
                await self.compare(tile, tile.share)
            while self.rng.random() < self.pause:
                await RisingEdge(dut.aclk)
            dut.tile_fetched.value = 1
            await RisingEdge(dut.aclk)
            dut.tile_fetched.value = 0
            assert dut.fetched.value == (tile.share is None)
            warp = 1 << tile.share.warp if tile.share is not None and tile.is_last else 0
            assert int(dut.share_fetched.value) == warp, tile
            self.to_end.append(self.to_fetch.popleft())

    async def compare(self, tile: Tile, share: Share) -> None:
        """Compare the words of a tile in the operand storage with what golden finds in memory."""
        common = share.operands
        if not common.in_registers:
            left = matrix(self.memory, share.a, M, common.transposed[0])[16 * (share.warp % 4) :][:16]
            found = await self.rows(0, [tile.x + register for register in range(4)])
            for register in range(4):
                rows = left[8 * (register % 2) :][:8, 16 * (register // 2) :][:, :16]
                np.testing.assert_array_equal(found[register], rows, err_msg=f"A of {tile}")
        right = matrix(self.memory, common.b, 8 * common.tiles, common.transposed[1])[8 * tile.number :][:8]
        port = self.config.word_registers - 1
        found = await self.rows(port, [tile.y, tile.y + 1])
        np.testing.assert_array_equal(np.hstack(list(found)), right, err_msg=f"B of {tile}")

    async def end(self) -> None:
        """Say that tiles are done, some time after they were fetched."""
        dut = self.dut
        while True:
            if self.holds or not self.to_end or self.rng.random() < self.pause / 2:
                await RisingEdge(dut.aclk)
                continue
            if self.rng.random() < 0.01:
                await ClockCycles(dut.aclk, 400)
            tile = self.to_end[0]
            dut.tile_done.value = 1
            await RisingEdge(dut.aclk)
            dut.tile_done.value = 0
            self.to_end.popleft()
            assert dut.done.value == (tile.share is None)
            ended = 1 << tile.share.warp if tile.share is not None and tile.is_last else 0
            assert int(dut.share_done.value) == ended, tile
            if tile.share is None:
                self.counts.multiplies += 1
                continue
            self.in_flight[tile.share.warp] -= 1
            self.counts.shares += tile.is_last


def dict_layout(config: CoreConfig) -> Any:
    """Of the chunks that the memory gives."""
    return ChunkBanks(config).signature.members["chunks"].shape


def shares_of(bench: Bench, operands: Operands, warps: list[int]) -> list[Share]:
    """The shares of some warps, which have operands in common."""
    return [draw_share(bench.rng, operands, warp, bench.size) for warp in warps]


@cocotb.test
@cocotb.parametrize(share=[0.0, 0.4])
async def shares_among_multiplies(dut: Any, share: float) -> None:
    """Shares of any warps, some with operands in common, and multiplies between their tiles."""
    bench = Bench(dut, share, SIZE if share else SMALL)
    await bench.begin()
    count = multiplies = 0
    for _ in range(40):
        operands = draw_operands(bench.rng, bench.size)
        group = WARPS_OF_A_GROUP * bench.rng.randrange(bench.config.warps // WARPS_OF_A_GROUP)
        warps = [group + warp for warp in bench.rng.sample(range(4), bench.rng.choice([1, 2, 3, 4, 4]))]
        for _ in range(bench.rng.choice([1, 1, 2])):
            shares = shares_of(bench, operands, warps)
            bench.put(*shares)
            count += len(shares)
        for _ in range(bench.rng.choice([0, 0, 1, 4])):
            bench.put_multiply()
            multiplies += 1
        if bench.rng.random() < 0.2:
            await bench.finish()
    await bench.finish()
    assert (bench.counts.shares, bench.counts.multiplies) == (count, multiplies)


@cocotb.test
async def far_apart(dut: Any) -> None:
    """Parts of B that are 128 KiB apart, of each warp."""
    bench = Bench(dut, 0.0, SIZE)
    await bench.begin()
    for warp, low in product(range(bench.config.warps), LOW_BITS):
        bits = sum(bench.rng.randrange(64) << each for each in LOW_BITS) | 1 << low + 13
        operands = replace(draw_operands(bench.rng, SIZE), tiles=2)
        reach = MatrixDescriptor.from_bits(bits).reach(16, operands.transposed[1])
        start = bench.rng.randrange((SIZE - reach) // 16 + 1)
        bench.put(*shares_of(bench, replace(operands, b=bits | start), [warp]))
    await bench.finish()


@cocotb.test
async def a_gang_reads_b_once(dut: Any) -> None:
    """Shares that come together and differ in A and D alone; each other difference makes two gangs."""
    bench = Bench(dut, 0.0)
    await bench.begin()
    rng = bench.rng
    plain = replace(
        draw_operands(rng, bench.size), tiles=3, in_registers=False, transposed=(False, False), b=0
    )
    others = {
        "b": 1 << 32,
        "constants": plain.constants ^ 1,
        "tiles": 2,
        "is_f16": not plain.is_f16,
        "in_registers": True,
        "scale_d": not plain.scale_d,
        "negated": plain.negated ^ 1,
        "transposed": (False, True),
    }
    for name, value in (("", 0), *others.items()):
        first = rng.randrange(4)
        other = replace(plain, **{name: value}) if name else plain  # type: ignore[arg-type]
        warps = [warp for warp in range(4) if warp != first]
        shares = [*shares_of(bench, plain, [first]), *shares_of(bench, other, warps)]
        bench.counts.chunks = 0
        bench.put(*shares)
        await bench.finish()
        of_a = 32 * sum(not share.operands.in_registers for share in shares)
        of_b = 16 * plain.tiles + (16 * other.tiles if name else 0)
        assert bench.counts.chunks == of_a + of_b, name


@cocotb.test
async def tiles_of_a_gang(dut: Any) -> None:
    """Each tile of all members before the next one, the lowest warp first."""
    bench = Bench(dut, 0.0)
    await bench.begin()
    operands = replace(draw_operands(bench.rng, bench.size), tiles=5, b=1 << 62)
    bench.put(*shares_of(bench, operands, [3, 0, 2]))
    await bench.finish()
    found = [(tile.number, tile.share.warp) for tile in bench.counts.taken if tile.share is not None]
    assert found == [(number, warp) for number in range(5) for warp in (0, 2, 3)]


@cocotb.test
async def no_more_tiles_in_flight_than_a_share_has(dut: Any) -> None:
    """Of each warp, while none ends."""
    bench = Bench(dut, 0.0)
    await bench.begin()
    for warp in range(bench.config.warps):
        drawn = draw_operands(bench.rng, bench.size)
        b = draw_descriptor(bench.rng, 8 * MOST_TILES, drawn.transposed[1], bench.size)
        operands = replace(drawn, tiles=MOST_TILES, b=b)
        bench.holds = True
        for _ in range(2):
            bench.put(*shares_of(bench, operands, [warp]))
        for _ in range(4000):
            await RisingEdge(dut.aclk)
            if len(bench.to_end) == MOST_TILES:
                break
        await ClockCycles(dut.aclk, 100)
        assert bench.in_flight[warp] == MOST_TILES
        bench.holds = False
        await bench.finish()


@pytest.mark.parametrize("units", [4, *(pytest.param(units, marks=SLOW) for units in (1, 64))])
def test_warpgroup(simulate: Simulate, units: int) -> None:
    design = unit_design(f"warpgroup_{units}", WarpgroupPath(config_of(units)))
    simulate(design, __name__, values={"units": units})
