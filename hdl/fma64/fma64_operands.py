"""The ports of the f64 fused multiply-add: what goes in with each operation, and what comes out."""

from typing import Final

from amaranth.hdl import unsigned
from amaranth.lib import data

from golden.tables.instruction_set import ROUNDINGS

NEAREST: Final = ROUNDINGS.index("rn")
"""The code of rounding to nearest, ties to even."""

MINUS: Final = ROUNDINGS.index("rm")
"""The code of rounding towards minus infinity."""

PLUS: Final = ROUNDINGS.index("rp")
"""The code of rounding towards plus infinity; the fourth code is towards zero."""


class FusedMultiplyAdd64Operands(data.Struct):
    """One operation, ``d = a * b + c``."""

    a: unsigned(64)
    b: unsigned(64)
    """The factors."""
    c: unsigned(64)
    """The accumulator."""
    rounding: unsigned(2)
    """Index in `golden.tables.instruction_set.ROUNDINGS`; it may differ from one operation to the next."""


class FusedMultiplyAdd64Result(data.Struct):
    """The rounded result."""

    d: unsigned(64)
