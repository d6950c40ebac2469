"""Fragment geometry: what the load/store unit must know of a fragment, drawn from the golden layouts.

Every fragment is a set of blocks of eight x (`golden.layouts`); counts are powers of two and the order of
the blocks is a permutation of address bits. Nothing here is written down twice: the constants
are computed from the layout rule, and refused if the rule ever leaves this form.
"""

from collections.abc import Iterator
from typing import cast

from amaranth.hdl import Cat, Module, Signal, ValueLike, unsigned
from amaranth.lib import data, enum

from golden.formats import FORMATS
from golden.instruction_set import FAMILIES, LAYOUTS, USES, Layout, Shape, Use
from golden.layouts import FragmentLayout, fragment
from hdl.config import CoreConfig

__all__ = [
    "CHUNK_BYTES",
    "BlockOrder",
    "FragmentGeometry",
    "Pattern",
    "block_indices",
    "block_order",
    "fragment_geometry",
    "legal_fragments",
    "log2_exact",
]

CHUNK_BYTES = 16
"""Bytes of a chunk: the unit in which memory is walked, as wide as a register word."""


class Pattern(enum.Enum, shape=2):
    """How a chunk of memory relates to a register word."""

    PACKED = 0
    """They are the same 16 bytes."""
    PACKED_TRANSPOSED = 1
    """Memory runs along x: a word takes one element from each of eight lines."""
    SPLIT = 2
    """32-bit accumulators: even columns lie in one register, odd ones in the next."""
    SPLIT_TRANSPOSED = 3
    """The same with memory along x: a word takes one element from every second of eight lines."""


class BlockOrder(enum.Enum, shape=3):
    """Which bit of the block number is which bit of the x and y block, lowest first."""

    Y = 0
    YX = 1
    XY = 2
    XYX = 3
    XX = 4


class FragmentGeometry(data.Struct):
    """The constants of one (use, type, shape, layout).

    Members
    -------
    pattern : Pattern
    order : BlockOrder
    element_log2 : unsigned(2)
        Bytes of an element, as a power of two.
    lines_log2 : unsigned(3)
        Rows (row-major) or columns (column-major) in memory.
    chunks_log2 : unsigned(2)
        Chunks in each line.
    stride_log2 : unsigned(3)
        Default stride, in elements.
    size_log2 : unsigned(3)
        Bytes of the fragment in a lane: the alignment asked of every line.
    registers : unsigned(4)
        32-bit registers per lane.
    """

    pattern: Pattern
    order: BlockOrder
    element_log2: unsigned(2)
    lines_log2: unsigned(3)
    chunks_log2: unsigned(2)
    stride_log2: unsigned(3)
    size_log2: unsigned(3)
    registers: unsigned(4)


def legal_fragments(config: CoreConfig) -> Iterator[tuple[Use, str, Shape, Layout]]:
    """Every (use, type, shape, layout) that the configuration's formats can load or store."""
    seen = set()
    for family in FAMILIES:
        if family.name not in config.dot_product.formats:
            continue
        for use in USES:
            for name in family.multiplicands if use in "ab" else family.accumulators:
                for shape in family.shapes:
                    for layout in LAYOUTS:
                        row = cast("tuple[Use, str, Shape, Layout]", (use, name, shape, layout))
                        if row not in seen:
                            seen.add(row)
                            yield row


def fragment_geometry(use: Use, name: str, shape: Shape, layout: Layout) -> dict[str, object]:
    """The fields of `FragmentGeometry` for one fragment, ready for `FragmentGeometry.const`.

    Raises
    ------
    ValueError
        If the layout is not of the form that the load/store unit implements.
    """
    form = fragment(use, name, shape)
    rows, columns = shape.extent(use)
    lines, length = (rows, columns) if layout == "row" else (columns, rows)
    element = FORMATS[name].bits // 8
    transposed = (layout == "row") != form.x_is_row
    split = form.is_accumulator and element == 4
    if not split and element != 2:
        raise ValueError(f"Fragments of {name} have no pattern in the crossbar")
    return {
        "pattern": Pattern(2 * split + transposed),
        "order": block_order(form),
        "element_log2": log2_exact(element),
        "lines_log2": log2_exact(lines),
        "chunks_log2": log2_exact(length * element // CHUNK_BYTES),
        "stride_log2": log2_exact(shape.default_stride(use, layout)),
        "size_log2": log2_exact(form.size),
        "registers": form.registers,
    }


def block_order(form: FragmentLayout) -> BlockOrder:
    """The block order of a fragment.

    Raises
    ------
    ValueError
        If the blocks are not numbered by a permutation of bits.
    """
    blocks = form.blocks()
    bits = log2_exact(len(blocks))
    axes = ["X" if blocks[1 << bit][0] else "Y" for bit in range(bits)]
    for number, (xb, yb) in enumerate(blocks):
        places = {"X": 0, "Y": 0}
        value = {"X": 0, "Y": 0}
        for bit, axis in enumerate(axes):
            value[axis] |= (number >> bit & 1) << places[axis]
            places[axis] += 1
        if (value["X"], value["Y"]) != (xb, yb):
            raise ValueError(f"Blocks of {form.use} {form.type} {form.shape} are not a permutation of bits")
    return BlockOrder["".join(axes)]


def block_indices(m: Module, order: ValueLike, block: Signal) -> tuple[Signal, Signal]:
    """Hardware that tells the x block and the y block from the number of a block.

    Parameters
    ----------
    m : Module
        Where the multiplexers are added.
    order : BlockOrder
        Of the fragment at hand.
    block : Signal(3)
        Number of the block; bits beyond those the order knows are ignored, so repeated blocks repeat.

    Returns
    -------
    x_block, y_block : Signal(2)
    """
    x_block = Signal(2)
    y_block = Signal(2)
    with m.Switch(order):
        for choice in BlockOrder:
            bits = {"X": [], "Y": []}
            for bit, axis in enumerate(choice.name):
                bits[axis].append(block[bit])
            with m.Case(choice):
                m.d.comb += [x_block.eq(Cat(*bits["X"])), y_block.eq(Cat(*bits["Y"]))]
    return x_block, y_block


def log2_exact(value: int) -> int:
    """The exponent of a power of two; ValueError for any other number."""
    if value <= 0 or value & (value - 1):
        raise ValueError(f"Sizes of fragments must be powers of two, not {value}")
    return value.bit_length() - 1
