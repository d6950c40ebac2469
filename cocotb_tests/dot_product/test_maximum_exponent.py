"""Maximum exponent: the maximum of all products, and of those and C."""

import random
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from hdl.config import DotProductConfig
from hdl.dot_product.maximum_exponent import MaximumExponent, ProductMaximum
from hdl.dot_product.widths import LANES, Widths
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16"}))
BITS = Widths(CONFIG).exponent_bits


@cocotb.test
async def product_maxima(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs, expected = [], []
    for operation in range(500):
        center = rng.choice((40, 150, 300, 460))
        spread = rng.choice((1, 8, 40))
        exponents = [
            0 if rng.random() < 0.2 else min(max(center + rng.randint(-spread, spread), 0), (1 << BITS) - 1)
            for _ in range(LANES)
        ]
        if operation < LANES:  # each lane in turn is the largest by one
            exponents = [200] * LANES
            exponents[operation] = 201
        elif operation == LANES:
            exponents = [0] * LANES
        elif operation <= LANES + BITS:  # all but one are far away by a power of two
            far = (1 << BITS) - 1 - (1 << (operation - LANES - 1))
            exponents = [far] * LANES
            exponents[operation % LANES] = (1 << BITS) - 1
        inputs.append({"product_exponent": join(exponents, BITS)})
        expected.append({"product_maximum": max(exponents)})
    await check_stage(dut, inputs, expected, ProductMaximum.latency)


@cocotb.test
async def product_or_c(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs, expected = [], []
    for _ in range(500):
        product = rng.getrandbits(BITS)
        c = rng.choice((rng.getrandbits(BITS), product ^ 1 << rng.randrange(BITS), product))
        inputs.append({"product_maximum": product, "c_exponent": c})
        expected.append({"maximum": max(product, c)})
    await check_stage(dut, inputs, expected, MaximumExponent.latency)


def test_product_maximum(simulate: Simulate) -> None:
    design = unit_design("dot_product_product_maximum", ProductMaximum(CONFIG))
    simulate(design, __name__, cases=("product_maxima",))


def test_maximum_exponent(simulate: Simulate) -> None:
    design = unit_design("dot_product_maximum_exponent", MaximumExponent(CONFIG))
    simulate(design, __name__, cases=("product_or_c",))
