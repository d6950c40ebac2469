"""The operations of atomics and of reductions, from what a cell holds to what it holds then."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import numpy as np

from golden.scalar import operation

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
    "dec": (("u32",), lambda old, limit: np.where((old == 0) | (old > limit), limit, old - np.uint32(1))),
}
"""Types of each atomic, and its function from the old bits of a cell and the sources to the new bits.

Without one it is the function of the scalar instruction.
"""

REDUCTIONS: Final = {
    name: tuple(type_ for type_ in types if "x2" not in type_)
    for name, (types, _) in ATOMICS.items()
    if name not in ("exch", "cas")
}
"""Operations that return nothing, with the types of their elements."""


@cache
def atomic_function(name: str, type_: str, *, flush: bool = False) -> Callable[..., Any]:
    """The function of an operation on a type; with `flush`, subnormals of f32 are zeros."""
    function = ATOMICS[name][1]
    if function is not None:
        return function
    rounding = ".rn" if name == "add" and type_[0] in "fb" else ""
    return operation(f"{name}{rounding}{'.ftz' if flush else ''}.{type_}").evaluate
