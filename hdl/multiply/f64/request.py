"""What the f64 tile multiplier is asked for."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from hdl.config import REGISTER_BITS


class F64Tile(data.Struct):
    """The shape of a tile, m8n8k4 or m16n8k4, k8 or k16, and how it is rounded."""

    two_blocks: unsigned(1)
    """It has 16 rows; otherwise 8."""
    k_blocks_log2: unsigned(2)
    """Blocks of four k, as a power of two: 0 to 2, and 0 for 8 rows."""
    rounding: unsigned(2)
    """Index into `golden.tables.instruction_set.ROUNDINGS`."""


class F64Request(data.Struct):
    """One tile; register ranges have been checked."""

    tile: F64Tile
    a: unsigned(REGISTER_BITS)
    b: unsigned(REGISTER_BITS)
    c: unsigned(REGISTER_BITS)
    d: unsigned(REGISTER_BITS)
    """First registers of the fragments."""
