"""Align: bring terms of different exponents to one unit, cutting off what lies below it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["align", "power_of_two"]


def power_of_two(exponent: NDArray[Any]) -> NDArray[np.float64]:
    """``2.0**exponent``, exact, for integers from -1022 to 1023."""
    biased = exponent.astype(np.int64)
    biased += 1023
    biased <<= 52
    return biased.view(np.float64)


def align(
    terms: NDArray[np.float64], per_unit: NDArray[np.float64], out: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Express terms in whole units, truncated towards zero.

    The unit is a power of two, given by its reciprocal, so the product is exact while it stays a normal
    float64; where it would not, it is far below one and truncates to the same zero. What is returned
    is therefore exactly ``trunc(term / unit)``. Infinities and NaN pass through.

    Parameters
    ----------
    terms : ndarray of float64
        Exact terms.
    per_unit : ndarray of float64
        Units per one: ``2.0**(fraction_bits - Emax)``.
    out : ndarray of float64, optional
        Where to put the result; may be `terms`.

    Returns
    -------
    ndarray of float64
        Whole numbers of units.
    """
    scaled = np.multiply(terms, per_unit, out=out)
    return np.trunc(scaled, out=scaled)
