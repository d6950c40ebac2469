"""Adders that are smaller than those an expression of each result alone makes.

A carry chain of an ECP5 takes one carry cell to enter it and one to leave it, beside the cells of its bits.
So short additions share a chain, side by side in fields of one number (L. Lamport, "Multiple byte processing
with full-word instructions", Communications of the ACM 18 (1975), no. 8), and the shortest do without one.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from amaranth.hdl import Cat, Const, Module, Value

from hdl.dot_product.words import common

_BITS: Final = 64
"""The most bits of a chain: what simulates fastest."""

_FIELDS: Final = 4
"""The most fields of a chain: more of them take few cells less, and more time."""


def differences(m: Module, minuend: Value, subtrahends: Sequence[Value]) -> list[Value]:
    """``minuend - y`` of each subtrahend, in shared carry chains.

    As no difference is negative, no field borrows from the next.

    Parameters
    ----------
    m : Module
    minuend : Value
        Unsigned.
    subtrahends : sequence of Value
        Unsigned, of at most as many bits. If one is greater than `minuend`, no result means anything.

    Returns
    -------
    list of Value
        Each with the width of `minuend`.
    """
    bits = len(minuend)
    results: list[Value] = []
    for some in _chains(len(subtrahends), bits):
        packed = Cat(Cat(subtrahends[index], Const(0, bits))[:bits] for index in some)
        word = common(m, (minuend.replicate(len(some)) - packed)[: len(packed)])
        results += [word[position * bits :][:bits] for position in range(len(some))]
    return results


def sums(m: Module, xs: Sequence[Value], ys: Sequence[Value], carries: Sequence[Value]) -> list[Value]:
    """``x + y + carry`` of each pair, in shared carry chains.

    The bit above a field is the next one's carry in both numbers. So it stops the carry that comes to it,
    which is its sum, and makes the next one.

    Parameters
    ----------
    m : Module
    xs, ys : sequences of Value
        Unsigned, all with the same width.
    carries : sequence of Value
        A bit for each pair. Constants would be propagated, which ends the chain at every field.

    Returns
    -------
    list of Value
        Each a bit longer than the numbers.
    """
    bits = len(xs[0]) + 1
    results: list[Value] = []
    for some in _chains(len(xs), bits):
        x, y = (Cat(Cat(carries[index], values[index]) for index in some)[1:] for values in (xs, ys))
        word = common(m, (x + y + carries[some[0]])[: len(x) + 1])
        results += [word[position * bits :][:bits] for position in range(len(some))]
    return results


def signed_sums(m: Module, xs: Sequence[Value], ys: Sequence[Value], carries: Sequence[Value]) -> list[Value]:
    """``x + y + carry`` of each pair of signed numbers, in shared carry chains, as `sums`.

    Parameters
    ----------
    m : Module
    xs, ys : sequences of Value
        Signed, all with the same width.
    carries : sequence of Value
        A bit for each pair.

    Returns
    -------
    list of Value
        Signed, each a bit longer than the numbers.
    """
    longer_xs, longer_ys = ([Cat(value, value[-1]) for value in values] for values in (xs, ys))
    return [total[:-1].as_signed() for total in sums(m, longer_xs, longer_ys, carries)]


def incremented(value: Value) -> Value:
    """``value + 1`` modulo its width, without a carry chain."""
    return Cat(~value[0], *(value[index] ^ value[:index].all() for index in range(1, len(value))))


def _chains(count: int, bits: int) -> Iterator[range]:
    """The numbers of the fields of each chain, for `count` fields of `bits` bits."""
    fields = min(_FIELDS, _BITS // bits)
    return (range(first, min(first + fields, count)) for first in range(0, count, fields))
