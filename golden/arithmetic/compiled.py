"""Marks the functions that `golden.arithmetic.engine` compiles; here and uncompiled they are plain Python.

A marked function is one rule on integers. Compiled, its integers have 64 bits and wrap; each function says
what keeps its values below. A bit pattern of f64 whose sign is set is then a negative integer: shifts and
masks give the same fields of both.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any, Final, TypeVar

TOGETHER: Final = 4
"""Factors of a row that meet those of some columns in one step."""

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Number = TypeVar("_Number", int, float)

MARKED: list[Callable[..., Any]] = []
"""Every marked function that has been imported."""


def compiled(function: _Function) -> _Function:
    """Mark a function, which stays as it is."""
    MARKED.append(function)
    return function


def bit_length(value: int) -> int:
    """Bits of a non-negative integer, 0 for 0."""
    return int(value).bit_length()


def bit_count(value: int) -> int:
    """Ones of an integer from 0 to ``2**32 - 1``; compiled, one instruction."""
    return value.bit_count()


def word(value: float) -> int:
    """The whole part of a number, which fits into 32 bits; compiled, it has 32: a vector holds more."""
    return int(value)


def unsigned_word(value: int) -> int:
    """An integer modulo ``2**32``; compiled, it has 32 bits without a sign."""
    return value & ((1 << 32) - 1)


def like(value: _Number, other: _Number) -> _Number:
    """A number; compiled, of the other's type."""
    return value


def power_of_two(exponent: int, other: float) -> float:
    """``2.0**exponent``; compiled, of the other's width.

    Far below 1 it is a smaller exponent's power too, so that no product of it is a slow subnormal number:
    ``2.0**-64`` of f32, ``2.0**-512`` of f64. Of greater exponents it is the greatest power of the width.
    """
    return 2.0 ** max(-512, min(exponent, 1023))


def shift(value: int, distance: int) -> int:
    """The whole part of ``value * 2**distance``; compiled, of the value's width. The value has no sign."""
    return value << distance if distance >= 0 else value >> -distance


def choose(condition: bool, yes: int, no: int) -> int:
    """One of two integers; compiled, without a branch that a processor would often predict wrongly."""
    return yes if condition else no


def raise_to_sums(largest: Any, a: Any, b: Any, places: Any, start: int, lanes: tuple[int, ...]) -> None:
    """Raise the largest number of each lane to the sums of `TOGETHER` factors ``a[start:]`` and of its own.

    ``a[k]`` meets the factors of all lanes that stand side by side in `b` from ``places[k] * len(lanes)`` on.
    """
    for k in range(start, start + TOGETHER):
        for lane in lanes:
            largest[lane] = max(largest[lane], a[k] + b[places[k] * len(lanes) + lane])


def add_products(
    totals: Any, a: Any, b: Any, places: Any, start: int, lanes: tuple[int, ...], units: Any
) -> None:
    """Likewise add the whole parts of the products, each of them multiplied by the unit of its lane.

    What is not finite adds any number.
    """
    for k in range(start, start + TOGETHER):
        for lane in lanes:
            product = a[k] * b[places[k] * len(lanes) + lane] * units[lane]
            totals[lane] += int(product) if isfinite(product) else 0


def add_values(totals: Any, a: Any, b: Any, places: Any, start: int, lanes: tuple[int, ...]) -> None:
    """Likewise add the products, by the rules of IEEE 754 for infinities and NaN."""
    for k in range(start, start + TOGETHER):
        for lane in lanes:
            totals[lane] += a[k] * b[places[k] * len(lanes) + lane]


def one_by_one() -> None:
    """Keeps the compiler from computing passes of a loop in vectors.

    In a function with many branches the attempt takes seconds and gains nothing.
    """
