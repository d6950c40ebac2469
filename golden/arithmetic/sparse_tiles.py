"""Tiles whose A is 2:4 sparse: what another arithmetic makes of the products that are stored."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.chains import Patterns
from golden.arithmetic.compiled import unsigned_word, word
from golden.arithmetic.engine import Compiled, read_only

_FACTORS: Final = {1: (1, 1, 0, 0), 2: (0, 1, 256, 0), 4: (0, 0x0202, 0x02020000, 0x01000100)}
"""By the places of a group: bits of its first unit that do not count, what both units are multiplied by, and
what is added, so that each byte is a place."""


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


def places_of(nibbles: NDArray[np.uint8], group: int) -> Patterns:
    """The places in a row of what each nibble stores of its group, as `Sparsity.places` says.

    They are bytes, if these are enough, else words.
    """
    groups, count = nibbles.shape[-1], group // 2
    are_bytes, is_power = groups * group <= 256, groups & (groups - 1) == 0
    mask = (groups - 1 if is_power else 255) * are_bytes
    lines = nibbles.reshape((1, -1) if is_power or not are_bytes else (-1, groups))
    places = np.empty(nibbles.shape, f"u{count}")
    step = group * (0x01010101 % 256**count)
    _place(*read_only(lines), _FACTORS[count], step, mask, places.reshape(lines.shape))
    found: Patterns = places.view(np.uint8)
    if not are_bytes:
        found = found + np.repeat(np.arange(0, groups * group, group, dtype=np.int32), count)
    return found


@Compiled
def _place(nibbles: Any, factors: tuple[int, ...], step: int, mask: int, places: Any) -> None:
    unused, first, second, others = factors
    for line in range(len(nibbles)):
        row, found = nibbles[line], places[line]
        for x in range(len(row)):
            of_both = (unsigned_word(row[x] & 3) >> unused) * first + unsigned_word(row[x] >> 2) * second
            # The mask makes one row of all that have a power of two of groups: vectors are long then.
            found[x] = of_both + others + unsigned_word(x & mask) * step


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
