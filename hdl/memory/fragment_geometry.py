"""Fragment geometry: what the load/store unit must know of a fragment, drawn from the golden layouts.

Every fragment is a set of blocks of eight x (`golden.tables.layouts`); counts are powers of two and the order
of the blocks is a permutation of address bits. Nothing here is written down twice: the constants
are computed from the layout rule, and refused if the rule ever leaves this form.
"""

from collections.abc import Iterator
from typing import cast

from amaranth.hdl import Cat, Module, Signal, Value, ValueLike, unsigned
from amaranth.lib import data, enum

from golden.tables.formats import FORMATS
from golden.tables.instruction_set import LAYOUTS, USES, Layout, Shape, Use
from golden.tables.layouts import LANES, FragmentLayout, fragment
from hdl.config import CoreConfig

SEGMENT_BYTES = 16
"""Bytes of a segment: the unit in which memory is walked, as wide as a register word."""


class Pattern(enum.Enum, shape=4):
    """How a segment of memory relates to a register word."""

    PACKED = 0
    """They are the same 16 bytes."""
    TRANSPOSED_8 = 1
    """Memory runs along x: a word takes one byte from each of sixteen lines."""
    TRANSPOSED_16 = 2
    """Memory runs along x: a word takes two bytes from each of eight lines."""
    TRANSPOSED_32 = 3
    """Memory runs along x: a word takes four bytes from each of four lines."""
    SPLIT = 4
    """Even 32-bit values of a line lie in one register, odd ones in the next."""
    SPLIT_TRANSPOSED = 5
    """32-bit accumulators along x: a word takes four bytes from every second of eight lines."""
    F64_TRANSPOSED = 6
    """f64 multiplicands along x: a word takes half an element from each of four lines."""
    WIDE = 7
    """f64 accumulators: a word takes half an element from each of four segments."""
    WIDE_TRANSPOSED = 8
    """f64 accumulators along x: a word takes half an element from every second of eight lines."""


_PATTERNS = {
    # (element bytes, accumulator): (memory along y, memory along x)
    (1, False): (Pattern.PACKED, Pattern.TRANSPOSED_8),
    (2, False): (Pattern.PACKED, Pattern.TRANSPOSED_16),
    (2, True): (Pattern.PACKED, Pattern.TRANSPOSED_16),
    (4, False): (Pattern.PACKED, Pattern.TRANSPOSED_32),
    (4, True): (Pattern.SPLIT, Pattern.SPLIT_TRANSPOSED),
    (8, False): (Pattern.SPLIT, Pattern.F64_TRANSPOSED),
    (8, True): (Pattern.WIDE, Pattern.WIDE_TRANSPOSED),
}


class BlockOrder(enum.Enum, shape=3):
    """Which bit of the block number is which bit of the x and y block, lowest first."""

    ONE = 0
    """There is one block."""
    X = 1
    Y = 2
    XX = 3
    YX = 4
    XY = 5
    XYX = 6
    YY = 7


_ORDERS_OF_ROWS = (BlockOrder.ONE, BlockOrder.X, BlockOrder.XX)


class FragmentGeometry(data.Struct):
    """The constants of one (use, type, shape, layout)."""

    lines_log2: unsigned(3)
    """Rows (row-major) or columns (column-major) in memory."""
    line_log2: unsigned(3)
    """Bytes of a line."""
    pattern: Pattern
    order: BlockOrder
    element_log2: unsigned(3)
    """Bits of an element, as a power of two."""
    stride_log2: unsigned(3)
    """Default stride, in elements."""
    alignment_log2: unsigned(3)
    """Bytes that address and stride are multiples of."""
    shared_alignment_log2: unsigned(3)
    """The same of addresses in ``.shared``."""
    registers: unsigned(4)
    """32-bit registers per lane."""

    @property
    def different_log2(self) -> Value:
        """How many registers differ, as a power of two, by the bytes in memory; others repeat these."""
        return (self.lines_log2 + self.line_log2 - log2_exact(4 * LANES))[:2]


def legal_fragments(config: CoreConfig) -> Iterator[tuple[Use, str, Shape, Layout]]:
    """Every (use, type, shape, layout) that the configuration's formats can load or store."""
    seen = set()
    for family in config.families:
        if family.mnemonic != "wmma":
            continue
        for use in USES:
            fixed = {"a": ("row",), "b": ("col",)} if family.fixed_layout else {}
            for name in family.types(use):
                for shape in family.shapes:
                    for layout in fixed.get(use, LAYOUTS):
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
    along_x = form.is_transposed(layout)
    element = max(form.element_bits // 8, 1)
    if along_x and form.element_bits < 8:
        raise ValueError(f"Fragments of {name} cannot be transposed: their elements share bytes")
    return {
        "pattern": _PATTERNS[element, form.is_accumulator][along_x],
        "order": block_order(form),
        "element_log2": log2_exact(FORMATS[name].bits),
        "lines_log2": log2_exact(lines),
        "line_log2": log2_exact(length * form.element_bits // 8),
        "stride_log2": log2_exact(shape.default_stride(use, layout)),
        "alignment_log2": log2_exact(form.core_alignment(layout, "global")),
        "shared_alignment_log2": log2_exact(form.core_alignment(layout, "shared")),
        "registers": form.registers,
    }


def matrix_geometry(count: int, *, transposed: bool) -> dict[str, object]:
    """The fields of `FragmentGeometry` for 8 x 8 matrices of 16-bit elements, each a register.

    Rows of 16 bytes are the lines. As they are, they are quads; transposed, matrices lie side by side as
    blocks of k of a multiplicand do whose lines run along x.
    """
    count_log2 = log2_exact(count)
    orders = (BlockOrder.ONE, BlockOrder.Y, BlockOrder.YY) if transposed else _ORDERS_OF_ROWS
    return {
        "pattern": Pattern.TRANSPOSED_16 if transposed else Pattern.PACKED,
        "order": orders[count_log2],
        "element_log2": 4,
        "lines_log2": 3 + count_log2,
        "line_log2": log2_exact(SEGMENT_BYTES),
        "stride_log2": 3,
        "alignment_log2": log2_exact(SEGMENT_BYTES),
        "shared_alignment_log2": log2_exact(SEGMENT_BYTES),
        "registers": count,
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
    return BlockOrder["".join(axes) or "ONE"]


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
            bits: dict[str, list[Signal]] = {"X": [], "Y": []}
            for bit, axis in enumerate(choice.name if choice is not BlockOrder.ONE else ""):
                bits[axis].append(block[bit])
            with m.Case(choice):
                m.d.comb += [x_block.eq(Cat(*bits["X"])), y_block.eq(Cat(*bits["Y"]))]
    return x_block, y_block


def log2_exact(value: int) -> int:
    """The exponent of a power of two; ValueError for any other number."""
    if value <= 0 or value & (value - 1):
        raise ValueError(f"Sizes of fragments must be powers of two, not {value}")
    return value.bit_length() - 1
