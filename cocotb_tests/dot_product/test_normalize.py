"""Normalize: magnitude, shift and exponent for every position of the leading one and every limit."""

import random
from typing import Any

import cocotb
import pytest

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage
from golden.tables.profiles import PROFILES
from hdl.config import DotProductConfig
from hdl.dot_product.normalize import Normalize
from hdl.dot_product.widths import FLOATING, Widths
from sim.testbench.dot_product_operands import MODES
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"}))
CONFIGS = {
    "hopper": CONFIG,
    "volta": DotProductConfig(formats=frozenset({"f16", "bf16", "i8"}), profile=PROFILES["volta"]),
}
"""Volta has no least Emax, so that sums of bf16 can lie far below f32's subnormals."""

LOWEST = {"hopper": -1, "volta": -120}
"""The lowest limits."""

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
    formats, lowest = parameters()["formats"], parameters()["lowest"]
    modes = [mode for mode in MODES if mode.format in formats]
    floats, integers = ([mode for mode in modes if (mode.format in FLOATING) == it] for it in (True, False))
    cases = [(0, limit, 0) for limit in (0, 1, 31, 32, 380)]
    for length in range(1, BITS + 1):
        for limit in (*range(0, BITS + 2), 64, 255, 500 + lowest):
            magnitude = 1 << (length - 1) | rng.getrandbits(length) >> 1
            cases.append((rng.choice((magnitude, -magnitude)), limit, 0))
    cases += [(-(1 << length), 300, 0) for length in range(BITS)]
    cases += [(rng.randrange(-(1 << BITS), 1 << BITS), rng.randrange(500 + lowest), 1) for _ in range(200)]
    inputs, expected = [], []
    for total, limit, integer in cases:
        mode = rng.choice(integers if integer else floats)
        inputs.append({"sum": total & ((1 << TOTAL) - 1), "operation": mode.code(), "limit": limit})
        value, exponent = normalized(abs(total), limit)
        entry = {"negative": int(total < 0), "value": value, "exponent": exponent, "right": 0}
        if integer:
            entry = {"negative": int(total < 0), "value": total & ((1 << BITS) - 1)}
        elif total == 0:
            entry = {"value": 0, "exponent": 0, "right": 0}
        expected.append(entry)
    expected[0]["negative"] = 0
    # A negative limit counts as 0, and its distance comes out, where the formats have f32's exponents.
    for limit in range(lowest, 0):
        for mode in floats:
            magnitude = rng.getrandbits(BITS)
            inputs.append({"sum": magnitude, "operation": mode.code(), "limit": limit % (1 << 9)})
            if mode.format in ("bf16", "tf32"):
                value, exponent = normalized(magnitude, 0)
                right = min(-limit, 31)
                expected.append({"negative": 0, "value": value, "exponent": exponent, "right": right})
            else:
                expected.append({"right": 0})
    await check_stage(dut, inputs, expected, len(Normalize.delays))


@pytest.mark.parametrize("profile", CONFIGS)
def test_normalize(simulate: Simulate, profile: str) -> None:
    config = CONFIGS[profile]
    assert Widths(config).total == TOTAL
    values = {"formats": sorted(config.formats), "lowest": LOWEST[profile]}
    simulate(unit_design(f"dot_product_normalize_{profile}", Normalize(config)), __name__, values=values)
