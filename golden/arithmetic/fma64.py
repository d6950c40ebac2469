"""The f64 fused multiply-add, IEEE 754 in four rounding modes, in vectorised integer arithmetic."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.decode import Decoded, decode
from golden.arithmetic.round_pack import bit_length, round_pack
from golden.tables.formats import float_format

__all__ = ["fma64", "matrix_multiply64"]

F64 = float_format("f64")

_PRODUCT_SHIFT = 17
_ADDEND_SHIFT = 70
_VANISHED = -(1 << 20)
"""Exponent of a zero term: the other one is always the larger."""


class Wide(NamedTuple):
    """Unsigned 128-bit integers, as two arrays of uint64."""

    high: NDArray[np.uint64]
    low: NDArray[np.uint64]


def _u64(value: int) -> np.uint64:
    return np.uint64(value)


def multiply(x: NDArray[np.uint64], y: NDArray[np.uint64]) -> Wide:
    """The exact product of factors below 2**53, from four products of 27-bit halves."""
    half = _u64(27)
    mask = _u64((1 << 27) - 1)
    x_high, x_low, y_high, y_low = x >> half, x & mask, y >> half, y & mask
    low = x_low * y_low
    middle = x_high * y_low + x_low * y_high
    high = x_high * y_high
    first = low + (middle << half)
    carry = (first < low).astype(np.uint64)
    second = first + (high << _u64(54))
    carry += second < first
    return Wide((high >> _u64(10)) + (middle >> _u64(37)) + carry, second)


def shift_left(value: Wide, count: int) -> Wide:
    """Shift by a constant from 1 to 127; nothing may leave at the top."""
    if count >= 64:
        return Wide(value.low << _u64(count - 64), np.zeros_like(value.low))
    return Wide((value.high << _u64(count)) | (value.low >> _u64(64 - count)), value.low << _u64(count))


def shift_right_sticky(value: Wide, count: NDArray[np.int64]) -> Wide:
    """Shift by 0 to 127, setting the lowest bit when a one was shifted out."""
    across = count >= 64
    small = np.where(across, count - 64, count).astype(np.uint64)
    # Two shifts, so that a count of 0 does not ask for a shift by the whole width.
    up = _u64(63) - small
    high_left = (value.high << up) << _u64(1)
    low_left = (value.low << up) << _u64(1)
    high = value.high >> small
    low = np.where(across, high, (value.low >> small) | high_left)
    lost = np.where(across, high_left | value.low, low_left)
    return Wide(np.where(across, _u64(0), high), low | (lost != 0))


def add(x: Wide, y: Wide) -> Wide:
    """The sum, below 2**128."""
    low = x.low + y.low
    return Wide(x.high + y.high + (low < x.low), low)


def subtract(x: Wide, y: Wide) -> Wide:
    """The difference modulo 2**128."""
    return Wide(x.high - y.high - (x.low < y.low), x.low - y.low)


def _normalised(number: Decoded) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Significand with bit 52 set (or zero) and the weight of its lowest bit."""
    significand = np.where(number.special, _u64(0), number.significand)
    missing = 53 - bit_length(significand.view(np.int64))
    weight: NDArray[np.int64] = number.exponent.astype(np.int64) - F64.fraction_bits - missing
    zero = significand == 0
    missing[zero] = 0
    weight[zero] = _VANISHED
    normalised: NDArray[np.uint64] = np.left_shift(significand, missing.astype(np.uint64))
    return normalised, weight


