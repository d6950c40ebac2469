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
    result = significand.astype(np.uint32)
    special = _is_special(magnitude)
    if special.any():
        result[special] = np.where(magnitude[special] < LEAST_NORMAL, INFINITY, np.uint32(0))
    result |= x & SIGN
    result[magnitude > INFINITY] = NAN
    return result


def rsqrt(x: Bits) -> Bits:
    """One divided by the square root of x."""
    significand = reciprocal_root((x & np.uint32(2 * HIDDEN - 1)).astype(np.int64))
    significand += (BIAS - 2 - _half_exponent(x)) << ARGUMENT_BITS
    return _with_specials(significand.astype(np.uint32), x, zero=INFINITY, infinity=np.uint32(0))


def sqrt(x: Bits) -> Bits:
    """The square root of x."""
    significand = interpolate(_both("sqrt"), (x & np.uint32(2 * HIDDEN - 1)).astype(np.int64)) >> 17
    significand += (BIAS - 1 + _half_exponent(x)) << ARGUMENT_BITS
    return _with_specials(significand.astype(np.uint32), x, zero=np.uint32(0), infinity=INFINITY)


def lg2(x: Bits) -> Bits:
    """The logarithm of x to base two."""
    argument = (x & np.uint32(FRACTION)).astype(np.int64)
    total = interpolate(table("lg2"), argument) >> 2
    total[x == ONE] = 0
    total += ((x >> np.uint32(ARGUMENT_BITS)).astype(np.int64) - BIAS) << _LG2_FRACTION_BITS
    negative = total >> 63
    total ^= negative
    result = _truncated(total, _LG2_FRACTION_BITS)
    result |= negative.astype(np.uint32) & SIGN
    result = _with_specials(result, x, zero=np.uint32(0), infinity=INFINITY)
    result[x & MAGNITUDE < LEAST_NORMAL] = INFINITY | SIGN
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


def reciprocal_root(argument: NDArray[np.int64]) -> NDArray[np.int64]:
    """Significand of rsqrt in units of ``2**-24``, exact for powers of four.

    Bit 23 of the argument is the lowest of the biased exponent, which is 0 for odd exponents.
    """
    significand = interpolate(_both("rsqrt"), argument) >> 16
    significand[argument == HIDDEN] = 2 * HIDDEN
    return significand


def _is_special(x: Bits) -> NDArray[np.bool_]:
    """Whether x is no positive normal number."""
    return x - LEAST_NORMAL >= INFINITY - LEAST_NORMAL


def _with_specials(result: Bits, x: Bits, *, zero: np.uint32, infinity: np.uint32) -> Bits:
    """`result` of positive normal x; `zero`, with the sign of x, and `infinity` for these; else NaN."""
    special = _is_special(x)
    if special.any():
        operand = x[special]
        other = np.where(operand == INFINITY, infinity, NAN)
        is_zero = operand & MAGNITUDE < LEAST_NORMAL
        result[special] = np.where(is_zero, zero | operand & SIGN, other)
    return result


def _half_exponent(x: Bits) -> NDArray[np.int64]:
    """Half the exponent, rounded down."""
    half: NDArray[np.int64] = ((x >> np.uint32(ARGUMENT_BITS)).astype(np.int64) - BIAS) >> 1
    return half


def _truncated(total: NDArray[np.int64], fraction_bits: int) -> Bits:
    """A number below ``2**53`` in units of ``2**-fraction_bits``, truncated to 24 significant bits."""
    exact = total.astype(np.float64)
    kept = exact.view(np.int64)
    kept &= -(1 << 29)  # f64 has 29 more fraction bits than f32
    result = exact.astype(np.float32)
    result *= np.float32(2.0**-fraction_bits)
    return result.view(np.uint32)


@cache
def _both(function: str) -> Table:
    """The tables of both parities as one, that of odd exponents first."""
    odd, even = table(f"{function}_odd"), table(f"{function}_even")
    return Table(
        fraction_bits=even.fraction_bits,
        offset_bits=even.offset_bits,
        c0=np.concatenate([odd.c0, even.c0]),
        c1=np.concatenate([odd.c1, even.c1]),
        c2=np.concatenate([odd.c2, even.c2]),
    )


def _turn(x: Bits) -> NDArray[np.int64]:
    """Magnitude of x in turns modulo 1, truncated to 25 fraction bits."""
    # The product of two 24-bit significands is exact in f64; truncating it to 24 bits rounds towards zero.
    # Subnormal operands and products count as zero: their 25 fraction bits are 0 in any case.
    with np.errstate(invalid="ignore"):
        exact = (x & MAGNITUDE).view(np.float32).astype(np.float64)
        exact *= np.float64(RECIPROCAL_TAU.view(np.float32))
    kept = exact.view(np.int64)
    kept &= -(1 << 29)
    exact *= 1 << _TURN_BITS
    # A number of 24 significant bits from 2**49 on has 25 zeros below the point of the turn.
    turn = np.fmin(exact, 2.0**49).astype(np.int64)
    turn &= (1 << _TURN_BITS) - 1
    return turn


def _wave(turn: NDArray[np.int64], falling: NDArray[np.int64]) -> Bits:
    """Magnitude of the sine of a turn, whose argument counts backwards where `falling` is 1."""
    argument = turn & FRACTION
    folded = argument ^ -falling & FRACTION
    result = _truncated(interpolate(table("sin"), folded), table("sin").fraction_bits)
    boundary = argument == 0
    result[boundary] = np.where(falling[boundary] == 1, ONE, np.uint32(0))
    return result
