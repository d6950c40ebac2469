"""What the f64 tile multiplier is asked for."""

from amaranth.hdl import unsigned
from amaranth.lib import data

__all__ = ["F64Request"]


class F64Request(data.Struct):
    """One tile of m8n8k4; register ranges have been checked.

    Members
    -------
    rounding : unsigned(2)
        Index into `golden.tables.instruction_set.ROUNDINGS`.
    a, b, c, d : unsigned(8)
        First registers of the fragments.
    """

    rounding: unsigned(2)
    a: unsigned(8)
    b: unsigned(8)
    c: unsigned(8)
    d: unsigned(8)
