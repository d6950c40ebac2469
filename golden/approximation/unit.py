"""The f32 forms with ``.ftz``, and tanh: from bit patterns to the unit's arguments, and from sums to results.

Subnormal operands count as zero of their sign (tanh takes them as they are), results below ``2**-126`` become
zero of their sign, no result is rounded, and every NaN is 0x7fffffff. All functions take and return bit
patterns in arrays of uint32 of one shape.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from golden.approximation.interpolator import (
    ARGUMENT_BITS,
    TANH_OFFSET_BITS,
    Table,
    evaluate,
    interpolate,
    table,
    tanh_table,
)

__all__ = [
    "RECIPROCAL_TAU",
    "Bits",
    "cos",
    "ex2",
    "lg2",
    "rcp",
    "reciprocal_root",
    "rsqrt",
    "sin",
    "sqrt",
    "tanh",
]

Bits = NDArray[np.uint32]

SIGN = np.uint32(0x80000000)
MAGNITUDE = np.uint32(0x7FFFFFFF)
INFINITY = np.uint32(0x7F800000)
NAN = np.uint32(0x7FFFFFFF)
LEAST_NORMAL = np.uint32(0x00800000)
ONE = np.uint32(0x3F800000)
BIAS = 127
FRACTION = (1 << ARGUMENT_BITS) - 1
HIDDEN = 1 << ARGUMENT_BITS

RECIPROCAL_TAU = np.uint32(0x3E22F983)
"""1 / (2 pi) in f32: the factor of sin and cos."""

_TURN_BITS = 25
"""Places of a turn behind the point: two number the quarter, 23 are the unit's argument."""

_LG2_FRACTION_BITS = 36


def ex2(x: Bits) -> Bits:
    """Two to the power x."""
    value = x.view(np.float32)
    with np.errstate(invalid="ignore"):
        # 200 is beyond every finite result, and leaves room in 32 bits for 23 fraction bits.
        fixed = (np.clip(value, -200, 200) * np.float32(HIDDEN)).astype(np.int32)
    fixed -= (fixed < 0) & (fixed & FRACTION != 0)
    argument = (fixed & FRACTION).astype(np.int64)
    significand = interpolate(table("ex2"), argument) >> 15
    significand += fixed - argument + ((BIAS - 1) << ARGUMENT_BITS)
    result = significand.astype(np.uint32)
    result[value >= 128] = INFINITY
    result[value < -126] = 0
    result[np.isnan(value)] = NAN
    return result


def rcp(x: Bits) -> Bits:
    """One divided by x."""
    magnitude = x & MAGNITUDE
    argument = (x & np.uint32(FRACTION)).astype(np.int64)
    significand = interpolate(table("rcp"), argument) >> 15
    significand += (2 * BIAS - 2 - (magnitude >> np.uint32(ARGUMENT_BITS)).astype(np.int64)) << ARGUMENT_BITS
    significand[significand < int(LEAST_NORMAL)] = 0
    significand[magnitude < LEAST_NORMAL] = INFINITY
    significand[magnitude == INFINITY] = 0
    result = significand.astype(np.uint32) | x & SIGN
    result[magnitude > INFINITY] = NAN
    return result


def rsqrt(x: Bits) -> Bits:
    """One divided by the square root of x."""
    argument, half, odd = _halved(x)
    significand = reciprocal_root(argument, odd)
    significand += (BIAS - 2 - half) << ARGUMENT_BITS
    result = significand.astype(np.uint32)
    magnitude = x & MAGNITUDE
    result[x == INFINITY] = 0
    result[x > SIGN] = NAN
    zero = magnitude < LEAST_NORMAL
    result[zero] = INFINITY | x[zero] & SIGN
    result[magnitude > INFINITY] = NAN
    return result


def sqrt(x: Bits) -> Bits:
    """The square root of x."""
    argument, half, odd = _halved(x)
    significand = _by_parity("sqrt", argument, odd) >> 17
    significand += (BIAS - 1 + half) << ARGUMENT_BITS
    result = significand.astype(np.uint32)
    magnitude = x & MAGNITUDE
    result[x == INFINITY] = INFINITY
    result[x > SIGN] = NAN
    zero = magnitude < LEAST_NORMAL
    result[zero] = x[zero] & SIGN
    result[magnitude > INFINITY] = NAN
    return result


def lg2(x: Bits) -> Bits:
    """The logarithm of x to base two."""
    argument = (x & np.uint32(FRACTION)).astype(np.int64)
    total = interpolate(table("lg2"), argument) >> 2
    total[x == ONE] = 0
    total += ((x >> np.uint32(ARGUMENT_BITS)).astype(np.int64) - BIAS) << _LG2_FRACTION_BITS
    result = _truncated(total ^ (total >> 63), _LG2_FRACTION_BITS)
    result |= (total < 0).astype(np.uint32) << np.uint32(31)
    magnitude = x & MAGNITUDE
    result[x == INFINITY] = INFINITY
    result[x > SIGN] = NAN
    result[magnitude < LEAST_NORMAL] = INFINITY | SIGN
    result[magnitude > INFINITY] = NAN
    return result


