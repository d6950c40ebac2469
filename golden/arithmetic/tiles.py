"""Batches of tiles, compiled: the loops around the scalar functions of this package."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic import arrays
from golden.arithmetic.arrays import add, convert, saturate
from golden.arithmetic.compiled import compiled, word
from golden.arithmetic.decode import Layout, decode, layout
from golden.arithmetic.engine import kernel, run_chunks
from golden.arithmetic.exact import exact_dot_product
from golden.arithmetic.fdpa import GROUP, Operand, Rules, decode_factors, dot_products, mark_factors
from golden.arithmetic.fma import fused_multiply_add
from golden.arithmetic.fp8 import fp8_halves
from golden.arithmetic.integer import (
    OPERATIONS,
    PRODUCTS,
    WORD,
    count_bits,
    finish_integer,
    pack_bits,
    sum_of_products,
)
from golden.arithmetic.round_pack import ROUNDINGS
from golden.arithmetic.rules import fused_format, fused_rules
from golden.tables.formats import FloatFormat, float_format
from golden.tables.instruction_set import Mnemonic
from golden.tables.profiles import Profile

__all__ = [
    "block_sums",
    "exact_tiles",
    "float_tiles",
    "fp8_tiles",
    "in_chunks",
    "integer_tiles",
    "multiply_add_tiles",
]

Patterns = NDArray[Any]
"""Bit patterns in unsigned integers, or values of integers."""

_CHUNK_ELEMENTS = 1 << 18
"""Elements of D that a thread takes at once."""

_LANE_FACTORS = 1 << 16
_LEAST_LANES, _MOST_LANES = 48, 112
"""Tiles that are lanes at once: so many that their factors stay in the second-level cache."""

_FEW_TILES = 16
"""With fewer, the columns of a tile are lanes."""

_F16, _F64 = float_format("f16"), float_format("f64")


def in_chunks(
    work: Callable[..., object],
    a: Patterns,
    b: Patterns,
    c: Patterns,
    d: Patterns,
    threads: int | None,
) -> None:
    """D = A B + C by `work`, some tiles at once, whose results go to `d`.

    Memory beyond arguments and result does not grow with the batch.

    Parameters
    ----------
    work : callable
        Of tiles of shape (tiles, m, k), (tiles, k, n), (tiles, m, n), and ``out=`` for the results.
    a, b, c, d : ndarray
    threads : int or None
        As for `golden.arithmetic.engine.thread_count`.
    """
    step = max(1, _CHUNK_ELEMENTS // max(1, d.shape[1] * d.shape[2]))

    def piece(here: slice) -> None:
        work(a[here], b[here], c[here], out=d[here])

    run_chunks(piece, len(d), step, threads)


def float_tiles(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    *,
    a_format: FloatFormat,
    b_format: FloatFormat,
    c_format: FloatFormat,
    d_format: FloatFormat,
    profile: Profile,
    mnemonic: Mnemonic,
    satf: bool = False,
    out: Patterns | None = None,
) -> Patterns:
    """D = A B + C by chained FDPAs.

    Parameters
    ----------
    a, b, c : ndarray, shapes (tiles, m, k), (tiles, k, n), (tiles, m, n)
        Bit patterns.
    a_format, b_format, c_format, d_format : FloatFormat
    profile : Profile
    mnemonic : {"wmma", "mma", "wgmma"}
        Decides how many products of tf32 an FDPA takes.
    satf : bool
        Infinities become the largest finite number, NaN +0.
    out : ndarray or None
        Takes the results; None for a new array.

    Returns
    -------
    ndarray, shape (tiles, m, n)
        Bit patterns of `d_format`.
    """
    fused = fused_format(c_format, d_format)
    rules, block = fused_rules(a_format, b_format, fused, profile, mnemonic)
    if c_format != fused:
        c = convert(c, c_format, fused)
    if d_format == fused and not satf:
        return _chained(a, b, c, (a_format, b_format), rules, block, out=out)
    d = _chained(a, b, c, (a_format, b_format), rules, block)
    if d_format != fused:
        d = convert(d, fused, d_format)
    return _filled(out, saturate(d, d_format) if satf else d)


def _filled(out: Patterns | None, d: Patterns) -> Patterns:
    if out is None:
        return d
    out[...] = d
    return out


def fp8_tiles(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    *,
    a_format: FloatFormat,
    b_format: FloatFormat,
    d_format: FloatFormat,
    profile: Profile,
    out: Patterns | None = None,
) -> Patterns:
    """D = A B + C as `golden.arithmetic.fp8` says; arguments as those of `float_tiles`."""
    rules, block = fused_rules(_F16, _F16, d_format, profile, "mma")
    rows, columns = convert(a, a_format, _F16), convert(b, b_format, _F16)
    total = _chained(rows, columns, np.zeros_like(c), (_F16, _F16), rules, block, fp8_halves(a.shape[2]))
    return _filled(out, add(c, total, d_format))


def _chained(
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
        return _filled(out, c)
    places, blocks = _places(chains or [range(depth)], block, rules.groups)
    if tiles < _FEW_TILES:
        return _filled(out, _by_rows(a, b, c, formats, rules, (places, blocks))[0].astype(c.dtype))
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


def multiply_add_tiles(
    a: Patterns, b: Patterns, c: Patterns, *, rounding: str, out: Patterns | None = None
) -> Patterns:
    """D = A B + C of f64: for each element the products in ascending k, each added with one rounding."""
    d = c.astype(np.int64)
    operands = (np.ascontiguousarray(x).view(np.int64) for x in (a, b))
    _multiply_add(*operands, d, layout(_F64), ROUNDINGS.index(rounding))
    return _filled(out, d.view(np.uint64))


@kernel
def _multiply_add(a: Any, b: Any, d: Any, format: Layout, rounding: int) -> None:
    tiles, m, depth = a.shape
    for tile in range(tiles):
        for i in range(m):
            for k in range(depth):
                for j in range(d.shape[2]):
                    d[tile, i, j] = fused_multiply_add(
                        a[tile, i, k], b[tile, k, j], d[tile, i, j], format, rounding
                    )


def integer_tiles(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    *,
    operation: str | None = None,
    satfinite: bool = False,
    out: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """``c + a b``, exact, then wrapped modulo ``2**32``, or clamped once at the end.

    Parameters
    ----------
    a, b : ndarray of integers
        Values of at most 8 bits, or single bits.
    c : ndarray of int32
    operation : {"xor", "and"} or None
        Of single bits: what is done instead of the product.
    satfinite : bool
        Clamp.
    """
    d = np.empty(c.shape, np.int32) if out is None else out
    tiles, m, n = d.shape
    size = WORD if operation else PRODUCTS
    if -a.shape[2] % size:
        filling = (0, 0), (0, -a.shape[2] % size)
        a, b = np.pad(a, ((0, 0), *filling)), np.pad(b, ((0, 0), *filling[::-1]))
    groups = a.shape[2] // size
    a = np.ascontiguousarray(a).reshape(tiles, m, groups, size, 1)
    b = np.ascontiguousarray(b).reshape(tiles, groups, size, n)
    if operation:
        _bits(a, b, c, d, np.empty(n, np.int32), OPERATIONS.index(operation))
    else:
        _integers(a, b, c, d, np.empty(size, np.int32), satfinite)
    return d


@kernel
def _integers(a: Any, b: Any, c: Any, d: Any, factors: Any, saturate: bool) -> None:
    for tile in range(len(d)):
        clear(d[tile])
        for group in range(b.shape[1]):
            columns = b[tile, group]
            for i in range(d.shape[1]):
                row, sums = a[tile, i, group], d[tile, i]
                for k in range(PRODUCTS):
                    factors[k] = row[k, 0]
                for j in range(len(sums)):
                    sums[j] = word(sums[j] + sum_of_products(factors, columns, j))
        add_integers(d[tile], c[tile], saturate)


@kernel
def _bits(a: Any, b: Any, c: Any, d: Any, b_words: Any, operation: int) -> None:
    for tile in range(len(d)):
        clear(d[tile])
        for group in range(b.shape[1]):
            b_bits = b[tile, group]
            for j in range(len(b_words)):
                b_words[j] = pack_bits(b_bits, j)
            for i in range(d.shape[1]):
                sums, a_word = d[tile, i], pack_bits(a[tile, i, group], 0)
                for j in range(len(sums)):
                    sums[j] = count_bits(sums[j], a_word, b_words[j], operation)
        add_integers(d[tile], c[tile], False)


@compiled
def clear(d: Any) -> None:
    """Zeros."""
    for i in range(len(d)):
        row = d[i]
        for j in range(len(row)):
            row[j] = 0


@compiled
def add_integers(d: Any, c: Any, saturate: bool) -> None:
    """Finish the sums of a tile."""
    for i in range(len(d)):
        row, addends = d[i], c[i]
        for j in range(len(row)):
            row[j] = finish_integer(addends[j] + row[j], saturate)


def exact_tiles(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    *,
    a_format: FloatFormat,
    b_format: FloatFormat,
    c_format: FloatFormat,
    d_format: FloatFormat,
    rounding: str,
    satf: bool = False,
    out: Patterns | None = None,
) -> Patterns:
    """D = A B + C by `golden.arithmetic.exact`; arguments as those of `float_tiles`, in Python integers."""
    d = np.empty(c.shape, np.dtype(f"u{d_format.bits // 8}"))
    place = ROUNDINGS.index(rounding)
    for tile in range(len(d)):
        rows = [[decode(x, a_format) for x in row] for row in a[tile].tolist()]
        columns = [[decode(x, b_format) for x in column] for column in b[tile].T.tolist()]
        addends = c[tile].tolist()
        d[tile] = [
            [
                exact_dot_product(
                    row,
                    column,
                    addend,
                    a_format=a_format,
                    b_format=b_format,
                    c_format=c_format,
                    d_format=d_format,
                    rounding=place,
                )
                for column, addend in zip(columns, line, strict=True)
            ]
            for row, line in zip(rows, addends, strict=True)
        ]
    return _filled(out, saturate(d, d_format) if satf else d)
