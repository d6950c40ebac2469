"""Operands of `wgmma` from the banks of the on-chip memory to the words of the operand storage."""

from dataclasses import replace

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from golden.matrix_descriptors import MatrixDescriptor, matrix_of_chunks
from golden.tables.commands import Wgmma
from golden.tables.instruction_set import WGMMA_FAMILIES
from golden.tables.matrix_instructions import multiplies_of
from hdl.command import Descriptor, WgmmaCommand, encode
from hdl.config import PRESETS
from hdl.memory.chunk_banks import ChunkBanks
from hdl.verilog.core_verilog import core_top
from hdl.warpgroup.descriptor_check import DescriptorCheck
from hdl.warpgroup.multiplier import WarpgroupMultiplier

SIZE = 4096
TINY = PRESETS["tiny"]
INSTRUCTIONS = {item.shape.n: item for item in multiplies_of(WGMMA_FAMILIES[0])}


def fields_of(command):
    """The fields of an encoded command."""
    bits = sum(word << 32 * index for index, word in enumerate(encode(command)))
    return WgmmaCommand.from_bits(bits)


def set_request(ctx, request, command):
    """Offer a share, of which only the addresses matter."""
    found = fields_of(command)
    for name in ("tiles_less_one", "a_in_registers", "scale_d", "transposed"):
        ctx.set(request[name], getattr(found, name))
    for name in ("a", "b"):
        ctx.set(request[name], Descriptor.from_bits(getattr(found, f"{name}_matrix").as_bits()))


