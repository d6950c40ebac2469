"""The order in which the products of each element of a matrix product are added, and the sums.

The rules, and how they were measured: ``docs/explanation/matrix-products.md``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from golden.arguments import dtype_of
from golden.arithmetic.arrays import add, elementwise
from golden.arithmetic.decode import layout
from golden.arithmetic.engine import run_chunks
from golden.arithmetic.integer_tiles import integer_tiles
from golden.arithmetic.round_pack import convert as convert_number
from golden.arithmetic.tiles import float_tiles, multiply_add_tiles
from golden.integers import checked_integer, integer_of, shortened
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.profiles import PROFILES, Profile
from openwmma.product_epilogue import Epilogue

Accumulation = Literal["fast", "precise"]

_F32: Final = float_format("f32")
_TILE: Final = 128
"""Rows and columns of D computed at once by a thread."""
_DEPTH: Final = 128
"""Products of a chain computed at once: a multiple of every block."""
_BLOCK: Final = 32
"""Equal parts are multiples of it, as every block divides it."""
INTERLEAVED_PRODUCTS: Final = 32
"""Consecutive products of an interleaved part."""
_PRECISE: Final = 128
"""Products of fp8 that are added before their sum goes to an f32 sum."""
_CLAMPED: Final = 16
"""Products of s8 after which the sum is clamped."""
_WITHIN_S32: Final = 1 << 17
"""So many products of s8 may reach the end of s32, fewer do not."""


@dataclass(frozen=True, kw_only=True)
class ProductRule:
    """The order in which the products of one element are added."""

    types: tuple[str, str, str]
    """Of A, B and D."""
    parts: tuple[int, ...]
    """Lengths of the parts of k."""
    order: tuple[int, ...] | None = None
    """Of interleaved parts the order in which they are added."""
    accumulation: Accumulation = "fast"
    profile: Profile = PROFILES["hopper"]


def part_lengths(depth: int, split_k: int | Sequence[int]) -> tuple[int, ...]:
    """Lengths of the parts of k: equal and of whole blocks, but the last may be shorter; or as given.

    InvalidArgument for numbers below 1, more parts than k, or lengths whose sum is not k.
    """
    allowed = f"an integer from 1 on, or lengths from 1 on whose sum is k, {depth}"
    given: Sequence[Any] = split_k if isinstance(split_k, list | tuple) else [split_k]
    numbers = [integer_of(item) or 0 for item in given]
    if min(numbers, default=0) < 1:
        raise InvalidArgument("split_k", shortened(split_k), allowed)
    if isinstance(split_k, list | tuple):
        if sum(numbers) != depth:
            raise InvalidArgument("split_k", shortened(split_k), allowed)
        return tuple(numbers)
    if numbers[0] > max(depth, 1):
        raise InvalidArgument("split_k", shortened(split_k), f"at most k, {depth}")
    step = -(-depth // numbers[0])
    step += -step % _BLOCK if numbers[0] > 1 else 0
    return tuple(min(step, depth - start) for start in range(0, depth, max(step, 1))) or (0,)


def interleaved_places(
    depth: int, split_k: int | Sequence[int], order: Sequence[int] | None = None
) -> tuple[NDArray[np.intp], tuple[int, ...]]:
    """The places of k, part after part, where parts take 32 products in turn; and the parts' lengths.

    InvalidArgument for more parts than there are turns, and an order that is none.
    """
    most = max(1, -(-depth // INTERLEAVED_PRODUCTS))
    count = checked_integer("split_k", split_k, 1, most)
    given: Sequence[Any] = order if isinstance(order, list | tuple) else [order]
    numbers = range(count) if order is None else [integer_of(item) for item in given]
    if {*numbers} != {*range(count)} or len(numbers) != count:
        raise InvalidArgument("interleaved", shortened(order), f"True, or 0 to {count - 1} in any order")
    part = np.arange(depth) // INTERLEAVED_PRODUCTS % count
    found = [np.flatnonzero(part == number) for number in numbers]
    return np.concatenate(found), tuple(map(len, found))


def product_of_bits(
    a: NDArray[Any], b: NDArray[Any], rule: ProductRule, epilogue: Epilogue, threads: int | None = None
) -> NDArray[Any]:
    """The product of two matrices of bit patterns, of shapes (m, k) and (k, n), that have been checked."""
    if rule.order is not None:
        places, _ = interleaved_places(a.shape[1], len(rule.parts), rule.order)
        a, b = a[:, places], b[places]
    d = np.empty((len(a), b.shape[1]), dtype_of(FORMATS[rule.types[2]]))
    tiles = [(i, j) for i in range(0, len(a), _TILE) for j in range(0, b.shape[1], _TILE)]
    chain = _chain(rule)

    def work(piece: slice) -> None:
        for i, j in tiles[piece]:
            rows, columns = slice(i, i + _TILE), slice(j, j + _TILE)
            total = _sum(chain, a[rows], b[:, columns], rule)
            one_chain = len(rule.parts) == 1
            d[rows, columns] = epilogue.part(rows, columns).finish(total, one_chain=one_chain)

    run_chunks(work, len(tiles), 1, threads)
    return d


_Chain = Callable[[NDArray[Any], NDArray[Any], NDArray[Any] | None], NDArray[Any]]


def _chain(rule: ProductRule) -> _Chain:
    """One piece of a chain: from rows, columns and the sum so far, None for zero."""
    types, profile = rule.types, rule.profile
    a_format, b_format = FORMATS[types[0]], FORMATS[types[1]]
    dtype = np.dtype({"f64": "u8", "s32": "i8"}.get(types[2], "u4"))

    def step(a: NDArray[Any], b: NDArray[Any], total: NDArray[Any] | None) -> NDArray[Any]:
        c = np.zeros((len(a), b.shape[1]), dtype) if total is None else total
        tiles = a[None], b[None], c[None]
        if not isinstance(a_format, FloatFormat):
            whole: NDArray[Any] = integer_tiles(*tiles, satfinite=True)[0]
            return whole.astype(np.int64)
        if a_format.bits == 64:
            double: NDArray[Any] = multiply_add_tiles(*tiles, rounding="rn")[0]
            return double
        assert isinstance(b_format, FloatFormat)
        if types[0] == "tf32":
            tiles = _as_tf32(a)[None], _as_tf32(b)[None], c[None]
        result: NDArray[Any] = float_tiles(
            *tiles,
            formats=(a_format, b_format, _F32, _F32),
            profile=profile,
            mnemonic="wgmma" if profile.fp8_block is not None else "mma",
        )[0]
        return result

    return step


def _sum(chain: _Chain, a: NDArray[Any], b: NDArray[Any], rule: ProductRule) -> NDArray[Any]:
    """The sums of all parts of k."""
    total: NDArray[Any] | None = None
    start = 0
    for part in rule.parts:
        found = _part(chain, a[:, start : start + part], b[start : start + part], rule)
        start += part
        if total is None:
            total = found
        elif rule.types[2] == "s32":
            total = np.clip(total + found, -(1 << 31), (1 << 31) - 1)
        else:
            total = add(total, found, float_format("f64" if rule.types[2] == "f64" else "f32"))
    assert total is not None
    return total


def _part(chain: _Chain, a: NDArray[Any], b: NDArray[Any], rule: ProductRule) -> NDArray[Any]:
    """The sum of one part of k."""
    precise = rule.accumulation == "precise" and a.dtype == np.uint8
    sum_so_far: NDArray[Any] | None = None
    total = chain(a[:, :0], b[:0], None)
    start, depth = 0, a.shape[1]
    while start < depth:
        step = _PRECISE if precise else _DEPTH
        if rule.types[2] == "s32" and start + step >= _WITHIN_S32:
            step = _CLAMPED
        here = slice(start, start + step)
        sum_so_far = chain(a[:, here], b[here], None if precise else sum_so_far)
        total = add(total, sum_so_far, _F32) if precise else sum_so_far
        start += step
    return total


def _as_tf32(bits: NDArray[Any]) -> NDArray[Any]:
    """f32 rounded to tf32, to nearest even."""
    layouts = layout(_F32), layout(float_format("tf32"))
    return elementwise(convert_number, (bits,), layouts, np.uint32, 1)
