"""Which lane and register holds each element of a matrix, as cells of a grid."""

from collections.abc import Iterator
from dataclasses import dataclass

from golden.fragments import fragment_layout
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Use

__all__ = ["Cell", "FragmentGrid", "fragment_grid"]

_WORD_BITS = 32


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Neighbouring elements that one lane holds in one register, or one element of f64.

    Parameters
    ----------
    row, column : int
        Of its first element.
    rows, columns : int
        Elements down and across; one of them is 1.
    lane : int
    registers : tuple of tuple of int
        Every place that holds the elements: the register, or both registers of an element of f64.
    """

    row: int
    column: int
    rows: int
    columns: int
    lane: int
    registers: tuple[tuple[int, ...], ...]

    @property
    def quad(self) -> int:
        """The group of four lanes to which the lane belongs."""
        return self.lane // 4

    @property
    def text(self) -> str:
        """As in ``T5 r0,4``: lane 5, registers 0 and 4, each of which holds the elements."""
        return f"T{self.lane} r" + ",".join("-".join(map(str, place)) for place in self.registers)


@dataclass(frozen=True, kw_only=True)
class FragmentGrid:
    """The cells of a matrix.

    Parameters
    ----------
    use, type, shape : str
        As for `golden.fragment_layout`.
    rows, columns : int
        Elements of the matrix.
    cell_rows, cell_columns : int
        Elements of each cell.
    cells : tuple of Cell
        Row by row.
    elements : int
        Elements of one lane, those that it holds more than once included.
    """

    use: str
    type: str
    shape: str
    rows: int
    columns: int
    cell_rows: int
    cell_columns: int
    cells: tuple[Cell, ...]
    elements: int

    @property
    def lines(self) -> Iterator[tuple[Cell, ...]]:
        """Cells of each line, from the top down."""
        across = self.columns // self.cell_columns
        return (self.cells[at : at + across] for at in range(0, len(self.cells), across))

    @property
    def title(self) -> str:
        """What the grid shows, in one line."""
        return f"fragment {self.use} of {self.type}, {self.shape}: {self.rows} rows, {self.columns} columns"

    @property
    def legend(self) -> tuple[str, ...]:
        """How to read a cell, in sentences."""
        first = self.cells[0]
        sentences = [f"{first.text}: T is the lane, r the 32-bit register of the fragment."]
        count = self.cell_rows * self.cell_columns
        if count > 1:
            direction = "below each other" if self.cell_rows > 1 else "side by side"
            sentences.append(f"A cell is {count} elements {direction}, the first in the low bits.")
        if len(first.registers[0]) > 1:
            sentences.append("An element fills two registers, the low word in the first.")
        if len(first.registers) > 1:
            sentences.append(f"The lane holds each element {len(first.registers)} times.")
        return tuple(sentences)


def fragment_grid(use: Use, type: str, shape: str) -> FragmentGrid:
    """The grid of a fragment.

    Parameters
    ----------
    use : {"a", "b", "c", "d"}
    type : str
        Element type, by its PTX qualifier.
    shape : str
        Of the instruction, for example ``"m16n16k16"``.

    Raises
    ------
    golden.InvalidArgument
        For a fragment that no instruction has.
    """
    positions = fragment_layout(use, type, shape).tolist()
    bits = FORMATS[type].bits
    words = max(1, bits // _WORD_BITS)
    per_word = max(1, _WORD_BITS // bits)
    holders: dict[tuple[int, int], tuple[int, list[tuple[int, ...]]]] = {}
    for lane, elements in enumerate(positions):
        for first in range(0, len(elements), per_word):
            register = first * bits // _WORD_BITS
            row, column = elements[first]
            places = holders.setdefault((row, column), (lane, []))[1]
            places.append(tuple(range(register, register + words)))
    down, across = 1, 1
    if per_word > 1:
        (row, column), (next_row, next_column) = positions[0][0], positions[0][1]
        down, across = (per_word, 1) if next_row != row else (1, per_word)
        assert (next_row - row) + (next_column - column) == 1
    cells = tuple(
        Cell(row=row, column=column, rows=down, columns=across, lane=lane, registers=tuple(places))
        for (row, column), (lane, places) in sorted(holders.items())
    )
    return FragmentGrid(
        use=use,
        type=type,
        shape=shape,
        rows=cells[-1].row + down,
        columns=cells[-1].column + across,
        cell_rows=down,
        cell_columns=across,
        cells=cells,
        elements=len(positions[0]),
    )
