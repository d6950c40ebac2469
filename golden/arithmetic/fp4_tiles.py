"""Batches of tiles of e2m1 with block scales: the results of two rows and eight columns are one vector.

Its lanes are column by column, the first row's before the second one's.
"""

from functools import cache
from typing import Any, Final

import numpy as np

from golden.arguments import check_range
from golden.arithmetic.chains import Patterns, side_by_side
from golden.arithmetic.compiled import (
    add_fours,
    choose,
    element,
    like,
    load,
    power_of_two,
    single,
    single_bits,
    spread,
    store,
    take,
    truncated,
    which,
    whole,
    word,
)
from golden.arithmetic.decode import ZERO_EXPONENT, layout
from golden.arithmetic.engine import Compiled, read_only, scratch
from golden.arithmetic.fdpa import DOUBLE_BITS, pack_places
from golden.arithmetic.fp4 import KEPT_BITS, LARGEST, LEAST_EXPONENT, doubled, group_scale
from golden.arithmetic.lanes import permutation
from golden.arithmetic.scales import POWER, SCALE_TYPES
from golden.tables.formats import float_format

_COLUMNS: Final = 8
_LANES: Final = 2 * _COLUMNS
_BYTES: Final = 4 * _LANES
_PART: Final = 32
"""Of so many products at most there is a word that tells which factors are not zero."""

_LEAST_UNIT: Final = -64
"""Below the exponents of all terms of ue4m3."""

_OFFSETS: Final = LARGEST * 0x0101010101010101
"""Added to the elements of A, which then have no sign."""

_DOUBLED: Final = np.array([doubled(bits % 16) for bits in range(_BYTES)], np.int8)

_BITS: Final = 0x0804020108040201
"""Bits 0 to 3 of four bytes."""

