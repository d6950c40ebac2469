"""Bit orders: counters whose bits, put into another order, are the address of what they count.

All sizes of a fragment are powers of two, so the element of a matrix that a walk through memory has reached
is found in the registers at an address whose every bit is one bit of the walk's counters. Which one is
computed here from the golden layouts, and refused if they ever leave this form.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Signal, Value

__all__ = ["BitOrder", "OrderTable", "bit_order"]


@dataclass(frozen=True)
class BitOrder:
    """Where the bits of a result come from.

    Parameters
    ----------
    sources : tuple of int or None
        For each bit of the result, the lowest first, the bit of the counters; None for a zero.
    used : frozenset of int
        The bits of the counters that are not always zero.
    """

    sources: tuple[int | None, ...]
    used: frozenset[int]

    def agrees(self, other: "BitOrder") -> bool:
        """Whether one order can do for both: they differ only where the counters have zeros."""
        return all(
            mine == theirs
            or (mine is None and theirs not in self.used)
            or (theirs is None and mine not in other.used)
            for mine, theirs in zip(self.sources, other.sources, strict=True)
        )


def bit_order(images: Mapping[int, int], width: int) -> BitOrder:
    """Find the order that gives all these results.

    Parameters
    ----------
    images : mapping of int to int
        For every value of the counters, the result.
    width : int
        Bits of a result.

    Raises
    ------
    ValueError
        If a bit of a result is not a bit of the counters.
    """
    used = [bit for bit in range(max(images).bit_length()) if 1 << bit in images]
    sources: list[int | None] = [None] * width
    for bit in used:
        for place in range(width):
            if images[1 << bit] >> place & 1:
                sources[place] = bit
    for value, image in images.items():
        found = sum((value >> bit & 1) << place for place, bit in enumerate(sources) if bit is not None)
        if found != image:
            raise ValueError(f"Result {image:#x} of {value:#x} must have the bits {sources}, as the others")
    return BitOrder(tuple(sources), frozenset(used))


class OrderTable:
    """A few orders that do for many, each with a number.

    Parameters
    ----------
    orders : iterable of BitOrder
        At least one.
    """

    def __init__(self, orders: Iterable[BitOrder]) -> None:
        self._groups: list[list[BitOrder]] = []
        for order in dict.fromkeys(orders):
            for group in self._groups:
                if all(order.agrees(other) for other in group):
                    group.append(order)
                    break
            else:
                self._groups.append([order])

    def __len__(self) -> int:
        return len(self._groups)

    def number(self, order: BitOrder) -> int:
        """The number of the order that does for this one."""
        return next(number for number, group in enumerate(self._groups) if order in group)

    def arrange(self, m: Module, number: Value, counters: Value, name: str) -> Signal:
        """Hardware that puts the counters' bits into the order of a number: a multiplexer for each bit.

        Parameters
        ----------
        m : Module
        number : Value
        counters : Value
        name : str
            Of the result.
        """
        merged = [self._merged(group) for group in self._groups]
        result = Signal(len(merged[0]), name=name)
        with m.Switch(number):
            for place, sources in enumerate(merged):
                with m.Case(place):
                    m.d.comb += result.eq(
                        Cat(Const(0, 1) if bit is None else counters[bit] for bit in sources)
                    )
        return result

    def _merged(self, group: list[BitOrder]) -> list[int | None]:
        columns = zip(*(order.sources for order in group), strict=True)
        return [next((bit for bit in column if bit is not None), None) for column in columns]
