"""Chains of fused dot-product-adds on batches of tiles: some columns of a tile are lanes."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic import arrays
from golden.arithmetic.arrays import look_up
from golden.arithmetic.decode import NAN, ZERO_EXPONENT, Layout, layout
from golden.arithmetic.engine import Compiled, read_only, scratch
from golden.arithmetic.fdpa import (
    CODE_BITS,
    CODE_ZERO,
    GROUP,
    INFINITE_EXPONENT,
    NAN_EXPONENT,
    Operand,
    Rules,
    choose_columns,
    decode_factors,
    dot_products,
    mark_columns,
    marks_of_row,
    signed_term,
    unpack_factors,
)
from golden.tables.formats import FloatFormat

Patterns = NDArray[Any]
"""Bit patterns in unsigned integers, or values of integers."""

_FACTORS = 1 << 15
"""Factors that are decoded at once: so many that they stay in the second-level cache."""

_LANES = 16
"""Columns of a tile that are lanes."""

_NONE: Final = np.empty(0, np.int32)
"""Scales where there are none."""

_FEW_LANES = 8
"""Likewise of a tile of so few columns."""


def side_by_side(b: Patterns, lanes: int) -> Patterns:
    """Columns in sets of `lanes`, the last one filled up with zeros: axes (tile, set, k, lane)."""
    tiles, depth, n = b.shape
    if n % lanes:
        b = np.pad(b, ((0, 0), (0, 0), (0, -n % lanes)))
    return np.ascontiguousarray(b.reshape(tiles, depth, -(-n // lanes), lanes).transpose(0, 2, 1, 3))


def filled(out: Patterns | None, d: Patterns) -> Patterns:
    """The results, in `out` where it is given."""
    if out is None:
        return d
    out[...] = d
    return out


def chained(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    formats: tuple[FloatFormat, FloatFormat],
    rules: Rules,
    block: int,
    parts: Sequence[int] | None = None,
    scales: tuple[Patterns, Patterns] | None = None,
    places: Patterns | None = None,
    out: Patterns | None = None,
) -> Patterns:
    """The chain of FDPAs over all k, or over consecutive parts of k of these lengths.

    With places, of the shape of A, B has twice as many k, and its element at that place meets the one of A:
    what no place names takes no part. With scales (tiles, m, blocks) and (tiles, blocks, n) each product of
    a block has a larger exponent; a scale of `NAN_EXPONENT` makes the sum NaN.
    """
    blocks = [min(block, part - start) for part in parts or [a.shape[2]] for start in range(0, part, block)]
    if not c.size or not blocks:
        return filled(out, c.copy())
    d = np.empty(c.shape, c.dtype) if out is None else out
    _by_lanes(a, b, c, d, formats, rules, blocks, scales, places)
    return d


def _by_lanes(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    d: Patterns,
    formats: tuple[FloatFormat, FloatFormat],
    rules: Rules,
    blocks: Sequence[int],
    scales: tuple[Patterns, Patterns] | None = None,
    places: Patterns | None = None,
) -> tuple[NDArray[np.int32], ...]:
    """The results in `d`, and of the last lanes' last sums what `dot_products` leaves in its room."""
    tiles, m, n = c.shape
    lanes = _FEW_LANES if n <= _FEW_LANES else _LANES
    length = rules.groups * GROUP
    a = _whole_blocks(a, 2, blocks, length)
    depth = 1 if places is None else 2
    b = side_by_side(_whole_blocks(b, 1, [depth * block for block in blocks], depth * length), lanes)
    sets, groups = b.shape[1], depth * len(blocks) * rules.groups
    whole = sets * lanes
    if whole > n:
        c = np.pad(c, ((0, 0), (0, 0), (0, whole - n)))
    results = d if whole == n else np.empty(c.shape, d.dtype)
    step = max(1, min(tiles, _FACTORS // ((m + whole) * groups * GROUP)))
    rows = _room(step * m, len(blocks), rules.groups, 1)
    columns = _room(step * sets, len(blocks), depth * rules.groups, lanes)
    chosen = _room(1, len(blocks), rules.groups, lanes)
    sums = scratch(lanes)
    room = tuple(scratch(lanes) for _ in range(5))
    factors = (None if _has_codes(format) else layout(format) for format in formats)
    multiply = _multiplier(*factors, layout(rules.format), rules.rounding, lanes, rules.wide)
    numbers = (*rules[:4], rules.discarded_bits)
    flat = (_coded(np.ascontiguousarray(x).reshape(-1), y) for x, y in zip((a, b), formats, strict=True))
    a_scales, b_scales = (_NONE, _NONE) if scales is None else scales
    if scales is not None:
        b_scales = side_by_side(b_scales, lanes)
    inner = _NONE if places is None else _inner_places(places, blocks, length)
    others = (x.reshape(-1).astype(np.int32, copy=False) for x in (a_scales, b_scales, inner))
    multiply(*read_only(*flat, c, *others), results, rows, columns, chosen, sums, room, numbers)
    if whole > n:
        d[...] = results[:, :, :n]
    return room


def _inner_places(places: Patterns, blocks: Sequence[int], length: int) -> Patterns:
    """Places in the block of B; of blocks that are filled up, the last one, which holds a zero."""
    if blocks == [length]:
        return places
    starts = np.concatenate([[2 * sum(blocks[:x])] * block for x, block in enumerate(blocks)])
    inner = _whole_blocks(places - starts + 1, 2, blocks, length) - 1
    return np.where(inner < 0, 2 * length - 1, inner)


def _has_codes(format: FloatFormat) -> bool:
    """Whether elements are looked up, by the same compiled code for every format."""
    return format.bits <= CODE_BITS


def _coded(bits: Patterns, format: FloatFormat) -> Patterns:
    """Codes of elements that have codes; the bit patterns of others."""
    return look_up(_codes(format), bits) if _has_codes(format) else bits


@cache
def _codes(format: FloatFormat) -> NDArray[np.int32]:
    """See `golden.arithmetic.fdpa.unpack_factors`."""
    found = [signed_term(bits, format) for bits in range(1 << format.bits)]
    return np.array([exponent << CODE_BITS | term + CODE_ZERO for term, exponent in found], np.int32)


def _whole_blocks(x: Patterns, axis: int, blocks: Sequence[int], length: int) -> Patterns:
    """Blocks filled up with zeros to whole groups."""
    if all(block == length for block in blocks):
        return x
    places = np.concatenate([place * length + np.arange(block) for place, block in enumerate(blocks)])
    shape = list(x.shape)
    shape[axis] = len(blocks) * length
    whole = np.zeros(shape, x.dtype)
    whole[(slice(None),) * axis + (places,)] = x
    return whole


def block_sums(
    a: Patterns, b: Patterns, c: Patterns, a_format: FloatFormat, b_format: FloatFormat, rules: Rules
) -> tuple[NDArray[np.float64], NDArray[np.int32], Patterns]:
    """One FDPA for each result of a tile, with what lies before its rounding.

    The shapes are (m, k), (k, n) and (m, n), and k is at most a block. Returned are the sums of the aligned
    terms in units, infinite or NaN where the result is; the exponents of the units; and the bit patterns of
    the results.
    """
    fused = rules.format
    assert isinstance(fused, FloatFormat)
    d = np.empty(c.shape, c.dtype)
    largest, total = np.empty(c.shape, np.int32), np.empty(c.shape)
    for i, start in product(range(len(c)), range(0, c.shape[1], _LANES)):
        row, columns = slice(i, i + 1), slice(start, start + _LANES)
        tile = a[None, row], b[None, :, columns], c[None, row, columns], d[None, row, columns]
        room = _by_lanes(*tile, (a_format, b_format), rules, [a.shape[1]])
        count = tile[2].shape[2]
        largest[i, columns] = room[0][:count]
        total[i, columns] = sum(part[:count].astype(np.int64) for part in room[2:])
    number, x, y = arrays.decode(d, fused), arrays.decode(a, a_format), arrays.decode(b, b_format)
    special = np.logical_or.reduce(x.special, axis=1, keepdims=True) | arrays.decode(c, fused).special
    special |= np.logical_or.reduce(y.special, axis=0, keepdims=True)
    values = np.where(number.kind == NAN, np.nan, np.where(number.negative, -np.inf, np.inf))
    return np.where(special, values, total), largest - rules.fraction_bits, d


def _room(lines: int, blocks: int, groups: int, lanes: int) -> Operand:
    """Tables of terms, exponents and marks."""
    tables = [np.empty((lines, blocks, groups, GROUP * lanes), np.int32) for _ in range(2)]
    return Operand(*tables, *(np.empty((lines, blocks, lanes), np.int32) for _ in range(4)))


@cache
def _decoder(format: Layout | None, lanes: int) -> Compiled:
    """Decodes rows, or columns side by side; without a format from codes."""
    fill: Any = decode_factors if format else unpack_factors
    constants = format or ()

    def decode(bits: Any, scale: int, operand: Operand, groups: int) -> None:
        terms, exponents = operand.terms.reshape(-1), operand.exponents.reshape(-1)
        fill(bits, constants, scale, terms, exponents)
        length = groups * GROUP
        lines, blocks, _ = operand.nan.shape
        for line in range(min(lines, len(bits) // (blocks * length * lanes))):
            if lanes > 1:
                mark_columns(operand, line, groups, lanes)
            else:
                for block in range(blocks):
                    start = (line * blocks + block) * length
                    (
                        operand.nan[line, block, 0],
                        operand.infinite[line, block, 0],
                        operand.zero[line, block, 0],
                        operand.negative[line, block, 0],
                    ) = marks_of_row(terms[start : start + length], exponents[start : start + length])

    return Compiled(decode)


@cache
def _raiser(lanes: int) -> Compiled:
    """Adds scales to the exponents of rows, or of columns side by side."""

    def add(scales: Any, operand: Operand) -> None:
        _, blocks, groups, places = operand.exponents.shape
        for x in range(len(scales)):
            line, block, lane = x // (blocks * lanes), x // lanes % blocks, x % lanes
            nan = scales[x] == NAN_EXPONENT
            if nan:
                operand.nan[line, block, lane] = -1
            for group in range(groups):
                for place in range(lane, places, lanes):
                    exponent = operand.exponents[line, block, group, place]
                    if nan:
                        exponent = NAN_EXPONENT
                    elif ZERO_EXPONENT < exponent < INFINITE_EXPONENT:
                        exponent += scales[x]
                    operand.exponents[line, block, group, place] = exponent

    return Compiled(add)


@cache
def _multiplier(
    a_format: Layout | None, b_format: Layout | None, format: Layout, rounding: int, lanes: int, wide: bool
) -> Callable[..., None]:
    """Decodes and multiplies as many tiles at a time as there is room for decoded ones."""
    decode_rows, decode_columns = _decoder(a_format, 1).dispatcher(), _decoder(b_format, lanes).dispatcher()
    multiply_decoded = _chains(format, rounding, lanes, wide).dispatcher()

    raise_rows, raise_columns = _raiser(1).dispatcher(), _raiser(lanes).dispatcher()

    def multiply(
        a: Any,
        b: Any,
        c: Any,
        a_scales: Any,
        b_scales: Any,
        places: Any,
        d: Any,
        rows: Operand,
        columns: Operand,
        chosen: Operand,
        sums: Any,
        room: Any,
        numbers: Any,
    ) -> None:
        tiles, m, _ = c.shape
        groups, fraction_bits, product_bits = numbers[:3]
        scale = 1 << max(fraction_bits - product_bits, 0)
        a_size, b_size, step = len(a) // tiles, len(b) // tiles, len(rows.nan) // m
        for start in range(0, tiles, step):
            end = min(start + step, tiles)
            decode_rows(a[start * a_size : end * a_size], scale, rows, groups)
            decode_columns(b[start * b_size : end * b_size], 1, columns, columns.terms.shape[2])
            raise_rows(a_scales[start * len(a_scales) // tiles : end * len(a_scales) // tiles], rows)
            raise_columns(b_scales[start * len(b_scales) // tiles : end * len(b_scales) // tiles], columns)
            some = places[start * len(places) // tiles : end * len(places) // tiles]
            multiply_decoded(rows, columns, chosen, some, c[start:end], d[start:end], sums, room, numbers)

    return Compiled(multiply)


@cache
def _chains(format: Layout, rounding: int, lanes: int, wide: bool) -> Compiled:
    """Multiplies decoded tiles."""

    def multiply(
        rows: Operand,
        columns: Operand,
        chosen: Operand,
        places: Any,
        c: Any,
        d: Any,
        sums: Any,
        room: Any,
        numbers: Any,
    ) -> None:
        groups, fraction_bits, product_bits, least_exponent, discarded_bits = numbers
        rules = Rules(
            groups, fraction_bits, product_bits, least_exponent, format, rounding, discarded_bits, wide
        )
        tiles, m, n = c.shape
        sets, blocks, length = n // lanes, rows.nan.shape[1], groups * GROUP
        terms, exponents = columns.terms.reshape(-1), columns.exponents.reshape(-1)
        chosen_terms, chosen_exponents = chosen.terms.reshape(-1), chosen.exponents.reshape(-1)
        was_special = True
        for tile in range(tiles):
            for i in range(m):
                for j in range(sets):
                    addends, results = c[tile, i, j * lanes : (j + 1) * lanes], d[tile, i, j * lanes :]
                    for lane in range(lanes):
                        sums[lane] = addends[lane]
                    row, column = tile * m + i, tile * sets + j
                    if len(places):
                        special = False
                        for block in range(blocks):
                            first, base = (
                                (row * blocks + block) * length,
                                (column * blocks + block) * 2 * length,
                            )
                            part = slice(block * length * lanes, (block + 1) * length * lanes)
                            to = chosen_terms[part], chosen_exponents[part]
                            special |= choose_columns(terms, exponents, base, places, first, lanes, to)
                            special |= rows.infinite[row, block, 0] != 0
                        if special:
                            mark_columns(chosen, 0, groups, lanes)
                            was_special = True
                        elif was_special:
                            chosen.nan[:] = 0
                            chosen.infinite[:] = 0
                            was_special = False
                        dot_products(rows, row, chosen, 0, sums, lanes, room, rules)
                    else:
                        dot_products(rows, row, columns, column, sums, lanes, room, rules)
                    for lane in range(lanes):
                        results[lane] = sums[lane]

    return Compiled(multiply)
