"""Batches of tiles, compiled: the loops around the scalar functions of this package."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic import arrays
from golden.arithmetic.arrays import add, convert, saturate
from golden.arithmetic.compiled import compiled
from golden.arithmetic.decode import INFINITE, NAN, ZERO, ZERO_EXPONENT, Layout, decode, layout
from golden.arithmetic.engine import kernel, run_chunks
from golden.arithmetic.exact import exact_dot_product
from golden.arithmetic.fdpa import GROUP, Operand, Rules, decode_factors, dot_products
from golden.arithmetic.fma import fused_multiply_add
from golden.arithmetic.fp8 import fp8_halves
from golden.arithmetic.integer import OPERATIONS, integer_products
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

_CHUNK_ELEMENTS = 1 << 15
"""Elements of D computed at once by a thread: the working set stays in the second-level cache."""

_FEW_TILES = 16
"""With fewer, the columns of a tile are computed at once, not the tiles."""

_F16, _F64 = float_format("f16"), float_format("f64")


def in_chunks(
    work: Callable[[Patterns, Patterns, Patterns], Patterns],
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
        Of tiles of shape (tiles, m, k), (tiles, k, n), (tiles, m, n).
    a, b, c, d : ndarray
    threads : int or None
        As for `golden.arithmetic.engine.thread_count`.
    """
    step = max(1, _CHUNK_ELEMENTS // max(1, d.shape[1] * d.shape[2]))

    def piece(here: slice) -> None:
        d[here] = work(a[here], b[here], c[here])

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

    Returns
    -------
    ndarray, shape (tiles, m, n)
        Bit patterns of `d_format`.
    """
    fused = fused_format(c_format, d_format)
    rules, block = fused_rules(a_format, b_format, fused, profile, mnemonic)
    if c_format != fused:
        c = convert(c, c_format, fused)
    d = _chained(a, b, c, (layout(a_format), layout(b_format)), rules, block)
    if d_format != fused:
        d = convert(d, fused, d_format)
    return saturate(d, d_format) if satf else d


def fp8_tiles(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    *,
    a_format: FloatFormat,
    b_format: FloatFormat,
    d_format: FloatFormat,
    profile: Profile,
) -> Patterns:
    """D = A B + C as `golden.arithmetic.fp8` says; arguments as those of `float_tiles`."""
    depth = a.shape[2]
    rules, block = fused_rules(_F16, _F16, d_format, profile, "mma")
    total = np.zeros_like(c)
    for half in fp8_halves(depth):
        rows, columns = convert(a[:, :, half], a_format, _F16), convert(b[:, half], b_format, _F16)
        total = _chained(rows, columns, total, (layout(_F16), layout(_F16)), rules, block)
    return add(c, total, d_format)


def _chained(
    a: Patterns, b: Patterns, c: Patterns, formats: tuple[Layout, Layout], rules: Rules, block: int
) -> NDArray[np.int64]:
    tiles, m, depth = a.shape
    n = b.shape[2]
    if not c.size or not depth:
        return c.astype(np.int64)
    blocks = -(-depth // block)
    shape = (blocks * rules.groups, GROUP)
    rules = rules._replace(format=layout(rules.format))  # type: ignore[arg-type]
    if tiles < _FEW_TILES:
        return _by_rows(a, b, c, formats, rules, block)[0]
    padded = depth < shape[0] * GROUP
    rows, columns = (_room(lines, blocks, shape, tiles, padded) for lines in (m, n))
    turned = np.empty((m, n, tiles), np.int64)
    room = np.empty(tiles, np.int32), np.empty(tiles, np.int64)
    words = np.empty((m, depth, tiles), np.int64), np.empty((n, depth, tiles), np.int64), turned
    _turn(a.reshape(tiles, -1), words[0].reshape(-1, tiles))
    _turn(b.transpose(0, 2, 1).reshape(tiles, -1), words[1].reshape(-1, tiles))
    _turn(c.reshape(tiles, -1), turned.reshape(-1, tiles))
    _lanes(words, formats, rules, block, rows, columns, room)
    d = np.empty(c.shape, np.int64)
    _turn(turned.reshape(-1, tiles), d.reshape(tiles, -1))
    return d


def _by_rows(
    a: Patterns, b: Patterns, c: Patterns, formats: tuple[Layout, Layout], rules: Rules, block: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """The results, and of the last tile's last sums the largest exponents and the totals."""
    d = c.astype(np.int64)
    m, n = d.shape[1:]
    blocks = -(-a.shape[2] // block)
    padded = a.shape[2] < blocks * rules.groups * GROUP
    rows, columns = (_room(1, blocks, (blocks * rules.groups, GROUP), n, padded) for _ in range(2))
    room = np.empty((m, n), np.int32), np.empty((m, n), np.int64)
    rules = rules._replace(format=layout(rules.format))  # type: ignore[arg-type]
    _rows((a.astype(np.int64), b.astype(np.int64), d), formats, rules, block, rows, columns, room)
    return d, *room


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
    formats = layout(a_format), layout(b_format)
    fused = rules.format
    assert isinstance(fused, FloatFormat)
    d, largest, total = _by_rows(a[None], b[None], c[None], formats, rules, a.shape[1])
    number, x, y = arrays.decode(d[0], fused), arrays.decode(a, a_format), arrays.decode(b, b_format)
    special = np.logical_or.reduce(x.special, axis=1, keepdims=True) | arrays.decode(c, fused).special
    special |= np.logical_or.reduce(y.special, axis=0, keepdims=True)
    values = np.where(number.nan, np.nan, np.where(number.negative, -np.inf, np.inf))
    return np.where(special, values, total.astype(np.float64)), largest - rules.fraction_bits, d[0]


def _room(lines: int, blocks: int, shape: tuple[int, int], lanes: int, padded: bool) -> Operand:
    """Tables of terms, zero where blocks are filled up, and of marks."""
    terms, exponents = (np.empty((lines, *shape, lanes), np.int32) for _ in range(2))
    if padded:
        terms.fill(0)
        exponents.fill(ZERO_EXPONENT)
    return Operand(terms, exponents, *(np.zeros((lines, blocks, lanes), np.int32) for _ in range(4)))


@kernel
def _turn(source: Any, target: Any) -> None:
    """Transpose."""
    for i in range(len(target)):
        for j in range(len(source)):
            target[i, j] = source[j, i]


@kernel
def _lanes(
    words: Any,
    formats: tuple[Layout, Layout],
    rules: Rules,
    block: int,
    rows: Operand,
    columns: Operand,
    room: Any,
) -> None:
    """Many tiles, each a lane: (m, k, tiles), (n, k, tiles), and (m, n, tiles) for C and D."""
    a, b, d = words
    scale = max(rules.fraction_bits - rules.product_bits, 0)
    for k in range(a.shape[1]):
        for i in range(len(a)):
            decode_factors(rows, i, k // block, k % block, a[i, k], formats[0], scale)
        for j in range(len(b)):
            decode_factors(columns, j, k // block, k % block, b[j, k], formats[1], 0)
    for i in range(len(a)):
        for j in range(len(b)):
            dot_products(rows, i, columns, j, d[i, j], room[0], room[1], rules)


@kernel
def _rows(
    words: Any,
    formats: tuple[Layout, Layout],
    rules: Rules,
    block: int,
    rows: Operand,
    columns: Operand,
    room: Any,
) -> None:
    """Few tiles, or large ones, whose columns are the lanes: (tiles, m, k), (tiles, k, n), (tiles, m, n)."""
    a, b, d = words
    scale = max(rules.fraction_bits - rules.product_bits, 0)
    for tile in range(len(d)):
        clear(columns)
        for k in range(b.shape[1]):
            decode_factors(columns, 0, k // block, k % block, b[tile, k], formats[1], 0)
        for i in range(d.shape[1]):
            spread_factors(rows, a[tile, i], formats[0], block, scale)
            dot_products(rows, 0, columns, 0, d[tile, i], room[0][i], room[1][i], rules)


@compiled
def spread_factors(operand: Operand, bits: Any, format: Layout, block: int, scale: int) -> None:
    """Decode one row of A, which all lanes share; see `golden.arithmetic.fdpa.decode_factors`."""
    blocks = len(operand.nan[0])
    groups = len(operand.terms[0]) // blocks
    for here in range(blocks):
        nan = infinite = zero = signs = 0
        for number in range(min(block, len(bits) - here * block)):
            negative, significand, exponent, kind = decode(bits[here * block + number], format)
            term = significand << scale
            group = here * groups + number // GROUP
            operand.terms[0, group, number % GROUP][:] = -term if negative else term
            operand.exponents[0, group, number % GROUP][:] = ZERO_EXPONENT if kind == ZERO else exponent
            nan |= (kind == NAN) << number
            infinite |= (kind == INFINITE) << number
            zero |= (kind == ZERO) << number
            signs |= negative << number
        operand.nan[0, here][:] = nan
        operand.infinite[0, here][:] = infinite
        operand.zero[0, here][:] = zero
        operand.negative[0, here][:] = signs


@compiled
def clear(operand: Operand) -> None:
    """No marks."""
    operand.nan[:] = 0
    operand.infinite[:] = 0
    operand.zero[:] = 0
    operand.negative[:] = 0


def multiply_add_tiles(a: Patterns, b: Patterns, c: Patterns, *, rounding: str) -> Patterns:
    """D = A B + C of f64: for each element the products in ascending k, each added with one rounding."""
    d = c.astype(np.int64)
    _multiply_add(a.astype(np.int64), b.astype(np.int64), d, layout(_F64), ROUNDINGS.index(rounding))
    return d.view(np.uint64)


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
    a: Patterns, b: Patterns, c: Patterns, *, operation: str | None = None, satfinite: bool = False
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
    d = c.astype(np.int64)
    place = OPERATIONS.index(operation or "mul")
    _integers(a.astype(np.int64), b.astype(np.int64), d, place, satfinite)
    return d.astype(np.int32)


@kernel
def _integers(a: Any, b: Any, d: Any, operation: int, saturate: bool) -> None:
    for tile in range(len(d)):
        columns = b[tile]
        for i in range(d.shape[1]):
            integer_products(a[tile, i], columns, d[tile, i], operation, saturate)


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
    return saturate(d, d_format) if satf else d
