"""The order in which the elements of an f64 tile are computed."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Value

from hdl.config import QUADS, CoreConfig

K_BITS = 4
"""Of the number of a product of an element: there are 4, 8 or 16."""

BUFFERS = 2
"""Tiles that the row memories hold."""

_LANES = 4


@dataclass(frozen=True)
class Steps:
    """A step is one multiply-add in each unit.

    The fields of its number are the part of the lanes (the lowest), the quad, the pair and the block.

    Unit u computes the lanes t with ``t % units == u``; in part i that is lane ``i * units + u``. The 128
    elements of a tile of 16 rows take ``count`` steps, and as many again for each further k; a tile of 8
    rows, which has one block, takes half as many.
    """

    config: CoreConfig

    @property
    def units(self) -> int:
        """Fused multiply-add units."""
        return self.config.f64_units

    @property
    def lane_part_bits(self) -> int:
        """Bits of the part of the lanes: a quad takes ``4 / units`` of them."""
        return (_LANES // self.units).bit_length() - 1

    @property
    def bits(self) -> int:
        """Bits of a step."""
        return self.lane_part_bits + 5

    @property
    def count(self) -> int:
        """Steps of one round of the largest tile, in which every element gets one product."""
        return 1 << self.bits

    @property
    def word_number_bits(self) -> int:
        """Bits of the number of a word within a register."""
        return (QUADS // self.config.word_quads).bit_length() - 1

    def lane_part(self, step: Value) -> Value:
        """Which part of the lanes of a quad."""
        return step[: self.lane_part_bits]

    def lane(self, step: Value, unit: int) -> Value:
        """The lane of a unit."""
        return Cat(Const(unit, 2 - self.lane_part_bits), self.lane_part(step))

    def quad(self, step: Value) -> Value:
        """The row of A within a block."""
        return step[self.lane_part_bits : self.lane_part_bits + 3]

    def pair(self, step: Value) -> Value:
        """The register of C and D within a block."""
        return step[self.lane_part_bits + 3]

    def block(self, step: Value) -> Value:
        """The block of eight rows."""
        return step[self.lane_part_bits + 4]

    def is_last(self, step: Value, two_blocks: Value) -> Value:
        """Whether the step is the last of a round."""
        return step[: self.bits - 1].all() & (self.block(step) | ~two_blocks)


def last_k(k_blocks_log2: Value) -> Value:
    """The number of the last product of an element: 3, 7 or 15."""
    return Cat(Const(0b11, 2), k_blocks_log2.any(), k_blocks_log2[1])
