"""Reduce: the exact sum of terms, carries and C."""

import random
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from hdl.config import DotProductConfig
from hdl.dot_product.reduce import Reduce
from hdl.dot_product.widths import LANES, Widths
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"}))
WIDTHS = Widths(CONFIG)


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
    await check_stage(dut, inputs, expected, Reduce.latency)


def test_reduce(simulate: Simulate) -> None:
    simulate(unit_design("dot_product_reduce", Reduce(CONFIG)), __name__)
