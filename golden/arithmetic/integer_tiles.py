"""Batches of tiles of integers and of single bits."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.chains import Patterns, lane_count, side_by_side
from golden.arithmetic.compiled import word
from golden.arithmetic.engine import kernel
from golden.arithmetic.integer import (
    OPERATIONS,
    PRODUCTS,
    WORD,
    count_bits,
    finish_integer,
    pack_bits,
    pack_row,
    sum_of_products,
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
    if not d.size:
        return d
    size = WORD if operation else PRODUCTS
    if -a.shape[2] % size:
        filling = (0, 0), (0, -a.shape[2] % size)
        a, b = np.pad(a, ((0, 0), *filling)), np.pad(b, ((0, 0), *filling[::-1]))
    tiles, m, depth = a.shape
    rows = np.ascontiguousarray(a).reshape(tiles, m, depth // size, size)
    if operation:
        _by_lanes(rows, b, c, d, OPERATIONS.index(operation))
    else:
        columns = np.ascontiguousarray(b).reshape(tiles, depth // size, size, d.shape[2])
        addends = np.zeros(c.shape, np.int32) if satfinite else c
        _wrapped_sums(rows, columns, addends, d, np.empty(size, np.int32))
        if satfinite:
            _clamped(d, c)
    return d


@kernel
def _wrapped_sums(a: Any, b: Any, c: Any, d: Any, factors: Any) -> None:
    for tile in range(len(d)):
        for group in range(b.shape[1]):
            columns = b[tile, group]
            for i in range(d.shape[1]):
                row, sums = a[tile, i, group], d[tile, i]
                addends = sums if group else c[tile, i]
                for k in range(PRODUCTS):
                    factors[k] = row[k]
                for j in range(len(sums)):
                    sums[j] = word(addends[j] + sum_of_products(factors, columns, j))


@kernel
def _clamped(d: Any, c: Any) -> None:
    """Add C to the sums of products, which are exact in 32 bits, and clamp."""
    for tile in range(len(d)):
        for i in range(d.shape[1]):
            sums, addends = d[tile, i], c[tile, i]
            for j in range(len(sums)):
                sums[j] = finish_integer(addends[j] + sums[j], True)


def _by_lanes(rows: Patterns, b: Patterns, c: Patterns, d: Patterns, operation: int) -> None:
    """Single bits, of which some columns are lanes."""
    tiles, m, groups, size = rows.shape
    n = b.shape[2]
    lanes = lane_count(n)
    columns = side_by_side(b, lanes).reshape(tiles, -(-n // lanes), groups, size * lanes)
    whole = columns.shape[1] * lanes
    if whole > n:
        c = np.pad(c, ((0, 0), (0, 0), (0, whole - n)))
    results = d if whole == n else np.empty(c.shape, np.int32)
    packed = np.empty((m, groups), np.int32), np.empty((groups, lanes), np.int32)
    _bits(lanes, operation)(rows, columns, c, results, packed, np.empty(lanes, np.int32))
    if whole > n:
        d[...] = results[:, :, :n]


@cache
def _bits(lanes: int, operation: int) -> Callable[..., None]:
    """Multiplies tiles of single bits."""

    def multiply(a: Any, b: Any, c: Any, d: Any, room: tuple[Any, Any], sums: Any) -> None:
        rows, columns = room
        for tile in range(len(a)):
            for i in range(len(rows)):
                for group in range(len(columns)):
                    rows[i, group] = pack_row(a[tile, i, group])
            for j in range(b.shape[1]):
                for group in range(len(columns)):
                    words, bits = columns[group], b[tile, j, group]
                    for lane in range(len(sums)):
                        words[lane] = pack_bits(bits, lanes, lane)
                for i in range(len(rows)):
                    for lane in range(len(sums)):
                        sums[lane] = 0
                    for group in range(len(columns)):
                        row, words = rows[i, group], columns[group]
                        for lane in range(len(sums)):
                            sums[lane] = count_bits(sums[lane], row, words[lane], operation)
                    addends, results = c[tile, i, j * lanes :], d[tile, i, j * lanes :]
                    for lane in range(len(sums)):
                        results[lane] = finish_integer(addends[lane] + sums[lane], False)

    return kernel(multiply)
