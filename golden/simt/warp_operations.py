"""Exchanges between lanes, for the threads of many warps at once."""

from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.simt.arrays import Threads
from golden.tables.layouts import LANES

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


def lane_masks(threads: Threads, warps: int) -> NDArray[np.uint32]:
    """The lanes of some threads, one bit mask for each warp of the block."""
    weights = np.left_shift(np.int64(1), threads & 31).astype(np.float64)  # sums below 2**32 are exact
    return np.bincount(threads >> 5, weights=weights, minlength=warps).astype(np.uint32)


def active_mask(threads: Threads, warps: int) -> NDArray[np.uint32]:
    """``activemask``."""
    return np.asarray(lane_masks(threads, warps)[threads >> 5])


def elect(threads: Threads, warps: int) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """``elect``: the lowest lane of each warp that takes part, and whether a thread is it."""
    masks = lane_masks(threads, warps)
    lowest = np.bitwise_and(masks, ~masks + np.uint32(1))
    lane = np.round(np.log2(np.maximum(lowest, 1))).astype(np.uint32)[threads >> 5]
    return lane, lane == (threads & 31)


def shuffle(
    mode: str, threads: Threads, total: int, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """``shfl``: values of other lanes, and whether the source lane was in range.

    The `threads` that take part, ascending, are some of the `total` of the block; `a`, `b` and `c` are value,
    lane or distance, and clamp with segment mask, of each of them. A lane that reads one that takes no part
    gets its own value; PTX leaves it open.
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
    source = np.where(holds, source, lane) + (threads & ~31)
    if threads.size == total:
        position = np.minimum(source, total - 1)
        present = source < total
    else:
        places = np.full((total + 31) // 32 * 32, -1, dtype=np.int64)
        places[threads] = np.arange(threads.size)
        position = places[source]
        present = position >= 0
    if present.all():
        return a[position], holds
    return np.where(present, a[position], a), holds


def vote(mode: str, threads: Threads, warps: int, predicate: NDArray[np.bool_]) -> NDArray[Any]:
    """``vote``: of the predicates of the lanes that take part; a bit mask for ``"ballot"``."""
    holds = lane_masks(threads[predicate], warps)
    if mode == "ballot":
        return np.asarray(holds[threads >> 5])
    active = lane_masks(threads, warps)
    outcome = {
        "all": holds == active,
        "any": holds != 0,
        "uni": (holds == active) | (holds == 0),
    }[mode]
    return np.asarray(outcome[threads >> 5])


def match(mode: str, threads: Threads, values: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """``match``: the lanes with the same value; for ``"all"`` every lane if all have it, otherwise none."""
    starts = np.unique(threads >> 5, return_index=True)[1]
    masks = np.zeros(threads.size, dtype=np.uint32)
    holds = np.zeros(threads.size, dtype=np.bool_)
    ends = [*starts[1:].tolist(), threads.size]
    for start, end in zip(starts.tolist(), ends, strict=True):
        lanes = np.left_shift(np.uint32(1), (threads[start:end] & 31).astype(np.uint32))
        same = values[start:end, None] == values[None, start:end]
        if mode == "any":
            masks[start:end] = np.bitwise_or.reduce(np.where(same, lanes[None, :], np.uint32(0)), axis=1)
        elif same.all():
            masks[start:end] = np.bitwise_or.reduce(lanes)
            holds[start:end] = True
    return masks, holds


def reduce(name: str, type_: str, threads: Threads, warps: int, values: NDArray[Any]) -> NDArray[np.uint32]:
    """``redux``: the reduction over the lanes of each warp that take part."""
    function, neutral = REDUCTIONS[name, type_]
    dtype = np.dtype(np.int32 if type_ == "s32" else np.uint32)
    table = np.full(warps * LANES, neutral, dtype=dtype)
    table[threads] = values.view(dtype)
    result = function.reduce(table.reshape(warps, LANES), axis=1, dtype=dtype)
    return np.asarray(result[threads >> 5]).view(np.uint32)
