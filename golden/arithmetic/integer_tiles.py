"""Batches of tiles of integers and of single bits."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.chains import Patterns
from golden.arithmetic.compiled import unsigned_word, word
from golden.arithmetic.engine import Compiled, read_only, scratch
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

_LANES: Final = 16


def integer_tiles(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    *,
    operation: str | None = None,
    satfinite: bool = False,
    out: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """``c + a b``, exact, then wrapped modulo ``2**32``, or with `satfinite` clamped once at the end.

    a and b are values of at most 8 bits, or single bits, for which `operation`, xor or and, is done instead
    of the product. c has values of int32; where they are clamped, of int64. `out` takes the results:
    contiguous, apart from the operands; None for a new array.
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
    rows, columns, addends = read_only(a, b, c)
    if operation:
        first, second, sums = scratch(*((size, np.int32) for size in (m * groups, groups * n, n)))
        room = first.reshape(m, groups), second.reshape(groups, n), sums
        bits = rows.reshape(tiles, m, groups, size), columns.reshape(tiles, groups, -1)
        _counts(n, OPERATIONS.index(operation))(*bits, addends, d, room)
        return d
    sizes = rows[0].size, columns[0].size + _LANES, m * n + _LANES, m * n
    memory = scratch(*((size, np.int32) for size in sizes))
    flat = (x.reshape(tiles, -1) for x in (rows, columns, addends, d))
    _sums(*flat, memory, n, satfinite)
    return d


@Compiled
def _sums(a: Any, b: Any, c: Any, d: Any, memory: tuple[Any, ...], n: int, saturate: bool) -> None:
    """Multiply tiles of `n` columns, `_LANES` columns at once.

    Products beyond the end of a row of D are written again: by the next row, whose first columns are last.
    An index without a sign cannot count from the end, so that loops are computed in vectors.
    """
    rows, columns, products, totals = memory
    lanes = unsigned_word(n)
    for tile in range(len(d)):
        row_elements, column_elements, sums, addends = a[tile], b[tile], d[tile], c[tile]
        for x in range(len(row_elements)):
            rows[x] = row_elements[x]
        for x in range(len(column_elements)):
            columns[x] = column_elements[x]
        for x in range(len(sums)):
            totals[x] = 0
        depth, m = unsigned_word(len(column_elements) // lanes), unsigned_word(len(sums) // lanes)
        for k in range(0, depth, PRODUCTS):
            for j in range((lanes - 1) // _LANES * _LANES, -1, -_LANES):
                for i in range(m):
                    row, column = unsigned_word(i * depth + k), unsigned_word(k * lanes + j)
                    result = unsigned_word(i * lanes + j)
                    for lane in range(_LANES):
                        products[result + lane] = sum_of_products(rows, row, columns, column + lane, lanes)
            for x in range(len(sums)):
                totals[x] = word(totals[x] + products[x])
        for x in range(len(sums)):
            sums[x] = finish_integer(addends[x] + totals[x], saturate)


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
