"""Rounding of float64 numbers to narrower types, in all modes, with flushing and clamping.

A number that float64 cannot hold is passed *rounded to odd*: truncated, and its last bit set. float64 has at
least two more bits than the type and smaller exponents. So the odd number is neither a number of the type nor
halfway between two of them, and it lies on the same side of all of these as the exact number: rounding it
gives what one rounding of the exact number would.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from golden.scalar.floats import Element
from golden.scalar.form import Array

__all__ = ["MODES", "Rounder", "directed", "odd_sum", "rounder", "two_sum", "upper_bits"]

MODES: Final = ".rn|.rz|.rm|.rp"
"""The rounding modes, as `golden.scalar.form.Form` writes alternatives."""

Rounder = Callable[[Array], Array]
"""From float64, exact or rounded to odd, to bit patterns."""


def two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """The rounded sum and its error, exactly (Knuth); no intermediate result may overflow."""
    total = x + y
    y_part = total - x
    error = (x - (total - y_part)) + (y - y_part)
    return total, error


def odd_sum(x: Array, y: Array, *, down: bool = False) -> Array:
    """The sum rounded to odd; with `down` an exact zero of unlike terms is -0, as in rounding down."""
    total, error = two_sum(x, y)
    inexact = np.abs(error) > 0  # false for the NaN beside an infinite sum
    bits = total.view(np.int64)
    bits -= inexact & ((error < 0) != (total < 0))
    bits |= inexact
    if down:
        minus = (total == 0) & (np.signbit(x) | np.signbit(y))
        total = np.where(minus, -0.0, total)
    return total


def _upwards(negative: Array, rounding: str) -> Array:
    """Where a directed mode rounds away from zero."""
    if rounding == "rz":
        return np.zeros_like(negative)
    return negative if rounding == "rm" else ~negative


def directed(nearest: Array, excess: Array, rounding: str) -> Array:
    """Correct numbers rounded to nearest to a directed mode.

    Parameters
    ----------
    nearest : ndarray of a native floating-point type
    excess : ndarray
        Its sign says whether `nearest` is above the exact number, equal or below.
    rounding : {"rz", "rm", "rp"}

    Returns
    -------
    ndarray of unsigned integers
        Bit patterns.
    """
    bits = nearest.view(f"u{nearest.dtype.itemsize}")
    above, below = excess > 0, excess < 0
    negative = np.signbit(nearest)
    too_great = np.where(negative, below, above)
    too_small = np.where(negative, above, below)
    # The neighbour in magnitude is the neighbouring pattern, infinity and zero included.
    one = bits.dtype.type(1)
    up = _upwards(negative, rounding)
    return np.where(too_great & ~up, bits - one, np.where(too_small & up, bits + one, bits))


def _to_native(element: Element, rounding: str) -> Rounder:
    """Rounding to the type of numpy with the element's exponents; NaN stay NaN."""
    native = element.native
    raw = np.dtype(f"u{native.itemsize}")
    if rounding == "rn":
        return lambda v: v.astype(native).view(raw)

    def convert(v: Array) -> Array:
        nearest = v.astype(native)
        return directed(nearest, nearest.astype(np.float64) - v, rounding)

    return convert


def _to_upper_bits(element: Element, rounding: str) -> Rounder:
    """Rounding to the upper bits of a native type: truncate with a sticky bit, then round.

    To nearest, the number nearest in the native type does as well unless it lies halfway.
    """
    truncate = _to_native(element, "rz")
    nearest = _to_native(element, "rn")
    round_ = upper_bits(element.native, element.spare_bits, rounding)
    wide = np.dtype(f"u{element.native.itemsize}").type
    spare, rest, halfway = (wide(n) for n in (element.spare_bits, *_rest_and_half(element.spare_bits)))

    def sticky(v: Array) -> Array:
        bits = truncate(v)
        return bits | (bits.view(element.native).astype(np.float64) != v)

    def convert(v: Array) -> Array:
        bits = nearest(v) if rounding == "rn" else sticky(v)
        if rounding == "rn" and np.count_nonzero((bits & rest) == halfway):
            bits = sticky(v)
        return (round_(bits) >> spare).astype(element.raw)

    return convert


def _rest_and_half(bits: int) -> tuple[int, int]:
    """All bits below the last place, and the highest of them."""
    return (1 << bits) - 1, 1 << (bits - 1)


def upper_bits(native: np.dtype[Any], spare_bits: int, rounding: str) -> Rounder:
    """A function that rounds bit patterns to multiples of ``2**spare_bits``, without clearing the bits below.

    The patterns of one sign are in the order of the magnitudes, and a carry out of the fraction raises the
    exponent, so integer arithmetic rounds. NaN are not treated apart.
    """
    wide = np.dtype(f"u{native.itemsize}").type
    spare = wide(spare_bits)
    rest, half = (wide(n) for n in _rest_and_half(spare_bits))
    below_half = half - wide(1)

    def nearest(bits: Array) -> Array:
        return bits + (below_half + ((bits >> spare) & wide(1)))

    def in_direction(bits: Array) -> Array:
        return np.where(_upwards(np.signbit(bits.view(native)), rounding), bits + rest, bits)

    return {"rn": nearest, "rz": lambda bits: bits}.get(rounding, in_direction)


def _tiny(element: Element, rounding: str) -> Rounder:
    """A test for numbers below the least normal one after rounding with unbounded exponent."""
    least = 2.0**element.minimum_exponent
    unit = 2.0**-element.significand_bits
    middle, below = least * (1 - unit / 2), least * (1 - unit)

    def nearest(v: Array) -> Array:
        return np.abs(v) < middle

    def in_direction(v: Array) -> Array:
        away = _upwards(np.signbit(v), rounding)
        return np.where(away, np.abs(v) <= below, np.abs(v) < least)

    return nearest if rounding == "rn" else in_direction


def rounder(element: Element, rounding: str, *, flush: str = "", clamp: str = "") -> Rounder:
    """A function that rounds float64 numbers to a type, with its canonical NaN.

    Parameters
    ----------
    element : Element
        Not f64.
    rounding : {"rn", "rz", "rm", "rp"}
    flush : str
        Non-empty to give zeros for results below the least normal number.
    clamp : {"", "sat", "relu"}
        ``sat`` limits numbers to 0 and 1, a NaN becomes 0. ``relu`` makes negative numbers 0 and keeps NaN.

    Returns
    -------
    Rounder
    """
    convert = (_to_upper_bits if element.spare_bits else _to_native)(element, rounding)
    raw = element.raw.type
    nan, sign = raw(element.nan), raw(element.sign)
    tiny = _tiny(element, rounding)

    def apply(v: Array) -> Array:
        if clamp == "sat":
            v = np.where(v > 0, np.minimum(v, 1.0), 0.0)
        elif clamp == "relu":
            v = np.where(v <= 0, 0.0, v)
        result = convert(v)
        if flush:
            result = np.where(tiny(v), result & sign, result)
        if clamp != "sat":
            result[np.isnan(v)] = nan
        return result

    return apply
