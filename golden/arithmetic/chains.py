"""Chains of fused dot-product-adds on batches of tiles: some columns of a tile are lanes."""

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arguments import check_range
from golden.arithmetic.byte_factors import DEPTH, decoder, have_tables, table
from golden.arithmetic.compiled import load, store
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
from golden.arithmetic.lanes import permutation
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

_by_columns, _by_rows = (
    permutation(*np.arange(_LANES).reshape(axes).T.flat) for axes in ((2, _FEW_LANES), (_FEW_LANES, 2))
)


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
    return chain_by_lanes(a, b, c, formats, rules, blocks, scales, places, out)[0]


def chain_by_lanes(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    formats: tuple[FloatFormat, FloatFormat],
    rules: Rules,
    blocks: Sequence[int],
    scales: tuple[Patterns, Patterns] | None = None,
    places: Patterns | None = None,
    out: Patterns | None = None,
) -> tuple[Patterns, ...]:
    """The results; of the last lanes' last sums the largest exponents and the totals."""
    tiles, m, n = c.shape
    lanes = _FEW_LANES if n <= _FEW_LANES else _LANES
    length = rules.products
    few = all(format.exponent_bits <= _FEW_EXPONENT_BITS for format in formats)
    kind: Any = np.float32 if few else np.float64
    by_bytes = places is None and n <= _FEW_LANES and m % 2 == 0 and (len(blocks), length) == (1, DEPTH)
    by_bytes = by_bytes and have_tables(formats)
    twice = 1 + by_bytes
    a = _whole_blocks(a, 2, blocks, length)
    depth = 1 if places is None else 2
    b = side_by_side(_whole_blocks(b, 1, [depth * block for block in blocks], depth * length), lanes)
    sets = b.shape[1]
    whole = sets * lanes
    if whole > n:
        c = np.pad(c, ((0, 0), (0, 0), (0, whole - n)))
    d = np.empty(c.shape, c.dtype) if out is None or whole > n else out
    step = max(1, min(tiles, _FACTORS // ((m + whole) * depth * len(blocks) * length)))
    # By bytes, two rows are one, and each column is there twice.
    m, lanes = m // twice, twice * lanes
    axes = (step * m, len(blocks), twice * length), (step * sets, len(blocks), depth * length * lanes)
    sizes = [(prod(each) * np.dtype(x).itemsize // 4, x) for each in axes for x in (kind, np.int16)]
    *decoded, largest, total = scratch(*sizes, (lanes, np.int32), (2 * lanes, np.float64))
    rows, columns = (Operand(*(x.reshape(axes[n]) for x in decoded[2 * n : 2 * n + 2])) for n in range(2))
    met = np.arange(length, dtype=np.int32) if places is None else _inner_places(places, blocks, length)
    of_rows, of_columns = scales or (np.zeros((1, twice, 1), np.int32), np.zeros((1, 1, lanes), np.int32))
    if scales:
        of_columns = side_by_side(np.repeat(of_columns, twice, axis=2), lanes)
    scales_of_row = of_rows.shape[2]
    tables = (
        met.reshape(-1, 1 if places is None else len(blocks), length),
        of_rows.reshape(-1, scales_of_row * twice).view(f"i{4 * twice}"),
        of_columns.reshape(-1, scales_of_row, lanes),
    )
    multiply = _multiplier(layout(rules.format), rules.rounding, lanes, places is not None, by_bytes)
    flat = (np.ascontiguousarray(x).reshape(-1) for x in (a, b, c))
    numbers = (*rules[:3], rules.discarded_bits)
    layouts = read_only(*map(table, formats)) if by_bytes else tuple(map(layout, formats))
    joined = Operand(rows.values.view(np.int64), rows.exponents.view(np.int32)) if by_bytes else rows
    operands = (*read_only(*flat), d.reshape(tiles, m, -1))
    beyond = multiply(
        operands, layouts, Pairs(*read_only(*tables)), (rows, joined, columns), (largest, total), numbers
    )
    if beyond or not by_bytes:
        for use, elements, format in zip("ab", (a, b), formats, strict=True):
            if format.bits < 8:
                check_range(use, elements, format)
    return d if d is out else filled(out, d[:, :, :n]), largest, total


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


@Compiled
def _decode(bits: Any, format: Layout, operand: Operand) -> int:
    """Decodes rows, or columns side by side, of any format; no unused bits."""
    decode_factors(bits, format, operand.values.reshape(-1), operand.exponents.reshape(-1), _TOGETHER)
    return 0


@cache
def _multiplier(
    format: Layout, rounding: int, lanes: int, is_sparse: bool, by_bytes: bool
) -> Callable[..., None]:
    """Decodes and multiplies as many tiles at a time as there is room for decoded ones."""
    decoders = (decoder(True), decoder(False)) if by_bytes else (_decode, _decode)
    decode_rows, decode_columns = (each.dispatcher() for each in decoders)
    multiply_decoded = _chains(format, rounding, lanes, is_sparse, by_bytes).dispatcher()

    def multiply(operands: Any, formats: Any, pairs: Pairs, decoded: Any, room: Any, numbers: Any) -> int:
        a, b, c, d = operands
        beyond = 0
        rows, joined, columns = decoded
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
            beyond |= decode_rows(a[start * a_size : end * a_size], formats[0], rows)
            beyond |= decode_columns(b[start * b_size : end * b_size], formats[1], columns)
            addends = c[start * m * n : end * m * n]
            multiply_decoded(joined, columns, here, addends, d[start:end], room, numbers)
        return beyond

    return Compiled(multiply)


@cache
def _chains(format: Layout, rounding: int, lanes: int, is_sparse: bool, by_bytes: bool) -> Compiled:
    """Multiplies decoded tiles."""
    every = (0,) * lanes

    def multiply(
        rows: Operand, columns: Operand, pairs: Pairs, c: Any, d: Any, room: Any, numbers: Any
    ) -> None:
        products, fraction_bits, least_exponent, discarded_bits = numbers
        if by_bytes:  # a constant: no loop is left
            products = DEPTH
        rules = Rules(products, fraction_bits, least_exponent, format, rounding, discarded_bits)
        tiles, m, n = d.shape
        sets = n // lanes
        for tile in range(tiles):
            for i in range(m):
                for j in range(sets):
                    row, column = tile * m + i, tile * sets + j
                    some = d[tile, i, j * lanes : (j + 1) * lanes]
                    addends = load(c, row * n + j * lanes, every)
                    store(some, 0, _by_columns(addends, addends) if by_bytes else addends)
                    dot_products(rows, row, columns, column, pairs, some, every, room, rules, is_sparse)
                    if by_bytes:
                        found = load(some, 0, every)
                        store(some, 0, _by_rows(found, found))

    return Compiled(multiply)
