"""What a serial core must know of a fragment or a multiply, drawn from the golden layouts.

A load or store walks the matrix in memory line by line and, in a line, place by place. A place is a word; but
where memory runs across the four bytes of a register word it is a byte.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final, NamedTuple

from amaranth.hdl import unsigned
from amaranth.lib import data

from boards.serial_core.orders import BitOrder, OrderTable, bit_order
from boards.serial_core.serial_config import WORD_BYTES, SerialConfig
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Layout, Shape, Use
from golden.tables.layouts import LANES, FragmentLayout, fragment
from golden.tables.matrix_instructions import MmaInstruction
from hdl.control.decoder import is_signed, multiplicand
from hdl.dot_product.operands import Multiplicand
from hdl.memory.fragment_geometry import Pattern, fragment_geometry, legal_fragments
from hdl.multiply.multiplies import legal_multiplies

__all__ = [
    "BYTE_BITS",
    "DOT_WORDS",
    "LANE_BITS",
    "LINE_BITS",
    "PLACE_BITS",
    "PRODUCT_ORDERS",
    "REGISTER_BITS",
    "WALK_ORDERS",
    "WORD_BITS",
    "ProductGeometry",
    "Walk",
    "WalkGeometry",
    "fragment_walk",
    "product_geometry",
    "product_order",
    "walk_geometry",
]

LANE_BITS: Final = (LANES - 1).bit_length()
"""Bits of the number of a lane."""

LINE_BITS: Final = 5
"""Bits of the number of a line."""

PLACE_BITS: Final = 5
"""Bits of the number of a place in a line."""

REGISTER_BITS: Final = 3
"""Bits of the number of a register within a fragment."""

BYTE_BITS: Final = (WORD_BYTES - 1).bit_length()
"""Bits of the number of a byte in a word."""

DOT_WORDS: Final = 4
"""Register words of a row of A, or of a column of B: all of k."""

WORD_BITS: Final = (DOT_WORDS - 1).bit_length()
"""Bits of the number of one of them."""

_BYTEWISE: Final = {
    Pattern.PACKED: False,
    Pattern.TRANSPOSED_8: True,
    Pattern.SPLIT: False,
    Pattern.SPLIT_TRANSPOSED: False,
}
_REGISTER_WIDTH: Final = 8 * WORD_BYTES
_FRAGMENT_BITS: Final = LANE_BITS + REGISTER_BITS


class Walk(NamedTuple):
    """How one fragment is walked.

    Parameters
    ----------
    order : BitOrder
        From line and place to byte, lane and register, the lowest first.
    bytewise : bool
        A place is a byte.
    lines, places : int
        Lines, and places in each.
    """

    order: BitOrder
    bytewise: bool
    lines: int
    places: int


def fragment_walk(use: Use, name: str, shape: Shape, layout: Layout) -> Walk:
    """The walk through one fragment in memory.

    Raises
    ------
    ValueError
        If the layout is not of the form that a serial core walks.
    """
    pattern = fragment_geometry(use, name, shape, layout)["pattern"]
    if pattern not in _BYTEWISE:
        raise ValueError(f"A serial core must have no fragments of {name}: their words are not in one line")
    bytewise = _BYTEWISE[Pattern(pattern)]
    form = fragment(use, name, shape)
    bits = form.element_bits
    images = {}
    for register, lane, byte in product(
        range(form.registers), range(LANES), range(WORD_BYTES if bytewise else 1)
    ):
        element = (register * _REGISTER_WIDTH + 8 * byte) // bits
        row, column = form.position(lane, element)
        line, minor = (row, column) if layout == "row" else (column, row)
        place = minor * bits // (8 if bytewise else _REGISTER_WIDTH)
        images[line | place << LINE_BITS] = byte | lane << BYTE_BITS | register << (BYTE_BITS + LANE_BITS)
    last = max(images)
    return Walk(
        order=bit_order(images, BYTE_BITS + _FRAGMENT_BITS),
        bytewise=bytewise,
        lines=(last & (1 << LINE_BITS) - 1) + 1,
        places=(last >> LINE_BITS) + 1,
    )


def product_order(instruction: MmaInstruction) -> BitOrder:
    """From a word of k, and lane and register of a result, to lane and register of A and then of B.

    Raises
    ------
    ValueError
        If a dot product does not take `DOT_WORDS` words, or the layouts are not of this form.
    """
    shape = instruction.shape
    layouts = instruction.fragments
    a, b, d = layouts["a"], layouts["b"], layouts["d"]
    run = _REGISTER_WIDTH // FORMATS[instruction.a_type].bits
    if shape.k != DOT_WORDS * run:
        raise ValueError(f"A dot product must take {DOT_WORDS} words, not {shape.k // run} of {instruction}")
    a_words, b_words = dict(_words(a, run)), dict(_words(b, run))
    images = {}
    for register, lane, word in product(range(d.registers), range(LANES), range(DOT_WORDS)):
        row, column = d.position(lane, register)
        source = word | lane << WORD_BITS | register << (WORD_BITS + LANE_BITS)
        images[source] = a_words[row, word * run] | b_words[word * run, column] << _FRAGMENT_BITS
    return bit_order(images, 2 * _FRAGMENT_BITS)


def _words(form: FragmentLayout, run: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Row and column of the first element of each register word, and its lane and register."""
    for register, lane in product(range(form.registers), range(LANES)):
        yield form.position(lane, register * run), lane | register << LANE_BITS


