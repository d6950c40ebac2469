"""Where a descriptor of `wgmma` finds the elements of an operand, as cells of a grid."""

from dataclasses import dataclass

from golden.integers import quoted
from golden.invalid_argument import InvalidArgument
from golden.matrix_descriptors import CHUNK, MatrixDescriptor
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import WGMMA_FAMILIES, Use
from openwmma.fragment_grid import Cell, FragmentGrid

_BANKS = 32
_BANK_BYTES = 4
_ROWS = 8
"""Rows that shared memory reads at once."""


@dataclass(frozen=True, kw_only=True)
class _Chunk(Cell):
    """A chunk of 16 bytes in shared memory; chunks in the same banks have the same colour."""

    address: int

    @property
    def text(self) -> str:
        """Its address."""
        return f"{self.address:#07x}"


@dataclass(frozen=True, kw_only=True)
class _DescriptorGrid(FragmentGrid):
    """The chunks of an operand."""

    descriptor: MatrixDescriptor

    @property
    def title(self) -> str:
        """What the grid shows, in one line."""
        return f"{self.use} of {self.type}, {self.shape}, in shared memory: {self.descriptor}"

    @property
    def legend(self) -> tuple[str, ...]:
        """How to read a cell, and the banks that eight rows touch."""
        direction = "below each other" if self.cell_rows > 1 else "side by side"
        count = self.cell_rows * self.cell_columns
        step = 1 if self.cell_rows > 1 else self.columns // self.cell_columns
        first = [cell for cell in self.cells[: _ROWS * step : step] if isinstance(cell, _Chunk)]
        lines = {cell.address // CHUNK % (_BANKS * _BANK_BYTES // CHUNK) for cell in first}
        banks = CHUNK // _BANK_BYTES
        together = "columns" if self.cell_rows > 1 else "rows"
        return (
            f"A cell is the address of {count} elements {direction}, {CHUNK} bytes in {banks} banks.",
            "Cells of one colour lie in the same banks: such cells are read one after the other.",
            f"The first {len(first)} {together} touch {banks * len(lines)} of {_BANKS} banks.",
        )


def descriptor_grid(
    use: Use, type: str, shape: str, descriptor: int, *, transposed: bool = False
) -> FragmentGrid:
    """The grid of an operand of `wgmma` in shared memory.

    Parameters
    ----------
    use : {"a", "b"}
    type, shape : str
        Element type and shape of the instruction, for example ``"f16"`` and ``"m64n64k16"``.
    descriptor : int
        The 64 bits that the instruction takes.
    transposed : bool
        Whether m or n is contiguous in place of k; of 16-bit types alone.

    Raises
    ------
    InvalidArgument
    """
    shapes = {str(item): item for row in WGMMA_FAMILIES if type in row.multiplicands for item in row.shapes}
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
    found, size = MatrixDescriptor.from_bits(descriptor), shapes[shape]
    chunks = found.chunks(size.m if use == "a" else size.n, transposed)
    if use == "b":
        chunks = chunks.T
    across = (use == "b") == transposed  # whether a chunk lies along the columns of the operand
    down, right = (1, 8 * CHUNK // bits) if across else (8 * CHUNK // bits, 1)
    chunks = chunks.T if transposed else chunks
    rows, columns = size.extent(use)
    cells = tuple(
        _Chunk(
            row=i * down,
            column=j * right,
            rows=down,
            columns=right,
            lane=address // CHUNK % 8 * 4,
            registers=(),
            address=address,
        )
        for i, line in enumerate(chunks.tolist())
        for j, address in enumerate(line)
    )
    kinds = {"rows": rows, "columns": columns, "cell_rows": down, "cell_columns": right}
    return _DescriptorGrid(
        use=use, type=type, shape=shape, **kinds, cells=cells, elements=rows * columns, descriptor=found
    )
