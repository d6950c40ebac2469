"""Short subtractions that share a carry chain."""

from collections.abc import Sequence
from typing import Final

from amaranth.hdl import Cat, Const, Module, Value

from hdl.dot_product.words import common

__all__ = ["differences"]

_BITS: Final = 64
"""The most bits of a chain: what simulates fastest."""


def differences(m: Module, minuend: Value, subtrahends: Sequence[Value]) -> list[Value]:
    """``minuend - y`` of each subtrahend.

    A carry chain of an ECP5 takes one carry cell to enter it and one to leave it, beside those of its bits.
    So lanes stand side by side in fields of one number (L. Lamport, "Multiple byte processing with full-word
    instructions", Communications of the ACM 18 (1975), no. 8). As no difference is negative, no field borrows
    from the next.

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
    fields = 1 << (_BITS // bits).bit_length() - 1
    results: list[Value] = []
    for first in range(0, len(subtrahends), fields):
        some = subtrahends[first : first + fields]
        packed = Cat(Cat(value, Const(0, bits - len(value))) for value in some)
        word = common(m, (minuend.replicate(len(some)) - packed)[: len(packed)])
        results += [word[index * bits :][:bits] for index in range(len(some))]
    return results
