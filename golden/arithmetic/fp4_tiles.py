"""Batches of tiles of e2m1 with block scales."""

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.arrays import look_up
from golden.arithmetic.chains import Patterns
from golden.arithmetic.compiled import word
from golden.arithmetic.decode import Layout, layout
from golden.arithmetic.engine import Compiled, read_only
from golden.arithmetic.fp4 import VALUES, scaled_exponent, sum_of_groups
from golden.arithmetic.integer import PRODUCTS, sum_of_products
from golden.arithmetic.scales import SCALE_TYPES, decode_scale
from golden.tables.formats import float_format

_VALUES: Final = np.array(VALUES, np.int32)
_NAN: Final = 2
"""Column of a table of scales, behind significand and exponent."""


@cache
def scale_table(scale_type: str) -> NDArray[np.int32]:
    """Significand, exponent and whether it is NaN, of each byte."""
    kind = SCALE_TYPES.index(scale_type)
    return np.array([decode_scale(bits, kind) for bits in range(256)], np.int32)


def fp4_tiles(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    scale_a: Patterns,
    scale_b: Patterns,
    *,
    scale_type: str,
    group: int,
    out: Patterns,
) -> Patterns:
    """D = A B + C by `golden.arithmetic.fp4`.

    Parameters
    ----------
    a, b, c : ndarray, shapes (tiles, m, k), (tiles, k, n), (tiles, m, n)
        Bit patterns.
    scale_a, scale_b : ndarray, shapes (tiles, m, scales), (tiles, scales, n)
        Bytes; each is for as many k as the others.
    scale_type : str
    group : int
        Consecutive k whose products are added exactly, a multiple of 16.
    out : ndarray
        Takes the results.
    """
    table = scale_table(scale_type)
    repeat = a.shape[2] // group // scale_a.shape[2]
    rows, columns = look_up(_VALUES, a), look_up(_VALUES, b)
    a_scales = table[np.repeat(scale_a, repeat, axis=2)]
    b_scales = table[np.repeat(scale_b, repeat, axis=1)]
    kernel = _multiplier(layout(float_format("f32")))
    room = np.empty((2, a.shape[2] // group), np.int64)
    kernel(*read_only(rows, columns, c, a_scales, b_scales), out, group, room)
    return out


@cache
def _multiplier(format: Layout) -> Compiled:
    def multiply(a: Any, b: Any, c: Any, a_scales: Any, b_scales: Any, d: Any, group: int, room: Any) -> None:
        tiles, m, depth = a.shape
        n, groups = c.shape[2], depth // group
        terms, exponents = room
        for tile in range(tiles):
            columns = b[tile].reshape(-1)
            for i in range(m):
                row = a[tile, i]
                for j in range(n):
                    nan = False
                    for g in range(groups):
                        total, takes_part = word(0), False
                        for k in range(g * group, (g + 1) * group, PRODUCTS):
                            total = word(total + sum_of_products(row, k, columns, k * n + j, n))
                            for x in range(k, k + PRODUCTS):
                                takes_part |= (row[x] != 0) & (columns[x * n + j] != 0)
                        x, y = a_scales[tile, i, g], b_scales[tile, g, j]
                        nan |= (x[2] | y[2]) != 0
                        terms[g] = total * x[0] * y[0]
                        exponents[g] = scaled_exponent(takes_part, x[0], y[0], x[1] + y[1])
                    d[tile, i, j] = sum_of_groups(terms, exponents, groups, nan, c[tile, i, j], format)

    return Compiled(multiply)
