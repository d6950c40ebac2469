"""Where each element of a matrix is, in lanes and registers or in shared memory, as cells of a grid."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from golden.fragments import fragment_layout
from golden.integers import quoted
from golden.invalid_argument import InvalidArgument
from golden.matrix_descriptors import CHUNK, K_BYTES, MatrixDescriptor
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import SPARSE_WGMMA_FAMILIES, WGMMA_FAMILIES, Shape, Use
from golden.tables.layouts import fragment
from golden.tables.scales import BYTE_IDS, THREAD_IDS, scale_lane
from golden.tables.sparsity import Sparsity

_WORD_BITS = 32


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Neighbouring elements in one place."""

    row: int
    column: int
    """Of its first element."""
    lane: int
    """The lane that holds them; lanes of one quad have one colour."""
    text: str
    """The place, as in ``T5 r0,4``: lane 5, registers 0 and 4, each of which holds the elements; or as in
    ``T5 b8``."""
    place: tuple[tuple[int, ...], ...] | int
    """The register that holds the elements, or both registers of one of f64, each time that the lane holds
    them. Of metadata and scales the lowest bit of the register, in shared memory the address."""


@dataclass(frozen=True, kw_only=True)
class FragmentGrid:
    """The cells of a matrix."""

    title: str
    """What the grid shows, in one line."""
    legend: tuple[str, ...]
    """How to read a cell, in sentences."""
    cells: tuple[Cell, ...]
    """Row by row."""
    cell_rows: int = 1
    cell_columns: int = 1
    """Elements of each cell, down and across; one of them is 1."""

    @property
    def rows(self) -> int:
        """Elements of the matrix from the top down."""
        return self.cells[-1].row + self.cell_rows

    @property
    def columns(self) -> int:
        """Elements of the matrix from left to right."""
        return self.cells[-1].column + self.cell_columns

    @property
    def lines(self) -> Iterator[tuple[Cell, ...]]:
        """Cells of each line, from the top down."""
        across = self.columns // self.cell_columns
        return (self.cells[at : at + across] for at in range(0, len(self.cells), across))


def span(first: int, count: int) -> str:
    """The rows or columns of a cell."""
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def metadata_grid(type: str, shape: str, selector: int) -> FragmentGrid:
    """The grid of the metadata of a sparse multiply: a nibble for each row and group.

    The type is of the multiplicands, the shape of the instruction, `selector` says which lanes it reads.
    InvalidArgument for metadata that no instruction has.
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

    `scale_vec` is ``"1X"``, ``"2X"`` or ``"4X"``; InvalidArgument for values that are not allowed.
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
        Cell(row=row, column=column, lane=lane, text=f"T{lane} b{bit}", place=bit)
        for row, column, lane, bit in sorted(places)
    )
    what = "four bits" if use == "metadata" else "eight bits"
    return FragmentGrid(
        title=f"register {use} of {type}, {shape}: {_extent(cells)}",
        legend=(f"{cells[0].text}: T is the lane, b the lowest of {what} in its register.",),
        cells=cells,
    )


def _extent(cells: Sequence[Cell], down: int = 1, across: int = 1) -> str:
    return f"{cells[-1].row + down} rows, {cells[-1].column + across} columns"


def fragment_grid(use: Use, type: str, shape: str, *, sparse: bool = False) -> FragmentGrid:
    """The grid of a fragment; the shape is of the instruction, for example ``"m16n16k16"``.

    InvalidArgument for a fragment that no instruction has.
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
    down, across, direction = 1, 1, ""
    if per_word > 1:
        below = positions[0][1][0] != positions[0][0][0]
        down, across = (per_word, 1) if below else (1, per_word)
        direction = "below each other" if below else "side by side"
    cells = tuple(
        Cell(
            row=row,
            column=column,
            lane=lane,
            text=f"T{lane} r" + ",".join("-".join(map(str, place)) for place in places),
            place=tuple(places),
        )
        for (row, column), (lane, places) in sorted(holders.items())
    )
    copies = len(holders[0, 0][1])
    sentences = (
        f"{cells[0].text}: T is the lane, r the 32-bit register of the fragment.",
        f"A cell is {per_word} elements {direction}, the first in the low bits." * (per_word > 1),
        "An element fills two registers, the low word in the first." * (words > 1),
        f"The lane holds each element {copies} times." * (copies > 1),
    )
    return FragmentGrid(
        title=f"fragment {use} of {type}, {shape}: {_extent(cells, down, across)}",
        legend=tuple(filter(None, sentences)),
        cells=cells,
        cell_rows=down,
        cell_columns=across,
    )


