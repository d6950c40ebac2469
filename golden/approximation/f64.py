"""rcp and rsqrt of f64: the f32 unit on the upper word, 20 significand bits in and out; the lower word is 0.

The operand's lower word is ignored, so a NaN whose upper word is that of an infinity counts as the infinity.
Subnormal operands and results count as zero of their sign. Both functions take and return bit patterns in
arrays of uint64 of one shape.
"""

import numpy as np
from numpy.typing import NDArray

from golden.approximation.interpolator import ARGUMENT_BITS, interpolate, table
from golden.approximation.unit import reciprocal_root

__all__ = ["NAN", "rcp", "rsqrt"]

Bits64 = NDArray[np.uint64]

NAN = np.uint64(0x7FFFFFFF_00000000)
SIGN = np.uint64(0x80000000_00000000)
UPPER = np.uint64(0xFFFFFFFF_00000000)
MAGNITUDE = np.uint64(0x7FFFFFFF_FFFFFFFF)
INFINITY = np.uint64(0x7FF00000_00000000)
LEAST_NORMAL = np.uint64(0x00100000_00000000)
BIAS = 1023
FRACTION_BITS = 20
"""Significand bits of the upper word."""


def rcp(x: Bits64) -> Bits64:
    """One divided by x."""
    x = x & UPPER
    argument, exponent = _parts(x)
    total = interpolate(table("rcp"), argument) >> 18
    total += (2 * BIAS - 2 - exponent) << FRACTION_BITS
    total[total < 1 << FRACTION_BITS] = 0
    magnitude = x & MAGNITUDE
    result = total.astype(np.uint64) << np.uint64(32)
    result[magnitude < LEAST_NORMAL] = INFINITY
    result[magnitude == INFINITY] = 0
    result |= x & SIGN
    result[magnitude > INFINITY] = NAN
    return result


def rsqrt(x: Bits64) -> Bits64:
    """One divided by the square root of x."""
    x = x & UPPER
    argument, exponent = _parts(x)
    total = reciprocal_root(argument | (exponent & 1) << ARGUMENT_BITS) >> 3
    total += (BIAS - 2 - (exponent - BIAS >> 1)) << FRACTION_BITS
    magnitude = x & MAGNITUDE
    result = total.astype(np.uint64) << np.uint64(32)
    result[x == INFINITY] = 0
    result[x > SIGN] = NAN
    zero = magnitude < LEAST_NORMAL
    result[zero] = INFINITY | x[zero] & SIGN
    result[magnitude > INFINITY] = NAN
    return result


def _parts(x: Bits64) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The unit's argument, and the biased exponent."""
    upper = ((x & MAGNITUDE) >> np.uint64(32)).astype(np.int64)
    return (upper & (1 << FRACTION_BITS) - 1) << 3, upper >> FRACTION_BITS
