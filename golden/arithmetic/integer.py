"""Integers and single bits: exact sums, then wrapped or clamped to s32."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.tables.formats import integer_format

__all__ = ["bit_dot_product", "integer_dot_product"]

# Why float32 matrix products are exact here. Every partial sum, in whatever order, is an integer of at
# most k * max|a| * max|b|: 16 * 255 * 255, 32 * 15 * 15 or 128, all below 2**24.


def integer_dot_product(
    a: NDArray[Any], b: NDArray[Any], c: NDArray[np.int32], saturate: bool = False
) -> NDArray[np.int32]:
    """``c + a b``, exact, then wrapped modulo 2**32, or clamped once at the end.

    Parameters
    ----------
    a : ndarray of integers, shape (tiles, m, k)
        Values of at most 8 bits.
    b : ndarray of integers, shape (tiles, k, n)
        Likewise.
    c : ndarray of int32, shape (tiles, m, n)
    saturate : bool
        Clamp.

    Returns
    -------
    ndarray of int32, shape (tiles, m, n)
    """
    total = _product(a, b)
    if not saturate:
        total += c
        return total
    s32 = integer_format("s32")
    wide = total.astype(np.int64) + c
    np.clip(wide, s32.minimum, s32.maximum, out=wide)
    return wide.astype(np.int32)


def _product(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.int32]:
    exact: NDArray[np.float32] = np.matmul(a.astype(np.float32), b.astype(np.float32))
    return exact.astype(np.int32)


def bit_dot_product(
    a: NDArray[Any], b: NDArray[Any], c: NDArray[np.int32], operation: str
) -> NDArray[np.int32]:
    """``c + popcount(a op b)`` over k, wrapped modulo 2**32; shapes as in `integer_dot_product`.

    XOR is counted as ``|a| + |b| - 2 |a and b|``, so one matrix product serves both operations.

    Parameters
    ----------
    a, b : ndarray of integers
        Zeros and ones.
    c : ndarray of int32
    operation : {"xor", "and"}
    """
    total = _product(a, b)
    if operation == "xor":
        total *= -2
        total += a.sum(axis=-1, dtype=np.int32)[..., :, None]
        total += b.sum(axis=-2, dtype=np.int32)[..., None, :]
    total += c
    return total
