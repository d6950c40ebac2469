"""Extended-precision integer arithmetic: the carry flag is one more operand and one more result."""

from functools import partial
from typing import Any, Final

import numpy as np

from golden.scalar.form import Array, Evaluate, Form, width
from golden.scalar.integers import high_product

_TYPES = ".u32|.s32|.u64|.s64"


def _sum(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    partial_sum = a + b
    total = partial_sum + carry
    return total, (partial_sum < a) | (total < partial_sum)


def _difference(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
    partial_difference = a - b
    return partial_difference - borrow, (a < b) | (partial_difference < borrow)


def _chained(
    function: Evaluate, sources: int, reads: bool, writes: bool, type_: str
) -> tuple[tuple[int, ...], tuple[int, ...], Evaluate]:
    """An operation of `function`, which takes and gives a flag, for the flags that the instruction has."""
    bits = width(type_)
    results = (bits, 1) if writes else (bits,)
    operands = (bits,) * sources + ((1,) if reads else ())

    def evaluate(*values: Array) -> Any:
        outcome = function(*values) if reads else function(*values, np.False_)
        return outcome if writes else outcome[0]

    return results, operands, evaluate


def _add_or_subtract(function: Evaluate, reads: bool, flag: str, type_: str) -> Any:
    return _chained(function, 2, reads, flag == "cc", type_)


def _multiply_add(reads: bool, part: str, flag: str, type_: str) -> Any:
    product = np.multiply if part == "lo" else high_product(type_)

    def function(a: Array, b: Array, c: Array, carry: Array) -> tuple[Array, Array]:
        return _sum(product(a, b), c, carry)

    return _chained(function, 3, reads, flag == "cc", type_)


FORMS: Final = (
    Form(f"add .cc {_TYPES}", partial(_add_or_subtract, _sum, False)),
    Form(f"addc .cc? {_TYPES}", partial(_add_or_subtract, _sum, True)),
    Form(f"sub .cc {_TYPES}", partial(_add_or_subtract, _difference, False)),
    Form(f"subc .cc? {_TYPES}", partial(_add_or_subtract, _difference, True)),
    Form(f"mad .lo|.hi .cc {_TYPES}", partial(_multiply_add, False)),
    Form(f"madc .lo|.hi .cc? {_TYPES}", partial(_multiply_add, True)),
)
"""The forms of this family."""
