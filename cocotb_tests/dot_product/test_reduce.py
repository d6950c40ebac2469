"""Reduce: the exact sum of terms, carries and C."""

import random
from typing import Any

import cocotb
import pytest

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from hdl.config import DotProductConfig
from hdl.dot_product.reduce import Reduce
from hdl.dot_product.widths import LANES, Widths
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"}))
WIDTHS = Widths(CONFIG)
FP8 = {
    "alone": DotProductConfig(formats=frozenset({"fp8"})),
    "beside": DotProductConfig(formats=frozenset({"f16", "i8", "fp8"})),
}


@cocotb.test
async def sums(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    bits = WIDTHS.window + 1
    # What `Align` can give: the magnitude of a product is below 4 * 2**fraction_bits; of -0 only the
    # complement.
    ends = (0, -1, (1 << WIDTHS.window) - 1, -(1 << WIDTHS.window))
    c_ends = (0, (1 << (WIDTHS.window - 1)) - 1, (1 << 31) - 1, -(1 << 31))
    inputs, expected = [], []
    for operation in range(400):
        if operation < 16:
            terms, c = [ends[operation % 4]] * LANES, c_ends[operation // 4] if operation // 4 < 2 else 0
        else:
            terms = [
                rng.choice(ends) if rng.random() < 0.3 else rng.getrandbits(bits) - (1 << (bits - 1))
                for _ in range(LANES)
            ]
            c = rng.getrandbits(WIDTHS.window - 1)
        if operation >= 300:
            terms, c = [rng.randrange(-(1 << 17), 1 << 17) for _ in range(LANES)], rng.choice(c_ends)
        # A carry follows a negative term, so the sum of both is never above the term's own range.
        carries = [int(term < 0 and rng.random() < 0.8) for term in terms]
        inputs.append(
            {"term": join(terms, bits), "carry": join(carries, 1), "c_term": c & ((1 << WIDTHS.total) - 1)}
        )
        expected.append({"sum": (sum(terms) + sum(carries) + c) & ((1 << WIDTHS.total) - 1)})
    await check_stage(dut, inputs, expected, len(Reduce.delays))


@cocotb.test
async def sums_with_fp8(dut: Any) -> None:
    """Two trees and C, in the units of the first one; terms and carries of any kind."""
    rng = random.Random(cocotb.RANDOM_SEED)
    total, padding, lanes = (parameters()[name] for name in ("total", "padding", "lanes"))
    ends = (0, -1, (1 << 15) - 1, -(1 << 15))
    inputs, expected = [], []
    for operation in range(400):
        terms = [
            ends[operation % 4] if operation < 16 else rng.choice((*ends, rng.randrange(-(1 << 15), 1 << 15)))
            for _ in range(2 * LANES)
        ]
        # Of magnitudes as products of fp8 have; the sum of all of any would not fit.
        terms = [term * 7 // 8 for term in terms]
        carries = [int(term < 0) if operation < 16 else rng.getrandbits(1) for term in terms]
        c = rng.getrandbits(14) << padding | rng.getrandbits(padding)
        first = 0 if lanes > LANES else LANES
        inputs.append(
            {
                "fp8_term": join(terms[:lanes], 16),
                "fp8_carry": join(carries[:lanes], 1),
                "c_term": c,
            }
        )
        low = [0] * LANES
        if first:
            low = [rng.getrandbits(padding) for _ in range(LANES)]
            others = [term << padding | bits for term, bits in zip(terms[first:], low, strict=True)]
            inputs[-1] |= {"term": join(others, 28), "carry": join(carries[first:], 1)}
            ones = (sum(carries[:first]) << padding) + sum(carries[first:])
        else:
            ones = sum(carries)
        expected.append({"sum": ((sum(terms) << padding) + sum(low) + ones + c) & ((1 << total) - 1)})
    await check_stage(dut, inputs, expected, len(Reduce.delays))


@pytest.mark.parametrize("where", FP8)
def test_reduce_with_fp8(simulate: Simulate, where: str) -> None:
    widths = Widths(FP8[where])
    values = {"total": widths.total, "padding": widths.fp8_padding, "lanes": widths.fp8_lanes}
    design = unit_design(f"dot_product_reduce_fp8_{where}", Reduce(FP8[where]))
    simulate(design, __name__, cases=("sums_with_fp8",), values=values)


def test_reduce(simulate: Simulate) -> None:
    simulate(unit_design("dot_product_reduce", Reduce(CONFIG)), __name__, cases=("sums",))
