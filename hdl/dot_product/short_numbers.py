"""Sums, differences and comparisons of a few bits, in look-up tables.

On an ECP5 a carry chain takes up to four look-up tables' places besides its bits, to start and to end it, and
a unit with fp8 has a hundred of them. For numbers of up to seven bits a ripple of look-up tables is smaller.
"""

from amaranth.hdl import Cat, Const, Value

__all__ = ["difference", "is_greater", "total"]


def is_greater(x: Value, y: Value) -> Value:
    """Whether an unsigned number is greater than another one of as many bits."""
    greater: Value = Const(0, 1)
    for x_bit, y_bit in zip(x, y, strict=True):
        greater = (x_bit & ~y_bit) | (x_bit | ~y_bit) & greater
    return greater


def total(x: Value, y: Value) -> Value:
    """The sum of two unsigned numbers of as many bits, with the carry as its highest bit."""
    carry: Value = Const(0, 1)
    bits = []
    for x_bit, y_bit in zip(x, y, strict=True):
        bits.append(x_bit ^ y_bit ^ carry)
        carry = (x_bit & y_bit) | (x_bit | y_bit) & carry
    return Cat(*bits, carry)


def difference(x: Value, y: Value) -> Value:
    """The difference of two unsigned numbers of as many bits, modulo 2**bits."""
    borrow: Value = Const(0, 1)
    bits = []
    for x_bit, y_bit in zip(x, y, strict=True):
        bits.append(x_bit ^ y_bit ^ borrow)
        borrow = (~x_bit & y_bit) | (~x_bit | y_bit) & borrow
    return Cat(*bits)
