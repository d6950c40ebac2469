"""Tiles whose A is 2:4 sparse: what another arithmetic makes of the products that are stored."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.chains import Patterns
from golden.arithmetic.compiled import word
from golden.arithmetic.engine import Compiled, read_only


def scattered(stored: Patterns, places: Patterns, depth: int) -> Patterns:
    """Stored elements at their places along the last axis, zeros elsewhere."""
    dense = np.zeros((*stored.shape[:-1], depth), stored.dtype)
    lines = (x.reshape(-1, x.shape[-1]) for x in (stored, places))
    _scatter(*read_only(*lines), dense.reshape(-1, depth))
    return dense


@Compiled
def _scatter(stored: Any, places: Any, dense: Any) -> None:
    for line in range(len(dense)):
        for x in range(stored.shape[1]):
            dense[line, places[line, x]] = stored[line, x]


def are_among(nibbles: NDArray[np.uint8], defined: tuple[int, ...]) -> bool:
    """Whether every byte is one of these, which are below 16."""
    return not _others(*read_only(nibbles.reshape(-1)), sum(1 << nibble for nibble in defined))


@Compiled
def _others(nibbles: Any, defined: int) -> int:
    found = word(0)
    for x in range(len(nibbles)):
        found = word(found | ~word(word(defined) >> min(word(nibbles[x]), word(16))))
    return found & 1


def places_of(nibbles: NDArray[np.uint8], table: NDArray[np.int32], group: int) -> Patterns:
    """The entries of a table for each nibble of a row, each group that far behind the one before.

    They are bytes, if these are enough, else words.
    """
    kind, two = (np.uint8, np.uint16) if nibbles.shape[-1] * group <= 256 else (np.int32, np.int64)
    count = table.shape[1]
    places = np.empty((*nibbles.shape[:-1], nibbles.shape[-1] * count), kind)
    # Two places at once.
    whole, step = (kind, group) if count % 2 else (two, group | group << 8 * np.dtype(kind).itemsize)
    lines = nibbles.reshape(-1, nibbles.shape[-1])
    entries = table.astype(kind).view(whole)
    found = places.view(whole).reshape(*lines.shape, entries.shape[1])
    _place(*read_only(lines, entries), step, found)
    return places


@Compiled
def _place(nibbles: Any, table: Any, step: int, places: Any) -> None:
    for y in range(table.shape[1]):
        column, last = table[:, y], nibbles.shape[1]
        for line in range(len(nibbles)):
            row, found = nibbles[line], places[line]
            for x in range(last):
                found[x, y] = column[row[x]] + x * step


def expanded_tiles(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    places: Patterns,
    *scales: Patterns,
    work: Callable[..., Patterns],
    out: Patterns,
) -> Patterns:
    """D by `work` on a dense A: for arithmetic in which a product with zero changes nothing."""
    return work(scattered(a, places, b.shape[1]), b, c, *scales, out=out)


def gathered_tiles(
    a: Patterns,
    b: Patterns,
    c: Patterns,
    places: Patterns,
    *scales: Patterns,
    work: Callable[..., Patterns],
    out: Patterns,
) -> Patterns:
    """D by `work` on a tile for each row of A, whose B has the elements that meet the stored ones alone.

    What is not stored takes no part, not even as zero times infinity.
    """
    tiles, m, stored = a.shape
    n = b.shape[2]
    chosen = b[np.arange(tiles)[:, None, None], places].reshape(tiles * m, stored, n)
    if scales:
        rows, columns = scales
        scales = rows.reshape(tiles * m, 1, -1), np.repeat(columns, m, axis=0)
    d = work(a.reshape(-1, 1, stored), chosen, c.reshape(-1, 1, n), *scales)
    out[...] = d.reshape(out.shape)
    return out
