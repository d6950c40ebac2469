"""The steps of the arithmetic, each against something that is not ours."""

import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import golden
from golden.arithmetic.arrays import convert, elementwise, fma
from golden.arithmetic.decode import INFINITE, NAN, ZERO_EXPONENT, layout
from golden.arithmetic.fdpa import align
from golden.arithmetic.fma import add
from golden.arithmetic.integer_tiles import integer_tiles
from golden.arithmetic.round_pack import ROUNDINGS, round_pack
from golden.random_operands import random_floats, random_operands
from golden.resolve import resolve_instruction
from golden.tables.formats import float_format
from regression.functional.decoded import bit_lengths, decode

WMMA = "wmma.mma.sync.aligned.row.col"
F16, BF16, TF32, F32, F64 = (float_format(name) for name in ("f16", "bf16", "tf32", "f32", "f64"))
ALL_16_BITS = np.arange(1 << 16, dtype=np.uint16)


def random_bits(format, count, seed=3):
    return random_floats(np.random.default_rng(seed), format, (count // 100, 100)).ravel()


def packed(negative, magnitude, exponent, format, mode):
    """`round_pack` on arrays."""
    constants = layout(format), ROUNDINGS.index(mode), False
    return elementwise(round_pack, (negative, magnitude, exponent), constants, np.uint16)


def same_numbers(found, expected):
    """Equal bits, or NaN in both."""
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), nan)
    unsigned = f"u{expected.itemsize}"
    np.testing.assert_array_equal(found.view(unsigned)[~nan], expected.view(unsigned)[~nan])


def test_decode_f16_is_the_processors():
    same_numbers(decode(ALL_16_BITS, F16).float64(), ALL_16_BITS.view(np.float16).astype(np.float64))


def test_decode_bf16_and_tf32_are_shortened_f32():
    wide = ALL_16_BITS.astype(np.uint32) << 16
    bits = random_bits(F32, 100_000)
    shortened = (bits & np.uint32(0xFFFFE000)).view(np.float32)
    with np.errstate(invalid="ignore"):
        same_numbers(decode(ALL_16_BITS, BF16).float64(), wide.view(np.float32).astype(np.float64))
        same_numbers(decode(bits, TF32).float64(), shortened.astype(np.float64))


def test_decode_f32_is_the_processors():
    bits = random_bits(F32, 100_000)
    with np.errstate(invalid="ignore"):
        same_numbers(decode(bits, F32).float64(), bits.view(np.float32).astype(np.float64))


def test_decode_keeps_subnormals_and_specials_apart():
    bits = np.array([0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0x7C00, 0xFC00, 0x7C01], np.uint16)
    number = decode(bits, F16)
    assert number.significand.tolist() == [0, 0, 1, 0x3FF, 0x400, 0x7FF, 0, 0, 1]
    assert number.exponent.tolist() == [-14, -14, -14, -14, -14, 15, 16, 16, 16]
    assert number.negative.tolist() == [False, True, False, True, False, False, False, True, False]
    assert (number.kind == INFINITE).tolist() == [False] * 6 + [True, True, False]
    assert (number.kind == NAN).tolist() == [False] * 8 + [True]
    assert number.alignment_exponent().tolist()[:3] == [ZERO_EXPONENT, ZERO_EXPONENT, -14]


def test_payload_in_ignored_bits_is_an_infinity():
    number = decode(np.array([0x7F801FFF, 0x7F802000], np.uint32), TF32)
    assert (number.kind == INFINITE).tolist() == [True, False]
    assert (number.kind == NAN).tolist() == [False, True]


def test_align_truncates_towards_zero():
    for distance in (0, 1, 5, 27, 31, 32, 63, 64, 20_000):
        for term in (0, 1, 3, (1 << 27) + 5, (1 << 29) - 1):
            for signed in (term, -term):
                expected = int(Fraction(signed, 1 << distance))  # int() truncates
                assert align(signed, distance) == expected, (signed, distance)


def test_bit_length():
    values = sorted({max(0, (1 << n) + d) for n in range(62) for d in (-2, -1, 0, 1)} | {(1 << 62) - 1})
    assert bit_lengths(np.array(values)).tolist() == [value.bit_length() for value in values]


@pytest.mark.parametrize("format", [F16, BF16], ids=lambda format: format.name)
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("shift", [0, 7, 40])
def test_what_fits_is_packed_unchanged(format, mode, shift):
    number = decode(ALL_16_BITS, format)
    finite = ~number.special
    significand = number.significand[finite].astype(np.int64) << shift
    exponent = number.exponent[finite] - format.fraction_bits - shift
    found = packed(number.negative[finite], significand, exponent, format, mode)
    np.testing.assert_array_equal(found, ALL_16_BITS[finite])


