"""Integers and single bits: exact sums, then wrapped or clamped to s32."""

from typing import Any, Final

from golden.arithmetic.compiled import compiled

__all__ = ["OPERATIONS", "combine", "finish_integer", "integer_products"]

OPERATIONS: Final = ("mul", "xor", "and")
"""What is done with two elements; an operation's number is its place."""

_MULTIPLY: Final = 0
_XOR: Final = 1
_SIGN: Final = 1 << 31


@compiled
def combine(a: int, b: int, operation: int) -> int:
    """The product of two integers, or ``a op b`` of two single bits, each counted as 0 or 1."""
    if operation == _MULTIPLY:
        return a * b
    return a ^ b if operation == _XOR else a & b


@compiled
def finish_integer(total: int, saturate: bool) -> int:
    """The exact sum of products and addend, clamped to s32 once, or wrapped modulo ``2**32``."""
    if saturate:
        return max(-_SIGN, min(total, _SIGN - 1))
    return (total + _SIGN & 2 * _SIGN - 1) - _SIGN


@compiled
def integer_products(a: Any, b: Any, c: Any, operation: int, saturate: bool) -> None:
    """One row of D = A B + C.

    Parameters
    ----------
    a : sequence of int
        The row, of k elements.
    b : sequence of sequence of int, (k, n)
    c : sequence of int
        The result takes its place. Every partial sum is exact: at most 256 products of 16 bits beside 32.
    operation : int
        Place in `OPERATIONS`.
    saturate : bool
    """
    for k in range(len(a)):
        factor, column = a[k], b[k]
        for j in range(len(c)):
            c[j] += combine(factor, column[j], operation)
    for j in range(len(c)):
        c[j] = finish_integer(c[j], saturate)