def fma64(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], rounding: str = "rn") -> NDArray[np.uint64]:
    """``a * b + c`` with one rounding, on bit patterns.

    *Method.* Significands are normalised, so the product P is an integer from 2**104 to 2**106 and
    the addend C one from 2**52 to 2**53. In 128 bits, P moves up 17 and C 70 places: P is then
    in [2**121, 2**123) and C in [2**122, 2**123). The one of lesser weight is shifted right by the
    difference of the weights, a bit lost setting the lowest one (sticky); the two are added or subtracted,
    and the sum, shifted right with sticky to 62 bits, goes to `round_pack`.

    *Proof sketch.* P has 17 zeros at its end, C has 70, so a shift up to that loses nothing and the sum
    is exact. When P loses bits it was shifted by at least 18 and is below 2**105, C at least 2**122; when
    C loses bits it was shifted by at least 71 and is below 2**52, P at least 2**121. Either way the sum is
    at least 2**120, so its last 53-bit place weighs at least 2**68: far above the lowest bit, which
    says truthfully whether the exact sum is a multiple of two or not. Below the rounding place only
    "zero", "less than half", "half", "more than half" count, and a sticky bit at least two places
    below decides each of them as the exact sum would, after addition and after subtraction. The last shift
    keeps 62 bits, 9 more than the result has. A subnormal result drops more bits, never fewer.

    Parameters
    ----------
    a, b, c : ndarray of uint64
        They broadcast.
    rounding : {"rn", "rz", "rm", "rp"}

    Returns
    -------
    ndarray of uint64
        NaN operands come back made quiet, looked for in the order b, c, a; an invalid operation gives
        the canonical NaN.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    x, y, z = decode(a, F64), decode(b, F64), decode(c, F64)
    product_negative = x.negative ^ y.negative

    (a_significand, a_weight), (b_significand, b_weight) = _normalised(x), _normalised(y)
    c_significand, c_weight = _normalised(z)
    product = shift_left(multiply(a_significand, b_significand), _PRODUCT_SHIFT)
    addend = shift_left(Wide(np.zeros_like(c_significand), c_significand), _ADDEND_SHIFT)
    product_weight = np.maximum(a_weight + b_weight - _PRODUCT_SHIFT, _VANISHED)
    addend_weight = c_weight - _ADDEND_SHIFT
    weight = np.maximum(product_weight, addend_weight)
    product = shift_right_sticky(product, np.minimum(weight - product_weight, 127))
    addend = shift_right_sticky(addend, np.minimum(weight - addend_weight, 127))

    opposite = product_negative ^ z.negative
    total = add(product, addend)
    difference = subtract(product, addend)
    below = difference.high >> _u64(63) != 0
    reverse = subtract(addend, product)
    high = np.where(opposite, np.where(below, reverse.high, difference.high), total.high)
    low = np.where(opposite, np.where(below, reverse.low, difference.low), total.low)
    negative = np.where(opposite & below, z.negative, product_negative)
    exact_zero = (high | low) == 0
    negative = np.where(exact_zero & opposite, rounding == "rm", negative)

    length = np.where(
        high != 0, 64 + bit_length(high.view(np.int64)), 2 + bit_length((low >> _u64(2)).view(np.int64))
    )
    excess = np.maximum(length - 62, 0)
    significand = shift_right_sticky(Wide(high, low), excess).low.view(np.int64)
    result = round_pack(negative, significand, weight + excess, F64, rounding)
    return _with_specials(result, x, y, z, (a, b, c))


def _with_specials(
    result: NDArray[Any],
    x: Decoded,
    y: Decoded,
    z: Decoded,
    bits: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
) -> NDArray[np.uint64]:
    """Put infinities and NaN in place of what the integer arithmetic made of them."""
    special = x.special | y.special | z.special
    if not special.any():
        return result
    a, b, c = bits
    product_negative = x.negative ^ y.negative
    product_infinite = x.infinite | y.infinite
    infinity, sign = _u64(F64.infinity), _u64(F64.sign_mask)
    result = np.where(z.infinite, c, result)
    result = np.where(product_infinite, np.where(product_negative, infinity | sign, infinity), result)
    times_zero = ~x.special & (x.significand == 0) | ~y.special & (y.significand == 0)
    invalid = product_infinite & (times_zero | z.infinite & (z.negative != product_negative))
    result = np.where(invalid, _u64(F64.canonical_nan), result)
    quiet = _u64(1 << (F64.fraction_bits - 1))
    for number, pattern in ((x, a), (z, c), (y, b)):
        result = np.where(number.nan, pattern | quiet, result)
    return result


def matrix_multiply64(
    a: NDArray[np.uint64], b: NDArray[np.uint64], c: NDArray[np.uint64], rounding: str = "rn"
) -> NDArray[np.uint64]:
    """D = A B + C: for each element the products in ascending k, each added with one rounding.

    Parameters
    ----------
    a : ndarray of uint64, shape (k, m, tiles)
    b : ndarray of uint64, shape (k, n, tiles)
    c : ndarray of uint64, shape (m, n, tiles)
    rounding : {"rn", "rz", "rm", "rp"}

    Returns
    -------
    ndarray of uint64, shape (m, n, tiles)
    """
    accumulator = c
    for rows, columns in zip(a, b, strict=True):
        accumulator = fma64(rows[:, None, :], columns[None, :, :], accumulator, rounding)
    return accumulator