@pytest.mark.parametrize(
    ("mode", "overflow", "positive", "negative"),
    [
        ("rn", "ieee", 0x7C00, 0xFC00),
        ("rz", "ieee", 0x7BFF, 0xFBFF),
        ("rm", "ieee", 0x7BFF, 0xFC00),
        ("rp", "ieee", 0x7C00, 0xFBFF),
        ("rz", "infinity", 0x7C00, 0xFC00),
        ("rn", "infinity", 0x7C00, 0xFC00),
    ],
)
@pytest.mark.parametrize("exponent", [16, 17, 2000])
def test_overflow(mode, overflow, positive, negative, exponent):
    place, always = ROUNDINGS.index(mode), overflow == "infinity"
    found = [round_pack(sign, 1, exponent, F16, place, always) for sign in (0, 1)]
    assert found == [positive, negative]
    compiled = elementwise(
        round_pack, ([0, 1], [1, 1], [exponent] * 2), (layout(F16), place, always), np.uint16
    )
    assert compiled.tolist() == found


def test_overflow_by_rounding_up():
    """65519.99 stays below, 65520 is the tie that goes to infinity."""
    largest = np.array([65519, 65520], np.int64)
    found = packed(np.zeros(2, bool), largest, np.zeros(2, int), F16, "rn")
    assert found.tolist() == [0x7BFF, 0x7C00]


def test_far_below_the_smallest_subnormal():
    """However far: towards zero nothing is left, away from it the smallest number."""
    exponents = np.array([-24, -25, -26, -60, -500, -5000])
    one = np.ones(len(exponents), np.int64)
    positive = np.zeros(len(exponents), bool)
    found = {mode: packed(positive, one, exponents, F16, mode).tolist() for mode in ("rn", "rz", "rp")}
    assert found == {"rn": [1, 0, 0, 0, 0, 0], "rz": [1, 0, 0, 0, 0, 0], "rp": [1, 1, 1, 1, 1, 1]}
    most = np.full(len(exponents), (1 << 62) - 1)
    assert packed(positive, most, exponents - 62, F16, "rn").tolist() == [1, 0, 0, 0, 0, 0]


def test_conversions_are_the_processors():
    bits = random_bits(F32, 200_000)
    with np.errstate(over="ignore", invalid="ignore"):
        same_numbers(convert(bits, F32, F16).view(np.float16), bits.view(np.float32).astype(np.float16))
    same_numbers(
        convert(ALL_16_BITS, F16, F32).view(np.float32), ALL_16_BITS.view(np.float16).astype(np.float32)
    )


def test_fma64_with_one_or_zero_is_the_processors():
    a, b = random_bits(F64, 120_000), random_bits(F64, 120_000, seed=4)
    one = np.uint64(0x3FF0000000000000)
    x, y = a.view(np.float64), b.view(np.float64)
    with np.errstate(all="ignore"):
        same_numbers(fma(a, one, b).view(np.float64), x + y)
        product = x * y
        signed_zero = np.where(product == 0, np.copysign(0.0, product), -0.0).view(np.uint64)
        same_numbers(fma(a, b, signed_zero).view(np.float64), product)


@pytest.mark.parametrize("format", [F16, F32], ids=lambda format: format.name)
def test_sums_are_the_processors(format):
    """numpy adds f16 in f32 and rounds again, which is innocuous: 24 bits are at least 2 * 11 + 2."""
    a, b = random_bits(format, 100_000), random_bits(format, 100_000, seed=4)
    number = f"f{format.bits // 8}"
    found = elementwise(add, (a, b), (layout(format), 0), a.dtype)
    with np.errstate(all="ignore"):
        same_numbers(found.view(number), a.view(number) + b.view(number))
    nan = np.isnan(found.view(number))
    assert nan.any()
    assert (found[nan] == format.canonical_nan).all()


def test_fma64_nan_order():
    """b, then the accumulator, then a; made quiet, sign and payload kept."""
    a, b, c = 0xFFF0000000000001, 0x7FF0000000000002, 0xFFF8000000000003
    one, infinity, zero = 0x3FF0000000000000, 0x7FF0000000000000, 0
    quiet = 1 << 51
    for operands, expected in (
        ((a, b, c), b | quiet),
        ((a, one, c), c),
        ((a, one, one), a | quiet),
        ((infinity, zero, c), c),
        ((infinity, zero, one), 0xFFF8000000000000),
        ((infinity, one, infinity | 1 << 63), 0xFFF8000000000000),
        ((zero, b, infinity), b | quiet),
    ):
        found = fma(*(np.array([bits], np.uint64) for bits in operands))
        assert int(found[0]) == expected, operands


