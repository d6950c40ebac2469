"""Align: truncation to the window, signs, and the passage of integers."""

import random
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from hdl.config import DotProductConfig
from hdl.dot_product.align import Align, AlignSelects
from hdl.dot_product.fields import fields
from hdl.dot_product.widths import FLOATING, LANES, Widths
from hdl.stream.pipeline import Pipeline
from sim.testbench.dot_product_operands import MODES
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"}))
WIDTHS = Widths(CONFIG)
FLOAT_BITS = 29


class FromDistancesToTerms(Pipeline):
    """`AlignSelects` and `Align`."""

    def __init__(self) -> None:
        found = fields(CONFIG)
        given = "operation coarse sign c_sign c_value c_beyond c_distance count product"
        super().__init__(
            {name: found[name] for name in given.split()},
            {name: found[name] for name in ("term", "carry", "c_term")},
            [AlignSelects(CONFIG), Align(CONFIG)],
        )


@cocotb.test
async def terms(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    term_bits = WIDTHS.window + 1
    inputs, expected = [], []
    for operation in range(1200):
        mode = rng.choice(MODES)
        floating = mode.format in FLOATING
        # Relative to the sign of C.
        signs, c_sign = rng.getrandbits(LANES), rng.getrandbits(1)
        eighths = [rng.randrange(8) if operation % 2 else rng.randrange(4) for _ in range(LANES)]
        products, results, carries = [], [], []
        count = rng.choice((128, rng.randrange(129))) if mode.format == "b1" else 0
        for lane in range(LANES):
            sign = signs >> lane & 1
            carry = 0
            if floating:
                # A product with 27 fraction bits at distance 0, of which the window keeps its own.
                magnitude = rng.choice(
                    (rng.getrandbits(FLOAT_BITS), (1 << FLOAT_BITS) - 1, 1 << rng.randrange(FLOAT_BITS))
                )
                product = magnitude << WIDTHS.placement
                kept = (
                    magnitude >> (27 - WIDTHS.profile.fraction_bits) >> (8 * eighths[lane])
                    if eighths[lane] < 4
                    else 0
                )
                result, carry = (~kept, 1) if sign else (kept, 0)
            elif mode.format == "i8":
                result = rng.choice((rng.randint(-32640, 65025), -32640, 65025, 16384))
                product = result << 4
            elif mode.format == "i4":
                low, middle, high = rng.randint(-120, 225), rng.randint(-240, 450), rng.randint(-120, 225)
                product = low + (middle << 12) + (high << 24)
                carry = int(low < 0)
                result = middle - carry
            else:
                product = 0
                result = count if lane == 0 else 0
            products.append(product)
            results.append(result)
            carries.append(carry)
        c_distance = rng.choice((0, 1, 5, 23, 24, 25, 26, 31, 32, 40, rng.randrange(33)))
        c_value = rng.getrandbits(24) if floating else rng.getrandbits(32)
        padding = WIDTHS.profile.fraction_bits - 23
        if floating:
            c_term = c_value << padding >> c_distance if c_distance < 32 else 0
        else:
            c_term = (c_value | -(c_value >> 31) << 32) & ((1 << WIDTHS.total) - 1)
        inputs.append(
            {
                "operation": mode.code(),
                "coarse": join(eighths, 3),
                "sign": signs ^ (c_sign * ((1 << LANES) - 1)),
                "c_sign": c_sign,
                "c_value": c_value,
                "c_distance": c_distance,
                "count": count,
                "product": join(products, 36),
            }
        )
        expected.append({"term": join(results, term_bits), "carry": join(carries, 1), "c_term": c_term})
    await check_stage(dut, inputs, expected, len(AlignSelects.delays) + len(Align.delays))


def test_align(simulate: Simulate) -> None:
    simulate(unit_design("dot_product_align", FromDistancesToTerms()), __name__)
