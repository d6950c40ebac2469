"""The f32 forms without ``.ftz``, and the divisions: scaled operands around the forms with ``.ftz``.

Subnormal operands and results are kept. All multiplications are f32, rounded to nearest even. All functions
take and return bit patterns.
"""

from typing import Final

from golden.approximation import unit
from golden.approximation.interpolator import Table
from golden.approximation.unit import LEAST_NORMAL, MAGNITUDE
from golden.arithmetic.compiled import compiled
from golden.arithmetic.decode import Format
from golden.arithmetic.fma import add, multiply
from golden.arithmetic.round_pack import NEAREST

GREAT: Final = 0x7E800000
"""``2**126``: the reciprocal of anything greater is subnormal."""

UP: Final = 0x4B800000
"""``2**24``, by which subnormal operands are multiplied."""
QUARTER: Final = 0x3E800000
HALF: Final = 0x3F000000

_RSQRT_BACK: Final = 0x45800000  # 4096
_SQRT_BACK: Final = 0x39800000  # 2**-12
_LG2_BACK: Final = 0xC1C00000  # -24
BACK: Final = {"rcp": UP, "rsqrt": _RSQRT_BACK, "sqrt": _SQRT_BACK, "lg2": _LG2_BACK}
"""What is done with the result of a subnormal operand: a factor, of lg2 an addend."""


@compiled
def ex2(x: int, f32: Format, table: Table) -> int:
    """Two to the power x: below -126, the square of two to the power x / 2."""
    halved = 0xC2FC0000 < x <= 0xFF800000
    result = unit.ex2(multiply(x, HALF, f32, NEAREST) if halved else x, table)
    return multiply(result, result, f32, NEAREST) if halved else result


@compiled
def scale_up(x: int, f32: Format) -> int:
    """A subnormal operand times ``2**24``; others as they are."""
    return x if x & MAGNITUDE >= LEAST_NORMAL else multiply(x, UP, f32, NEAREST)


@compiled
def rcp(x: int, f32: Format, table: Table) -> int:
    """One divided by x, which is scaled by ``2**24`` or 0.25 where it or the result is subnormal."""
    magnitude = x & MAGNITUDE
    scaled = magnitude < LEAST_NORMAL or magnitude > GREAT
    scale = UP if magnitude < LEAST_NORMAL else QUARTER
    result = unit.rcp(multiply(x, scale, f32, NEAREST) if scaled else x, table)
    return multiply(result, scale, f32, NEAREST) if scaled else result


@compiled
def rsqrt(x: int, f32: Format, table: Table) -> int:
    """One divided by the square root of x."""
    result = unit.rsqrt(scale_up(x, f32), table)
    return result if x & MAGNITUDE >= LEAST_NORMAL else multiply(result, _RSQRT_BACK, f32, NEAREST)


@compiled
def sqrt(x: int, f32: Format, table: Table) -> int:
    """The square root of x."""
    result = unit.sqrt(scale_up(x, f32), table)
    return result if x & MAGNITUDE >= LEAST_NORMAL else multiply(result, _SQRT_BACK, f32, NEAREST)


@compiled
def lg2(x: int, f32: Format, table: Table) -> int:
    """The logarithm of x to base two."""
    result = unit.lg2(scale_up(x, f32), table)
    return result if x & MAGNITUDE >= LEAST_NORMAL else add(result, _LG2_BACK, f32, NEAREST)


@compiled
def div(a: int, b: int, f32: Format, full: bool, flush: bool, table: Table) -> int:
    """A times the reciprocal of b.

    With `full`, both are scaled where the reciprocal would be subnormal or overflow; otherwise a finite
    quotient by more than ``2**126`` is 0. With `flush`, subnormal operands and results of every
    multiplication are zeros.
    """
    magnitude = b & MAGNITUDE
    small = magnitude < LEAST_NORMAL and not flush
    if small or (full and magnitude > GREAT):
        scale = UP if small else QUARTER
        a, b = multiply(a, scale, f32, NEAREST, flush), multiply(b, scale, f32, NEAREST, flush)
    return multiply(a, unit.rcp(b, table), f32, NEAREST, flush)


RESULTS: Final = {"ex2": ex2, "rcp": rcp, "rsqrt": rsqrt, "sqrt": sqrt, "lg2": lg2}
