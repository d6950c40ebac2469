"""Round: f32 by truncation, f16 by rounding, special values, clamped integers, against exact fractions."""

import random
from fractions import Fraction
from itertools import cycle
from typing import Any

import cocotb
import pytest

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.profiles import PROFILES
from hdl.config import DotProductConfig
from hdl.dot_product.round import Round
from hdl.dot_product.widths import FLOATING, HALF, Widths
from sim.testbench.dot_product_operands import FP8_MODES, MODES, Mode
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1", "fp8"}))
CONFIGS = {
    "hopper": CONFIG,
    "volta": DotProductConfig(formats=frozenset({"f16", "bf16", "i8"}), profile=PROFILES["volta"]),
}
"""Volta has no least Emax, so that sums of bf16 can lie far below f32's subnormals."""

MOST_RIGHT = {"hopper": 1, "volta": 31}
"""The longest shifts right."""

BITS = Widths(CONFIG).total - 1


def packed(value: Fraction, format: FloatFormat, nearest: bool) -> int:
    """The magnitude's bits in `format`, truncated or to nearest even; too large a value is an infinity."""
    exponent = format.minimum_exponent
    while value >= Fraction(2) ** (exponent + 1):
        exponent += 1
    steps = value / Fraction(2) ** (exponent - format.fraction_bits)
    whole = round(steps) if nearest else int(steps)
    bits = ((exponent + format.bias - 1) << format.fraction_bits) + whole
    return min(bits, format.infinity)


def result(mode: Mode, negative: int, value: Fraction, special: int) -> int:
    """What must come out; `special` has the bits nan, positive, negative from bit 0 on."""
    single, final = FORMATS["f32"], FORMATS[mode.d_type]
    assert isinstance(single, FloatFormat)
    assert isinstance(final, FloatFormat)
    if special & 1 or special & 6 == 6:
        return 0 if mode.saturate else final.canonical_nan
    if special:
        magnitude, sign = final.infinity, special >> 2
    elif mode.d_type == "f16" and mode.c_type == "f32":
        truncated = packed(value, single, nearest=False)
        sign = negative & (truncated != 0)
        exact = Fraction(2) ** 200
        if truncated < single.infinity:
            exponent, fraction = max(truncated >> 23, 1), truncated & 0x7FFFFF
            exact = Fraction(fraction | (0x800000 if truncated >> 23 else 0)) * Fraction(2) ** (
                exponent - 150
            )
        magnitude = packed(exact, final, nearest=True)
    else:
        magnitude = packed(value, final, nearest=mode.d_type == "f16")
        sign = negative & (magnitude != 0)
        if mode.format == "fp8" and mode.d_type == "f32":
            magnitude &= ~0x3FF
    if magnitude == final.infinity and mode.saturate:
        magnitude = final.largest_finite
    return magnitude | (final.sign_mask if sign else 0)


@cocotb.test
async def results(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs, expected = [], []
    formats, most_right = parameters()["formats"], parameters()["most_right"]
    modes = [mode for mode in (*MODES, *FP8_MODES) if mode.format in formats]
    every = [(lost, below) for lost in range(12) for below in range(21 + lost)]
    places = cycle(rng.sample(every, len(every)))
    for operation in range(3000):
        mode = rng.choice(modes)
        c_sign, negative = rng.getrandbits(1), rng.getrandbits(1)
        special = rng.randrange(8) if rng.random() < 0.1 else 0
        right = 0
        if mode.format not in FLOATING:
            value, exponent = (
                rng.choice((rng.getrandbits(32), 1 << 31, (1 << 31) - 1, 0, (1 << 32) - 1)),
                rng.getrandbits(8),
            )
            total = value - (negative << 32)
            d = min(max(total, -(1 << 31)), (1 << 31) - 1) if mode.saturate else total
            c_sign = special = 0
            wanted = d & 0xFFFFFFFF
        else:
            # Emax of f16 products and an f32 C is at most 127, of the others 254; seven bits stand above it.
            most = 127 + 7 + 127 + 1 if mode.format in HALF else 127 + 7 + 254 + 1
            all_but_one = 0xFF ^ 1 << rng.randrange(8)
            exponent = rng.choice(
                (
                    *(0, 1, rng.randrange(most), rng.randrange(98, 116), rng.randrange(140, 146)),
                    *(254, 255, 256, all_but_one),
                )
            )
            value = rng.getrandbits(31) | rng.choice((0, 0x7FFFFFFF, 0x7FFFFF00, 0x7FF00000, 0x3FF80000))
            value &= rng.choice((-1, -1 << 8, -1 << 20, -1 << 21))
            if mode.d_type == "f16" and rng.random() < 0.6:
                # Half a unit of an f16, subnormal or not, and none or any one bit below.
                lost, below = next(places)
                exponent, half = 113 - lost, 1 << 20 + lost
                value = rng.getrandbits(32) & rng.choice((-2, -4)) * half | half | 1 << below >> 1
            if rng.random() < 0.1:  # the largest f16, which rounding may make an infinity
                exponent, value = 142, 0xFFE00000 | rng.getrandbits(21)
            if exponent:
                value |= 1 << 31
            if operation % 50 == 0 or (mode.d_type == "f16" and mode.c_type == "f16" and not exponent):
                value = exponent = 0  # sums of f16 with an f16 result are far above f32's subnormals
            exact = Fraction(value) * Fraction(2) ** (max(exponent, 1) - 127 - 31)
            negative &= value != 0
            if negative:
                value -= 1
                if exponent and not value >> 31:
                    exponent -= 1
                    value |= (exponent != 0) << 31
            if mode.format in ("bf16", "tf32") and exponent == 0 and rng.random() < 0.5:
                right = rng.randint(1, most_right)
                exact /= 1 << right
            wanted = result(mode, negative ^ c_sign, exact, special)
        inputs.append(
            {
                "operation": mode.code(),
                "c_sign": c_sign,
                "negative": negative,
                "value": value,
                "exponent": exponent,
                "right": right,
                "special": special,
            }
        )
        expected.append({"d": wanted})
    assert BITS == 32
    await check_stage(dut, inputs, expected, len(Round.delays))


@pytest.mark.parametrize("profile", CONFIGS)
def test_round(simulate: Simulate, profile: str) -> None:
    config = CONFIGS[profile]
    assert Widths(config).total - 1 == BITS
    values = {"formats": sorted(config.formats), "most_right": MOST_RIGHT[profile]}
    simulate(unit_design(f"dot_product_round_{profile}", Round(config)), __name__, values=values)