class Path:
    """The warpgroup multiplier and a memory of random bytes; the bench is the tile multiplier."""

    def __init__(self, config, memory):
        self.config, self.memory = config, memory
        self.module = m = Module()
        m.submodules.multiplier = self.multiplier = multiplier = WarpgroupMultiplier(config)
        m.submodules.banks = self.banks = banks = ChunkBanks(config)
        connect(m, multiplier.chunk_requests, banks.requests)
        m.d.comb += multiplier.chunks.eq(banks.chunks)

    def run(self, bench):
        simulator = Simulator(self.module)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()

    async def fill(self, ctx):
        beat = 16 * self.config.beat_quads
        ctx.set(self.banks.write.en, (1 << beat) - 1)
        for place in range(SIZE // beat):
            ctx.set(self.banks.write.addr, place)
            data = self.memory[place * beat :][:beat]
            ctx.set(self.banks.write.data, int.from_bytes(data.tobytes(), "little"))
            await ctx.tick()
        ctx.set(self.banks.write.en, 0)
        ctx.set(self.banks.enable, 1)

    async def ask(self, ctx, command, members):
        for warp in members:
            request = self.multiplier.requests[warp]
            set_request(ctx, request.payload, command)
            ctx.set(request.payload.tile.d, 128 * warp)
            ctx.set(request.valid, 1)
        await ctx.tick()
        for warp in members:
            ctx.set(self.multiplier.requests[warp].valid, 0)

    async def tile(self, ctx):
        """The registers of A and B, and of D, of the next tile."""
        tile = self.multiplier.tile
        ctx.set(tile.ready, 1)
        for _ in range(3000):
            found = (
                [ctx.get(getattr(tile.payload.tile, name)) for name in "xyd"] if ctx.get(tile.valid) else None
            )
            await ctx.tick()
            if found:
                ctx.set(tile.ready, 0)
                return found
        raise AssertionError("no tile comes")

    async def end_tile(self, ctx):
        for value in (1, 0):
            ctx.set(self.multiplier.tile_fetched, value)
            ctx.set(self.multiplier.tile_done, value)
            if value:
                await ctx.tick()

    async def rows(self, ctx, port, register):
        """Eight rows of 16 bytes: a register of the operand storage."""
        read, quads = self.multiplier.read[port], self.config.word_quads
        parts = []
        for part in range(8 // quads):
            ctx.set(read.enable, 1)
            ctx.set(read.address, register * (8 // quads) + part)
            await ctx.tick()
            ctx.set(read.enable, 0)
            await ctx.tick().repeat(2)
            word = ctx.get(read.data) & ((1 << 128 * quads) - 1)
            parts.append(np.frombuffer(word.to_bytes(16 * quads, "little"), np.uint8).reshape(quads, 16))
        return np.concatenate(parts)

    def matrix(self, bits, rows, transposed):
        """The bytes of an operand as golden finds them, shape (rows, 32)."""
        places = MatrixDescriptor.from_bits(bits).chunks(rows, transposed)
        stored = np.stack([self.memory[place : place + 16] for place in places.reshape(-1)])
        chunks = stored.view("<u8").reshape(*places.shape, 2)
        found = matrix_of_chunks(chunks, "u2", transposed)
        return np.ascontiguousarray(found).view(np.uint8).reshape(rows, 32)


def drawn(random, rows, transposed, swizzle):
    groups = rows // 8 + 2
    leading, stride = (int(random.integers(1, 100 // groups + 2)) for _ in range(2))
    if transposed and swizzle:
        leading = int(random.integers(8))
    base = int(random.integers(8)) * int(random.integers(2))
    found = int(random.integers(16)) | leading << 16 | stride << 32 | base << 49 | swizzle << 62
    return found if MatrixDescriptor.from_bits(found).reach(rows, transposed) <= SIZE else swizzle << 62


@pytest.mark.parametrize(("units", "bits"), [(1, 128), (4, 256), (64, 512)])
def test_words_are_the_rows_that_golden_finds(units, bits):
    """Every swizzle, in both orders, for gangs of one to four warps."""
    random = np.random.default_rng(units)
    config = replace(
        TINY, warps=4, wgmma=True, registers=128, dot_product_units=units, data_bits=bits, shared_bytes=SIZE
    )
    path = Path(config, random.integers(0, 256, SIZE, dtype=np.uint8))
    seen = []

    async def bench(ctx):
        await path.fill(ctx)
        for swizzle in range(4):
            n = int(random.choice([8, 16, 24]))
            orders = [bool(swizzle & 1), bool(random.integers(2))]
            a, b = (
                drawn(random, rows, order, kind)
                for rows, order, kind in zip((64, n), orders, (swizzle, 3 - swizzle), strict=True)
            )
            left, right = path.matrix(a, 64, orders[0]), path.matrix(b, n, orders[1])
            members = sorted(random.choice(4, 1 + swizzle, replace=False).tolist())
            await path.ask(ctx, Wgmma(INSTRUCTIONS[n], 0, a, b, transposed=tuple(orders)), members)
            for _ in range(len(members) * n // 8):
                x, y, d = await path.tile(ctx)
                warp, tile = d // 128, d % 128 // 4
                for register in range(4):
                    group, half = register % 2, register // 2
                    rows = left[16 * warp + 8 * group :][:8, 16 * half :][:, :16]
                    np.testing.assert_array_equal(await path.rows(ctx, 0, x + register), rows)
                for half in range(2):
                    rows = right[8 * tile :][:8, 16 * half :][:, :16]
                    np.testing.assert_array_equal(await path.rows(ctx, -1, y + half), rows)
                await path.end_tile(ctx)
                seen.append((swizzle, warp, tile))

    path.run(bench)
    assert len(set(seen)) == len(seen)
    assert {swizzle for swizzle, _, _ in seen} == set(range(4))


def test_descriptors_that_leave_the_memory_are_found():
    random = np.random.default_rng(3)
    check = DescriptorCheck(replace(TINY, warps=4, wgmma=True, shared_bytes=1 << 16))
    module = Module()
    module.submodules.check = check
    outcomes = []

    async def bench(ctx):
        for _ in range(200):
            n, orders = int(random.integers(1, 33)) * 8, tuple(map(bool, random.integers(2, size=2)))
            bits = [
                int(random.integers(1 << 10))
                | int(random.integers(2 << int(random.integers(12)))) << 16
                | int(random.integers(2 << int(random.integers(12)))) << 32
                | int(random.integers(4)) << 62
                for _ in range(2)
            ]
            in_registers = not random.integers(4)
            command = Wgmma(INSTRUCTIONS[n], 0, *bits, a_in_registers=in_registers, transposed=orders)
            a = MatrixDescriptor.from_bits(bits[0]).reach(64, orders[0])
            b = MatrixDescriptor.from_bits(bits[1]).reach(n, orders[1])
            set_request(ctx, check.request, replace(command, a=0) if in_registers else command)
            ctx.set(check.start, 1)
            await ctx.tick()
            ctx.set(check.start, 0)
            await ctx.tick().repeat(4)
            assert ctx.get(check.done)
            expected = max(b, 0 if in_registers else a) <= 1 << 16
            assert ctx.get(check.legal) == expected, command
            outcomes.append(expected)

    simulator = Simulator(module)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert 40 < sum(outcomes) < 160


def test_a_core_without_wgmma_has_nothing_of_it():
    text = core_top(TINY).rtlil("core")
    assert not {
        name for name in ("warpgroup", "chunk", "share_check", "stored_read", "bank_conflict") if name in text
    }


@pytest.mark.parametrize("changed", [{"warps": 6}, {"shared_bytes": 0}])
def test_wgmma_needs_whole_groups_of_warps_and_on_chip_memory(changed):
    with pytest.raises(ValueError, match="wgmma needs a multiple of 4 warps and shared bytes, not"):
        replace(TINY, **{"warps": 4, "shared_bytes": SIZE, **changed}, wgmma=True)
