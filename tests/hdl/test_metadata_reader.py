"""Metadata of sparse multiplies, read and checked before they start."""

from dataclasses import replace

import numpy as np
import pytest
from amaranth.sim import Simulator

from golden.resolve import resolve_instruction
from golden.sparsity import pack_metadata, unpack_metadata
from golden.tables.faults import Cause
from hdl.config import PRESETS
from hdl.multiply.tile.metadata import MetadataReader
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


@pytest.mark.parametrize(
    ("preset", "form"), [*(("tiny", form) for form in FORMS), ("standard", "m16n8k64.row.col.s32.u8.s8.s32")]
)
def test_undefined_nibbles_are_found_in_the_lanes_of_the_selector_alone(preset, form):
    config = replace(PRESETS[preset], sparse=True)
    instruction = resolve_instruction(f"mma.sp.sync.aligned.{form}")
    draw = np.random.default_rng(len(form))
    reader = MetadataReader(config)
    width = config.word_quads

    async def bench(ctx):
        for selector in instruction.sparsity.selectors:
            registers = registers_of(draw, instruction, selector)
            for number, lanes in enumerate(registers):
                names = ("halves", "of_bytes", "is_tf32")
                for name, value in (*zip(names, FORMS[form], strict=True), ("selector", selector)):
                    ctx.set(reader.request[name], value)
                ctx.set(reader.request.register, number)
                ctx.set(reader.start, 1)
                await ctx.tick()
                ctx.set(reader.start, 0)
                pending = []
                while not ctx.get(reader.done):
                    granted = int(draw.integers(2))
                    ctx.set(reader.read.ready, granted)
                    if granted and ctx.get(reader.read.enable):
                        address = ctx.get(reader.read.address)
                        assert address // QUADS == number
                        first = 4 * (address % QUADS)
                        pending.append((READ_LATENCY, lanes[first : first + 4 * width]))
                    pending = [(left - 1, part) for left, part in pending if left]
                    await ctx.tick()
                    for left, part in pending:
                        if left == 0:
                            ctx.set(reader.word, sum(int(x) << 32 * i for i, x in enumerate(part)))
                nibbles = unpack_metadata(instruction, lanes, selector)
                wrong = ~np.isin(nibbles, instruction.sparsity.nibbles)
                assert ctx.get(reader.cause) == (Cause.UNDEFINED_METADATA if wrong.any() else 0)

    simulator = Simulator(reader)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
