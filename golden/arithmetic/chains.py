"""Chains of fused dot-product-adds on batches of tiles: some columns of a tile are lanes."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.decode import Layout, layout
from golden.arithmetic.engine import Compiled, read_only, scratch
from golden.arithmetic.fdpa import (
    Operand,
    Pairs,
    Rules,
    decode_factors,
    dot_products,
    entry,
)
from golden.tables.formats import FloatFormat

Patterns = NDArray[Any]
"""Bit patterns in unsigned integers, or values of integers."""

_FACTORS = 1 << 13
"""Factors that are decoded at once: so many that they stay in the second-level cache."""

_LANES = 16
"""Columns of a tile that are lanes."""

_FEW_EXPONENT_BITS: Final = 5
"""Of formats whose products are normal numbers of f32."""

_TOGETHER: Final = (0,) * _LANES
"""As many factors are decoded at once."""

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
    chain_by_lanes(a, b, c, d, formats, rules, blocks, scales, places)
    return d


def chain_by_lanes(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    d: Patterns,
    formats: tuple[FloatFormat, FloatFormat],
    rules: Rules,
    blocks: Sequence[int],
    scales: tuple[Patterns, Patterns] | None = None,
    places: Patterns | None = None,
) -> tuple[NDArray[Any], ...]:
    """The results in `d`, and of the last lanes' last sums what `dot_products` leaves in its room."""
    tiles, m, n = c.shape
    lanes = _FEW_LANES if n <= _FEW_LANES else _LANES
    length = rules.products
    a = _whole_blocks(a, 2, blocks, length)
    depth = 1 if places is None else 2
    b = side_by_side(_whole_blocks(b, 1, [depth * block for block in blocks], depth * length), lanes)
    sets = b.shape[1]
    whole = sets * lanes
    results = d if whole == n else np.zeros((tiles, m, whole), d.dtype)
    results[:, :, :n] = c
    step = max(1, min(tiles, _FACTORS // ((m + whole) * depth * len(blocks) * length)))
    few = all(format.exponent_bits <= _FEW_EXPONENT_BITS for format in formats)
    kind: Any = np.float32 if few else np.float64
    rows = _room((step * m, len(blocks), length), kind)
    columns = _room((step * sets, len(blocks), depth * length * lanes), kind)
    room = scratch(lanes), np.empty(lanes)
    met = np.arange(length, dtype=np.int32) if places is None else _inner_places(places, blocks, length)
    of_rows, of_columns = (np.zeros(count, np.int32) for count in (1, lanes))
    if scales is not None:
        of_rows, of_columns = scales[0], side_by_side(scales[1], lanes)
    parts = 1 if scales is None else len(blocks)
    tables = (
        met.reshape(-1, 1 if places is None else len(blocks), length),
        of_rows.reshape(-1, parts),
        of_columns.reshape(-1, parts, lanes),
    )
    multiply = _multiplier(layout(rules.format), rules.rounding, lanes, places is not None)
    flat = (np.ascontiguousarray(x).reshape(-1) for x in (a, b))
    numbers = (*rules[:3], rules.discarded_bits)
    layouts = tuple(layout(format) for format in formats)
    multiply(*read_only(*flat), layouts, Pairs(*read_only(*tables)), results, rows, columns, room, numbers)
    if whole > n:
        d[...] = results[:, :, :n]
    return room


def _inner_places(places: Patterns, blocks: Sequence[int], length: int) -> Patterns:
    """Places in the block of B; of blocks that are filled up, the last one, which holds a zero."""
    if blocks == [length]:
        return places
    starts = np.concatenate([[2 * sum(blocks[:x])] * block for x, block in enumerate(blocks)])
    inner = _whole_blocks(places - starts + 1, 2, blocks, length) - 1
    return np.where(inner < 0, 2 * length - 1, inner).astype(np.uint8)


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


def _room(axes: tuple[int, ...], kind: Any) -> Operand:
    return Operand(np.empty(axes, kind), np.empty(axes, np.int32))


@Compiled
def _decode(bits: Any, format: Layout, operand: Operand) -> None:
    """Decodes rows, or columns side by side, of any format."""
    decode_factors(bits, format, operand.values.reshape(-1), operand.exponents.reshape(-1), _TOGETHER)


@cache
def _multiplier(format: Layout, rounding: int, lanes: int, is_sparse: bool) -> Callable[..., None]:
    """Decodes and multiplies as many tiles at a time as there is room for decoded ones."""
    decode = _decode.dispatcher()
    multiply_decoded = _chains(format, rounding, lanes, is_sparse).dispatcher()

    def multiply(
        a: Any,
        b: Any,
        formats: Any,
        pairs: Pairs,
        d: Any,
        rows: Operand,
        columns: Operand,
        room: Any,
        numbers: Any,
    ) -> None:
        tiles, m, n = d.shape
        sets = n // lanes
        a_size, b_size, step = len(a) // tiles, len(b) // tiles, len(rows.values) // m
        for start in range(0, tiles, step):
            end = min(start + step, tiles)
            here = Pairs(
                pairs.places[entry(start * m, pairs.places) : end * m],
                pairs.a_scales[entry(start * m, pairs.a_scales) : end * m],
                pairs.b_scales[entry(start * sets, pairs.b_scales) : end * sets],
            )
            decode(a[start * a_size : end * a_size], formats[0], rows)
            decode(b[start * b_size : end * b_size], formats[1], columns)
            multiply_decoded(rows, columns, here, d[start:end], room, numbers)

    return Compiled(multiply)


@cache
def _chains(format: Layout, rounding: int, lanes: int, is_sparse: bool) -> Compiled:
    """Multiplies decoded tiles."""
    places_of_lanes = tuple(range(lanes))

    def multiply(rows: Operand, columns: Operand, pairs: Pairs, d: Any, room: Any, numbers: Any) -> None:
        products, fraction_bits, least_exponent, discarded_bits = numbers
        rules = Rules(products, fraction_bits, least_exponent, format, rounding, discarded_bits)
        tiles, m, n = d.shape
        sets = n // lanes
        for tile in range(tiles):
            for i in range(m):
                for j in range(sets):
                    row, column = tile * m + i, tile * sets + j
                    some = d[tile, i, j * lanes : (j + 1) * lanes]
                    dot_products(
                        rows, row, columns, column, pairs, some, places_of_lanes, room, rules, is_sparse
                    )

    return Compiled(multiply)
