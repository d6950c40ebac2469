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
def div_approx(a: int, b: int, f32: Format, table: Table) -> int:
    """A times the reciprocal of b; 0 for a finite quotient by more than ``2**126``."""
    if b & MAGNITUDE < LEAST_NORMAL:
        a, b = multiply(a, UP, f32, NEAREST), multiply(b, UP, f32, NEAREST)
    return multiply(a, unit.rcp(b, table), f32, NEAREST)


@compiled
def div_approx_ftz(a: int, b: int, f32: Format, table: Table) -> int:
    """As `div_approx`, with subnormal operands and results as zeros."""
    return multiply(a, unit.rcp(b, table), f32, NEAREST, True)


@compiled
def div_full(a: int, b: int, f32: Format, table: Table) -> int:
    """A times the reciprocal of b, both scaled where the reciprocal would be subnormal or overflow."""
    if b & MAGNITUDE > GREAT:
        a, b = multiply(a, QUARTER, f32, NEAREST), multiply(b, QUARTER, f32, NEAREST)
    return div_approx(a, b, f32, table)


@compiled
def div_full_ftz(a: int, b: int, f32: Format, table: Table) -> int:
    """As `div_full`, with subnormal operands and results of every multiplication as zeros."""
    if b & MAGNITUDE > GREAT:
        a, b = multiply(a, QUARTER, f32, NEAREST, True), multiply(b, QUARTER, f32, NEAREST, True)
    return div_approx_ftz(a, b, f32, table)
