"""Chains of fused dot-product-adds on batches of tiles: either the tiles are lanes, or the columns of one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic import arrays
from golden.arithmetic.decode import Layout, layout
from golden.arithmetic.engine import kernel
from golden.arithmetic.fdpa import GROUP, Operand, Rules, decode_factors, dot_products, mark_factors
from golden.tables.formats import FloatFormat

__all__ = ["Patterns", "block_sums", "chained", "filled"]

Patterns = NDArray[Any]
"""Bit patterns in unsigned integers, or values of integers."""

_LANE_FACTORS = 1 << 16
_LEAST_LANES, _MOST_LANES = 48, 112
"""Tiles that are lanes at once: so many that their factors stay in the second-level cache."""

_FEW_TILES = 16
"""With fewer, the columns of a tile are lanes."""


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
    chains: Sequence[Sequence[int]] | None = None,
    out: Patterns | None = None,
) -> Patterns:
    """The chain of FDPAs over all k, or several of them one after the other, each over the k named."""
    tiles, m, depth = a.shape
    n = b.shape[2]
    if not c.size or not depth:
        return filled(out, c)
    places, blocks = _places(chains or [range(depth)], block, rules.groups)
    if tiles < _FEW_TILES:
        return filled(out, _by_rows(a, b, c, formats, rules, (places, blocks))[0].astype(c.dtype))
    length = blocks * rules.groups * GROUP
    lanes = min(max(_LANE_FACTORS // ((m + n) * length), _LEAST_LANES), _MOST_LANES)
    words = np.zeros((m, length, lanes), np.int32), np.zeros((n, length, lanes), np.int32)
    rows, columns = _room(m, blocks, rules.groups, lanes), _room(n, blocks, rules.groups, lanes)
    sums = np.empty((n, lanes), np.int64), _sums(lanes)
    d = np.empty(c.shape, c.dtype) if out is None else out
    constants = rules._replace(format=layout(rules.format))  # type: ignore[arg-type]
    for start in range(0, tiles, lanes):
        here = slice(start, start + lanes)
        _turn(a[here], words[0], np.arange(m), places)
        _turn(b[here], words[1].transpose(1, 0, 2), places, np.arange(n))
        _decode(words[0], formats[0], rules, rows)
        _decode(words[1], formats[1], None, columns)
        _by_lanes(rows, columns, c[here], d[here], *sums, constants)
    return d


def _places(chains: Sequence[Sequence[int]], block: int, groups: int) -> tuple[NDArray[np.intp], int]:
    """Where each product stands among blocks that are filled up to whole groups, and how many these are."""
    places = np.empty(sum(map(len, chains)), np.intp)
    blocks = 0
    for chain in chains:
        whole, rest = np.divmod(np.arange(len(chain)), block)
        places[list(chain)] = (blocks + whole) * groups * GROUP + rest
        blocks += -(-len(chain) // block)
    return places, blocks


def _by_rows(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    formats: tuple[FloatFormat, FloatFormat],
    rules: Rules,
    arrangement: tuple[NDArray[np.intp], int],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """The results, and of the last tile's last sums the largest exponents and the totals."""
    places, blocks = arrangement
    d = c.astype(np.int64)
    _, m, n = d.shape
    length = blocks * rules.groups * GROUP
    words = np.zeros((m, length, 1), np.int32), np.zeros((1, length, n), np.int32)
    rows = _room(m, blocks, rules.groups, 1)
    columns, spread = (_room(1, blocks, rules.groups, n) for _ in range(2))
    room = _sums(m, n)
    constants = rules._replace(format=layout(rules.format))  # type: ignore[arg-type]
    for tile in range(len(d)):
        words[0][:, places, 0] = a[tile]
        words[1][0, places] = b[tile]
        _decode(words[0], formats[0], rules, rows)
        _decode(words[1], formats[1], None, columns)
        _rows(rows, columns, spread, d[tile], room, constants)
    return d, room[0], room[4]


