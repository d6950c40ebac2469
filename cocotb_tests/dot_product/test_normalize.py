"""Normalize: magnitude, shift and exponent for every position of the leading one and every limit."""

import random
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage
from hdl.config import DotProductConfig
from hdl.dot_product.normalize import Normalize
from hdl.dot_product.widths import FLOATING, Widths
from sim.testbench.dot_product_operands import MODES
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"}))
TOTAL = Widths(CONFIG).total
BITS = TOTAL - 1


def normalized(magnitude: int, limit: int) -> tuple[int, int]:
    """The value and its biased exponent."""
    shift = min(BITS - magnitude.bit_length(), limit) if magnitude else 0
    value = magnitude << shift
    return value, limit + 1 - shift if value >> (BITS - 1) else 0


@cocotb.test
async def shifts(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    floats, integers = ([mode for mode in MODES if (mode.format in FLOATING) == it] for it in (True, False))
    cases = [(0, limit, 0) for limit in (0, 1, 31, 32, 400)]
    for length in range(1, BITS + 1):
        for limit in (*range(0, BITS + 2), 64, 255, 500):
            magnitude = 1 << (length - 1) | rng.getrandbits(length) >> 1
            cases.append((rng.choice((magnitude, -magnitude)), limit, 0))
    cases += [(-(1 << length), 300, 0) for length in range(BITS)]
    cases += [(rng.randrange(-(1 << BITS), 1 << BITS), rng.randrange(500), 1) for _ in range(200)]
    inputs, expected = [], []
    for total, limit, integer in cases:
        mode = rng.choice(integers if integer else floats)
        inputs.append({"sum": total & ((1 << TOTAL) - 1), "operation": mode.code(), "limit": limit})
        value, exponent = normalized(abs(total), limit)
        entry = {"negative": int(total < 0), "value": value, "exponent": exponent, "halve": 0}
        if integer:
            entry = {"negative": int(total < 0), "value": total & ((1 << BITS) - 1)}
        elif total == 0:
            entry = {"value": 0, "exponent": 0, "halve": 0}
        expected.append(entry)
    expected[0]["negative"] = 0
    # A limit of -1 counts as 0, and tells so, where the formats have f32's exponents.
    for mode in floats:
        magnitude = rng.getrandbits(BITS)
        inputs.append({"sum": magnitude, "operation": mode.code(), "limit": (1 << 9) - 1})
        if mode.format in ("bf16", "tf32"):
            value, exponent = normalized(magnitude, 0)
            expected.append({"negative": 0, "value": value, "exponent": exponent, "halve": 1})
        else:
            expected.append({"halve": 0})
    await check_stage(dut, inputs, expected, Normalize.latency)


def test_normalize(simulate: Simulate) -> None:
    simulate(unit_design("dot_product_normalize", Normalize(CONFIG)), __name__)
