"""Words of four lanes: what every lane does alike is written once for four of them.

A word has 64 bits, a place of 16 for each of four lanes, ascending. A field lies at the same bits of every
place, a flag in the lowest bit of its place. In hardware this is the same logic as lane by lane, since what a
constant mask or shift leaves out does not exist; simulators that work on machine words do four lanes at
once.
"""

from collections.abc import Sequence
from typing import Final

from amaranth.hdl import Cat, Const, Module, Signal, Value

from hdl.dot_product.widths import LANES

PLACE: Final = 16
"""Bits of a place."""

_PLACES: Final = 4

WORDS: Final = LANES // _PLACES
"""Words of all lanes."""


def common(m: Module, value: Value) -> Signal:
    """A signal for what several expressions use, so that it is computed once also in simulation."""
    signal = Signal(len(value), name="signal", src_loc_at=1)
    m.d.comb += signal.eq(value)
    return signal


def every_place(pattern: int) -> Const:
    """The same 16 bits in every place.

    Parameters
    ----------
    pattern : int
        From 0 to ``2**16 - 1``.
    """
    return Const(sum(pattern << PLACE * index for index in range(_PLACES)), PLACE * _PLACES)


def flags(word: Value) -> Value:
    """Only the lowest bit of every place."""
    return word & every_place(1)


def place(word: Value, lane: int, start: int, stop: int) -> Value:
    """Bits `start` to `stop` of a lane's place in the word that has it."""
    first = PLACE * (lane % _PLACES)
    return word[first + start : first + stop]


def places(words: Sequence[Value], bits: int) -> list[Value]:
    """The lowest bits of every lane's place, lanes ascending."""
    return [place(word, number, 0, bits) for word in words for number in range(_PLACES)]


def spread(bit: Value, pattern: int = (1 << PLACE) - 1) -> Value:
    """The pattern in every place if `bit` is set, or zero."""
    return bit.replicate(PLACE * _PLACES) & every_place(pattern)


def up(word: Value, bits: int) -> Value:
    """Shift left within the width of the word.

    What leaves a place at its top comes into the next one, so the caller sees to it that those bits are
    zero or masked.
    """
    return Cat(Const(0, bits), word[:-bits])
