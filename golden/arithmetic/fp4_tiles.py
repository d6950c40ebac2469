"""Batches of tiles of e2m1 with block scales."""

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.arrays import look_up
from golden.arithmetic.chains import Patterns
from golden.arithmetic.compiled import compiled, word
from golden.arithmetic.decode import Layout, layout
from golden.arithmetic.engine import Compiled, read_only, scratch
from golden.arithmetic.fp4 import VALUES, scaled_exponent, sums_of_groups
from golden.arithmetic.integer_tiles import integer_tiles
from golden.arithmetic.scales import SCALE_TYPES, decode_scale
from golden.tables.formats import float_format

_VALUES: Final = np.array(VALUES, np.int8)


@compiled
def meets(row: Any, columns: Any, lane: int) -> bool:
    """Whether a product of a row and a column is not zero."""
    found = False
    for k in range(len(row)):
        found |= (row[k] != 0) & (columns[k, lane] != 0)
    return found


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
    table = np.ascontiguousarray(scale_table(scale_type).T)
    tiles, m, n = c.shape
    groups = a.shape[2] // group
    repeat = groups // scale_a.shape[2]
    # Each group is a tile of its own.
    rows = look_up(_VALUES, a.reshape(tiles, m, groups, group).transpose(0, 2, 1, 3)).reshape(-1, m, group)
    columns = look_up(_VALUES, b).reshape(-1, group, n)
    sums = integer_tiles(rows, columns, np.zeros((len(columns), m, n), np.int32))
    of_rows = np.repeat(scale_a.transpose(0, 2, 1), repeat, axis=1)
    scales = [
        np.stack([look_up(part, bytes_) for part in table])
        for bytes_ in (of_rows, np.repeat(scale_b, repeat, axis=1))
    ]
    room = (
        tuple(scratch(groups * n) for _ in range(2)),
        scratch(n),
        scratch(n),
        (*(scratch(n) for _ in range(3)), np.empty(n, np.int64)),
    )
    d = np.empty(c.shape, np.uint32)
    _adder(layout(float_format("f32")), n)(*read_only(sums, rows, columns, c, *scales), d, room)
    out[...] = d
    return out


@cache
def _adder(format: Layout, lanes: int) -> Compiled:
    """Scales the sums of groups and adds them to C, a row of so many lanes at a time."""

    def add(
        sums: Any, rows: Any, columns: Any, c: Any, a_scales: Any, b_scales: Any, d: Any, room: Any
    ) -> None:
        tiles, m, _ = c.shape
        groups = len(sums) // tiles
        (terms, exponents), nans, results, inner = room
        for tile in range(tiles):
            for i in range(m):
                for lane in range(lanes):
                    results[lane] = c[tile, i, lane]
                    nans[lane] = 0
                for g in range(groups):
                    some, x, power = (
                        sums[tile * groups + g, i],
                        a_scales[0, tile, g, i],
                        a_scales[1, tile, g, i],
                    )
                    row_nan, first = a_scales[2, tile, g, i], g * lanes
                    for lane in range(lanes):
                        y, raised = b_scales[0, tile, g, lane], word(power + b_scales[1, tile, g, lane])
                        terms[first + lane] = word(some[lane] * word(x * y))
                        exponents[first + lane] = word(scaled_exponent(some[lane] != 0, x, y, raised))
                        nans[lane] |= row_nan | b_scales[2, tile, g, lane]
                    for lane in range(lanes):
                        if some[lane] == 0:
                            y, raised = b_scales[0, tile, g, lane], word(power + b_scales[1, tile, g, lane])
                            cancels = meets(rows[tile * groups + g, i], columns[tile * groups + g], lane)
                            exponents[first + lane] = word(scaled_exponent(cancels, x, y, raised))
                sums_of_groups(terms, exponents, groups, lanes, nans, results, inner, format)
                for lane in range(lanes):
                    d[tile, i, lane] = results[lane]

    return Compiled(add, apart=True)