# Of two rows each four elements, and of eight k four elements of each lane's column: first half, second half.
_rows, _other_rows = (
    permutation(*(row * _BYTES + 4 * (quad + x) + k for x in range(8) for row in range(2) for k in range(4)))
    for quad in (0, 8)
)
_columns, _other_columns = (
    permutation(*((first + k) * _COLUMNS + lane // 2 for lane in range(_LANES) for k in range(4)))
    for first in (0, 4)
)
_twice = permutation(*(lane // 2 for lane in range(_LANES)))
_by_columns = permutation(*(row * _COLUMNS + column for column in range(_COLUMNS) for row in range(2)))
_by_rows = permutation(*(column * 2 + row for row in range(2) for column in range(_COLUMNS)))


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
    """D = A B + C by `golden.arithmetic.fp4`, on bit patterns; k is a multiple of 64.

    The shapes are (tiles, m, k), (tiles, k, n) and (tiles, m, n), of scales (tiles, m, scales) and (tiles,
    scales, n); each of these bytes is for as many k as the others. A `group` of 16, 32 or 64 consecutive k
    has products that are added exactly. `out` takes the results.
    """
    if not out.size:
        return out
    tiles, m, n = c.shape
    groups, parts = a.shape[2] // group, a.shape[2] // min(group, _PART)
    repeat = groups // scale_a.shape[2]
    if repeat > 1:
        scale_a, scale_b = np.repeat(scale_a, repeat, axis=2), np.repeat(scale_b, repeat, axis=1)
    if m % 2:
        a, c, scale_a = (np.pad(x, ((0, 0), (0, 1), (0, 0))) for x in (a, c, scale_a))
    columns, of_columns, addends = (side_by_side(x, _COLUMNS) for x in (b, scale_b, c))
    of_rows = scale_a.reshape(tiles, -1)
    if filling := -of_rows.shape[1] % _LANES:
        of_rows = np.pad(of_rows, ((0, 0), (0, filling)))
    d = out.reshape(addends.shape) if c.shape == (tiles, m, _COLUMNS) else np.empty_like(addends)
    by_sets = (
        x.reshape(tiles, columns.shape[1], -1) for x in (columns, of_columns, addends.view(np.float32))
    )
    elements, results = a.shape[1] * a.shape[2], addends[0, 0].size
    used = -(-a.shape[1] * parts // _LANES) * _LANES
    bits: Any = f"u{min(group, _PART) // 8}"
    room = scratch(
        *((x, np.int64) for x in (elements // 4, *[of_rows.shape[1]] * 2, used)),
        (used * np.dtype(bits).itemsize // 4, bits),
        (a.shape[2] * _LANES // 4, np.int8),
        *((x * _LANES, np.int32) for x in (groups, parts, parts)),
        (groups * _LANES, np.float32),
        (results, np.float32),
        (results, np.int32),
        (2 * results, np.float64),
    )
    add = _adder(groups, group, SCALE_TYPES.index(scale_type))
    operands = read_only(a.reshape(tiles, -1), of_rows, *by_sets)
    if add(*operands, d.reshape(tiles, columns.shape[1], -1), room):
        for use, elements in (("a", a), ("b", b)):
            check_range(use, elements, float_format("e2m1"))
    if c.shape != (tiles, m, _COLUMNS):
        out[...] = d.transpose(0, 2, 1, 3).reshape(tiles, c.shape[1], -1)[:, :m, :n]
    return out


@cache
def _adder(groups: int, group: int, scale_type: int) -> Compiled:
    """Multiplies tiles of so many groups of so many k."""
    format, quads, depth, part = layout(float_format("f32")), group // 4, groups * group, min(group, _PART)
    parts, nan = group // part, format.canonical_nan
    last_place = format.minimum_exponent - format.fraction_bits
    lanes, bytes_, few = (0,) * _LANES, (0,) * _BYTES, (0,) * _COLUMNS
    by_groups, by_parts = (
        permutation(*np.arange(_LANES).reshape(-1, 2, count).swapaxes(1, 2).flat)
        for count in (groups, groups * parts)
    )

    def add(a: Any, a_scales: Any, b: Any, b_scales: Any, c: Any, d: Any, room: Any) -> int:
        rows, row_factors, row_exponents, row_bits, used = room[:5]
        columns, exponents, corrections, bits, factors, addends, units, totals = room[5:]
        table = load(_DOUBLED, 0, bytes_)
        zero, seen = load(units, 0, lanes) * 0, load(_DOUBLED, 0, bytes_) * 0
        for tile in range(len(d)):
            for x in range(0, len(row_factors) * 2, _LANES):
                scales = load(a_scales[tile], x, lanes)
                factor, exponent = group_scale(by_groups(scales, scales), scale_type)
                store(row_factors, x // 2, factor)
                store(row_exponents, x // 2, exponent)
            for row in range(0, a.shape[1], 2 * depth):
                for k in range(row, row + depth, _BYTES):
                    x, y = load(a[tile], k, bytes_), load(a[tile], k + depth, bytes_)
                    seen = seen | like(x, table) | like(y, table)
                    x, y = take(table, x, doubled(x)), take(table, y, doubled(y))
                    store(rows, (2 * k - row) // 8, _rows(x, y) + LARGEST)
                    store(rows, (2 * k - row) // 8 + 8, _other_rows(x, y) + LARGEST)
                    store(used, k // part, which(x != 0))
                    store(used, (k + depth) // part, which(y != 0))
            for x in range(0, len(used), _LANES):
                words = word(load(used, x, lanes))
                store(row_bits, x // 2, by_parts(words, words))
            for j in range(d.shape[1]):
                for x in range(0, len(exponents), _LANES):
                    scales = load(b_scales[tile, j], x // 2, few)
                    factor, exponent = group_scale(_twice(scales, scales), scale_type)
                    store(factors, x, factor)
                    store(exponents, x, exponent)
                for place in range(0, len(bits), _LANES):
                    total, mask = zero, zero
                    for k in range(0, part, 8):
                        here = (place // _LANES * part + k) * _COLUMNS
                        x = load(b[tile, j], here, bytes_)
                        seen = seen | like(x, table)
                        x = take(table, x, doubled(x))
                        first, second = _columns(x, x), _other_columns(x, x)
                        store(columns, 2 * here, first)
                        store(columns, 2 * here + _BYTES, second)
                        offsets, weights = spread(_OFFSETS, first), spread(_BITS, first)
                        total = add_fours(add_fours(total, offsets, first), offsets, second)
                        eight = add_fours(zero, weights, choose(first != 0, 1, 0 * first))
                        eight = add_fours(eight, weights << 4, choose(second != 0, 1, 0 * second))
                        mask = mask | eight << k
                    store(corrections, place, 0 - total)
                    store(bits, place, mask)
                # Each step is a loop of its own, so that a processor works on several pairs of rows at once.
                for pair in range(len(units) // _LANES):
                    given = load(c[tile, j], pair * _LANES, lanes)
                    addend = _by_columns(given, given)
                    magnitude = single_bits(addend) & nan
                    power = max(magnitude >> format.fraction_bits, 1) - format.bias
                    power = choose(magnitude == 0, ZERO_EXPONENT, power)
                    largest = max(power, LEAST_EXPONENT)
                    for g in range(groups):
                        both = zero
                        for x in range(g * parts, (g + 1) * parts):
                            row_used = spread(element(row_bits, pair * groups * parts + x), zero)
                            both = both | row_used & load(bits, x * _LANES, lanes)
                        exponent = spread(element(row_exponents, pair * groups + g), zero)
                        exponent = exponent + load(exponents, g * _LANES, lanes)
                        largest = max(largest, choose(both != 0, exponent, ZERO_EXPONENT))
                    unit = largest - KEPT_BITS
                    cut = choose(magnitude < format.infinity, max(unit - power + format.fraction_bits, 0), 0)
                    addend = choose(cut > format.fraction_bits, 0 * addend, truncated(addend, cut))
                    store(units, pair * _LANES, unit)
                    store(addends, pair * _LANES, addend)
                for pair in range(len(units) // _LANES):
                    unit, factor = load(units, pair * _LANES, lanes), load(factors, 0, lanes)
                    # The product of two doubled elements has two fraction bits.
                    scale = power_of_two(-2 - max(unit, _LEAST_UNIT), factor)
                    terms = like(zero, 0.0)
                    for g in range(groups):
                        total = zero
                        for x in range(g * parts, (g + 1) * parts):
                            total = total + load(corrections, x * _LANES, lanes)
                        for x in range(g * quads, (g + 1) * quads):
                            others = load(columns, x * _BYTES, bytes_)
                            four = spread(element(rows, pair * groups * quads + x), others)
                            total = add_fours(total, four, others)
                        if scale_type == POWER:
                            exponent = spread(element(row_exponents, pair * groups + g), zero)
                            exponent = exponent + load(exponents, g * _LANES, lanes)
                            scale = power_of_two(exponent - unit - 2, factor)
                        factor = spread(element(row_factors, pair * groups + g), factor)
                        factor = factor * load(factors, g * _LANES, lanes) * scale
                        terms = terms + like(whole(like(total, factor) * factor), 0.0)
                    store(totals, pair * _LANES, terms)
                for pair in range(len(units) // _LANES):
                    unit, addend = load(units, pair * _LANES, lanes), load(addends, pair * _LANES, lanes)
                    total = load(totals, pair * _LANES, lanes) * power_of_two(unit, 0.0) + like(addend, 0.0)
                    if which(unit < format.minimum_exponent) == 0:
                        packed = single(truncated(total, DOUBLE_BITS - format.fraction_bits))
                        packed = single_bits(packed + 0)
                    else:  # it may be subnormal
                        packed = pack_places(total * 2.0**-last_place, last_place, format.fraction_bits)
                    packed = choose(packed & nan > format.infinity, nan, packed)
                    store(d[tile, j], pair * _LANES, _by_rows(packed, packed))
        return which(seen >> 4 != 0)

    return Compiled(add)