_BANKS = CHUNK // 4
"""Banks of a chunk; cells in the same ones have the same colour."""
_GROUPS = 8
"""Chunks in all 32 banks."""
_ROWS = 8
"""Rows that shared memory reads at once."""


def descriptor_grid(
    use: Use, type: str, shape: str, descriptor: int, *, transposed: bool = False
) -> FragmentGrid:
    """The grid of an operand of `wgmma` in shared memory, of a sparse one too: A as it is stored.

    `type` and `shape` are the instruction's, for example ``"f16"`` and ``"m64n64k16"``, `descriptor` the
    64 bits that it takes; `transposed`, of 16-bit types alone, where m or n is contiguous in place of k.
    InvalidArgument for an operand that no instruction has.
    """
    families = [row for row in WGMMA_FAMILIES + SPARSE_WGMMA_FAMILIES if type in row.multiplicands]
    shapes = {str(item): (item, row.is_sparse) for row in families for item in row.shapes}
    if use not in "ab" or shape not in shapes:
        allowed = (
            "a and b of f16, bf16, tf32, e4m3, e5m2, s8, u8 and b1 in shapes of wgmma, such as m64n64k16"
        )
        raise InvalidArgument(
            "an operand with a descriptor", f"{use} of {quoted(type)}, {quoted(shape)}", allowed
        )
    bits = FORMATS[type].bits
    if transposed and bits != 16:
        raise InvalidArgument("order", f"transposed {type}", "transposed f16 and bf16")
    if not 0 <= descriptor < 1 << 64:
        raise InvalidArgument("descriptor", f"{descriptor:#x}", "64 bits")
    found, (size, is_sparse) = MatrixDescriptor.from_bits(descriptor), shapes[shape]
    k_bytes = K_BYTES << (is_sparse and use == "b")
    chunks = found.chunks(size.m if use == "a" else size.n, transposed, k_bytes)
    if use == "b":
        chunks = chunks.T
    across = (use == "b") == transposed  # whether a chunk lies along the columns of the operand
    down, right = (1, 8 * CHUNK // bits) if across else (8 * CHUNK // bits, 1)
    chunks = chunks.T if transposed else chunks
    cells = tuple(
        Cell(
            row=i * down,
            column=j * right,
            lane=address // CHUNK % _GROUPS * 4,
            text=f"{address:#07x}",
            place=address,
        )
        for i, line in enumerate(chunks.tolist())
        for j, address in enumerate(line)
    )
    first = (chunks if across else chunks.T)[:_ROWS, 0]
    direction, together = ("side by side", "row") if across else ("below each other", "column")
    plain = found.swizzled(first)  # a swizzle is its own inverse
    return FragmentGrid(
        title=f"{use} of {type}, {shape}, in shared memory: {found}",
        legend=(
            f"A cell is the address of {down * right} elements {direction}, {CHUNK} bytes in {_BANKS} banks.",
            "Cells of one colour lie in the same banks: such cells are read one after the other.",
            *_banks_touched(together, first.tolist(), plain.tolist() if found.span > CHUNK else None),
        ),
        cells=cells,
        cell_rows=down,
        cell_columns=right,
    )


def _banks_touched(name: str, on: Sequence[int], off: Sequence[int] | None) -> list[str]:
    """The banks of each chunk that is read at once, from addresses with a swizzle and without it."""
    groups = [[address // CHUNK % _GROUPS for address in places] for places in (on, off) if places]
    without = "; without the swizzle "
    touched = without.join(f"{_BANKS * len(set(group))} of {_BANKS * _GROUPS} banks" for group in groups)
    most = without.join(str(max(Counter(group).values())) for group in groups)
    return [
        f"The first {len(on)} {name}s touch {touched}.",
        f"Most {name}s that meet in one bank: {most}.",
        *(
            f"{name.capitalize()} {number}: banks "
            + without.join(f"{_BANKS * group} to {_BANKS * group + _BANKS - 1}" for group in found)
            + "."
            for number, found in enumerate(zip(*groups, strict=True))
        ),
    ]
