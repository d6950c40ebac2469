"""`mma.sync` on fp8 as an H200 executes it: by two multiplies of f16 and one addition."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.fdpa import convert, dot_product
from golden.tables.formats import FloatFormat, float_format
from golden.tables.profiles import Profile

__all__ = ["fp8_dot_product", "fp8_halves"]

_F16: Final = float_format("f16")
_PERIOD: Final = 4
_HALF: Final = 2


def fp8_dot_product(
    a: NDArray[np.uint8],
    b: NDArray[np.uint8],
    c: NDArray[Any],
    *,
    a_format: FloatFormat,
    b_format: FloatFormat,
    d_format: FloatFormat,
    profile: Profile,
) -> NDArray[Any]:
    """D = A B + C; the tiles are the last axis.

    The multiplicands become f16, which holds all their values. One FDPA takes the k with ``k % 4 < 2`` and
    C = +0, a second one the other k and the result of the first. C is added in the end, by one IEEE 754
    addition to nearest even in the type of D.

    Parameters
    ----------
    a : ndarray, shape (k, m, tiles)
        Bit patterns of `a_format`.
    b : ndarray, shape (k, n, tiles)
        Bit patterns of `b_format`.
    c : ndarray, shape (m, n, tiles)
        Bit patterns of `d_format`.
    a_format, b_format, d_format : FloatFormat
    profile : Profile

    Returns
    -------
    ndarray, shape (m, n, tiles)
        Bit patterns of `d_format`; a NaN is the canonical one.
    """
    rows, columns = convert(a, a_format, _F16), convert(b, b_format, _F16)
    total = np.zeros_like(c)
    for half in fp8_halves(len(a)):
        total = dot_product(
            rows[half],
            columns[half],
            total,
            multiplicand=_F16,
            c_format=d_format,
            d_format=d_format,
            profile=profile,
            mnemonic="mma",
        )
    return _add(c, total, d_format)


def fp8_halves(depth: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of `depth` products the first sum takes, and which the second."""
    first = np.arange(depth) % _PERIOD < _HALF
    return first, ~first


def _add(x: NDArray[Any], y: NDArray[Any], format: FloatFormat) -> NDArray[Any]:
    """IEEE 754 addition to nearest even.

    numpy adds f16 in f32 and rounds again, which is innocuous: 24 bits are at least 2 * 11 + 2.
    """
    number = np.dtype(f"f{format.bits // 8}")
    with np.errstate(invalid="ignore", over="ignore"):
        total = x.view(number) + y.view(number)
    result: NDArray[Any] = total.view(x.dtype)
    result[np.isnan(total)] = format.canonical_nan
    return result
