"""Batches of tiles of integers and of single bits."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.chains import Patterns
from golden.arithmetic.compiled import word
from golden.arithmetic.engine import Compiled, scratch
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
    out : ndarray of int32 or None
        Takes the results; None for a new array.
    """
    d = np.empty(c.shape, np.int32) if out is None else out
    if not d.size:
        return d
    size = WORD if operation else PRODUCTS
    if -a.shape[2] % size:
        filling = (0, 0), (0, -a.shape[2] % size)
        a, b = np.pad(a, ((0, 0), *filling)), np.pad(b, ((0, 0), *filling[::-1]))
    tiles, m, depth = a.shape
    groups, n = depth // size, b.shape[2]
    rows = np.ascontiguousarray(a).reshape(tiles, m, groups, size)
    columns = np.ascontiguousarray(b).reshape(tiles, groups, size, n)
    if operation:
        room = scratch(m * groups).reshape(m, groups), scratch(groups * n).reshape(groups, n), scratch(n)
        _counts(n, OPERATIONS.index(operation))(rows, columns.reshape(tiles, groups, -1), c, d, room)
        return d
    addends = np.zeros(c.shape, np.int32) if satfinite else c
    _wrapped_sums(rows, columns, addends, d, scratch(size))
    if satfinite:
        _clamped(d, c)
    return d


@Compiled
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


@Compiled
def _clamped(d: Any, c: Any) -> None:
    """Add C to the sums of products, which are exact in 32 bits, and clamp."""
    for tile in range(len(d)):
        for i in range(d.shape[1]):
            sums, addends = d[tile, i], c[tile, i]
            for j in range(len(sums)):
                sums[j] = finish_integer(addends[j] + sums[j], True)


@cache
def _counts(n: int, operation: int) -> Callable[..., None]:
    """Multiplies tiles of single bits, of so many columns."""

    def multiply(a: Any, b: Any, c: Any, d: Any, room: tuple[Any, Any, Any]) -> None:
        rows, columns, sums = room
        for tile in range(len(d)):
            for group in range(len(columns)):
                for i in range(len(rows)):
                    rows[i, group] = pack_row(a[tile, i, group])
                words, bits = columns[group], b[tile, group]
                for j in range(len(sums)):
                    words[j] = pack_bits(bits, n, j)
            for i in range(len(rows)):
                addends, results = c[tile, i], d[tile, i]
                for j in range(len(sums)):
                    sums[j] = addends[j]
                for group in range(len(columns)):
                    row, words = rows[i, group], columns[group]
                    for j in range(len(sums)):
                        sums[j] = count_bits(sums[j], row, words[j], operation)
                for j in range(len(sums)):
                    results[j] = sums[j]

    return Compiled(multiply)
