"""Marks the functions that `golden.arithmetic.engine` compiles; here and uncompiled they are plain Python.

A marked function is one rule on integers. Compiled, its integers have 64 bits and wrap; each function says
what keeps its values below. A bit pattern of f64 whose sign is set is then a negative integer: shifts and
masks give the same fields of both.
"""

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["MARKED", "bit_length", "compiled", "word"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

MARKED: list[Callable[..., Any]] = []
"""Every marked function that has been imported."""


def compiled(function: _Function) -> _Function:
    """Mark a function, which stays as it is."""
    MARKED.append(function)
    return function


def bit_length(value: int) -> int:
    """Bits of a non-negative integer, 0 for 0; compiled, one instruction of the processor."""
    return int(value).bit_length()


def word(value: int) -> int:
    """An integer that fits into 32 bits; compiled, it has 32: a vector holds twice as many."""
    return value
