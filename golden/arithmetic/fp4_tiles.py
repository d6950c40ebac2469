"""Batches of tiles of e2m1 with block scales."""

from functools import cache, partial
from math import nan
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.chains import Patterns, side_by_side
from golden.arithmetic.compiled import power_of_two, word
from golden.arithmetic.decode import ZERO_EXPONENT, Layout, layout
from golden.arithmetic.engine import Compiled, read_only, scratch
from golden.arithmetic.fdpa import NAN_EXPONENT, float_value, signed_term, special_bits
from golden.arithmetic.fp4 import (
    FIELD,
    FIELDS,
    KEPT_BITS,
    LEAST_EXPONENT,
    WORDS,
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

_LEAST_NAN: Final = NAN_EXPONENT - NAN_EXPONENT // 4
"""Exponents beyond are NaN, of a scale or of C."""

_CODES: Final = 8
"""Elements in a word of 64 bits, a byte each."""


@cache
def scale_table(scale_type: str) -> NDArray[np.int32]:
    """Significand, exponent and whether it is NaN, of each byte."""
    kind = SCALE_TYPES.index(scale_type)
    return np.array([decode_scale(bits, kind) for bits in range(256)], np.int32)


@cache
def _scales(scale_type: str) -> tuple[NDArray[Any], ...]:
    """The value of each byte, and its exponent, which says so where it is NaN."""
    significand, exponent, nan = scale_table(scale_type).T
    values = np.where(nan, 0, np.ldexp(significand, exponent - SCALE_BITS))
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
    columns, bytes_ = side_by_side(b, _LANES), side_by_side(scale_b, _LANES)
    whole = _LANES * columns.shape[1]
    addends = np.pad(c, ((0, 0), (0, 0), (0, whole - n))) if whole > n else c
    words = np.ascontiguousarray(a).reshape(-1).view(np.int64).reshape(tiles, -1)
    d = np.empty((tiles, m, whole), np.uint32)
    # For rows and columns: words of elements, and of each group its value, exponent and places of non-zeros.
    groups = a.shape[2] // group
    room = tuple(
        (np.empty(size * groups * group // 4, np.int64), *_room(size * groups)) for size in (m, _LANES)
    )
    row = (*(scratch(_LANES) for _ in range(2)), np.empty(_LANES, np.int64), np.empty(groups * _LANES))
    operands = read_only(words, columns, addends, scale_a, bytes_)
    _add_groups(*operands, _scales(scale_type), d, *room, row, layout(float_format("f32")), group)
    out[...] = d[:, :, :n]
    return out


def _room(count: int) -> tuple[NDArray[Any], ...]:
    return np.empty(count), np.empty(count, np.int64), np.empty(count, np.int64)


@partial(Compiled, apart=True)
def _add_groups(
    a: Any,
    b: Any,
    c: Any,
    a_scales: Any,
    b_scales: Any,
    tables: Any,
    d: Any,
    rows: Any,
    columns: Any,
    room: Any,
    format: Layout,
    group: int,
) -> None:
    """Multiply tiles, `_LANES` columns of a row at once."""
    tiles, m, _ = c.shape
    values, exponents = tables
    row_words, row_values, row_exponents, row_places = rows
    column_words, column_values, column_exponents, column_places = columns
    addends, powers, largest, terms = room
    codes_of_group, words_of_group = group // _CODES, group // 4
    groups = len(column_values) // _LANES
    for tile in range(tiles):
        codes = a[tile]
        for x in range(len(codes)):
            row_words[2 * x] = doubled(codes[x] & 15 * FIELDS)
            row_words[2 * x + 1] = doubled(codes[x] >> 8 & 15 * FIELDS)
        for i in range(m):
            for g in range(groups):
                x = i * groups + g
                scale = a_scales[tile, i, g * a_scales.shape[2] // groups]
                row_values[x], row_exponents[x] = values[scale] / 4, exponents[scale]  # of doubled elements
                places = 0
                for y in range(codes_of_group):
                    some = codes[x * codes_of_group + y]
                    places |= (nonzero(some) | nonzero(some >> 8) << 8) << y
                row_places[x] = places if values[scale] != 0 else 0
        for j in range(b.shape[1]):
            column = b[tile, j]
            for g in range(groups):
                for lane in range(_LANES):
                    column_places[g * _LANES + lane] = 0
                for y in range(codes_of_group):
                    for odd in range(2):
                        k = (g * codes_of_group + y) * _CODES + odd
                        target = ((g * codes_of_group + y) * 2 + odd) * _LANES
                        for lane in range(_LANES):
                            some = column[k + 6, lane] | column[k + 4, lane] << FIELD
                            some |= column[k + 2, lane] << 2 * FIELD | column[k, lane] << 3 * FIELD
                            column_words[target + lane] = doubled(some)
                            column_places[g * _LANES + lane] |= nonzero(some) << (8 * odd + y)
                for lane in range(_LANES):
                    x = g * _LANES + lane
                    scale = b_scales[tile, j, g * b_scales.shape[2] // groups, lane]
                    column_values[x], column_exponents[x] = values[scale], exponents[scale]
                    places = reversed_fields(column_places[x])
                    column_places[x] = places if values[scale] != 0 else 0
            for i in range(m):
                first = j * _LANES
                for lane in range(_LANES):
                    addends[lane], powers[lane] = signed_term(c[tile, i, first + lane], format)
                    largest[lane] = max(LEAST_EXPONENT, powers[lane])
                for g in range(groups):
                    x = i * groups + g
                    for lane in range(_LANES):
                        terms[g * _LANES + lane] = 0.0
                    for start in range(0, words_of_group, WORDS):
                        for lane in range(_LANES):
                            terms[g * _LANES + lane] += sum_of_words(
                                row_words,
                                x * words_of_group + start,
                                column_words,
                                (g * words_of_group + start) * _LANES + lane,
                                _LANES,
                            )
                    for lane in range(_LANES):
                        y = g * _LANES + lane
                        terms[y] *= row_values[x] * column_values[y]
                        meets = row_places[x] & column_places[y] != 0
                        exponent = row_exponents[x] + column_exponents[y]
                        takes_part = meets | (exponent > _LEAST_NAN)
                        largest[lane] = max(largest[lane], exponent if takes_part else ZERO_EXPONENT)
                for lane in range(_LANES):
                    unit = power_of_two(KEPT_BITS - largest[lane], 0.0)
                    value = float_value(addends[lane], powers[lane], format.fraction_bits, 0.0)
                    total = int(value * unit)
                    for g in range(groups):
                        total += int(terms[g * _LANES + lane] * unit)
                    special = word(special_bits(nan if largest[lane] > _LEAST_NAN else value, format))
                    result = rounded_sum(total, largest[lane] - KEPT_BITS, format)
                    d[tile, i, first + lane] = special if special else result
