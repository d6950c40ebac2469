"""Where the rows of descriptors end, against golden."""

import random
from dataclasses import replace
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.packing import Packing
from cocotb_tests.streams import reset, start
from cocotb_tests.warpgroup.shares import descriptor_fields
from golden.matrix_descriptors import MatrixDescriptor
from hdl.config import PRESETS
from hdl.warpgroup.descriptor_check import DescriptorCheck
from hdl.warpgroup.request import WgmmaRequest
from sim.testbench.unit import unit_design

CONFIG = replace(PRESETS["tiny"], warps=4, wgmma=True, shared_bytes=57344)
M = 64
LATENCY = 5


def descriptor(rng: random.Random, rows: int, transposed: bool) -> int:
    """Offsets of any size; every second ends near the end of the memory, before it or behind."""
    leading, stride = (rng.randrange(2 << rng.randrange(13)) for _ in range(2))
    bits = leading << 16 | stride << 32 | rng.randrange(8) << 49 | rng.randrange(4) << 62
    room = CONFIG.shared_bytes - MatrixDescriptor.from_bits(bits).reach(rows, transposed)
    if room >= 0 and rng.random() < 0.8:
        return bits | room // 16 + rng.randrange(-1, 2) if room >= 16 else bits
    return bits | rng.randrange(1 << 14)


@cocotb.test
async def ends(dut: Any) -> None:
    """Both operands, A in memory and in registers, and each order and swizzle; legal and not."""
    rng = random.Random(cocotb.RANDOM_SEED)
    packing = Packing(WgmmaRequest)
    await start(dut)
    seen = set()
    for _ in range(3000):
        n, orders = 8 * rng.randrange(1, 33), [rng.random() < 0.5 for _ in range(2)]
        in_registers = rng.random() < 0.3
        bits = [descriptor(rng, rows, order) for rows, order in zip((M, n), orders, strict=True)]
        if rng.random() < 0.5:
            bits[rng.randrange(2)] = 0
        fields = {
            "tiles_less_one": n // 8 - 1,
            "a_in_registers": in_registers,
            "transposed": orders[0] | orders[1] << 1,
            "a": descriptor_fields(bits[0]),
            "b": descriptor_fields(bits[1]),
        }
        noise = {"negated": rng.randrange(4), "scale_d": rng.randrange(2)}
        dut.request.value = packing.pack({**fields, **noise})
        dut.start.value = 1
        await RisingEdge(dut.aclk)
        dut.start.value = 0
        await RisingEdge(dut.aclk)
        assert not dut.done.value
        await ClockCycles(dut.aclk, LATENCY - 1)
        assert dut.done.value
        ends = [
            MatrixDescriptor.from_bits(found).reach(rows, order) <= CONFIG.shared_bytes
            for found, rows, order in zip(bits, (M, n), orders, strict=True)
        ]
        expected = ends[1] and (in_registers or ends[0])
        assert bool(dut.legal.value) == expected, (n, orders, [f"{each:#x}" for each in bits])
        seen.add((expected, in_registers, *ends, *orders))
        if rng.random() < 0.2:
            await ClockCycles(dut.aclk, rng.randrange(1, 6))
            assert bool(dut.legal.value) == expected
    assert len(seen) == 32


@cocotb.test
async def reset_ends_a_check(dut: Any) -> None:
    """After a reset there is none to wait for."""
    await start(dut)
    for cycles in range(3):
        dut.start.value = 1
        await RisingEdge(dut.aclk)
        dut.start.value = 0
        for _ in range(cycles):
            await RisingEdge(dut.aclk)
        await reset(dut, 1)
        assert dut.done.value, cycles


def test_descriptor_check(simulate: Simulate) -> None:
    simulate(unit_design("descriptor_check", DescriptorCheck(CONFIG)), __name__)
