"""Exact dot products: unlimited alignment and one rounding, the yardstick for every profile."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.decode import Decoded, decode
from golden.arithmetic.fdpa import put_specials, saturate_to_finite
from golden.arithmetic.round_pack import round_pack
from golden.tables.formats import FloatFormat

__all__ = ["exact_dot_product"]


def _fixed_point(number: Decoded, lowest: int) -> NDArray[Any]:
    """Finite numbers as Python integers in units of ``2**lowest``; specials as 0."""
    significand = np.where(number.special, 0, number.significand).astype(object)
    shift = number.exponent.astype(object) - (number.format.fraction_bits + lowest)
    magnitude: NDArray[Any] = significand << shift
    return np.where(number.negative, -magnitude, magnitude)


def _unit(format: FloatFormat) -> int:
    """Exponent of the least subnormal number."""
    return format.minimum_exponent - format.fraction_bits


def _marks(number: Decoded) -> NDArray[np.float64]:
    """Signs of finite numbers, infinities and NaN as float64: their sums of products find the specials."""
    sign = np.where(number.negative, -1.0, 1.0)
    finite = np.where(number.significand == 0, 0.0, sign)
    return np.where(number.special, np.where(number.significand == 0, sign * np.inf, np.nan), finite)


def exact_dot_product(
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    *,
    multiplicand: FloatFormat,
    c_format: FloatFormat,
    d_format: FloatFormat,
    rounding: str,
    saturate: bool = False,
    b_multiplicand: FloatFormat | None = None,
) -> NDArray[Any]:
    """D = A B + C, the sum of all products and c without error, rounded once as IEEE 754 rounds.

    Sums are Python integers in fixed point, so nothing is cut off. Overflow and gradual underflow are
    IEEE's for the rounding. A sum of exactly zero is +0 (``"rm"``: -0), unless all its terms are zeros of
    the same sign, which it then keeps. NaN is canonical.

    Parameters
    ----------
    a, b, c : ndarray
        As in `golden.arithmetic.fdpa.dot_product`.
    multiplicand, c_format, d_format : FloatFormat
    rounding : {"rn", "rz", "rm", "rp"}
    saturate : bool
        satf.
    b_multiplicand : FloatFormat or None
        Format of b where it is not that of a.

    Returns
    -------
    ndarray, shape (m, n, tiles)
        Bit patterns of `d_format`.
    """
    x, y, z = decode(a, multiplicand), decode(b, b_multiplicand or multiplicand), decode(c, c_format)
    x_unit, y_unit = _unit(x.format), _unit(y.format)
    unit = min(x_unit + y_unit, _unit(c_format))
    rows, columns = _fixed_point(x, x_unit), _fixed_point(y, y_unit)
    row_marks, column_marks = _marks(x), _marks(y)

    total = _fixed_point(z, unit)
    specials = _marks(z)
    all_negative, all_positive = z.negative.copy(), ~z.negative
    with np.errstate(invalid="ignore"):
        for k in range(len(rows)):
            total += (rows[k][:, None, :] * columns[k][None, :, :]) << (x_unit + y_unit - unit)
            specials += row_marks[k][:, None, :] * column_marks[k][None, :, :]
            negative = x.negative[k][:, None, :] ^ y.negative[k][None, :, :]
            all_negative &= negative
            all_positive &= ~negative

    magnitude = np.abs(total)
    excess = np.array([max(0, int(value).bit_length() - 62) for value in magnitude.flat], dtype=np.int64)
    excess = excess.reshape(magnitude.shape)
    kept = magnitude >> excess.astype(object)
    sticky = (kept << excess.astype(object)) != magnitude
    significand = kept.astype(np.int64) | sticky.astype(np.int64)
    zero_negative = all_negative | ~all_positive if rounding == "rm" else all_negative
    below_zero = np.where(significand == 0, zero_negative, (total < 0).astype(bool))
    result = round_pack(below_zero, significand, excess + unit, d_format, rounding)
    put_specials(result, specials, d_format)
    if saturate:
        saturate_to_finite(result, d_format)
    return result