@pytest.mark.parametrize(
    "text",
    [
        *(f"m16n16k16.{pair}" for pair in ("f32.f32", "f16.f16", "f16.f32", "f32.f16")),
        "m8n32k16.f32.bf16.bf16.f32",
        "m16n16k8.f32.tf32.tf32.f32",
    ],
)
@pytest.mark.parametrize("profile", ["hopper", "exact"])
def test_satf(text, profile):
    """Infinities become the largest finite number of their sign, NaN becomes +0, all else stays."""
    plain = resolve_instruction(f"{WMMA}.{text}")
    operands = random_operands(np.random.default_rng(6), plain, 24)
    expected = golden.mma(plain, *operands, profile=profile)
    format = float_format(plain.d_type)
    sign = expected.dtype.type(format.sign_mask)
    magnitude = expected & ~sign
    infinite, nan = magnitude == format.infinity, magnitude > format.infinity
    found = golden.mma(replace(plain, saturate=True), *operands, profile=profile)
    np.testing.assert_array_equal(found[~infinite & ~nan], expected[~infinite & ~nan])
    np.testing.assert_array_equal(found[infinite], expected[infinite] & sign | (format.infinity - 1))
    assert not found[nan].any()
    assert nan.any()
    assert infinite.any() or plain.d_type == "f32"


def test_arguments_are_left_alone():
    for text in (
        "m16n16k16.f16.f16",
        "m16n16k8.f32.tf32.tf32.f32",
        "m8n8k4.f64.f64.f64.f64",
        "m16n16k16.s32.s8.s8.s32",
    ):
        instruction = resolve_instruction(f"{WMMA}.{text}")
        operands = random_operands(np.random.default_rng(6), instruction, 8)
        copies = [operand.copy() for operand in operands]
        for operand in operands:
            operand.flags.writeable = False
        golden.mma(instruction, *operands)
        for operand, copy in zip(operands, copies, strict=True):
            np.testing.assert_array_equal(operand, copy)


def test_empty_batch():
    instruction = resolve_instruction(f"{WMMA}.m16n16k16.f16.f32")
    operands = random_operands(np.random.default_rng(6), instruction, 1)
    result = golden.mma(instruction, *(operand[:0] for operand in operands))
    assert result.shape == (0, 16, 16)
    assert result.dtype == np.uint16


@pytest.mark.parametrize(
    "text", ["m16n16k16.f32.f32", "m8n8k4.f64.f64.f64.f64", "m16n16k16.s32.s8.s8.s32.satfinite"]
)
def test_memory_does_not_grow_with_the_batch(text):
    instruction = resolve_instruction(f"{WMMA}.{text}")
    few = random_operands(np.random.default_rng(6), instruction, 4500)
    many = tuple(np.concatenate([operand] * 4) for operand in few)
    beyond_result = []
    golden.mma(instruction, *few)
    for operands in (few, many):
        tracemalloc.start()
        result = golden.mma(instruction, *operands, threads=1)
        beyond_result.append(tracemalloc.get_traced_memory()[1] - result.nbytes)
        tracemalloc.stop()
    assert beyond_result[1] < beyond_result[0] + 100_000
    assert beyond_result[1] < 20_000_000


@pytest.mark.parametrize("satfinite", [False, True])
@pytest.mark.parametrize("n", [1, 7, 8, 15, 16, 17, 24, 31, 32, 33, 48])
@pytest.mark.parametrize("m", [1, 3, 16])
def test_sums_of_integers_of_any_width_are_exact(m, n, satfinite):
    """Matrices of numpy, of 64 bits; C of 32, and for sums that are clamped of 33."""
    random = np.random.default_rng(n)
    for depth in (1, 16, 40):
        a, b = (
            random.integers(-128, 256, (5, *shape)).astype(np.int16) for shape in ((m, depth), (depth, n))
        )
        reach = 1 << 31 + satfinite
        c = random.integers(-reach, reach, (5, m, n)).astype(np.int64 if satfinite else np.int32)
        exact = c + a.astype(np.int64) @ b.astype(np.int64)
        limits = np.iinfo(np.int32)
        expected = np.clip(exact, limits.min, limits.max) if satfinite else exact.astype(np.int32)
        np.testing.assert_array_equal(integer_tiles(a, b, c, satfinite=satfinite), expected)
