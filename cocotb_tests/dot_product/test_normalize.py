"""Normalize: value, shift and exponent for every position of the leading one and every limit."""

import random
from typing import Any

import cocotb
import pytest

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage
from golden.tables.profiles import PROFILES
from hdl.config import DotProductConfig
from hdl.dot_product.normalize import Limit, Normalize
from hdl.dot_product.widths import FLOATING, WIDE, Widths
from sim.testbench.dot_product_operands import FP8_MODES, MODES
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIGS = {
    "hopper": DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"})),
    "volta": DotProductConfig(formats=frozenset({"f16", "bf16", "i8"}), profile=PROFILES["volta"]),
    "fp8": DotProductConfig(formats=frozenset({"fp8"})),
}
"""Volta has no least Emax, so that sums of bf16 can lie far below f32's subnormals. Sums of fp8 are short."""

LOWEST = {"hopper": -1, "volta": -120}
"""The lowest limits."""


def normalized(total: int, limit: int, bits: int) -> tuple[int, int]:
    """The value and its biased exponent; a negative total lacks one in a last place far to the right."""
    places = 2 * bits
    magnitude = (abs(total) << places) - (total < 0)
    shift = min(bits + places - magnitude.bit_length(), limit) if magnitude else 0
    value = magnitude << shift >> places
    return value, limit + 1 - shift if value >> (bits - 1) else 0


@cocotb.test
async def shifts(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    config = CONFIGS[parameters()["config"]]
    bits = Widths(config).total - 1
    modes = [mode for mode in (*MODES, *FP8_MODES) if mode.format in config.formats]
    floats, integers = ([mode for mode in modes if (mode.format in FLOATING) == it] for it in (True, False))
    totals = []
    for length in range(1, bits + 1):
        for limit in (*range(0, bits + 2), 64, 255, 499):
            magnitude = 1 << (length - 1) | rng.getrandbits(length) >> 1
            totals.append((rng.choice((magnitude, -magnitude)), limit))
    totals += [(0, limit) for limit in (0, 1, 31, 32, 380)]
    totals += [(-1, limit) for limit in (*range(bits + 3), 64, 128, 256, 380)]
    totals += [(-(1 << length), 300) for length in range(bits + 1)]
    inputs, expected = [], []
    for total, limit in totals:
        code = rng.choice(floats).code()
        inputs.append({"sum": total & ((2 << bits) - 1), "operation": code, "limit": limit})
        value, exponent = normalized(total, limit, bits)
        expected.append({"negative": int(total < 0), "value": value, "exponent": exponent})
    for _ in range(200 if integers else 0):
        total = rng.randrange(-(1 << bits), 1 << bits)
        inputs.append(
            {"sum": total & ((2 << bits) - 1), "operation": rng.choice(integers).code(), "limit": 0}
        )
        expected.append({"negative": int(total < 0), "value": total & ((1 << bits) - 1)})
    await check_stage(dut, inputs, expected, len(Normalize.delays))


@cocotb.test
async def limits(dut: Any) -> None:
    """The exponent of the sum's highest bit, less one; a negative limit is 0, and its distance comes out."""
    rng = random.Random(cocotb.RANDOM_SEED)
    widths = Widths(CONFIGS[parameters()["config"]])
    modes = [mode for mode in (*MODES, *FP8_MODES) if mode.format in widths.config.formats]
    cases: list[tuple[dict[str, int], dict[str, int]]] = []
    for mode in modes:
        of_zero = widths.top_exponent + 127 - 1 - widths.exponent_zero(narrow=mode.format not in WIDE)
        first = LOWEST[parameters()["config"]] - of_zero if mode.format in WIDE else 32
        for maximum in (*range(first, first + 130), *(rng.randrange(first, 382) for _ in range(100))):
            limit = maximum + of_zero if mode.format in FLOATING else 0
            wanted = {"limit": max(limit, 0)}
            if mode.format in FLOATING and widths.right_bits:
                wanted["right"] = min(max(-limit, 0), 31)
            cases.append(({"operation": mode.code(), "maximum": maximum}, wanted))
    rng.shuffle(cases)
    inputs, expected = zip(*cases, strict=True)
    await check_stage(dut, inputs, expected, len(Limit.delays))


@pytest.mark.parametrize("config", CONFIGS)
def test_normalize(simulate: Simulate, config: str) -> None:
    design = unit_design(f"dot_product_normalize_{config}", Normalize(CONFIGS[config]))
    simulate(design, __name__, cases=("shifts",), values={"config": config})


@pytest.mark.parametrize("config", CONFIGS)
def test_limit(simulate: Simulate, config: str) -> None:
    design = unit_design(f"dot_product_limit_{config}", Limit(CONFIGS[config]))
    simulate(design, __name__, cases=("limits",), values={"config": config})
