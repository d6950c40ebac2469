"""Which lane and register of the warp holds which matrix element: the rule, without arrays.

The layouts are an NVIDIA H200's. A *quad* is the four lanes ``4 g .. 4 g + 3``. Of a
multiplicand, a quad's word of one register (4 x 32 bits) is one contiguous run of k of one row
of A (one column of B): that is what makes the hardware simple.
"""

from dataclasses import dataclass
from functools import cache, cached_property

from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import QUAD_PAIRS, WIDE_K16, Layout, Shape, Space, Use

LANES = 32
"""Lanes of a warp."""

WORD_BYTES = 4
"""Of a register in a lane: the least that a core moves."""

_BLOCK = 8
"""Rows (columns) covered by one register: one for each quad."""


@dataclass(frozen=True, kw_only=True)
class FragmentLayout:
    """The layout of one fragment.

    The matrix is described by its *major* index x, which selects the quad (``x = g + 8 xb``), and its
    *minor* index y, which runs through the four lanes of the quad and the bits of a register. For A, x
    is the row; for B the column; for C and D the row, except in m8n32k16, where it is the column.
    """

    use: Use
    type: str
    shape: Shape
    x_is_row: bool
    wide: bool
    """Multiplicands: whether the blocks are numbered as in the wide multiplicand."""
    x_blocks: int
    y_blocks: int
    """Blocks of 8 x, and blocks of y: of 4 lanes' worth of elements (multiplicands) or of 8
    (accumulators)."""
    registers: int
    """32-bit registers per lane."""

    @property
    def extent(self) -> tuple[int, int]:
        """Rows and columns of the matrix that it holds."""
        return self.shape.extent(self.use)

    element_bits: int
    """Bits of one element in a register."""

    @property
    def element_shift(self) -> int:
        """Bits below an element in its place: e2m1 in a byte has two."""
        return 2 if self.type == "e2m1" and self.element_bits == 8 else 0

    @property
    def elements(self) -> int:
        """Elements in one lane, repeated ones included."""
        return self.registers * 32 // self.element_bits

    @property
    def size(self) -> int:
        """Bytes of the fragment in one lane."""
        return self.registers * 4

    def is_transposed(self, layout: Layout) -> bool:
        """Whether the lines in memory, of a layout, run along x."""
        return (layout == "row") != self.x_is_row

    def alignment(self, layout: Layout, space: Space) -> int:
        """Bytes that address and stride must be multiples of, on an H200.

        It loads and stores what a lane has of two neighbouring elements, or of one where lines run along x.
        Multiplicands of 16 bits or less come through ``ldmatrix`` from shared memory, which transposes
        16-bit elements but no bytes. A generic address has the rule of global memory.
        """
        element = self.element_bits // 8
        if self.is_accumulator:
            return max(4, element if self.is_transposed(layout) else 2 * element)
        if self.element_bits >= 32:
            return element
        if self.element_bits == 8 and self.is_transposed(layout):
            return 1
        return 16 if space == "shared" else 4

    def core_alignment(self, layout: Layout, space: Space) -> int:
        """The same on a core, which moves whole words of 32 bits."""
        return max(WORD_BYTES, self.alignment(layout, space))

    @property
    def is_accumulator(self) -> bool:
        """Whether this is a C or D fragment."""
        return self.use in "cd"

    def blocks(self) -> list[tuple[int, int]]:
        """The (x block, y block) pairs in register order, each once."""
        pairs = [(xb, yb) for xb in range(self.x_blocks) for yb in range(self.y_blocks)]
        if self.is_accumulator:
            return sorted(pairs, key=lambda pair: (pair[1], pair[0]))
        if self.wide:
            return sorted(pairs, key=lambda pair: (pair[0] // 2, pair[1], pair[0] % 2))
        return pairs

    def position(self, lane: int, element: int) -> tuple[int, int]:
        """Row and column of an element of a lane; elements count in register order, low bits first."""
        group, thread = lane >> 2, lane & 3
        blocks = self.blocks()
        if self.is_accumulator:
            block, j = divmod(element, 2)
            xb, yb = blocks[block]
            y = 2 * thread + j + 8 * yb
        else:
            run = max(1, 32 // self.element_bits)
            block, i = divmod(element, run)
            xb, yb = blocks[block % len(blocks)]
            y = thread * run + i + 4 * run * yb
        x = group + _BLOCK * xb
        return (x, y) if self.x_is_row else (y, x)

    @cached_property
    def positions(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """`position` of every element, by lane."""
        elements = range(self.elements)
        return tuple(tuple(self.position(lane, i) for i in elements) for lane in range(LANES))


@dataclass(frozen=True, kw_only=True)
class QuadPairLayout(FragmentLayout):
    """The layout of a fragment of `QUAD_PAIRS`: four matrices, one below the other.

    Quads q and q + 4 hold matrix q. In `memory` order, a lane holds a row of A or a column of B, or parts
    of a column of A or a row of B.
    """

    memory: Layout

    @property
    def extent(self) -> tuple[int, int]:
        """Rows and columns of the four matrices together."""
        rows, columns = self.shape.extent(self.use)
        return QUAD_PAIRS.tiles * rows, columns

    def position(self, lane: int, element: int) -> tuple[int, int]:
        """Row and column of an element of a lane; elements count in register order, low bits first."""
        own, upper = lane & 3, lane >> 4 << 2
        if not self.is_accumulator:
            transposed = self.is_transposed(self.memory)
            x, k = (upper + element, own) if transposed else (upper + own, element)
            row, column = (x, k) if self.x_is_row else (k, x)
        elif self.element_bits == 32:
            row, column = upper + (own & 1) + (element & 2), (element & 4) + (own & 2) + (element & 1)
        else:
            row, column = upper + own, element
        return self.shape.extent(self.use)[0] * (lane >> 2 & 3) + row, column


def in_quad_pairs(type: str, shape: Shape) -> bool:
    """Whether fragments of this type and shape are those of `QUAD_PAIRS`."""
    return shape in QUAD_PAIRS.shapes and type in (*QUAD_PAIRS.multiplicands, *QUAD_PAIRS.accumulators)


@cache
def fragment(
    use: Use, type: str, shape: Shape, layout: Layout | None = None, sparse: bool = False
) -> FragmentLayout:
    """The layout of the fragment of `type` elements in role `use` of an instruction of `shape`.

    The layout of A or B matters only in `QUAD_PAIRS`; None is rows of A and columns of B. A sparse A holds
    half of its k. Elements of 6 bits have a byte each; elements of e2m1 too, if A has less than 64 in a row.
    """
    depth = shape.k // 2 if sparse else shape.k
    if use == "a":
        shape = shape._replace(k=depth)
    rows, columns = shape.extent(use)
    b_is_wide = shape == Shape(8, 32, 16)
    is_accumulator = use in "cd"
    bits = FORMATS[type].bits
    if isinstance(FORMATS[type], FloatFormat) and (bits == 6 or (bits == 4 and depth < 64)):
        bits = 8
    x_is_row = not b_is_wide if is_accumulator else use == "a"
    x, y = (rows, columns) if x_is_row else (columns, rows)
    if in_quad_pairs(type, shape):
        return QuadPairLayout(
            use=use,
            type=type,
            shape=shape,
            element_bits=bits,
            x_is_row=x_is_row,
            wide=is_accumulator,
            x_blocks=1,
            y_blocks=1,
            registers=QUAD_PAIRS.tiles * rows * columns * bits // (32 * LANES),
            memory=layout or ("row" if x_is_row else "col"),
        )
    # In the shapes of wmma, f16 multiplicands repeat elements where fewer registers would do.
    is_repeated = not is_accumulator and type == "f16" and shape in WIDE_K16
    return FragmentLayout(
        use=use,
        type=type,
        shape=shape,
        element_bits=bits,
        x_is_row=x_is_row,
        wide=is_accumulator or (use == "b") == b_is_wide,
        x_blocks=x // _BLOCK,
        y_blocks=y // (8 if is_accumulator else 4 * max(1, 32 // bits)),
        registers=8 if is_repeated else x * y * bits // (32 * LANES),
    )
