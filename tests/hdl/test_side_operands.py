"""Block scales, read before a multiply starts and kept until its rows are issued.

Metadata: cocotb_tests/multiply/test_metadata_reader.py.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from amaranth.sim import Simulator

from golden.block_scales import unpack_scales
from golden.resolve import resolve_instruction
from golden.tables.profiles import PROFILES
from golden.tables.scales import BYTE_IDS, THREAD_IDS
from hdl.config import PRESETS, DotProductConfig
from hdl.multiply.tile.side_operands import SideOperandReader
from hdl.multiply.tile.tile_steps import Steps
from hdl.registers.register_ports import READ_LATENCY

REGISTERS = 4
QUADS = 8
VECS = ("1X", "2X", "4X")
SCALED = {
    "1X": "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0",
    "2X": "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    "4X": "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
}


async def read_side_operands(ctx, reader, draw, registers, width):
    """Start the reader and answer its reads, now and then, until it is done."""
    ctx.set(reader.start, 1)
    await ctx.tick()
    ctx.set(reader.start, 0)
    pending = []
    while not ctx.get(reader.done):
        granted = int(draw.integers(2))
        ctx.set(reader.read.ready, granted)
        if granted and ctx.get(reader.read.enable):
            register, quad = divmod(ctx.get(reader.read.address), QUADS)
            pending.append((READ_LATENCY, registers[register][4 * quad : 4 * (quad + width)]))
        pending = [(left - 1, part) for left, part in pending if left]
        await ctx.tick()
        for left, part in pending:
            if left == 0:
                ctx.set(reader.word, sum(int(x) << 32 * i for i, x in enumerate(part)))


def simulate(reader, bench):
    simulator = Simulator(reader)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize(
    ("units", "sparse", "vec"), [(1, False, "1X"), (16, False, "2X"), (1, True, "4X"), (4, False, "4X")]
)
def test_rows_get_the_scales_that_golden_unpacks(units, sparse, vec):
    """Several multiplies are kept before the first one is used; one in between is refused."""
    unit = DotProductConfig(
        formats=frozenset({"f16", "fp8"}), profile=PROFILES["blackwell"], block_scale=vec == "1X"
    )
    config = replace(
        PRESETS["tiny"], dot_product=unit, dot_product_units=units, sparse=sparse, mxf4=vec != "1X"
    )
    instruction = resolve_instruction(f"mma.sync.aligned.{SCALED[vec]}")
    steps, draw = Steps(config), np.random.default_rng(units)
    reader = SideOperandReader(config)
    groups = 4 if config.mxf4 else 1

    def expected(use, lanes, byte, thread):
        scales = unpack_scales(instruction, use, lanes, byte, thread)
        rows = np.repeat(scales if use == "a" else scales.T, groups // instruction.scales, axis=1)
        return [int.from_bytes(bytes(row), "little") for row in rows]

    async def bench(ctx):
        kept = []
        for turn in range(5):
            registers = draw.integers(0, 1 << 32, (REGISTERS, 32), dtype=np.uint32)
            ctx.set(reader.request.vec, VECS.index(vec) + 1)
            rows = {}
            for use in "ab":
                register = int(draw.integers(REGISTERS))
                byte, thread = (int(draw.choice(x)) for x in (BYTE_IDS[vec], THREAD_IDS[use]))
                request = reader.request[f"scale_{use}"]
                for name, value in (("register", register), ("byte", byte), ("thread", thread)):
                    ctx.set(request[name], value)
                rows[use] = expected(use, registers[register], byte, thread)
            await read_side_operands(ctx, reader, draw, registers, config.word_quads)
            assert ctx.get(reader.cause) == 0
            if turn != 2:
                kept.append(rows)
                ctx.set(reader.keep, 1)
                await ctx.tick()
                ctx.set(reader.keep, 0)
        ctx.set(reader.read_enable, 1)
        for rows in kept:
            for word, part in product(range(2 * steps.words_per_register), range(steps.x_parts)):
                y_part = int(draw.integers(steps.y_parts))
                ctx.set(reader.asked.x, part | word << steps.x_part_bits)
                ctx.set(reader.asked.y, y_part)
                await ctx.tick()
                block, number = divmod(word, steps.words_per_register)
                first = 8 * block + number * config.word_quads + part * steps.x_rows
                for name, use, start, count in (
                    ("scale_a", "a", first, steps.x_rows),
                    ("scale_b", "b", y_part * steps.y_rows, steps.y_rows),
                ):
                    wanted = sum(row << 8 * groups * i for i, row in enumerate(rows[use][start:][:count]))
                    assert ctx.get(getattr(reader, name)) == wanted, (name, word, part, y_part)
            ctx.set(reader.release, 1)
            await ctx.tick()
            ctx.set(reader.release, 0)

    simulate(reader, bench)