def block_sums(
    a: Patterns, b: Patterns, c: Patterns, a_format: FloatFormat, b_format: FloatFormat, rules: Rules
) -> tuple[NDArray[np.float64], NDArray[np.int32], Patterns]:
    """One FDPA for each result of a tile, with what lies before its rounding.

    Parameters
    ----------
    a, b, c : ndarray, shapes (m, k), (k, n), (m, n)
        Bit patterns; k is at most a block.
    a_format, b_format : FloatFormat
    rules : Rules

    Returns
    -------
    total : ndarray of float64
        The sum of the aligned terms in units; infinite or NaN where the result is.
    unit : ndarray of int32
        Exponent of the unit.
    d : ndarray
        Bit patterns of the results.
    """
    fused = rules.format
    assert isinstance(fused, FloatFormat)
    arrangement = np.arange(a.shape[1]), 1
    d, largest, total = _by_rows(a[None], b[None], c[None], (a_format, b_format), rules, arrangement)
    number, x, y = arrays.decode(d[0], fused), arrays.decode(a, a_format), arrays.decode(b, b_format)
    special = np.logical_or.reduce(x.special, axis=1, keepdims=True) | arrays.decode(c, fused).special
    special |= np.logical_or.reduce(y.special, axis=0, keepdims=True)
    values = np.where(number.nan, np.nan, np.where(number.negative, -np.inf, np.inf))
    return np.where(special, values, total.astype(np.float64)), largest - rules.fraction_bits, d[0]


def _room(lines: int, blocks: int, groups: int, lanes: int) -> Operand:
    """Tables of terms, exponents and marks."""
    factors = lines, blocks * groups, GROUP, lanes
    tables = [np.empty(factors, np.int32) for _ in range(2)]
    return Operand(*tables, *(np.empty((lines, blocks, lanes), np.int32) for _ in range(4)))


def _sums(*extent: int) -> tuple[NDArray[Any], ...]:
    """Room for what `golden.arithmetic.fdpa.dot_products` has in between."""
    return (*(np.empty(extent, np.int32) for _ in range(4)), np.empty(extent, np.int64))


@kernel
def _turn(source: Any, target: Any, outer: Any, inner: Any) -> None:
    """The tiles become the last axis; the other two are put where the arrays of places say."""
    for i in range(source.shape[1]):
        lines = target[outer[i]]
        for lane in range(len(source)):
            line = source[lane, i]
            for k in range(len(line)):
                lines[inner[k], lane] = line[k]


def _decode(bits: NDArray[np.int32], format: FloatFormat, scaled_for: Rules | None, operand: Operand) -> None:
    scale = max(scaled_for.fraction_bits - scaled_for.product_bits, 0) if scaled_for else 0
    flat = operand.terms.reshape(-1), operand.exponents.reshape(-1)
    _decoded(bits.reshape(-1), layout(format), scale, *flat, operand)


@kernel
def _decoded(bits: Any, format: Layout, scale: int, terms: Any, exponents: Any, operand: Operand) -> None:
    decode_factors(bits, format, scale, terms, exponents)
    for line in range(len(operand.nan)):
        mark_factors(operand, line)


@kernel
def _by_lanes(rows: Operand, columns: Operand, c: Any, d: Any, words: Any, room: Any, rules: Rules) -> None:
    """Many tiles, each a lane."""
    tiles, m, n = c.shape
    for i in range(m):
        for tile in range(tiles):
            for j in range(n):
                words[j, tile] = c[tile, i, j]
        for j in range(n):
            dot_products(rows, i, columns, j, words[j, :tiles], room, rules)
        for tile in range(tiles):
            for j in range(n):
                d[tile, i, j] = words[j, tile]


@kernel
def _rows(rows: Operand, columns: Operand, spread: Operand, d: Any, room: Any, rules: Rules) -> None:
    """One tile, whose columns are the lanes."""
    for i in range(len(d)):
        for group in range(len(spread.terms[0])):
            for k in range(GROUP):
                spread.terms[0, group, k][:] = rows.terms[i, group, k, 0]
                spread.exponents[0, group, k][:] = rows.exponents[i, group, k, 0]
        for block in range(len(spread.nan[0])):
            spread.nan[0, block][:] = rows.nan[i, block, 0]
            spread.infinite[0, block][:] = rows.infinite[i, block, 0]
            spread.zero[0, block][:] = rows.zero[i, block, 0]
            spread.negative[0, block][:] = rows.negative[i, block, 0]
        dot_products(
            spread, 0, columns, 0, d[i], (room[0][i], room[1][i], room[2][i], room[3][i], room[4][i]), rules
        )
