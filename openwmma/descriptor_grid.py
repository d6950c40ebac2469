"""Where a descriptor of `wgmma` finds the elements of an operand, as cells of a grid."""

from collections import Counter
from collections.abc import Sequence

from golden.integers import quoted
from golden.invalid_argument import InvalidArgument
from golden.matrix_descriptors import CHUNK, K_BYTES, MatrixDescriptor
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import SPARSE_WGMMA_FAMILIES, WGMMA_FAMILIES, Use
from openwmma.fragment_grid import Cell, FragmentGrid

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
