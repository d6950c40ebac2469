"""The ports of the unit for sums of groups: what goes in with each result, and what comes out."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from hdl.omma.widths import GROUP, GROUPS, SCALE


class GroupSumOperands(data.Struct):
    """One row of A, one column of B, one element of C; k ascends from the low bits on."""

    a: unsigned(4 * GROUPS * GROUP)
    b: unsigned(4 * GROUPS * GROUP)
    """64 elements of e2m1 each: those that are stored, where A is sparse."""
    c: unsigned(32)
    scale_a: unsigned(SCALE * GROUPS)
    scale_b: unsigned(SCALE * GROUPS)
    """A byte for each group. Where two groups share a scale, both have it."""
    ue4m3: unsigned(1)
    """Scales are ue4m3 instead of ue8m0."""


class GroupSumResult(data.Struct):
    """One element of D, an f32."""

    d: unsigned(32)
