"""Accumulate: add aligned terms exactly."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["accumulate"]


def accumulate(total: NDArray[np.float64], terms: NDArray[np.float64]) -> None:
    """Add `terms` to `total` in place.

    Both hold whole numbers, and as long as every partial sum stays below 2**53 in magnitude float64
    adds them without error: no rounding, no sticky bit, no order. (17 aligned terms stay below
    ``17 * 2**(fraction_bits + 2)``, which is less than 2**32 for 25 bits.) Infinities and NaN follow
    IEEE 754, which is the rule of the dot product too: any NaN, or infinities of both signs, give NaN.

    Parameters
    ----------
    total, terms : ndarray of float64
        Whole numbers of one unit.
    """
    np.add(total, terms, out=total)
