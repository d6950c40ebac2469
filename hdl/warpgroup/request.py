"""What the warpgroup multiplier is asked for, and what it asks for itself."""

from amaranth.hdl import Const, Value, unsigned
from amaranth.lib import data

from hdl.command import Descriptor
from hdl.config import WARPS_OF_A_GROUP
from hdl.multiply.tile.request import TileRequest

A_REGISTERS = 4
"""Registers of a fragment of A."""

BLOCKS = 8
"""Blocks of either operand in the operand storage."""


class WgmmaRequest(data.Struct):
    """A warp's share of a `wgmma`; registers, types and addresses have been checked."""

    tile: TileRequest
    """The constants of a tile; `x` is the first register of A and `d` of D."""
    tiles_less_one: unsigned(5)
    a_in_registers: unsigned(1)
    scale_d: unsigned(1)
    """C is D; otherwise zero."""
    negated: unsigned(2)
    transposed: unsigned(2)
    """Of A and B."""
    a: Descriptor
    b: Descriptor


class FetchJob(data.Struct):
    """A block of 16 rows of 32 bytes to be copied from the on-chip memory to the operand storage.

    Rows are along m or n, or transposed along k. Chunk `half` of row `row` of group `group` is at
    ``start + group * across + row * span + half * along``, before the swizzle, in units of 16 bytes.
    """

    start: unsigned(14)
    across: unsigned(14)
    along: unsigned(14)
    swizzle: unsigned(2)
    base: unsigned(3)
    transposed: unsigned(1)
    is_short: unsigned(1)
    """Half of the block is there: the first eight rows or, transposed, the first 16 bytes."""
    is_b: unsigned(1)
    block: unsigned(3)
    """Of the operand storage."""


class Gang(data.Struct):
    """The shares that warps of a group compute together, as they have B in common."""

    tile: TileRequest
    tiles_less_one: unsigned(5)
    a_in_registers: unsigned(1)
    scale_d: unsigned(1)
    negated: unsigned(2)
    a_buffer: unsigned(1)
    group: unsigned(2)
    members: unsigned(WARPS_OF_A_GROUP)
    a: data.ArrayLayout(11, WARPS_OF_A_GROUP)
    d: data.ArrayLayout(11, WARPS_OF_A_GROUP)
    """First registers of A and D of each member."""


def span_log2(swizzle: Value) -> Value:
    """16 bytes in a row of a swizzle, as a power of two: 0 for none, 3 for 128 bytes, 1 for 32 bytes."""
    return (Const(0, 2) - swizzle)[:2]
