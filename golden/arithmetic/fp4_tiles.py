"""Batches of tiles of e2m1 with block scales."""

from functools import cache
from math import nan
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.chains import Patterns, side_by_side
from golden.arithmetic.compiled import power_of_two, word
from golden.arithmetic.decode import ZERO_EXPONENT, layout
from golden.arithmetic.engine import Compiled, read_only
from golden.arithmetic.fdpa import NAN_EXPONENT, float_value, signed_term, special_bits
from golden.arithmetic.fp4 import (
    FIELD,
    FIELDS,
    KEPT_BITS,
    LEAST_EXPONENT,
    doubled,
    nonzero,
    reversed_fields,
    rounded_sum,
    sum_of_words,
)
from golden.arithmetic.scales import SCALE_BITS, SCALE_TYPES, decode_scale
from golden.tables.formats import float_format

_LANES: Final = 8
"""Columns that are computed at once."""


@cache
def scale_table(scale_type: str) -> NDArray[np.int32]:
    """Significand, exponent and whether it is NaN, of each byte."""
    kind = SCALE_TYPES.index(scale_type)
    return np.array([decode_scale(bits, kind) for bits in range(256)], np.int32)


@cache
def _scales(scale_type: str) -> tuple[NDArray[Any], ...]:
    """Half the value of each byte, for doubled elements, and its exponent, which says so where it is NaN."""
    significand, exponent, nan = scale_table(scale_type).T
    values = np.where(nan, 0, np.ldexp(significand, exponent - SCALE_BITS - 1))
    return read_only(values.astype(np.float64), np.where(nan, NAN_EXPONENT, exponent).astype(np.int64))


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
    of_rows, of_columns = np.repeat(scale_a, repeat, axis=2), np.repeat(scale_b, repeat, axis=1)
    columns, of_columns = side_by_side(b, _LANES), side_by_side(of_columns, _LANES)
    whole = _LANES * columns.shape[1]
    addends = np.pad(c, ((0, 0), (0, 0), (0, whole - n))) if whole > n else c
    words = np.ascontiguousarray(a).reshape(-1).view(np.int64).reshape(tiles, -1)
    sets = columns.reshape(tiles, columns.shape[1], -1)
    scales = of_rows.reshape(tiles, -1), of_columns.reshape(*sets.shape[:2], -1)
    d = out if whole == n else np.empty((tiles, m, whole), np.uint32)
    room = tuple(_room(lines, groups, group // 4) for lines in (m, _LANES))
    terms = np.empty(groups * _LANES)
    operands = read_only(words, sets, addends, *scales)
    _adder(groups, group // 4)(*operands, _scales(scale_type), d, *room, terms)
    if whole > n:
        out[...] = d[:, :, :n]
    return out


def _room(lines: int, groups: int, words: int) -> tuple[NDArray[Any], ...]:
    """Words of rows or columns; of each group scale, exponent and where it has no zeros; NaN of scales."""
    count = lines * groups
    numbers = np.empty(count), *np.empty((2, count), np.int64)
    return np.empty(count * words, np.int64), *numbers, np.empty(lines, np.bool_)


@cache
def _adder(groups: int, words: int) -> Compiled:
    """Multiplies tiles, `_LANES` columns of a row at once, of so many groups of so many words."""
    format, codes = layout(float_format("f32")), words // 2

    def add(
        a: Any,
        b: Any,
        c: Any,
        a_scales: Any,
        b_scales: Any,
        tables: Any,
        d: Any,
        rows: Any,
        columns: Any,
        terms: Any,
    ) -> None:
        tiles, m, _ = c.shape
        row_words, row_values, row_exponents, row_places, row_nans = rows
        column_words, column_values, column_exponents, column_places, column_nans = columns
        for tile in range(tiles):
            elements = a[tile]
            for x in range(len(elements)):
                row_words[2 * x] = doubled(elements[x] & 15 * FIELDS)
                row_words[2 * x + 1] = doubled(elements[x] >> 8 & 15 * FIELDS)
            for x in range(len(row_places)):
                places = 0
                for y in range(codes):
                    some = elements[x * codes + y]
                    places |= (nonzero(some) | nonzero(some >> 8) << 8) << y
                row_places[x] = places
            for i in range(m):
                row_nans[i] = False
            for x in range(len(row_places)):
                row_nans[x // groups] |= tables[1][a_scales[tile, x]] == NAN_EXPONENT
                scale = a_scales[tile, x]
                row_values[x], row_exponents[x] = tables[0][scale], tables[1][scale]
                row_places[x] = row_places[x] if tables[0][scale] != 0 else 0
            for j in range(b.shape[1]):
                for lane in range(_LANES):
                    column_nans[lane] = False
                for x in range(len(column_places)):
                    scale = b_scales[tile, j, x]
                    column_nans[x % _LANES] |= tables[1][scale] == NAN_EXPONENT
                    column_values[x], column_exponents[x] = tables[0][scale], tables[1][scale]
                for g in range(groups):
                    for lane in range(_LANES):
                        places = 0
                        for word_ in range(words):
                            first = (g * words * 4 + word_ // 2 * 8 + word_ % 2) * _LANES + lane
                            some = 0
                            for k in range(4):
                                some = some << FIELD | b[tile, j, first + 2 * k * _LANES]
                            column_words[(g * words + word_) * _LANES + lane] = doubled(some)
                            places |= nonzero(some) << (word_ % 2 * 8 + word_ // 2)
                        some_value = column_values[g * _LANES + lane]
                        column_places[g * _LANES + lane] = reversed_fields(places) if some_value != 0 else 0
                for i in range(m):
                    for lane in range(_LANES):
                        addend, power = signed_term(c[tile, i, j * _LANES + lane], format)
                        largest = max(LEAST_EXPONENT, power)
                        for g in range(groups):
                            x, y = i * groups + g, g * _LANES + lane
                            total = sum_of_words(
                                row_words, x * words, column_words, g * words * _LANES + lane, words, _LANES
                            )
                            terms[y] = total * (row_values[x] * column_values[y])
                            exponent = row_exponents[x] + column_exponents[y]
                            takes_part = row_places[x] & column_places[y] != 0
                            largest = max(largest, exponent if takes_part else ZERO_EXPONENT)
                        unit = power_of_two(KEPT_BITS - largest, 0.0)
                        number = float_value(addend, power, format.fraction_bits, 0.0)
                        total = int(number * unit)
                        for g in range(groups):
                            total += int(terms[g * _LANES + lane] * unit)
                        is_nan = row_nans[i] | column_nans[lane]
                        special = word(special_bits(nan if is_nan else number, format))
                        result = rounded_sum(total, largest - KEPT_BITS, format)
                        d[tile, i, j * _LANES + lane] = special if special else result

    return Compiled(add)
