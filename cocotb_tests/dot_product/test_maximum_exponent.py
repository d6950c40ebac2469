"""Maximum exponent: the maximum of all products, and of those and C."""

import random
from typing import Any

import cocotb
import pytest

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from hdl.config import DotProductConfig
from hdl.dot_product.maximum_exponent import Fp8Maximum, Fp8OrC, MaximumExponent, ProductMaximum
from hdl.dot_product.operands import Multiplicand
from hdl.dot_product.widths import LANES, Widths
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16"}))
BITS = Widths(CONFIG).exponent_bits
FP8 = {
    "alone": DotProductConfig(formats=frozenset({"fp8"})),
    "beside": DotProductConfig(formats=frozenset({"f16", "bf16", "fp8"})),
}
OFFSET = Widths(DotProductConfig()).half_offset


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
        expected.append({"product_maximum": join((max(exponents[::2]), max(exponents[1::2])), BITS)})
    await check_stage(dut, inputs, expected, len(ProductMaximum.delays))


def three_exponents(rng: random.Random, end: int) -> list[int]:
    """Three numbers below `end` in any order, often equal or different in one bit."""
    first = rng.randrange(end)
    near = [value for value in (first, *(first ^ 1 << bit for bit in range(BITS))) if value < end]
    exponents = [first, rng.choice((rng.randrange(end), rng.choice(near))), rng.choice(near)]
    rng.shuffle(exponents)
    return exponents


@cocotb.test
async def product_or_c(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs, expected = [], []
    for _ in range(500):
        exponents = three_exponents(rng, 1 << BITS)
        inputs.append({"product_maximum": join(exponents[:2], BITS), "c_exponent": exponents[2]})
        expected.append({"maximum": max(exponents)})
    await check_stage(dut, inputs, expected, len(MaximumExponent.delays))


@cocotb.test
async def fp8_maxima(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    lanes = parameters()["lanes"]
    inputs, expected = [], []
    for operation in range(300):
        most = rng.randrange(2, 61)
        exponents = [rng.choice((0, rng.randrange(2, most + 1))) for _ in range(lanes)]
        if operation < lanes:  # each lane in turn is the largest, and the only one
            exponents = [0] * lanes
            exponents[operation] = most
        elif operation == lanes:
            exponents = [0] * lanes
        maxima = [max(some) + OFFSET * any(some) for some in (exponents[::2], exponents[1::2])]
        inputs.append({"fp8_exponent": join(exponents, 6)})
        expected.append({"fp8_maximum": join(maxima, BITS)})
    await check_stage(dut, inputs, expected, (lanes - 1).bit_length() - 1)


@cocotb.test
async def fp8_or_c(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs, expected = [], []
    for _ in range(300):
        fp8 = [rng.choice((0, rng.randrange(130, 189))) for _ in range(2)]
        c = rng.choice((rng.randrange(1, 382), fp8[0] ^ 1 << rng.randrange(BITS), *fp8))
        inputs.append({"fp8_maximum": join(fp8, BITS), "c_exponent": c})
        expected.append({"c_or_fp8_exponent": max(*fp8, c)})
    await check_stage(dut, inputs, expected, len(Fp8OrC.delays))


@cocotb.test
async def with_fp8(dut: Any) -> None:
    """Products of fp8 in these lanes lack one."""
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs, expected = [], []
    for _ in range(300):
        is_fp8 = rng.getrandbits(1)
        exponents = three_exponents(rng, 400)
        if is_fp8:
            exponents = [rng.choice((0, 130 + exponent)) for exponent in three_exponents(rng, 59)]
            exponents[2] = max(exponents[2], 32)
        operation = (Multiplicand.FP8 if is_fp8 else Multiplicand.BF16).value
        inputs.append(
            {
                "operation": operation,
                "product_maximum": join(exponents[:2], BITS),
                "c_or_fp8_exponent": exponents[2],
            }
        )
        expected.append({"maximum": max(*(exponent + is_fp8 for exponent in exponents[:2]), exponents[2])})
    await check_stage(dut, inputs, expected, len(MaximumExponent.delays))


@pytest.mark.parametrize("where", FP8)
def test_fp8_maximum(simulate: Simulate, where: str) -> None:
    design = unit_design(f"dot_product_fp8_maximum_{where}", Fp8Maximum(FP8[where]))
    simulate(design, __name__, cases=("fp8_maxima",), values={"lanes": Widths(FP8[where]).fp8_lanes})


def test_fp8_or_c(simulate: Simulate) -> None:
    simulate(unit_design("dot_product_fp8_or_c", Fp8OrC(FP8["beside"])), __name__, cases=("fp8_or_c",))


def test_maximum_exponent_with_fp8(simulate: Simulate) -> None:
    design = unit_design("dot_product_maximum_exponent_fp8", MaximumExponent(FP8["beside"]))
    simulate(design, __name__, cases=("with_fp8",))


def test_product_maximum(simulate: Simulate) -> None:
    design = unit_design("dot_product_product_maximum", ProductMaximum(CONFIG))
    simulate(design, __name__, cases=("product_maxima",))


def test_maximum_exponent(simulate: Simulate) -> None:
    design = unit_design("dot_product_maximum_exponent", MaximumExponent(CONFIG))
    simulate(design, __name__, cases=("product_or_c",))
