"""2:4 sparsity: which elements of a row of A are stored, and which lane holds the metadata that says so.

A *unit* is an element, of 4-bit types a pair, of tf32 half an element. Of four units in a row, a *group*, two
are stored. A nibble for each group has the places of both, the lower one in the low bits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

NIBBLES: Final = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110)
"""Two places in ascending order; no other nibble is defined."""

_TF32_NIBBLES: Final = (0b0100, 0b1110)

_QUADS: Final = 8
ROWS: Final = 2 * _QUADS
"""Rows of A whose metadata a warp holds."""

_WORD_NIBBLES: Final = 8
_LANES_OF_QUAD: Final = 4


@dataclass(frozen=True)
class Sparsity:
    """The metadata of one instruction."""

    bits: int
    """Of an element in its register."""
    depth: int
    """The k of the instruction, as B has it."""

    @property
    def group(self) -> int:
        """Elements of a group, half of which are stored."""
        return {32: 2, 4: 8}.get(self.bits, 4)

    @property
    def groups(self) -> int:
        """Groups of a row."""
        return self.depth // self.group

    @property
    def nibbles(self) -> tuple[int, ...]:
        """What the metadata of a group may be."""
        return _TF32_NIBBLES if self.bits == 32 else NIBBLES

    @property
    def words(self) -> int:
        """Lanes of a quad that hold metadata, a word each."""
        return 2 * self.groups // _WORD_NIBBLES

    @property
    def selectors(self) -> range:
        """The values of the operand that chooses these lanes: the first is ``selector * words``."""
        return range(_LANES_OF_QUAD // self.words)

    def places(self, nibble: int) -> tuple[int, ...]:
        """The stored elements of a group."""
        first, second = nibble & 3, nibble >> 2
        if self.bits == 32:
            return (first >> 1,)
        if self.bits == 4:
            return 2 * first, 2 * first + 1, 2 * second, 2 * second + 1
        return first, second

    def positions(self, selector: int) -> Iterator[tuple[int, int, int, int]]:
        """Lane, number of the nibble in its word, row and group, of every nibble."""
        for row in range(ROWS):
            half, quad = divmod(row, _QUADS)
            for group in range(self.groups):
                if self.bits > 8:
                    word, nibble = group // 4, 4 * half + group % 4
                else:
                    word, nibble = half + 2 * (group // 8), group % 8
                yield _LANES_OF_QUAD * quad + selector * self.words + word, nibble, row, group
