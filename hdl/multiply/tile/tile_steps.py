"""Which results are made in one cycle, and how the step counter names them."""

from dataclasses import dataclass

from amaranth.hdl import Value
from amaranth.lib import data

from hdl.config import QUADS, CoreConfig

BLOCKS = 4
"""Blocks of eight rows of X by eight rows of Y in the largest tile."""


def fields(**bits: int) -> data.StructLayout:
    """A layout of unsigned fields of these widths, the first one lowest."""
    return data.StructLayout(dict(bits))


@dataclass(frozen=True)
class Steps:
    """The order in which a tile's results are made.

    Rows are counted by their quad within a block of eight. In each step `x_rows` rows of X meet `y_rows` rows
    of Y: unit ``q * y_rows + r`` has row q of the ones and row r of the others. As row r of Y is column
    ``2 t + j`` of the result, its results go to lane t and to register j of a pair.

    A step's number is made of four fields, the lowest first:

    =========== ==================== ===============================================================
    field       bits for 1, 2, 4, 64 meaning
                units
    =========== ==================== ===============================================================
    y_part      3, 2, 2, 0           which rows of Y: quads ``y_part * y_rows`` and following
    x_part      0, 1, 0, 0           which rows of X of a register word: its quads
                                     ``x_part * x_rows`` and following
    word_number 3, 2, 2, 0           which register word of a register: quads
                                     ``word_number * word_quads`` and following
    block       2, 2, 2, 2           block of the result
    =========== ==================== ===============================================================

    So after the last ``y_part`` and ``x_part`` a pair of register words is complete. ``y_part`` is also the
    number of the register word that holds the rows of Y.
    """

    config: CoreConfig

    @property
    def units(self) -> int:
        """Results of a step."""
        return self.config.dot_product_units

    @property
    def y_rows(self) -> int:
        """Rows of Y in a step: as many as there are quads in a register word."""
        return self.config.word_quads

    @property
    def x_rows(self) -> int:
        """Rows of X in a step."""
        return self.units // self.y_rows

    @property
    def words_per_register(self) -> int:
        """Register words of a register."""
        return QUADS // self.config.word_quads

    @property
    def x_parts(self) -> int:
        """Steps for all rows of X in a register word, with the same rows of Y."""
        return self.config.word_quads // self.x_rows

    @property
    def y_parts(self) -> int:
        """Steps for all rows of Y in a block, with the same rows of X."""
        return QUADS // self.y_rows

    @property
    def word_number_bits(self) -> int:
        """Bits of the number of a register word within a register."""
        return _bits(self.words_per_register)

    @property
    def x_part_bits(self) -> int:
        """Bits of the field ``x_part``."""
        return _bits(self.x_parts)

    @property
    def c_part_bits(self) -> int:
        """Bits of a step that tell which part of a pair of register words its elements of C are.

        The elements of a step are the same lanes of both words, see `c_lanes`; with one unit, two steps share
        a lane.
        """
        return min(self.low_bits, _bits(4 * self.config.word_quads))

    @property
    def low_bits(self) -> int:
        """Bits of ``y_part`` and ``x_part``: of the steps that make a pair of register words."""
        return _bits(self.y_parts * self.x_parts)

    @property
    def bits(self) -> int:
        """Bits of the number of a step."""
        return _bits(self.y_parts * self.x_parts * self.words_per_register * BLOCKS)

    def y_part(self, step: Value) -> Value:
        """The field ``y_part``."""
        return step[: _bits(self.y_parts)]

    def x_part(self, step: Value) -> Value:
        """The field ``x_part``."""
        return step[self.low_bits - self.x_part_bits : self.low_bits]

    def c_part(self, step: Value) -> Value:
        """Which part of a pair of register words holds the step's elements of C."""
        return step[self.low_bits - self.c_part_bits : self.low_bits]

    def word_number(self, step: Value) -> Value:
        """The field ``word_number``."""
        return step[self.low_bits : self.low_bits + self.word_number_bits]

    def block(self, step: Value) -> Value:
        """The field ``block``."""
        return step[self.low_bits + self.word_number_bits :]

    def lane(self, low: int, unit: int) -> tuple[int, int]:
        """Where the result of a unit goes, in a pair of register words.

        Parameters
        ----------
        low : int
            ``y_part`` and ``x_part`` of the step: its low bits.
        unit : int

        Returns
        -------
        lane : int
            Counted from the word's first.
        register : int
            Of the pair: 0 or 1.
        """
        x_part, y_part = divmod(low, self.y_parts)
        x_number, y_number = divmod(unit, self.y_rows)
        quad = x_part * self.x_rows + x_number
        row = y_part * self.y_rows + y_number
        return 4 * quad + row // 2, row % 2

    def c_lanes(self, part: int) -> list[int]:
        """The lanes of a part, numbered as by `c_part`, in the order of the units."""
        low = part << (self.low_bits - self.c_part_bits)
        return sorted({self.lane(low, unit)[0] for unit in range(self.units)})

    def completes_words(self, step: Value) -> Value:
        """Whether a pair of register words is complete with the step."""
        return step[: self.low_bits] == (1 << self.low_bits) - 1

    def is_last(self, step: Value, last: Value) -> Value:
        """Whether the step is a tile's last; `last` is the number of its last block."""
        below_block = self.low_bits + self.word_number_bits
        return (step[:below_block] == (1 << below_block) - 1) & (self.block(step) == last)


def _bits(count: int) -> int:
    return count.bit_length() - 1
