"""Marks the functions that `golden.arithmetic.engine` compiles; here and uncompiled they are plain Python.

A marked function is one rule on integers. Compiled, its integers have 64 bits and wrap; each function says
what keeps its values below. A bit pattern of f64 whose sign is set is then a negative integer: shifts and
masks give the same fields of both.
"""

import struct
from collections.abc import Callable
from math import copysign, inf, isfinite
from typing import Any, TypeVar

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
    """The whole part of a number, which fits into 32 bits; compiled, it has 32: a vector holds more.

    Of what is not finite it is any number.
    """
    return int(value) if abs(value) < inf else 0


def unsigned_word(value: int) -> int:
    """An integer modulo ``2**32``; compiled, it has 32 bits without a sign."""
    return value & ((1 << 32) - 1)


def like(value: _Number, other: Any) -> _Number:
    """A number; compiled, of the other's type."""
    return value


def single(value: float) -> float:
    """A number; compiled, of f32."""
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


def element(array: Any, place: int) -> Any:
    """The element at a place, which is not negative."""
    return array[place]


def load(array: Any, start: int, lanes: tuple[int, ...]) -> Any:
    """The element at a place; compiled, the vector of so many elements from there on."""
    return array[start]


def store(array: Any, start: int, value: Any) -> None:
    """Puts an element at a place; compiled, a vector at its memory, whose elements may be narrower."""
    array[start] = value


def signed_byte(value: int) -> int:
    """An integer that fits into 8 bits with a sign; compiled, it has 8."""
    return value


def spread(word: int, other: Any) -> Any:
    """Compiled, a number, or a word of several, again and again: a vector like the other."""
    return word


def take(table: Any, place: int, value: int) -> int:
    """The element of a table, which is this value; compiled, 64 of a table of 16 that is there four times."""
    return value


def add_fours(total: Any, x: Any, y: Any) -> Any:
    """Compiled, adds the products of each four bytes to an integer of a vector.

    The first factors have no sign. Two products together fit into 16 bits.
    """
    return total + x * y


def whole(value: float) -> float:
    """A number without its fraction."""
    return float(int(value)) if isfinite(value) else value


def truncated(value: float, bits: int) -> float:
    """A number of 64 bits, compiled of its own width, with so many of its lowest bits zero."""
    (found,) = struct.unpack("<q", struct.pack("<d", value))
    result: float = struct.unpack("<d", struct.pack("<q", found >> bits << bits))[0]
    return result


def single_bits(value: float) -> int:
    """The bit pattern in 32 bits of a number that they hold, or of an infinity beyond their range."""
    held = value if abs(value) < 2.0**128 else copysign(inf, value)
    found: int = struct.unpack("<I", struct.pack("<f", held))[0]
    return found


def of_single_bits(bits: int) -> float:
    """The number of f32 with this bit pattern."""
    found: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    return found


def which(condition: bool) -> int:
    """A bit for each lane, the first one in bit 0, that tells whether a condition holds there."""
    return int(condition)


def choose(condition: bool, yes: _Number, no: _Number) -> _Number:
    """One of two numbers; compiled, without a branch that a processor would often predict wrongly."""
    return yes if condition else no


def one_by_one() -> None:
    """Keeps the compiler from computing passes of a loop in vectors.

    In a function with many branches the attempt takes seconds and gains nothing.
    """
