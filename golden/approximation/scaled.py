"""The f32 forms without ``.ftz``, and the divisions: scaled operands around the forms with ``.ftz``.

Subnormal operands and results are kept. All multiplications are f32, rounded to nearest even. All functions
take and return bit patterns.

A product with ``.ftz`` is flushed if it is below ``2**-126`` once rounded to 24 significant bits with an
unlimited exponent (tininess after rounding, in the words of IEEE 754). Rounding to a subnormal first would
keep more: products from ``2**-126 * (1 - 2**-24)`` to ``2**-126 * (1 - 2**-25)`` become zero.
"""

from typing import Final

from golden.approximation import unit
from golden.approximation.interpolator import Table
from golden.approximation.unit import INFINITY, LEAST_NORMAL, MAGNITUDE, SIGN
from golden.arithmetic.compiled import compiled
from golden.arithmetic.decode import Format, decode
from golden.arithmetic.fma import add, multiply
from golden.arithmetic.round_pack import NEAREST

__all__ = [
    "BACK",
    "GREAT",
    "HALF",
    "QUARTER",
    "UP",
    "div_approx",
    "div_approx_ftz",
    "div_full",
    "div_full_ftz",
    "ex2",
    "lg2",
    "multiply_flushed",
    "rcp",
    "rsqrt",
    "sqrt",
]

GREAT: Final = 0x7E800000
"""``2**126``: the reciprocal of anything greater is subnormal."""

UP: Final = 0x4B800000
"""``2**24``, by which subnormal operands are multiplied."""
QUARTER: Final = 0x3E800000
HALF: Final = 0x3F000000
_LEAST_KEPT: Final = (1 << 25) - 1, -151

_RSQRT_BACK: Final = 0x45800000  # 4096
_SQRT_BACK: Final = 0x39800000  # 2**-12
_LG2_BACK: Final = 0xC1C00000  # -24
BACK: Final = {"rcp": UP, "rsqrt": _RSQRT_BACK, "sqrt": _SQRT_BACK, "lg2": _LG2_BACK}
"""What is done with the result of a subnormal operand: a factor, of lg2 an addend."""


@compiled
def ex2(x: int, table: Table, f32: Format) -> int:
    """Two to the power x: below -126, the square of two to the power x / 2."""
    halved = 0xC2FC0000 < x <= 0xFF800000
    result = unit.ex2(multiply(x, HALF, f32, NEAREST) if halved else x, table)
    return multiply(result, result, f32, NEAREST) if halved else result


@compiled
def scale_up(x: int, f32: Format) -> int:
    """A subnormal operand times ``2**24``; others as they are."""
    return x if x & MAGNITUDE >= LEAST_NORMAL else multiply(x, UP, f32, NEAREST)


@compiled
def rcp(x: int, table: Table, f32: Format) -> int:
    """One divided by x, which is scaled by ``2**24`` or 0.25 where it or the result is subnormal."""
    magnitude = x & MAGNITUDE
    scaled = magnitude < LEAST_NORMAL or magnitude > GREAT
    scale = UP if magnitude < LEAST_NORMAL else QUARTER
    result = unit.rcp(multiply(x, scale, f32, NEAREST) if scaled else x, table)
    return multiply(result, scale, f32, NEAREST) if scaled else result


@compiled
def rsqrt(x: int, table: Table, f32: Format) -> int:
    """One divided by the square root of x."""
    result = unit.rsqrt(scale_up(x, f32), table)
    return result if x & MAGNITUDE >= LEAST_NORMAL else multiply(result, _RSQRT_BACK, f32, NEAREST)


@compiled
def sqrt(x: int, table: Table, f32: Format) -> int:
    """The square root of x."""
    result = unit.sqrt(scale_up(x, f32), table)
    return result if x & MAGNITUDE >= LEAST_NORMAL else multiply(result, _SQRT_BACK, f32, NEAREST)


@compiled
def lg2(x: int, table: Table, f32: Format) -> int:
    """The logarithm of x to base two."""
    result = unit.lg2(scale_up(x, f32), table)
    return result if x & MAGNITUDE >= LEAST_NORMAL else add(result, _LG2_BACK, f32, NEAREST)


@compiled
def div_approx(a: int, b: int, table: Table, f32: Format) -> int:
    """A times the reciprocal of b; 0 for a finite quotient by more than ``2**126``."""
    if b & MAGNITUDE < LEAST_NORMAL:
        a, b = multiply(a, UP, f32, NEAREST), multiply(b, UP, f32, NEAREST)
    return multiply(a, unit.rcp(b, table), f32, NEAREST)


@compiled
def div_approx_ftz(a: int, b: int, table: Table, f32: Format) -> int:
    """As `div_approx`, with subnormal operands and results as zeros."""
    return multiply_flushed(a, unit.rcp(b, table), f32)


@compiled
def div_full(a: int, b: int, table: Table, f32: Format) -> int:
    """A times the reciprocal of b, both scaled where the reciprocal would be subnormal or overflow."""
    if b & MAGNITUDE > GREAT:
        a, b = multiply(a, QUARTER, f32, NEAREST), multiply(b, QUARTER, f32, NEAREST)
    return div_approx(a, b, table, f32)


@compiled
def div_full_ftz(a: int, b: int, table: Table, f32: Format) -> int:
    """As `div_full`, with subnormal operands and results of every multiplication as zeros."""
    if b & MAGNITUDE > GREAT:
        a, b = multiply_flushed(a, QUARTER, f32), multiply_flushed(b, QUARTER, f32)
    return div_approx_ftz(a, b, table, f32)


@compiled
def flushed(x: int) -> int:
    """A subnormal number becomes zero of its sign."""
    return x & SIGN if x & MAGNITUDE < LEAST_NORMAL else x


@compiled
def multiply_flushed(a: int, b: int, f32: Format) -> int:
    """The product, 0 of its sign if it is below ``2**-126`` once rounded to 24 significant bits."""
    a, b = flushed(a), flushed(b)
    product = multiply(a, b, f32, NEAREST)
    if product & MAGNITUDE > LEAST_NORMAL:
        return product
    if product & MAGNITUDE == LEAST_NORMAL:
        _, x, x_exponent, _ = decode(a, f32)
        _, y, y_exponent, _ = decode(b, f32)
        least, weight = _LEAST_KEPT
        if x * y >= least << (weight - (x_exponent + y_exponent - 2 * f32.fraction_bits)):
            return product
    return product & SIGN if product & MAGNITUDE <= INFINITY else product
