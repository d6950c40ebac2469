"""The tile multiplier, with golden arithmetic for dot-product units, against whole multiplies by golden."""

from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.multiply.tile_bench import TileBench, config_of
from cocotb_tests.multiply.tiles import (
    MMA_SYNC,
    TF32,
    WGMMA_FP8,
    Tile,
    f16_multiply,
    instructions,
    random_tile,
)
from cocotb_tests.streams import reset, start
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import MmaInstruction
from hdl.multiply.tile.multiplier import TileMultiplier
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design


@cocotb.test
async def every_instruction(dut: Any) -> None:
    """All multiplies there are, in random order, several in flight at once, no pauses."""
    bench = TileBench(dut)
    await start(dut)
    items = instructions()
    bench.rng.shuffle(items)
    for index, item in enumerate(items):
        if index % 8 == 0:
            await bench.finish()
            bench.fill()
        await bench.put(random_tile(bench.rng, item))
    await bench.finish()


@cocotb.test
@cocotb.parametrize(item=[f16_multiply("f32", "f32"), f16_multiply("f16", "f32"), f16_multiply("f16", "f16")])
async def d_over_c(dut: Any, item: MmaInstruction) -> None:
    """Registers of C are read before results are written to them, wherever D begins."""
    bench = TileBench(dut)
    await start(dut)
    for distance in range(-7, 8):
        bench.fill()
        await bench.put(Tile(item, {"a": 0, "b": 8, "c": 32, "d": 32 + distance}))
        await bench.finish()


@cocotb.test
async def small_after_large(dut: Any) -> None:
    """Tiles of one register of A and of B after a larger one: read before its last word has arrived."""
    bench = TileBench(dut)
    await start(dut)
    small = [item for item in instructions() if Tile(item, dict.fromkeys("abcd", 0)).registers_of_rows == 2]
    assert {item.shape for item in small} >= {Shape(8, 8, 32), Shape(8, 8, 128)}
    for item in small:
        bench.fill()
        await bench.put(Tile(f16_multiply("f32", "f32"), {"a": 0, "b": 8, "c": 16, "d": 24}))
        for index in range(6):
            await bench.put(Tile(item, {"a": index, "b": 8 + index, "c": 16 + index, "d": 32 + 2 * index}))
        await bench.finish()


@cocotb.test
@cocotb.parametrize(share=[0.1, 0.5])
async def pauses_everywhere(dut: Any, share: float) -> None:
    """Random multiplies, a third of them chained; every port pauses, registers are overwritten early."""
    bench = TileBench(dut, share)
    await start(dut)
    bench.scribble = True
    items = instructions()
    for _ in range(4):
        bench.fill()
        for index in range(6):
            await bench.put(random_tile(bench.rng, bench.rng.choice(items) if index % 3 else TF32))
        await bench.finish()


@cocotb.test
async def blocked_ports(dut: Any) -> None:
    """Another user has the register file for long: whatever the stages hold stays as it is."""
    bench = TileBench(dut, 0.0, 0.9)
    await start(dut)
    bench.fill()
    for item in [f16_multiply("f32", "f32"), TF32, f16_multiply("f16", "f16"), TF32, *instructions()[-4:]]:
        await bench.put(random_tile(bench.rng, item))
    await bench.finish()


