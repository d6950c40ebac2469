"""Maximum exponent: the maximum of all terms, and distances from it."""

import random
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from hdl.config import DotProductConfig
from hdl.dot_product.maximum_exponent import MaximumExponent
from hdl.dot_product.widths import LANES, Widths
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16"}))
BITS = Widths(CONFIG).exponent_bits


def distances(maximum: int, exponents: list[int]) -> tuple[int, int]:
    """Six bits each, and which of them matter: from 32 on only the highest does."""
    values = [min(maximum - exponent, 32) for exponent in exponents]
    return join(values, 6), join([32 if value == 32 else 63 for value in values], 6)


@cocotb.test
async def maxima(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs, expected = [], []
    for operation in range(500):
        center = rng.choice((40, 150, 300, 460))
        spread = rng.choice((1, 8, 40))
        exponents = [
            0 if rng.random() < 0.2 else min(max(center + rng.randint(-spread, spread), 0), (1 << BITS) - 1)
            for _ in range(LANES)
        ]
        c = min(max(center + rng.randint(-spread, spread), 0), (1 << BITS) - 1)
        if operation < LANES:  # each lane in turn is the largest by one
            exponents, c = [200] * LANES, 7
            exponents[operation] = 201
        elif operation == LANES:
            exponents, c = [0] * LANES, 25
        elif operation <= LANES + BITS:  # all but one are far away by a power of two
            far = (1 << BITS) - 1 - (1 << (operation - LANES - 1))
            exponents, c = [far] * LANES, far
            exponents[operation % LANES] = (1 << BITS) - 1
        maximum = max(*exponents, c)
        inputs.append({"exponent": join(exponents, BITS), "c_exponent": c})
        expected.append(
            {
                "maximum": maximum,
                "distance": distances(maximum, exponents),
                "c_distance": distances(maximum, [c]),
            }
        )
    await check_stage(dut, inputs, expected, MaximumExponent.latency, later_inputs={"c_exponent": 1})


def test_maximum_exponent(simulate: Simulate) -> None:
    simulate(unit_design("dot_product_maximum_exponent", MaximumExponent(CONFIG)), __name__)
