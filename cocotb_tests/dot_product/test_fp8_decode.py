"""Decode fp8: fields of the products, zeros, and what infinities and NaN make, from the operands."""

import random
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

import cocotb
import pytest
from amaranth.lib.wiring import Out

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.stage import check_stage, join
from golden.tables.formats import FloatFormat, float_format
from hdl.config import DotProductConfig
from hdl.dot_product.fields import Special
from hdl.dot_product.fp8_decode import Fp8Decode
from hdl.dot_product.operands import Operation
from hdl.dot_product.special import Fp8Special
from hdl.dot_product.widths import LANES, Widths
from hdl.stream.pipeline import Pipeline
from sim.testbench.dot_product_operands import FP8_MODES, MODES, Mode
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIGS = {
    "alone": DotProductConfig(formats=frozenset({"fp8"})),
    "beside": DotProductConfig(formats=frozenset({"f16", "fp8"})),
}
NAN, POSITIVE, NEGATIVE = 1, 2, 4
SCALE = 30
"""The biased exponent of a product of 1 and 1."""


PAIRS = ((0x7C, 0x3C), (0xFC, 0x3C), (0x7C, 0), (0, 0x7C), (0x7F, 0x3C), (0x3C, 0xFF))
"""Of e5m2: an infinity of each sign, infinity times zero, NaN; of e4m3, NaN and finite products."""


class FromBytesToSpecial(Pipeline):
    """The fields, and what the special ones among them make."""

    def __init__(self, config: DotProductConfig) -> None:
        lanes = Widths(config).fp8_lanes
        significands = Out(4).array(lanes)
        super().__init__(
            {
                **{"a": Out(256), "b": Out(256), "c": Out(32), "operation": Out(Operation)},
                "c_sign": Out(1),
            },
            {
                **{"fp8_significand_a": significands, "fp8_significand_b": significands},
                **{"fp8_exponent": Out(6).array(lanes), "fp8_sign": Out(lanes), "fp8_special": Out(Special)},
            },
            [Fp8Decode(config), Fp8Special(config)],
        )


def fields(word: int, format: FloatFormat) -> tuple[int, int, int, bool, bool]:
    """Sign, exponent, significand with three fraction bits, whether infinite, whether NaN."""
    magnitude = word & 0x7F
    infinite = format.has_infinity and magnitude == format.infinity
    nan = magnitude > format.largest_finite and not infinite
    biased = magnitude >> format.fraction_bits
    significand = (magnitude & ((1 << format.fraction_bits) - 1)) | min(biased, 1) << format.fraction_bits
    return word >> 7, max(biased, 1) - format.bias, significand << (3 - format.fraction_bits), infinite, nan


def random_element(rng: random.Random) -> int:
    return rng.choice((0, 0x80, 1, 0x7F, 0x7C, 0xFC, 0x7E)) if rng.random() < 0.02 else rng.getrandbits(8)


def operations(
    rng: random.Random, places: list[int], infinities: Sequence[tuple[int, int]]
) -> Iterator[tuple[Mode, list[int], list[int], int]]:
    """Modes, elements and the sign of C: of any kind, all finite, with one product that need not be finite.

    And with products at pairs of places that are infinite, of different signs.
    """
    for operation in range(600):
        rare = operation % 3
        a, b = ([random_element(rng) if rare else rng.getrandbits(6) for _ in range(32)] for _ in range(2))
        yield rng.choice(FP8_MODES), a, b, rng.getrandbits(1)
    for mode in (mode for mode in FP8_MODES if mode.a_type == mode.b_type and mode.d_type == "f32"):
        for place, pair, c_sign in product(places, PAIRS, (0, 1)):
            a, b = finite_elements(rng), finite_elements(rng)
            a[place], b[place] = pair
            yield mode, a, b, c_sign
        if mode.a_type == "e5m2":
            for one, other in infinities:
                a, b = finite_elements(rng), finite_elements(rng)
                a[one], a[other], b[one], b[other] = 0x7C, 0xFC, 0x3C, 0x3C
                yield mode, a, b, rng.getrandbits(1)


def finite_elements(rng: random.Random) -> list[int]:
    """Finite elements of all lanes, of either sign."""
    return [rng.getrandbits(6) | rng.choice((0, 0x80)) for _ in range(32)]


@cocotb.test
async def products(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    lanes = parameters()["lanes"]
    order = [2 * lane for lane in range(LANES)] + [2 * lane + 1 for lane in range(LANES)]
    inputs: list[dict[str, int]] = []
    expected: list[dict[str, int | tuple[int, int]]] = []
    pairs = list(permutations(order[:LANES], 2))
    for mode, a, b, c_sign in operations(rng, order[:lanes], pairs):
        formats = float_format(mode.a_type), float_format(mode.b_type)
        sign_bit = 15 if mode.c_type == "f16" else 31
        c = rng.getrandbits(32) & ~(1 << sign_bit) | c_sign << sign_bit
        significands_a, significands_b, exponents, masks, signs, special = [], [], [], [], [], 0
        for place in order[:lanes]:
            a_sign, a_exponent, a_significand, a_infinite, a_nan = fields(a[place], formats[0])
            b_sign, b_exponent, b_significand, b_infinite, b_nan = fields(b[place], formats[1])
            sign = a_sign ^ b_sign
            invalid = (a_infinite and not b_significand) or (b_infinite and not a_significand)
            if a_nan or b_nan or invalid:
                special |= NAN
            elif a_infinite or b_infinite:
                special |= NEGATIVE if sign else POSITIVE
            finite = not (a_nan or b_nan or a_infinite or b_infinite)
            significands_a.append(a_significand)
            significands_b.append(b_significand)
            is_zero = not (a_significand and b_significand)
            exponents.append(0 if is_zero else a_exponent + b_exponent + SCALE + (lanes == LANES))
            masks.append(63 if finite else 0)
            signs.append(sign ^ c_sign)
        inputs.append({"a": join(a, 8), "b": join(b, 8), "c": c, "c_sign": c_sign, "operation": mode.code()})
        expected.append(
            {
                "fp8_significand_a": join(significands_a, 4),
                "fp8_significand_b": join(significands_b, 4),
                "fp8_exponent": (join(exponents, 6), join(masks, 6)),
                "fp8_sign": join(signs, 1),
                "fp8_special": (special, NAN if special & NAN else 7),
            }
        )
    if lanes == LANES:
        for mode in (mode for mode in MODES if mode.format == "f16"):
            inputs.append({"a": rng.getrandbits(256), "b": rng.getrandbits(256), "operation": mode.code()})
            expected.append({"fp8_exponent": 0, "fp8_special": 0})
    await check_stage(dut, inputs, expected, len(Fp8Decode.delays) + len(Fp8Special.delays))


@pytest.mark.parametrize("where", CONFIGS)
def test_fp8_decode(simulate: Simulate, where: str) -> None:
    design = unit_design(f"dot_product_fp8_decode_{where}", FromBytesToSpecial(CONFIGS[where]))
    simulate(design, __name__, values={"lanes": Widths(CONFIGS[where]).fp8_lanes})
