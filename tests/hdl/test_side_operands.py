"""Metadata and block scales, read and checked before a multiply starts, kept until its rows are issued."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from amaranth.sim import Simulator

from golden.block_scales import unpack_scales
from golden.resolve import resolve_instruction
from golden.sparsity import pack_metadata, unpack_metadata
from golden.tables.faults import Cause
from golden.tables.profiles import PROFILES
from golden.tables.scales import BYTE_IDS, THREAD_IDS
from hdl.config import PRESETS, DotProductConfig
from hdl.multiply.tile.side_operands import SideOperandReader
from hdl.multiply.tile.tile_steps import Steps
from hdl.registers.register_ports import READ_LATENCY

REGISTERS = 4
QUADS = 8
FORMS = {
    "m16n8k16.row.col.f32.f16.f16.f32": (0, 0, 0),
    "m16n8k32.row.col.f32.bf16.bf16.f32": (1, 0, 0),
    "m16n8k8.row.col.f32.tf32.tf32.f32": (0, 0, 1),
    "m16n8k16.row.col.f32.tf32.tf32.f32": (1, 0, 1),
    "m16n8k32.row.col.s32.s8.u8.s32": (0, 1, 0),
    "m16n8k64.row.col.s32.u8.s8.s32": (1, 1, 0),
    "m16n8k64.row.col.s32.s4.s4.s32": (0, 1, 0),
    "m16n8k128.row.col.s32.u4.u4.s32": (1, 1, 0),
}
"""The instructions, and `halves`, `of_bytes` and `is_tf32` of their requests."""
VECS = ("1X", "2X", "4X")
SCALED = {
    "1X": "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0",
    "2X": "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    "4X": "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
}


def registers_of(draw, instruction, selector):
    """Lanes of registers: random ones, defined ones, and defined ones with a single nibble changed."""
    sparsity = instruction.sparsity
    found = draw.integers(0, 1 << 32, (REGISTERS, 32), dtype=np.uint32)
    for number in range(1, REGISTERS):
        nibbles = draw.choice(np.array(sparsity.nibbles, np.uint8), (instruction.shape.m, sparsity.groups))
        if number % 2:
            row, group = draw.integers(instruction.shape.m), draw.integers(sparsity.groups)
            nibbles[row, group] = draw.choice([x for x in range(16) if x not in sparsity.nibbles])
            words = pack_any(instruction, nibbles, selector)
        else:
            words = pack_metadata(instruction, nibbles, selector)
        # Lanes that the selector does not name are arbitrary.
        unused = unpack_lanes(instruction, selector)
        found[number] = np.where(unused, found[number], words)
    return found


def pack_any(instruction, nibbles, selector):
    """As `pack_metadata`, of undefined nibbles too: found bit by bit from its inverse."""
    words = np.zeros(32, np.uint32)
    for lane in range(32):
        for shift in range(0, 32, 4):
            probe = np.zeros(32, np.uint32)
            probe[lane] = 15 << shift
            places = np.argwhere(unpack_metadata(instruction, probe, selector))
            for row, group in places:
                words[lane] |= np.uint32(int(nibbles[row, group]) << shift)
    return words


def unpack_lanes(instruction, selector):
    """Which lanes hold no metadata."""
    return np.array(
        [not unpack_metadata(instruction, np.where(np.arange(32) == lane, 0xFFFFFFFF, 0).astype(np.uint32),
                             selector).any() for lane in range(32)]
    )  # fmt: skip


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
    ("preset", "form"), [*(("tiny", form) for form in FORMS), ("standard", "m16n8k64.row.col.s32.u8.s8.s32")]
)
def test_undefined_nibbles_are_found_in_the_lanes_of_the_selector_alone(preset, form):
    config = replace(PRESETS[preset], sparse=True)
    instruction = resolve_instruction(f"mma.sp.sync.aligned.{form}")
    draw = np.random.default_rng(len(form))
    reader = SideOperandReader(config)

    async def bench(ctx):
        for selector in instruction.sparsity.selectors:
            registers = registers_of(draw, instruction, selector)
            for number, lanes in enumerate(registers):
                names = ("halves", "of_bytes", "is_tf32")
                for name, value in (*zip(names, FORMS[form], strict=True), ("selector", selector)):
                    ctx.set(reader.request.metadata[name], value)
                ctx.set(reader.request.metadata.register, number)
                await read_side_operands(ctx, reader, draw, registers, config.word_quads)
                nibbles = unpack_metadata(instruction, lanes, selector)
                wrong = ~np.isin(nibbles, instruction.sparsity.nibbles)
                assert ctx.get(reader.cause) == (Cause.UNDEFINED_METADATA if wrong.any() else 0)

    simulate(reader, bench)


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
