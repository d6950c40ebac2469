"""Batches of tiles of e2m1 with block scales."""

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.arrays import look_up
from golden.arithmetic.chains import Patterns, side_by_side
from golden.arithmetic.compiled import compiled, unsigned_word, word
from golden.arithmetic.decode import Layout, layout
from golden.arithmetic.engine import Compiled, read_only, scratch
from golden.arithmetic.fp4 import VALUES, scaled_exponent, sum_of_groups
from golden.arithmetic.integer import PRODUCTS, sum_of_products
from golden.arithmetic.scales import SCALE_TYPES, decode_scale
from golden.tables.formats import float_format

_VALUES: Final = np.array(VALUES, np.int32)
_LANES: Final = 8
"""Columns that are computed together."""


@compiled
def _mask(values: Any, first: int, count: int, step: int) -> int:
    """A bit for each of at most 32 values, set where it is not zero."""
    mask = word(0)
    for k in range(count):
        mask = word(mask | word(word(1 if values[first + k * step] else 0) << k))
    return mask


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
    groups, n = a.shape[2] // group, c.shape[2]
    rows, columns = look_up(_VALUES, a), look_up(_VALUES, side_by_side(b, _LANES))
    a_scales = table[np.repeat(scale_a, repeat, axis=2)]
    b_scales = table[side_by_side(np.repeat(scale_b, repeat, axis=1), _LANES)]
    addends = np.pad(c, ((0, 0), (0, 0), (0, -n % _LANES)))
    d = np.empty(addends.shape, np.uint32)
    room = (
        np.empty((2, groups * _LANES), np.int64),
        scratch(_LANES),
        scratch(groups),
        scratch(groups * _LANES),
    )
    kernel = _multiplier(layout(float_format("f32")))
    kernel(*read_only(rows, columns, addends, a_scales, b_scales), d, group, room)
    out[...] = d[:, :, :n]
    return out


@cache
def _multiplier(format: Layout) -> Compiled:
    def multiply(a: Any, b: Any, c: Any, a_scales: Any, b_scales: Any, d: Any, group: int, room: Any) -> None:
        tiles, m, depth = a.shape
        groups = depth // group
        (terms, exponents), totals, row_masks, masks = room
        for tile in range(tiles):
            for s in range(b.shape[1]):
                columns, scales = b[tile, s].reshape(-1), b_scales[tile, s]
                for g in range(groups):
                    for lane in range(_LANES):
                        masks[g * _LANES + lane] = _mask(columns, g * group * _LANES + lane, group, _LANES)
                for i in range(m):
                    row = a[tile, i]
                    addends, results = c[tile, i, s * _LANES :], d[tile, i, s * _LANES :]
                    for g in range(groups):
                        row_masks[g] = _mask(row, g * group, group, 1)
                        for lane in range(_LANES):
                            totals[lane] = 0
                        for k in range(g * group, (g + 1) * group, PRODUCTS):
                            first, column = unsigned_word(k), unsigned_word(k * _LANES)
                            for lane in range(_LANES):
                                some = sum_of_products(row, first, columns, column + lane, _LANES)
                                totals[lane] = word(totals[lane] + some)
                        x, power, _ = a_scales[tile, i, g]
                        for lane in range(_LANES):
                            y, place = scales[g, lane], g * _LANES + lane
                            takes_part = (row_masks[g] & masks[place]) != 0
                            terms[place] = totals[lane] * (x * y[0])
                            exponents[place] = scaled_exponent(takes_part, x, y[0], power + y[1])
                    row_nan = False
                    for g in range(groups):
                        row_nan |= a_scales[tile, i, g, 2] != 0
                    for lane in range(_LANES):
                        nan = row_nan
                        for g in range(groups):
                            nan |= scales[g, lane, 2] != 0
                        results[lane] = sum_of_groups(
                            terms, exponents, groups, _LANES, lane, nan, addends[lane], format
                        )

    return Compiled(multiply, apart=True)
