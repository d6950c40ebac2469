"""What the tile multiplier is asked for."""

from typing import Any

from amaranth.hdl import Cat, Const, Value, unsigned
from amaranth.lib import data, enum

from hdl.config import REGISTER_BITS, CoreConfig
from hdl.dot_product.operands import Operation
from hdl.memory.fragment_geometry import BlockOrder


class TileShape(enum.Enum, shape=2):
    """Rows of X times rows of Y."""

    SQUARE_8 = 0
    """8 times 8."""
    WIDE_16 = 1
    """16 times 8."""
    WIDE_32 = 2
    """32 times 8."""
    SQUARE_16 = 3
    """16 times 16."""


def sparse_y(request: data.View) -> Value:
    """Whether the multiply is sparse: then alone a row of Y has more register words than one of X."""
    orders = BlockOrder.YY, BlockOrder.Y
    two, one = (request.y_order == order for order in orders)
    return two | (one & ~request.halves)


def has_scales(config: CoreConfig, request: Any) -> Value:
    """Whether a `TileRequest`, or what is made of it, has block scales."""
    converted: Value = request.converted
    return converted if config.scales else Const(0, 1)


def last_block(tile_shape: Value) -> Value:
    """The number of a tile's last block of 8 by 8 results: 0, 1 or 3."""
    code = Value.cast(tile_shape)
    return Cat(code.any(), code[1])


class TileRequest(data.Struct):
    """One tile to be multiplied; register ranges and types have been checked.

    X is the wide multiplicand (`golden.tables.layouts`), of 8, 16 or 32 rows, Y the other one, of 8 or 16. A
    row is a row of A or a column of B: the hardware does not care which. D may overlap A, B and C in any way,
    as all of them are read before the first result is there.
    """

    operation: Operation
    """For the dot-product units."""
    tile_shape: TileShape
    halves: unsigned(1)
    """A row of X is two register words; otherwise one. A row of Y likewise; twice as many if X is sparse."""
    passes: unsigned(2)
    """Dot products that make a result, less one: 0, 1 or 3. Each has its part of a row, k ascending, and
    the result of the one before for its C. More than none only if `hdl.multiply.tile.chains.has_chains`
    says so of the configuration."""
    converted: unsigned(1)
    """Multiplicands are fp8 and become f16, which `operation` names. Of two passes the first takes the k
    with ``k % 4 < 2`` and zero for C, the second the others; in the end C is added, with one rounding.
    Only if `hdl.multiply.tile.chains.has_conversion` says so of the configuration. Where multiplies may have
    block scales, which is never both, this one has some. (A bit of its own would widen the queue of every
    core.)"""
    x_order: BlockOrder
    y_order: BlockOrder
    """How the blocks of the multiplicands are numbered."""
    x_is_b: unsigned(1)
    """X is B and Y is A."""
    x: unsigned(REGISTER_BITS)
    y: unsigned(REGISTER_BITS)
    c: unsigned(REGISTER_BITS)
    d: unsigned(REGISTER_BITS)
    """First registers of the fragments."""
