"""Integers and single bits: exact sums, then wrapped or clamped to s32."""

from typing import Any, Final

from golden.arithmetic.compiled import bit_count, compiled, word

OPERATIONS: Final = ("mul", "xor", "and")
"""What is done with two elements; an operation's number is its place."""

PRODUCTS: Final = 16
"""Products of integers added at once."""

WORD: Final = 32
"""Single bits in a word."""

_MULTIPLY: Final = 0
_XOR: Final = 1
_SIGN: Final = 1 << 31


@compiled
def combine(a: int, b: int, operation: int) -> int:
    """The product of two integers, or ``a op b`` of single bits, of one or of a word."""
    if operation == _MULTIPLY:
        return a * b
    return a ^ b if operation == _XOR else a & b


@compiled
def sum_of_products(a: Any, first: int, b: Any, column: int, lanes: int) -> int:
    """Exact: `PRODUCTS` products of ``a[first:]`` and one of some columns side by side, of 8-bit integers."""
    total = word(0)
    for k in range(PRODUCTS):
        total = word(total + word(combine(a[first + k], b[column + k * lanes], _MULTIPLY)))
    return total


@compiled
def pack_row(bits: Any) -> int:
    """A word of the single bits of a row, the first one in bit 0."""
    packed = word(0)
    for k in range(len(bits)):
        packed = word(packed | word(word(bits[k]) << (k & (WORD - 1))))
    return packed


@compiled
def pack_bits(bits: Any, lanes: int, lane: int) -> int:
    """The same of `WORD` single bits of one of some columns side by side."""
    packed = 0
    for k in range(WORD):
        packed = word(packed | word(word(bits[k * lanes + lane]) << k))
    return packed


@compiled
def count_bits(total: int, a: int, b: int, operation: int) -> int:
    """Add how many of the combined bits of two words are 1."""
    return word(total + bit_count(word(combine(a, b, operation))))


@compiled
def finish_integer(total: int, saturate: bool) -> int:
    """The exact sum of products and addend, clamped to s32 once, or wrapped modulo ``2**32``."""
    return max(-_SIGN, min(total, _SIGN - 1)) if saturate else (total + _SIGN & 2 * _SIGN - 1) - _SIGN
