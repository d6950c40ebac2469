"""Tiles whose A is 2:4 sparse: what another arithmetic makes of the products that are stored."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.chains import Patterns


def scattered(stored: Patterns, places: NDArray[np.int32], depth: int) -> Patterns:
    """Stored elements at their places along the last axis, zeros elsewhere."""
    dense = np.zeros((*stored.shape[:-1], depth), stored.dtype)
    np.put_along_axis(dense, places, stored, axis=-1)
    return dense


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