@cocotb.test
async def resets(dut: Any) -> None:
    """Reset in the middle of work leaves nothing behind."""
    bench = TileBench(dut, 0.1)
    await start(dut)
    items = instructions()
    edge = RisingEdge(dut.aclk)
    for _ in range(6):
        bench.fill()
        putting = cocotb.start_soon(put_all(bench, [bench.rng.choice([*items, TF32]) for _ in range(4)]))
        for _ in range(bench.rng.randrange(40, 900 // bench.config.word_quads)):
            await edge
        putting.cancel()
        dut.aresetn.value = 0
        bench.request.drop()
        await edge
        bench.forget()
        await reset(dut)
        bench.forget()
        bench.fill()
        await put_all(bench, [bench.rng.choice(items) for _ in range(2)])
        await bench.finish()


async def put_all(bench: TileBench, items: list[MmaInstruction]) -> None:
    for item in items:
        await bench.put(random_tile(bench.rng, item))


@cocotb.test
@cocotb.parametrize(share=[0.0, 0.3])
async def additions_among_others(dut: Any, share: float) -> None:
    """fp8 that becomes f16 before and behind tiles whose results have nothing added to them."""
    bench = TileBench(dut, share)
    await start(dut)
    converted = [item for item in instructions() if Tile(item, dict.fromkeys("abcd", 0)).converted]
    assert len(converted) == 2 * 4 * 2, "two shapes, four pairs of types, two results"
    others = [*MMA_SYNC[:3], WGMMA_FP8, f16_multiply("f32", "f16")]
    for index, item in enumerate(converted):
        if index % 4 == 0:
            await bench.finish()
            bench.fill()
        await bench.put(random_tile(bench.rng, item))
        for _ in range(index % 3):
            await bench.put(random_tile(bench.rng, bench.rng.choice(others)))
    await bench.finish()


THROUGHPUT = [f16_multiply("f32", "f32"), f16_multiply("f16", "f16"), TF32, *MMA_SYNC, WGMMA_FP8]


async def back_to_back(bench: TileBench, item: MmaInstruction, count: int) -> float:
    """The share of unit cycles that operands are accepted in, from the first to the last."""
    bench.fill()
    accumulators = 28  # so many that none is wanted again before it is there
    for index in range(count):
        c = 32 + 8 * (index % accumulators)
        await bench.put(Tile(item, {"a": 8 * (index % 2), "b": 16 + 8 * (index % 2), "c": c, "d": c}))
    await bench.finish()
    first, last = bench.units.span
    return bench.units.operations / (last - first + 1) / bench.config.dot_product_units


@cocotb.test
async def clamped_once(dut: Any) -> None:
    """Chains of integers whose sum leaves s32 on the way and may come back: only the end is clamped."""
    bench = TileBench(dut)
    await start(dut)
    items = [item for item in instructions() if item.saturate and item.c_type == "s32"]
    items = [item for item in items if Tile(item, dict.fromkeys("abcd", 0)).passes == 2]
    assert len(items) == 8, "all mixtures of signs, of 8 and of 4 bits"
    for item in items:
        bench.fill()
        # Most elements are within the reach of the products of one pass from an end of s32.
        reach = 1 << (15 if item.a_type.endswith("8") else 7)
        near = bench.bits.integers((1 << 31) - reach, (1 << 31) + reach, (4, 32), dtype=np.uint32)
        bench.expected[16:20] = bench.registers.values[16:20] = near
        for first, count in ((0, 4), (8, 2)):
            words = bench.bits.integers(0, 1 << 32, (count, 32), dtype=np.uint32)
            bench.expected[first : first + count] = bench.registers.values[first : first + count] = words
        await bench.put(Tile(item, {"a": 0, "b": 8, "c": 16, "d": 24}))
        await bench.finish()


@cocotb.test
@cocotb.parametrize(item=THROUGHPUT)
async def throughput(dut: Any, item: MmaInstruction) -> None:
    """All units are kept busy from the first operands to the last, but by chains."""
    bench = TileBench(dut)
    await start(dut)
    units = bench.config.dot_product_units
    share = await back_to_back(bench, item, 64 if units >= 4 else 16)
    cocotb.log.info(f"{units} units, {item}: {share:.4f}")
    name = item.a_type if item.mnemonic == "wmma" else f"{item.mnemonic}.{item.a_type}"
    assert share >= parameters()["shares"][name], share


@cocotb.test
async def throughput_with_others(dut: Any) -> None:
    """The same while others take a quarter of the cycles in which registers are written."""
    bench = TileBench(dut, 0.0, 0.25)
    await start(dut)
    units = bench.config.dot_product_units
    share = await back_to_back(bench, f16_multiply("f32", "f32"), 64 if units >= 4 else 16)
    cocotb.log.info(f"{units} units, busy register file: {share:.4f}")
    assert share >= parameters()["shares"]["others"], share


SHARES = {
    1: {
        "f16": 0.99,
        "tf32": 0.99,
        "mma.f16": 0.99,
        "mma.tf32": 0.99,
        "mma.s8": 0.99,
        "mma.e4m3": 0.99,
        "wgmma.e4m3": 0.99,
        "others": 0.99,
    },
    2: {
        "f16": 0.99,
        "tf32": 0.99,
        "mma.f16": 0.99,
        "mma.tf32": 0.99,
        "mma.s8": 0.99,
        "mma.e4m3": 0.99,
        "wgmma.e4m3": 0.99,
        "others": 0.99,
    },
    4: {
        "f16": 0.99,
        "tf32": 0.99,
        "mma.f16": 0.98,
        "mma.tf32": 0.98,
        "mma.s8": 0.96,
        "mma.e4m3": 0.96,
        "wgmma.e4m3": 0.98,
        "others": 0.99,
    },
    8: {
        "f16": 0.99,
        "tf32": 0.96,
        "mma.f16": 0.98,
        "mma.tf32": 0.98,
        "mma.s8": 0.6,
        "mma.e4m3": 0.6,
        "wgmma.e4m3": 0.98,
        "others": 0.99,
    },
    16: {
        "f16": 0.99,
        "tf32": 0.6,
        "mma.f16": 0.94,
        "mma.tf32": 0.94,
        "mma.s8": 0.3,
        "mma.e4m3": 0.3,
        "wgmma.e4m3": 0.94,
        "others": 0.99,
    },
    32: {
        "f16": 0.99,
        "tf32": 0.38,
        "mma.f16": 0.98,
        "mma.tf32": 0.98,
        "mma.s8": 0.2,
        "mma.e4m3": 0.2,
        "wgmma.e4m3": 0.98,
        "others": 0.98,
    },
    64: {
        "f16": 0.99,
        "tf32": 0.2,
        "mma.f16": 0.98,
        "mma.tf32": 0.98,
        "mma.s8": 0.1,
        "mma.e4m3": 0.1,
        "wgmma.e4m3": 0.98,
        "others": 0.7,
    },
}
"""Units, and the least share of their cycles that they are to be busy.

Many units wait in chains; 64 of them write two registers in every cycle, and `others` take a quarter."""


@pytest.mark.parametrize("units", [pytest.param(units, marks=() if units == 8 else SLOW) for units in SHARES])
def test_tile(simulate: Simulate, units: int) -> None:
    simulate(
        unit_design(f"tile-{units}", TileMultiplier(config_of(units))),
        __name__,
        values={"units": units, "shares": SHARES[units]},
    )
