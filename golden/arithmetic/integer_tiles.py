"""Batches of tiles of integers and of single bits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.chains import Patterns
from golden.arithmetic.compiled import compiled, word
from golden.arithmetic.engine import kernel
from golden.arithmetic.integer import (
    OPERATIONS,
    PRODUCTS,
    WORD,
    count_bits,
    finish_integer,
    pack_bits,
    sum_of_products,
)

__all__ = ["integer_tiles"]


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
