"""The multiplier of significands against Python's."""

import random
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.fma64.stage import run_stage
from hdl.fma64.multiply import Multiply
from sim.testbench.unit import unit_design

BITS = 53


@cocotb.test
async def products(dut: Any) -> None:
    """Random factors, and those that make every carry long."""
    rng = random.Random(cocotb.RANDOM_SEED)
    corners = [
        0,
        1,
        (1 << BITS) - 1,
        *(1 << bit for bit in (17, 18, 35, 36, 52)),
        *((1 << bit) - 1 for bit in (18, 36)),
    ]
    pairs = [(x, y) for x in corners for y in corners]
    pairs += [(rng.getrandbits(BITS), rng.getrandbits(BITS)) for _ in range(5_000)]
    results = await run_stage(
        dut, [{"factor_a": a, "factor_b": b} for a, b in pairs], ["product"], len(Multiply.delays)
    )
    for (a, b), result in zip(pairs, results, strict=True):
        assert result["product"] == a * b, f"{a:#x} * {b:#x}"


def test_fma64_multiply(simulate: Simulate) -> None:
    simulate(unit_design("fma64-multiply", Multiply()), __name__)