def sin(x: Bits) -> Bits:
    """The sine of x."""
    turn = _turn(x)
    negative = (turn >> (_TURN_BITS - 1)).astype(np.uint32) << np.uint32(31)
    result = _wave(turn, turn >> ARGUMENT_BITS & 1)
    result ^= negative ^ x & SIGN
    result[x & MAGNITUDE >= INFINITY] = NAN
    return result


def cos(x: Bits) -> Bits:
    """The cosine of x."""
    turn = _turn(x)
    quarter = turn >> ARGUMENT_BITS
    result = _wave(turn, ~quarter & 1)
    result ^= ((quarter ^ quarter >> 1) & 1).astype(np.uint32) << np.uint32(31)
    result[x & MAGNITUDE >= INFINITY] = NAN
    return result


def tanh(x: Bits) -> Bits:
    """The hyperbolic tangent of x."""
    coefficients = tanh_table()
    magnitude = x & MAGNITUDE
    bounded = np.clip(magnitude, np.uint32(0x3B800000), np.uint32(0x40FFFFFF))  # 2**-8 to below 8
    row = coefficients.row_of(bounded)
    offset = bounded.view(np.float32) - coefficients.start.take(row)
    offset *= 2**TANH_OFFSET_BITS / coefficients.width.take(row)
    total = evaluate(coefficients, row, offset.astype(np.int64))
    result = _truncated(total, coefficients.fraction_bits)
    result = np.where(magnitude < np.uint32(0x3B800000), magnitude, result)
    result[magnitude > np.uint32(0x40FFFFFF)] = ONE
    result |= x & SIGN
    result[magnitude > INFINITY] = NAN
    return result


def reciprocal_root(argument: NDArray[np.int64], odd: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Significand of rsqrt in units of ``2**-24``, for an even or odd exponent; exact for powers of four."""
    significand = _by_parity("rsqrt", argument, odd) >> 16
    significand[(argument == 0) & ~odd] = 2 * HIDDEN
    return significand


def _truncated(total: NDArray[np.int64], fraction_bits: int) -> Bits:
    """A number below ``2**53`` in units of ``2**-fraction_bits``, truncated to 24 significant bits."""
    exact = total.astype(np.float64)
    exact *= 2.0**-fraction_bits
    kept = exact.view(np.int64)
    kept &= -(1 << 29)  # f64 has 29 more fraction bits than f32
    return exact.astype(np.float32).view(np.uint32)


def _halved(x: Bits) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Argument, half the exponent rounded down, and whether the exponent is odd."""
    exponent = (x >> np.uint32(ARGUMENT_BITS)).astype(np.int64) - BIAS
    return (x & np.uint32(FRACTION)).astype(np.int64), exponent >> 1, (exponent & 1).astype(np.bool_)


def _by_parity(function: str, argument: NDArray[np.int64], odd: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The polynomial of the even or the odd exponent: one table, whose upper half is the odd one."""
    return interpolate(_both(function), argument + (odd.astype(np.int64) << ARGUMENT_BITS))


@cache
def _both(function: str) -> Table:
    even, odd = table(f"{function}_even"), table(f"{function}_odd")
    return Table(
        fraction_bits=even.fraction_bits,
        offset_bits=even.offset_bits,
        c0=np.concatenate([even.c0, odd.c0]),
        c1=np.concatenate([even.c1, odd.c1]),
        c2=np.concatenate([even.c2, odd.c2]),
    )


def _turn(x: Bits) -> NDArray[np.int64]:
    """Magnitude of x in turns modulo 1, truncated to 25 fraction bits."""
    magnitude = x & MAGNITUDE
    value = np.where(magnitude < LEAST_NORMAL, np.uint32(0), magnitude).view(np.float32)
    # The product of two 24-bit significands is exact in f64; truncating it to 24 bits rounds towards zero.
    with np.errstate(invalid="ignore"):
        bits = (value * np.float64(RECIPROCAL_TAU.view(np.float32))).view(np.int64)
    exponent = (bits >> 52) - 1023
    significand = (bits & (1 << 52) - 1 | 1 << 52) >> 29
    # A product below 2**-126, which counts as zero, is shifted out like all below 2**-25. From 2**23 on, no
    # bit is left of the turn; the shift is limited to 50 because such bits are above the 25 in any case.
    shift = np.clip(exponent + 2 * _TURN_BITS - ARGUMENT_BITS, 0, 2 * _TURN_BITS)
    turn: NDArray[np.int64] = (significand << shift) >> _TURN_BITS & (1 << _TURN_BITS) - 1
    return turn


def _wave(turn: NDArray[np.int64], falling: NDArray[np.int64]) -> Bits:
    """Magnitude of the sine of a turn, whose argument counts backwards where `falling` is 1."""
    argument = turn & FRACTION
    folded = argument ^ -falling & FRACTION
    result = _truncated(interpolate(table("sin"), folded), table("sin").fraction_bits)
    boundary = argument == 0
    result[boundary] = np.where(falling[boundary] == 1, ONE, np.uint32(0))
    return result
