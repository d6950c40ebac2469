"""Chains of fused dot-product-adds on batches of tiles: some columns of a tile are lanes."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic import arrays
from golden.arithmetic.decode import NAN, Layout, layout
from golden.arithmetic.engine import Compiled, read_only, scratch
from golden.arithmetic.fdpa import (
    GROUP,
    Operand,
    Rules,
    decode_factors,
    dot_products,
    mark_columns,
    marks_of_row,
)
from golden.tables.formats import FloatFormat

Patterns = NDArray[Any]
"""Bit patterns in unsigned integers, or values of integers."""

_FACTORS = 1 << 15
"""Factors that are decoded at once: so many that they stay in the second-level cache."""

_LANES = 16
"""Columns of a tile that are lanes."""

_FEW_LANES = 8
"""Likewise of a tile of so few columns."""


def _side_by_side(b: Patterns, lanes: int) -> Patterns:
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
    out: Patterns | None = None,
) -> Patterns:
    """The chain of FDPAs over all k, or over consecutive parts of k of these lengths."""
    blocks = [min(block, part - start) for part in parts or [a.shape[2]] for start in range(0, part, block)]
    if not c.size or not blocks:
        return filled(out, c.copy())
    d = np.empty(c.shape, c.dtype) if out is None else out
    _by_lanes(a, b, c, d, formats, rules, blocks)
    return d


def _by_lanes(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    d: Patterns,
    formats: tuple[FloatFormat, FloatFormat],
    rules: Rules,
    blocks: Sequence[int],
) -> tuple[NDArray[np.int32], ...]:
    """The results in `d`, and of the last lanes' last sums what `dot_products` leaves in its room."""
    tiles, m, n = c.shape
    lanes = _FEW_LANES if n <= _FEW_LANES else _LANES
    length = rules.groups * GROUP
    a = _whole_blocks(a, 2, blocks, length)
    b = _side_by_side(_whole_blocks(b, 1, blocks, length), lanes)
    sets, groups = b.shape[1], len(blocks) * rules.groups
    whole = sets * lanes
    if whole > n:
        c = np.pad(c, ((0, 0), (0, 0), (0, whole - n)))
    results = d if whole == n else np.empty(c.shape, d.dtype)
    step = max(1, min(tiles, _FACTORS // ((m + whole) * groups * GROUP)))
    rows = _room(step * m, len(blocks), rules.groups, 1)
    columns = _room(step * sets, len(blocks), rules.groups, lanes)
    sums = scratch(lanes)
    room = tuple(scratch(lanes) for _ in range(4))
    multiply = _multiplier(*(layout(format) for format in (*formats, rules.format)), rules.rounding, lanes)
    numbers = (*rules[:4], rules.discarded_bits)
    flat = np.ascontiguousarray(a).reshape(-1), b.reshape(-1)
    multiply(*read_only(*flat, c), results, rows, columns, sums, room, numbers)
    if whole > n:
        d[...] = results[:, :, :n]
    return room


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
        total[i, columns] = room[2][:count].astype(np.int64) + room[3][:count]
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
def _decoder(format: Layout, lanes: int) -> Compiled:
    """Decodes rows, or columns side by side."""

    def decode(bits: Any, scale: int, operand: Operand, groups: int) -> None:
        terms, exponents = operand.terms.reshape(-1), operand.exponents.reshape(-1)
        decode_factors(bits, format, scale, terms, exponents)
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
def _multiplier(
    a_format: Layout, b_format: Layout, format: Layout, rounding: int, lanes: int
) -> Callable[..., None]:
    """Decodes and multiplies as many tiles at a time as there is room for decoded ones."""
    decode_rows, decode_columns = _decoder(a_format, 1).dispatcher(), _decoder(b_format, lanes).dispatcher()
    multiply_decoded = _chains(format, rounding, lanes).dispatcher()

    def multiply(
        a: Any, b: Any, c: Any, d: Any, rows: Operand, columns: Operand, sums: Any, room: Any, numbers: Any
    ) -> None:
        tiles, m, _ = c.shape
        groups, fraction_bits, product_bits = numbers[:3]
        scale = 1 << max(fraction_bits - product_bits, 0)
        a_size, b_size, step = len(a) // tiles, len(b) // tiles, len(rows.nan) // m
        for start in range(0, tiles, step):
            end = min(start + step, tiles)
            decode_rows(a[start * a_size : end * a_size], scale, rows, groups)
            decode_columns(b[start * b_size : end * b_size], 1, columns, groups)
            multiply_decoded(rows, columns, c[start:end], d[start:end], sums, room, numbers)

    return Compiled(multiply)


@cache
def _chains(format: Layout, rounding: int, lanes: int) -> Compiled:
    """Multiplies decoded tiles."""

    def multiply(rows: Operand, columns: Operand, c: Any, d: Any, sums: Any, room: Any, numbers: Any) -> None:
        groups, fraction_bits, product_bits, least_exponent, discarded_bits = numbers
        rules = Rules(groups, fraction_bits, product_bits, least_exponent, format, rounding, discarded_bits)
        tiles, m, n = c.shape
        sets = n // lanes
        for tile in range(tiles):
            for i in range(m):
                for j in range(sets):
                    addends, results = c[tile, i, j * lanes : (j + 1) * lanes], d[tile, i, j * lanes :]
                    for lane in range(lanes):
                        sums[lane] = addends[lane]
                    dot_products(rows, tile * m + i, columns, tile * sets + j, sums, lanes, room, rules)
                    for lane in range(lanes):
                        results[lane] = sums[lane]

    return Compiled(multiply)
