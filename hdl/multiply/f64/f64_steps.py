"""The order in which the elements of an f64 tile are computed."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Value

from hdl.config import QUADS, CoreConfig

__all__ = ["BUFFERS", "PAIRS", "K", "Steps"]

K = 4
"""Products of an element."""

PAIRS = 2
"""Registers of an accumulator in each lane, of 64 bits."""

BUFFERS = 2
"""Tiles that the row memories hold."""

_LANES = 4


@dataclass(frozen=True)
class Steps:
    """A step is one multiply-add in each unit: of a turn of lanes, lowest, then of a quad, then of a pair.

    Unit u computes the lanes t with ``t % units == u``; in turn i that is lane ``i * units + u``. The tile's
    64 elements take ``count`` steps, and as many again for each further k.

    Parameters
    ----------
    config : CoreConfig
    """

    config: CoreConfig

    @property
    def units(self) -> int:
        """Fused multiply-add units."""
        return self.config.f64_units

    @property
    def turn_bits(self) -> int:
        """Bits of the turn: a quad takes ``4 / units`` of them."""
        return (_LANES // self.units).bit_length() - 1

    @property
    def bits(self) -> int:
        """Bits of a step."""
        return self.turn_bits + 4

    @property
    def count(self) -> int:
        """Steps of one round, in which every element gets one product."""
        return 1 << self.bits

    @property
    def group_bits(self) -> int:
        """Bits of the number of a word within a register."""
        return (QUADS // self.config.word_quads).bit_length() - 1

    def turn(self, step: Value) -> Value:
        """Which of the lanes of a quad."""
        return step[: self.turn_bits]

    def lane(self, step: Value, unit: int) -> Value:
        """The lane of a unit."""
        return Cat(Const(unit, 2 - self.turn_bits), self.turn(step))

    def quad(self, step: Value) -> Value:
        """The row of A."""
        return step[self.turn_bits : self.turn_bits + 3]

    def pair(self, step: Value) -> Value:
        """The register of C and D."""
        return step[self.turn_bits + 3]
