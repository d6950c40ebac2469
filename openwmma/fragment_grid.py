"""Which lane and register holds each element of a matrix, as cells of a grid."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from golden.fragments import fragment_layout
from golden.invalid_argument import InvalidArgument
from golden.tables.instruction_set import Shape, Use
from golden.tables.layouts import fragment
from golden.tables.scales import BYTE_IDS, THREAD_IDS, scale_lane
from golden.tables.sparsity import Sparsity

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
    first_bit : int or None
        Of metadata and scales, the lowest bit of the register.
    """

    row: int
    column: int
    rows: int
    columns: int
    lane: int
    registers: tuple[tuple[int, ...], ...]
    first_bit: int | None = None

    @property
    def quad(self) -> int:
        """The group of four lanes to which the lane belongs."""
        return self.lane // 4

    @property
    def text(self) -> str:
        """As in ``T5 r0,4``: lane 5, registers 0 and 4, each of which holds the elements; or ``T5 b8``."""
        if self.first_bit is not None:
            return f"T{self.lane} b{self.first_bit}"
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
        extent = f"{self.rows} rows, {self.columns} columns"
        return f"{self.kind} {self.use} of {self.type}, {self.shape}: {extent}"

    @property
    def kind(self) -> str:
        """What the register or registers are."""
        return "register" if self.cells[0].first_bit is not None else "fragment"

    @property
    def legend(self) -> tuple[str, ...]:
        """How to read a cell, in sentences."""
        first = self.cells[0]
        if first.first_bit is not None:
            what = "four bits" if self.use == "metadata" else "eight bits"
            return (f"{first.text}: T is the lane, b the lowest of {what} in its register.",)
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


def metadata_grid(type: str, shape: str, selector: int) -> FragmentGrid:
    """The grid of the metadata of a sparse multiply: a nibble for each row and group.

    Parameters
    ----------
    type : str
        Of the multiplicands.
    shape : str
        Of the instruction.
    selector : int
        The lanes that the instruction reads.

    Raises
    ------
    golden.InvalidArgument
        For metadata that no instruction has.
    """
    fragment_layout("a", type, shape, sparse=True)
    m, n, k = map(int, re.findall(r"\d+", shape))
    sparsity = Sparsity(fragment("a", type, Shape(m, n, k), sparse=True).element_bits, k)
    if selector not in sparsity.selectors:
        raise InvalidArgument("selector", str(selector), f"0 to {sparsity.selectors[-1]} for {type}, {shape}")
    places = [(row, group, lane, 4 * nibble) for lane, nibble, row, group in sparsity.positions(selector)]
    return _register_grid("metadata", type, shape, places)


def scale_grid(use: str, scale_vec: str, byte_id: int, thread_id: int) -> FragmentGrid:
    """The grid of the block scales of A (rows) or B (columns).

    Parameters
    ----------
    use : {"a", "b"}
    scale_vec : {"1X", "2X", "4X"}
    byte_id, thread_id : int
        The selectors.

    Raises
    ------
    golden.InvalidArgument
        For values that are not allowed.
    """
    if scale_vec not in BYTE_IDS:
        raise InvalidArgument("type", scale_vec, f"{', '.join(BYTE_IDS)}, the .scale_vec")
    for name, given, allowed in (
        ("byte_id", byte_id, BYTE_IDS[scale_vec]),
        ("thread_id", thread_id, THREAD_IDS[use]),
    ):
        if given not in allowed:
            raise InvalidArgument(name, str(given), f"{', '.join(map(str, allowed))} for {use}, {scale_vec}")
    places = [
        (
            *((line, part) if use == "a" else (part, line)),
            scale_lane(use, line, thread_id),
            8 * (byte_id + part),
        )
        for line in range(16 if use == "a" else 8)
        for part in range(int(scale_vec[0]))
    ]
    return _register_grid(f"scale_{use}", scale_vec, f"{len(places)} scales", places)


def _register_grid(use: str, type: str, shape: str, places: list[tuple[int, int, int, int]]) -> FragmentGrid:
    """The grid of one register: row, column, lane and lowest bit of each cell."""
    cells = tuple(
        Cell(row=row, column=column, rows=1, columns=1, lane=lane, registers=((0,),), first_bit=bit)
        for row, column, lane, bit in sorted(places)
    )
    return FragmentGrid(
        use=use,
        type=type,
        shape=shape,
        rows=cells[-1].row + 1,
        columns=cells[-1].column + 1,
        cell_rows=1,
        cell_columns=1,
        cells=cells,
        elements=1,
    )


def fragment_grid(use: Use, type: str, shape: str, *, sparse: bool = False) -> FragmentGrid:
    """The grid of a fragment.

    Parameters
    ----------
    use : {"a", "b", "c", "d"}
    type : str
        Element type, by its PTX qualifier.
    shape : str
        Of the instruction, for example ``"m16n16k16"``.
    sparse : bool
        Whether it is a sparse multiply.

    Raises
    ------
    golden.InvalidArgument
        For a fragment that no instruction has.
    """
    positions = fragment_layout(use, type, shape, sparse=sparse).tolist()
    m, n, k = map(int, re.findall(r"\d+", shape))
    bits = fragment(use, type, Shape(m, n, k), sparse=sparse).element_bits
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