_ALL: Final = SerialConfig()

WALK_ORDERS: Final = OrderTable(fragment_walk(*row).order for row in legal_fragments(_ALL))
"""Those of all fragments."""

PRODUCT_ORDERS: Final = OrderTable(product_order(instruction) for instruction in legal_multiplies(_ALL))
"""Those of all multiplies."""


class WalkGeometry(data.Struct):
    """The constants of one (use, type, shape, layout).

    Members
    -------
    order : range(len(WALK_ORDERS))
    bytewise : unsigned(1)
    last_line, last_place : unsigned(5)
    element_log2 : unsigned(3)
        Bits of an element, as a power of two.
    stride : unsigned(8)
        The default stride, in elements.
    size_mask : unsigned(5)
        One less than the bytes of the fragment in a lane, the alignment asked of every line.
    registers : unsigned(4)
        32-bit registers per lane.
    """

    order: range(len(WALK_ORDERS))
    bytewise: unsigned(1)
    last_line: unsigned(LINE_BITS)
    last_place: unsigned(PLACE_BITS)
    element_log2: unsigned(3)
    stride: unsigned(8)
    size_mask: unsigned(5)
    registers: unsigned(REGISTER_BITS + 1)


class ProductGeometry(data.Struct):
    """The constants of one multiply.

    Members
    -------
    order : range(len(PRODUCT_ORDERS))
    multiplicand : Multiplicand
    a_signed, b_signed : unsigned(1)
    a_registers, b_registers, c_registers : unsigned(4)
        D has as many as C.
    """

    order: range(len(PRODUCT_ORDERS))
    multiplicand: Multiplicand
    a_signed: unsigned(1)
    b_signed: unsigned(1)
    a_registers: unsigned(REGISTER_BITS + 1)
    b_registers: unsigned(REGISTER_BITS + 1)
    c_registers: unsigned(REGISTER_BITS + 1)


def walk_geometry(use: Use, name: str, shape: Shape, layout: Layout) -> dict[str, int]:
    """The fields of `WalkGeometry` for one fragment."""
    walk = fragment_walk(use, name, shape, layout)
    form = fragment(use, name, shape)
    return {
        "order": WALK_ORDERS.number(walk.order),
        "bytewise": int(walk.bytewise),
        "last_line": walk.lines - 1,
        "last_place": walk.places - 1,
        "element_log2": form.element_bits.bit_length() - 1,
        "stride": shape.default_stride(use, layout),
        "size_mask": form.size - 1,
        "registers": form.registers,
    }


def product_geometry(instruction: MmaInstruction) -> dict[str, Any]:
    """The fields of `ProductGeometry` for one multiply."""
    layouts = instruction.fragments
    return {
        "order": PRODUCT_ORDERS.number(product_order(instruction)),
        "multiplicand": multiplicand(instruction.a_type),
        "a_signed": int(is_signed(instruction.a_type)),
        "b_signed": int(is_signed(instruction.b_type)),
        "a_registers": layouts["a"].registers,
        "b_registers": layouts["b"].registers,
        "c_registers": layouts["c"].registers,
    }
