"""Batches of tiles, compiled: the loops around the scalar functions of this package."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.arrays import add, convert, fma, look_up, saturate
from golden.arithmetic.chains import Patterns, chained, filled
from golden.arithmetic.decode import Layout, decode, layout
from golden.arithmetic.engine import Compiled, read_only, run_chunks
from golden.arithmetic.exact import Number, exact_dot_product, scaled
from golden.arithmetic.fdpa import NAN_EXPONENT
from golden.arithmetic.fma import fused_multiply_add
from golden.arithmetic.round_pack import ROUNDINGS
from golden.arithmetic.rules import fp8_halves, fused_format, fused_rules
from golden.arithmetic.scales import SCALE_TYPES, decode_scale
from golden.tables.formats import FloatFormat, float_format
from golden.tables.instruction_set import Mnemonic
from golden.tables.profiles import Profile

_CHUNK_ELEMENTS = 1 << 18
"""Elements of D that a thread takes at once."""

_F16, _F32, _F64 = float_format("f16"), float_format("f32"), float_format("f64")

Formats = tuple[FloatFormat, ...]
"""Of A, B, C and D."""


def in_chunks(
    work: Callable[..., Patterns], operands: Sequence[Patterns], d: Patterns, threads: int | None
) -> None:
    """D by `work` on operands with one leading axis, the tiles, some at once.

    `work` puts its results into ``out``. Memory beyond arguments and result does not grow with the batch. The
    number of threads is as for `golden.arithmetic.engine.thread_count`.
    """
    step = max(1, _CHUNK_ELEMENTS // max(1, d.shape[1] * d.shape[2]))

    def piece(here: slice) -> None:
        work(*(operand[here] for operand in operands), out=d[here])

    run_chunks(piece, len(d), step, threads)


def float_tiles(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    scale_a: Patterns | None = None,
    scale_b: Patterns | None = None,
    *,
    formats: Formats,
    profile: Profile,
    mnemonic: Mnemonic,
    places: Patterns | None = None,
    satf: bool = False,
    out: Patterns | None = None,
) -> Patterns:
    """D = A B + C by chained FDPAs, on bit patterns.

    The shapes are (tiles, m, k), (tiles, k, n) and (tiles, m, n), of scales (tiles, m, blocks) and (tiles,
    blocks, n): bytes of ue8m0, which are added to the exponents of the products of a block. The mnemonic
    decides how many products of tf32 an FDPA takes. `places` has the shape of a sparse A: which k of B meets
    each element. With `satf`, infinities become the largest finite number, NaN +0. `out` takes the results;
    None for a new array.
    """
    a_format, b_format, c_format, d_format = formats
    fused = fused_format(c_format, d_format)
    rules, block = fused_rules(a_format, b_format, fused, profile, mnemonic)
    if c_format != fused:
        c = convert(c, c_format, fused)
    if d_format == fused and not satf:
        scales = (
            None
            if scale_a is None or scale_b is None
            else (look_up(_powers(), scale_a), look_up(_powers(), scale_b))
        )
        return chained(a, b, c, (a_format, b_format), rules, block, scales=scales, places=places, out=out)
    d = chained(a, b, c, (a_format, b_format), rules, block, places=places)
    if d_format != fused:
        d = convert(d, fused, d_format)
    return filled(out, saturate(d, d_format) if satf else d)


@cache
def _powers() -> NDArray[np.int32]:
    """What each scale of ue8m0 adds to an exponent."""
    kind = SCALE_TYPES.index("ue8m0")
    found = (decode_scale(bits, kind) for bits in range(256))
    return np.array([NAN_EXPONENT if is_nan else exponent for _, exponent, is_nan in found], np.int32)


def fp8_tiles(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    *,
    formats: Formats,
    profile: Profile,
    out: Patterns | None = None,
) -> Patterns:
    """D = A B + C as `golden.arithmetic.rules.fp8_halves` says; arguments as in `float_tiles`."""
    a_format, b_format, _, d_format = formats
    rules, block = fused_rules(_F16, _F16, d_format, profile, "mma")
    halves = fp8_halves(a.shape[2])
    order = np.concatenate(halves)
    rows, columns = convert(a[:, :, order], a_format, _F16), convert(b[:, order], b_format, _F16)
    parts = [len(half) for half in halves]
    total = chained(rows, columns, np.zeros_like(c), (_F16, _F16), rules, block, parts)
    return filled(out, add(c, total, d_format))


def quad_pair_tiles(
    a: Patterns, b: Patterns, c: Patterns, *, formats: Formats, out: Patterns | None = None
) -> Patterns:
    """D = A B + C of ``mma.m8n8k4`` of f16 by scalar instructions in f32, each rounded to nearest even.

    A chain of four fused multiply-adds from +0 is added to C, if D is f32. If D is f16, the sum of the first
    two products is added to C, then the sum of the other two, and the result is rounded to f16. Arguments as
    in `float_tiles`.
    """
    a, b, c = (
        convert(x, form, _F32) if form != _F32 else x for x, form in zip((a, b, c), formats, strict=False)
    )

    def chain(start: int, *steps: int) -> Patterns:
        total = np.full_like(c, start)
        for k in steps:
            total = fma(a[:, :, k, None], b[:, k, None, :], total, _F32)
        return total

    if formats[3] == _F32:
        return filled(out, add(c, chain(0, 0, 1, 2, 3), _F32))
    halves = chain(_F32.sign_mask, 0, 1), chain(_F32.sign_mask, 2, 3)
    return filled(out, convert(add(add(c, halves[0], _F32), halves[1], _F32), _F32, formats[3]))


def multiply_add_tiles(
    a: Patterns, b: Patterns, c: Patterns, *, rounding: str, out: Patterns | None = None
) -> Patterns:
    """D = A B + C of f64: for each element the products in ascending k, each added with one rounding."""
    d = c.astype(np.int64)
    _multiply_add(*read_only(a.view(np.int64), b.view(np.int64)), d, layout(_F64), ROUNDINGS.index(rounding))
    return filled(out, d.view(np.uint64))


@Compiled
def _multiply_add(a: Any, b: Any, d: Any, format: Layout, rounding: int) -> None:
    tiles, m, depth = a.shape
    for tile in range(tiles):
        for i in range(m):
            for k in range(depth):
                for j in range(d.shape[2]):
                    d[tile, i, j] = fused_multiply_add(
                        a[tile, i, k], b[tile, k, j], d[tile, i, j], format, rounding
                    )


def _numbers(
    lines: list[list[int]], format: FloatFormat, scales: Sequence[list[int]], scale_type: str
) -> list[list[Number]]:
    """The elements of rows or columns, multiplied by the scale of their part."""
    if not scales:
        return [[decode(x, format) for x in line] for line in lines]
    part = len(lines[0]) // len(scales[0])
    return [
        [scaled(decode(x, format), line_scales[k // part], scale_type) for k, x in enumerate(line)]
        for line, line_scales in zip(lines, scales, strict=True)
    ]


def exact_tiles(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    *scales: Patterns,
    formats: Formats,
    rounding: str,
    scale_type: str = "",
    satf: bool = False,
    out: Patterns | None = None,
) -> Patterns:
    """D = A B + C by `golden.arithmetic.exact`; arguments as in `float_tiles`, in Python integers."""
    a_format, b_format, _, d_format = formats
    d = np.empty(c.shape, np.dtype(f"u{d_format.bits // 8}"))
    element = partial(exact_dot_product, formats=formats, rounding=ROUNDINGS.index(rounding))
    for tile in range(len(d)):
        of_rows, of_columns = (scales[0][tile].tolist(), scales[1][tile].T.tolist()) if scales else ((), ())
        rows = _numbers(a[tile].tolist(), a_format, of_rows, scale_type)
        columns = _numbers(b[tile].T.tolist(), b_format, of_columns, scale_type)
        d[tile] = [
            [element(row, column, addend) for column, addend in zip(columns, line, strict=True)]
            for row, line in zip(rows, c[tile].tolist(), strict=True)
        ]
    return filled(out, saturate(d, d_format) if satf else d)
