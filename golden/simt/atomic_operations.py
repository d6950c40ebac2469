"""What atomics do to a memory cell: from its old bits and the sources to its new bits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from golden.scalar import operation

__all__ = ["ATOMICS", "AtomicOperation", "atomic_operation"]

Evaluate = Callable[..., Any]

ATOMICS: Final = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
"""The operations by their qualifiers."""

_TYPES: Final = {
    "add": ("u32", "s32", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64"),
    "min": ("u32", "s32", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2"),
    "max": ("u32", "s32", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2"),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "exch": ("b32", "b64"),
    "cas": ("b16", "b32", "b64"),
    "inc": ("u32",),
    "dec": ("u32",),
}
_BITWISE: Final = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@dataclass(frozen=True)
class AtomicOperation:
    """An atomic."""

    sources: int
    """Operands besides the address."""
    evaluate: Evaluate
    """From the old bits and the sources, all raw, to the new bits."""
    flushed: Evaluate
    """The same on global memory, where additions of f32 flush subnormals."""


@cache
def atomic_operation(name: str, type_: str) -> AtomicOperation | None:
    """The atomic of these qualifiers; None where PTX has none."""
    if type_ not in _TYPES.get(name, ()):
        return None
    if name == "exch":
        return _same(1, lambda old, new: new)
    if name == "cas":
        return _same(2, lambda old, expected, new: np.where(old == expected, new, old))
    if name == "inc":
        return _same(1, lambda old, limit: np.where(old >= limit, np.uint32(0), old + np.uint32(1)))
    if name == "dec":
        return _same(1, lambda old, limit: np.where((old == 0) | (old > limit), limit, old - np.uint32(1)))
    if name in _BITWISE:
        return _same(1, _BITWISE[name])
    rounding = ".rn" if name == "add" and type_[0] in "fb" else ""
    evaluate = operation(f"{name}{rounding}.{type_}").evaluate
    flushed = operation(f"{name}.rn.ftz.f32").evaluate if type_ == "f32" else evaluate
    return AtomicOperation(1, evaluate, flushed)


def _same(sources: int, evaluate: Evaluate) -> AtomicOperation:
    return AtomicOperation(sources, evaluate, evaluate)
