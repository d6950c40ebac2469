"""Exchanges between lanes, for the threads of many warps at once.

Each function takes the threads that take part, in any order, and the mask of each, or one for all: the
lanes with which it exchanges. Lanes of a mask that take no part contribute nothing. It returns its results,
an array for each.
"""

from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.simt.arrays import Threads
from golden.tables.layouts import LANES

Masks = NDArray[np.uint32]
"""Lanes as bits of a word."""

REDUCTIONS: Final = MappingProxyType(
    {
        **{("add", name): (np.add, 0) for name in ("u32", "s32")},
        **{("min", "u32"): (np.minimum, 0xFFFFFFFF), ("max", "u32"): (np.maximum, 0)},
        **{("min", "s32"): (np.minimum, 0x7FFFFFFF), ("max", "s32"): (np.maximum, -0x80000000)},
        **{("and", "b32"): (np.bitwise_and, 0xFFFFFFFF), ("or", "b32"): (np.bitwise_or, 0)},
        **{("xor", "b32"): (np.bitwise_xor, 0)},
    }
)
"""Operations of ``redux.sync`` by name and type, with what inactive lanes contribute."""


def lane_masks(threads: Threads, warps: int) -> Masks:
    """The lanes of some threads, one mask for each warp of the block."""
    return group_masks(threads, threads >> 5, warps)


def group_masks(threads: Threads, groups: NDArray[np.int64], count: int) -> Masks:
    """The lanes of some threads, one mask for each of `count` groups, or more; `groups` has each thread's."""
    weights = np.left_shift(np.int64(1), threads & 31).astype(np.float64)  # sums below 2**32 are exact
    return np.bincount(groups, weights=weights, minlength=count).astype(np.uint32)


def active_mask(threads: Threads) -> Masks:
    """``activemask``."""
    return np.asarray(lane_masks(threads, 0)[threads >> 5])


def elect(threads: Threads, masks: Masks) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """``elect``: the lowest lane of each mask, and whether a thread is it."""
    own = active_mask(threads) & masks
    lane = np.bitwise_count((own & (~own + np.uint32(1))) - np.uint32(1)).astype(np.uint32)
    return lane, lane == (threads & 31)


def shuffle(
    mode: str, threads: Threads, masks: Masks, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """``shfl``: values of other lanes, and whether the source lane was in range.

    `a`, `b` and `c` are value, lane or distance, and clamp with segment mask, of each thread. PTX leaves open
    what a lane gets from one that takes no part, or is not in its mask: as on a chip, zero and its value.
    """
    lane = threads & 31
    distance = b.astype(np.int64) & 31
    clamp, segment = c.astype(np.int64) & 31, (c.astype(np.int64) >> 8) & 31
    last = (lane & segment) | (clamp & ~segment)
    if mode == "up":
        source = lane - distance
    elif mode == "down":
        source = lane + distance
    elif mode == "bfly":
        source = lane ^ distance
    else:
        source = (lane & segment) | (distance & ~segment)
    holds = source >= last if mode == "up" else source <= last
    source = np.where(holds, source, lane)
    return _of_warps(threads, a, 0).reshape(-1)[source + (threads & ~31)], holds


def vote(mode: str, threads: Threads, masks: Masks, predicate: NDArray[np.bool_]) -> tuple[NDArray[Any]]:
    """``vote``: of the predicates of the lanes in each mask; a mask of lanes for ``"ballot"``."""
    active = lane_masks(threads, 0)
    holds = lane_masks(threads[predicate], active.size)[threads >> 5] & masks
    if mode == "ballot":
        return (holds,)
    if mode == "any":
        return (holds != 0,)
    return ((holds == active[threads >> 5] & masks) | ((holds == 0) & (mode == "uni")),)


def match(mode: str, threads: Threads, masks: Masks, values: NDArray[Any]) -> tuple[Masks, NDArray[np.bool_]]:
    """``match``: the lanes with the same value; for ``"all"`` every lane if all have it, otherwise none."""
    same = _of_warps(threads, values, 0)[threads >> 5] == values[:, None]
    active = active_mask(threads) & masks
    found = np.packbits(same, axis=1, bitorder="little").view("<u4")[:, 0] & active
    holds = found == active
    return (found if mode == "any" else np.where(holds, found, np.uint32(0))), holds


def reduce(name: str, type_: str, threads: Threads, masks: Masks, values: NDArray[Any]) -> tuple[Masks]:
    """``redux``: the reduction over the lanes of each mask."""
    function, neutral = REDUCTIONS[name, type_]
    dtype = np.dtype(np.int32 if type_ == "s32" else np.uint32)
    table = _of_warps(threads, values.view(dtype), neutral)[threads >> 5]
    taken = np.where((masks[:, None] >> np.arange(LANES, dtype=np.uint32)) & 1, table, dtype.type(neutral))
    return (function.reduce(taken, axis=1, dtype=dtype).view(np.uint32),)


def _of_warps(threads: Threads, values: NDArray[Any], missing: int) -> NDArray[Any]:
    """The values of threads, shape (warps, 32), with another where a lane takes no part."""
    table = np.full((int(np.maximum.reduce(threads)) >> 5) + 1 << 5, missing, dtype=values.dtype)
    table[threads] = values
    return table.reshape(-1, LANES)
