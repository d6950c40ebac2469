"""Batches of tiles of e2m1 with block scales."""

from functools import cache
from typing import Any, Final

import numpy as np

from golden.arithmetic.chains import Patterns, side_by_side
from golden.arithmetic.compiled import (
    add_pairs,
    choose,
    element,
    half,
    halves,
    like,
    load,
    some,
    store,
    take,
    word,
)
from golden.arithmetic.decode import ZERO_EXPONENT, layout
from golden.arithmetic.engine import Compiled, read_only, scratch
from golden.arithmetic.fdpa import INFINITE_EXPONENT, IS_NAN, aligned, round_sum, signed_term
from golden.arithmetic.fp4 import (
    DOUBLED,
    KEPT_BITS,
    LEAST_EXPONENT,
    TERM_BITS,
    group_scale,
)
from golden.arithmetic.round_pack import TOWARDS_ZERO
from golden.arithmetic.scales import SCALE_TYPES
from golden.tables.formats import float_format

_LANES: Final = 8
"""Columns that are computed at once."""

_DOUBLED: Final = read_only(np.array(DOUBLED, np.int16))[0]


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
    tiles, m, n = c.shape
    groups = a.shape[2] // group
    repeat = groups // scale_a.shape[2]
    if repeat > 1:
        scale_a, scale_b = np.repeat(scale_a, repeat, axis=2), np.repeat(scale_b, repeat, axis=1)
    columns, of_columns, addends = (side_by_side(x, _LANES) for x in (b, scale_b, c))
    of_rows = scale_a.reshape(tiles, -1)
    if filling := -m * groups % _LANES:
        of_rows = np.pad(of_rows, ((0, 0), (0, filling)))
    sizes = of_rows.shape[1], of_columns[0].size
    room = (
        *(scratch(size * group // 2) for size in sizes),
        *(scratch(size) for size in (*sizes, sizes[0], sizes[0] * _LANES, sizes[0] * _LANES)),
    )
    d = out.reshape(addends.shape) if n == _LANES else np.empty(addends.shape, np.uint32)
    operands = read_only(
        *(x.reshape(tiles, -1) for x in (a, columns, of_rows, of_columns)), addends, _DOUBLED
    )
    _adder(groups, group)(*operands, SCALE_TYPES.index(scale_type), d, room)
    if n != _LANES:
        out[...] = d.transpose(0, 2, 1, 3).reshape(tiles, m, -1)[:, :, :n]
    return out


@cache
def _adder(groups: int, group: int) -> Compiled:
    """Multiplies tiles, `_LANES` columns of a row at once, of so many groups of so many k."""
    format, pairs = layout(float_format("f32")), group // 2
    lanes, wide = (0,) * _LANES, (0,) * len(DOUBLED)

    def add(
        a: Any, b: Any, a_scales: Any, b_scales: Any, c: Any, doubled: Any, scale_type: int, d: Any, room: Any
    ) -> None:
        tiles, sets, m, _ = c.shape
        row_words, words, row_exponents, exponents, significands, sums, powers = room
        values = load(doubled, 0, wide)
        for tile in range(tiles):
            for x in range(0, len(row_exponents), _LANES):
                significand, exponent = group_scale(load(a_scales[tile], x, lanes), scale_type)
                store(significands, x, significand)
                store(row_exponents, x, exponent)
            for x in range(m * groups):
                elements = values * element(significands, x)
                for k in range(x * group, x * group + group, len(wide)):
                    store(row_words, k // 2, take(elements, half(load(a[tile], k, wide))))
            for x in range(0, len(exponents), _LANES):
                significand, exponent = group_scale(load(b_scales[tile], x, lanes), scale_type)
                store(exponents, x, exponent)
                factor = halves(significand | significand << 16)
                for y in range(x * pairs, (x + _LANES) * pairs, _LANES):
                    low, high = load(b[tile], 2 * y, lanes), load(b[tile], 2 * y + _LANES, lanes)
                    store(words, y, take(values, halves(word(low) | word(high) << 16)) * factor)
            for j in range(sets):
                for g in range(groups):
                    first = (j * groups + g) * _LANES
                    for i in range(m):
                        x, y = i * groups + g, (g * m + i) * _LANES
                        exponent = element(row_exponents, x) + load(exponents, first, lanes)
                        total = like(0, exponent)
                        for k in range(pairs):
                            some_words = load(words, first * pairs + k * _LANES, lanes)
                            total = add_pairs(total, element(row_words, x * pairs + k), some_words)
                        store(sums, y, total)
                        store(powers, y, exponent)
                for i in range(m):
                    bits = load(c[tile, j, i], 0, lanes)
                    addend, power = signed_term(bits, format)
                    largest = max(power, LEAST_EXPONENT)
                    most = largest
                    for y in range(i * _LANES, (i + groups * m) * _LANES, m * _LANES):
                        exponent = load(powers, y, lanes)
                        takes_part = load(sums, y, lanes) != 0
                        largest = max(largest, choose(takes_part, exponent, ZERO_EXPONENT))
                        most = max(most, exponent)
                    if some(most > largest):  # it may be a group that cancels
                        for g in range(groups):
                            x, y = (i * groups + g) * pairs, (g * m + i) * _LANES
                            found = halves(load(sums, y, lanes))
                            for k in range(pairs):
                                others = halves(load(words, ((j * groups + g) * pairs + k) * _LANES, lanes))
                                found = found | halves(like(element(row_words, x + k), power)) * others
                            exponent = choose(halves(found) != 0, load(powers, y, lanes), ZERO_EXPONENT)
                            largest = max(largest, exponent)
                    unit = largest - KEPT_BITS
                    result = like(aligned(addend, power - unit - format.fraction_bits), 0.0)
                    for y in range(i * _LANES, (i + groups * m) * _LANES, m * _LANES):
                        distance = load(powers, y, lanes) - unit - TERM_BITS
                        result = result + like(aligned(load(sums, y, lanes), distance), 0.0)
                    packed = round_sum(result, unit, format, TOWARDS_ZERO, 0)
                    packed = choose(power == INFINITE_EXPONENT, word(bits), packed)
                    store(d[tile, j, i], 0, choose(most > IS_NAN, format.canonical_nan, packed))

    return Compiled(add)
