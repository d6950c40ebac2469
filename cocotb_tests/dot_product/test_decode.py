"""Decode, decode C and special values: fields, zero products, infinities and NaN, from the operands."""

import random
from fractions import Fraction
from itertools import permutations
from typing import Any

import cocotb

from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.corners import boundary_values
from cocotb_tests.dot_product.stage import check_stage, join, split
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.profiles import HOPPER
from hdl.config import DotProductConfig
from hdl.dot_product.decode import Decode
from hdl.dot_product.decode_c import DecodeC
from hdl.dot_product.special import ProductSpecial, SpecialValues
from hdl.dot_product.widths import FLOATING, HALF, LANES, Widths
from sim.testbench.dot_product_operands import FP8_MODES, MODES, Mode
from sim.testbench.unit import unit_design

CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1", "fp8"}))
WIDTHS = Widths(CONFIG)
ALL_MODES = (*MODES, *FP8_MODES)
FLOATS = [mode for mode in ALL_MODES if mode.format in FLOATING]
NAN, POSITIVE, NEGATIVE = 1, 2, 4


def format_of(name: str) -> FloatFormat:
    found = FORMATS[name]
    assert isinstance(found, FloatFormat)
    return found


def fields(word: int, format: FloatFormat) -> tuple[int, int, int, bool, bool]:
    """Sign, exponent, significand with the format's fraction bits, whether infinite, whether NaN."""
    word >>= format.ignored_bits
    fraction = word & ((1 << format.fraction_bits) - 1)
    biased = word >> format.fraction_bits & ((1 << format.exponent_bits) - 1)
    sign = word >> (format.exponent_bits + format.fraction_bits)
    top = (1 << format.exponent_bits) - 1
    hidden = (1 << format.fraction_bits) if biased else 0
    exponent = max(biased, 1) - format.bias
    if not format.has_infinity:
        return sign, exponent, fraction | hidden, False, biased == top and fraction == hidden - 1
    return sign, exponent, fraction | hidden, biased == top and not fraction, biased == top and fraction > 0


def scale(mode: Mode) -> int:
    """The travelling exponent of 2**0."""
    return WIDTHS.exponent_zero(narrow=mode.format in HALF)


def random_word(rng: random.Random, format: FloatFormat) -> int:
    return rng.choice(boundary_values(format)) if rng.random() < 0.3 else rng.getrandbits(format.bits)


def operands(mode: Mode, a: list[int], b: list[int]) -> dict[str, int]:
    bits = FORMATS[mode.a_type].bits
    return {"a": join(a, bits), "b": join(b, bits), "operation": mode.code()}


def odd_elements(mode: Mode, elements: list[int]) -> list[int]:
    """Those that these lanes decode: of fp8 every other one."""
    return elements[1::2] if mode.format == "fp8" else elements


def random_flags(rng: random.Random) -> int:
    return rng.choice((0, 0, 1 << rng.randrange(LANES), rng.getrandbits(LANES)))


def words(flags: int) -> int:
    """Flags of all lanes, each in the lowest bit of its place."""
    return join(split(flags, 1, LANES), 16)


def lane_of(mode: Mode, product: int) -> int:
    """The lane of a product: a tf32 is decoded in the odd one of its two."""
    return 2 * product + 1 if mode.format == "tf32" else product


