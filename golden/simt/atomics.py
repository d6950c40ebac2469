"""The operations of atomics and of reductions, from what a cell holds to what it holds then."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.ptx.contraction.forms import FUSED
from golden.scalar import operation
from golden.simt.arrays import Values

_INTEGERS: Final = ("u32", "s32", "u64", "s64")
HALVES: Final = ("f16", "bf16", "f16x2", "bf16x2")
_WORDS: Final = ("b32", "b64")
ATOMICS: Final[Mapping[str, tuple[tuple[str, ...], Callable[..., Any] | None]]] = {
    "add": (("u32", "s32", "u64", "f32", "f64", *HALVES), None),
    "min": ((*_INTEGERS, *HALVES), None),
    "max": ((*_INTEGERS, *HALVES), None),
    "and": (_WORDS, np.bitwise_and),
    "or": (_WORDS, np.bitwise_or),
    "xor": (_WORDS, np.bitwise_xor),
    "exch": (_WORDS, lambda old, new: new),
    "cas": (("b16", *_WORDS), lambda old, expected, new: np.where(old == expected, new, old)),
    "inc": (("u32",), lambda old, limit: np.where(old >= limit, np.uint32(0), old + np.uint32(1))),
    FUSED: (("f32",), lambda old, *factors: operation("fma.rn.f32").evaluate(*factors, old)),
    "dec": (("u32",), lambda old, limit: np.where((old == 0) | (old > limit), limit, old - np.uint32(1))),
}
"""Types of each atomic, and its function from the old bits of a cell and the sources to the new bits.

Without one it is the function of the scalar instruction.
"""

REDUCTIONS: Final = {
    name: tuple(type_ for type_ in types if "x2" not in type_)
    for name, (types, _) in ATOMICS.items()
    if name not in ("exch", "cas", FUSED)
}
"""Operations that return nothing, with the types of their elements."""


def paired(low: NDArray[np.uint64], high: NDArray[np.uint64]) -> NDArray[Any]:
    """Cells of 128 bits from their halves."""
    return np.stack((low, high), axis=-1).view("V16")[:, 0]


@cache
def atomic_function(name: str, type_: str, *, flush: bool = False) -> Callable[..., Any]:
    """The function of an operation on a type; with `flush`, subnormals of f32 are zeros."""
    function = ATOMICS[name][1]
    if function is not None:
        return function
    rounding = ".rn" if name == "add" and type_[0] in "fb" else ""
    return operation(f"{name}{rounding}{'.ftz' if flush else ''}.{type_}").evaluate


def in_order(
    view: NDArray[Any], cells: NDArray[np.int64], function: Callable[..., Any], sources: Values
) -> tuple[NDArray[Any], bool]:
    """Do an atomic in each thread, one after the other; the old values, and whether any cell has changed."""
    if function is np.add:
        return _add(view, cells, np.broadcast_to(sources[0], cells.shape)), bool(sources[0].any())
    old, is_changed = np.empty(cells.size, dtype=view.dtype), False
    left = np.arange(cells.size)
    while left.size:
        # Until a cell changes, all its threads find what is in it: one round does for all of them, and
        # for the first that changes it.
        where = cells[left]
        before = view[where]
        after = function(before, *(source[left] for source in sources))
        old[left] = before
        changing = np.flatnonzero(before != after)
        if not changing.size:
            break
        is_changed = True
        changed, first = np.unique(where[changing], return_index=True)
        first = changing[first]
        view[changed] = after[first]
        place = np.minimum(np.searchsorted(changed, where), changed.size - 1)
        left = left[(changed[place] == where) & (np.arange(left.size) > first[place])]
    return old, is_changed


def _add(view: NDArray[Any], cells: NDArray[np.int64], values: NDArray[Any]) -> NDArray[Any]:
    """Sums of integers: what a thread finds is what was there and the values of the threads before it."""
    order = np.argsort(cells, kind="stable")
    sorted_cells = cells[order]
    ends = np.cumsum(values[order], dtype=view.dtype)
    before = ends - values[order]
    starts = np.flatnonzero(np.diff(sorted_cells, prepend=-1))
    group = np.cumsum(np.diff(sorted_cells, prepend=-1) != 0) - 1
    found = view[sorted_cells] + before - before[starts][group]
    lasts = np.append(starts[1:], cells.size) - 1
    view[sorted_cells[lasts]] = found[lasts] + values[order][lasts]
    old = np.empty(cells.size, dtype=view.dtype)
    old[order] = found
    return old