@cocotb.test
async def multiplicands(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs, expected = [], []
    for _ in range(600):
        mode = rng.choice(FLOATS)
        a_format, b_format = format_of(mode.a_type), format_of(mode.b_type)
        count = mode.products(HOPPER)
        a = [random_word(rng, a_format) for _ in range(count)]
        b = [random_word(rng, b_format) for _ in range(count)]
        inputs.append(operands(mode, a, b))
        a, b = odd_elements(mode, a), odd_elements(mode, b)
        a_shift, b_shift = 10 - a_format.fraction_bits, 10 - b_format.fraction_bits
        exponents, masks = [0] * LANES, [(1 << 9) - 1] * LANES
        significands_a, significands_b = [0] * LANES, [0] * LANES
        signs = sign_mask = nans = infinities = 0
        for product in range(len(a)):
            lane = lane_of(mode, product)
            a_sign, a_exponent, a_significand, a_infinite, a_nan = fields(a[product], a_format)
            b_sign, b_exponent, b_significand, b_infinite, b_nan = fields(b[product], b_format)
            sign = a_sign ^ b_sign
            significands_a[lane], significands_b[lane] = a_significand << a_shift, b_significand << b_shift
            signs |= sign << lane
            sign_mask |= 1 << lane
            infinite = a_infinite or b_infinite
            if a_nan or b_nan or (infinite and not (a_significand and b_significand)):
                nans |= 1 << lane
                masks[lane] = 0
            elif infinite:
                infinities |= 1 << lane
                masks[lane] = 0
            elif a_significand and b_significand:
                exponents[lane] = a_exponent + b_exponent + scale(mode) - (mode.format == "fp8")
        used = [bool(sign_mask >> lane & 1) for lane in range(LANES)]
        significand_mask = join([2047 if is_used else 0 for is_used in used], 16)
        expected.append(
            {
                "significand_a": (join(significands_a, 16), significand_mask),
                "significand_b": (join(significands_b, 16), significand_mask),
                "product_exponent": (join(exponents, 9), join(masks, 9)),
                "sign": (signs, sign_mask),
                "nan": words(nans),
                "infinite": words(infinities),
            }
        )
    await check_stage(dut, inputs, expected, len(Decode.delays))


@cocotb.test
async def integer_bytes(dut: Any) -> None:
    """Lanes 0 to 7 pass the low bytes of 16-bit integers' lanes, the odd bytes have fields of their own."""
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs, expected = [], []
    mask = join([255] * 8, 16)
    for _ in range(100):
        mode = rng.choice([mode for mode in MODES if mode.format in ("i8", "i4")])
        a, b = rng.getrandbits(128), rng.getrandbits(128)
        inputs.append({"a": a, "b": b, "operation": mode.code()})
        expected.append(
            {
                "significand_a": (join(split(a, 16, 8), 16), mask),
                "significand_b": (join(split(b, 16, 8), 16), mask),
                "byte_a": join(split(a, 8, 16)[1::2], 16),
                "byte_b": join(split(b, 8, 16)[1::2], 16),
            }
        )
    await check_stage(dut, inputs, expected, len(Decode.delays))


@cocotb.test
async def accumulator(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    inputs, expected = [], []
    for _ in range(1500):
        mode = rng.choice(ALL_MODES)
        if mode.format not in FLOATING:
            c = rng.getrandbits(32)
            inputs.append({"c": c, "operation": mode.code()})
            expected.append({"c_value": c, "c_sign": 0})
            continue
        format = format_of(mode.c_type)
        c = random_word(rng, format)
        sign, exponent, significand, infinite, nan = fields(c, format)
        exact = Fraction(significand) * Fraction(2) ** (exponent - format.fraction_bits)
        half_result = mode.d_type == mode.c_type == "f16"
        if mode.c_type == "f16" and not half_result and exact:
            exponent = -24
            while exact >= Fraction(2) ** (exponent + 1):
                exponent += 1
        least = HOPPER.least_exponent(format_of("f16" if half_result else "f32"))
        assert least is not None
        inputs.append({"c": c, "operation": mode.code()})
        special = NAN if nan else (NEGATIVE if sign else POSITIVE) if infinite else 0
        entry = {"c_sign": sign, "c_special": special}
        if not (nan or infinite):
            entry["c_exponent"] = (exponent if exact else least) + scale(mode)
            entry["c_value"] = int(exact / Fraction(2) ** (exponent - 23))
        expected.append(entry)
    await check_stage(dut, inputs, expected, len(DecodeC.delays))


@cocotb.test
async def product_special(dut: Any) -> None:
    """Any of them; and each NaN alone, each infinity alone or with one of the other sign."""
    rng = random.Random(cocotb.RANDOM_SEED)
    everything = (1 << LANES) - 1
    bits = [1 << lane for lane in range(LANES)]
    cases = [(random_flags(rng), random_flags(rng), rng.getrandbits(LANES)) for _ in range(100)]
    cases += [(bit, 0, rng.getrandbits(LANES)) for bit in bits]
    cases += [(0, bit, signs) for bit in bits for signs in (0, bit, everything ^ bit, everything)]
    cases += [(0, one | other, rng.getrandbits(LANES) & ~other | one) for one, other in permutations(bits, 2)]
    inputs, expected = [], []
    for nans, infinities, signs in cases:
        inputs.append({"nan": words(nans), "infinite": words(infinities), "sign": signs})
        special = (
            NAN * (nans != 0) | POSITIVE * (infinities & ~signs != 0) | NEGATIVE * (infinities & signs != 0)
        )
        expected.append({"product_special": special})
    await check_stage(dut, inputs, expected, len(ProductSpecial.delays))


@cocotb.test
async def special_values(dut: Any) -> None:
    """Every combination of products and C, in every format."""
    inputs, expected = [], []
    for mode in ALL_MODES:
        for fp8 in (0, 1, 2, 4):
            for products in range(8):
                for c in range(8):
                    inputs.append(
                        {
                            **{"operation": mode.code(), "product_special": products},
                            **{"fp8_special": fp8, "c_special": c},
                        }
                    )
                    expected.append({"special": products | fp8 | c if mode.format in FLOATING else 0})
    await check_stage(dut, inputs, expected, len(SpecialValues.delays))


def test_decode(simulate: Simulate) -> None:
    design = unit_design("dot_product_decode", Decode(CONFIG))
    simulate(design, __name__, cases=("multiplicands", "integer_bytes"))


def test_decode_c(simulate: Simulate) -> None:
    simulate(unit_design("dot_product_decode_c", DecodeC(CONFIG)), __name__, cases=("accumulator",))


def test_product_special(simulate: Simulate) -> None:
    design = unit_design("dot_product_product_special", ProductSpecial(CONFIG))
    simulate(design, __name__, cases=("product_special",))


def test_special_values(simulate: Simulate) -> None:
    simulate(
        unit_design("dot_product_special_values", SpecialValues(CONFIG)), __name__, cases=("special_values",)
    )
