"""rcp and rsqrt of f64: the unit on the upper word, with 20 significand bits in and out.

The lower word is ignored, and 0 in results. A NaN counts as an infinity if its upper word is an infinity's.
Subnormal operands and results count as zero of their sign.
"""

from typing import Final

from golden.approximation.interpolator import ARGUMENT_BITS, Table, polynomial
from golden.approximation.unit import (
    BIAS,
    INFINITY,
    NAN,
    NOT_SPECIAL,
    SIGN,
    rcp_argument,
    rcp_special,
    root_special,
    rsqrt_argument,
    rsqrt_special,
)
from golden.arithmetic.compiled import bit_length, compiled

_BIAS64: Final = 1023
_UPPER_FRACTION: Final = 20
_NAN64: Final = NAN << 32


@compiled
def upper_word_as_f32(x: int) -> int:
    """A number with the significand and the class of the upper word, and an exponent of the same parity."""
    upper = x >> 32 & 0xFFFFFFFF
    field, fraction = upper >> _UPPER_FRACTION & 0x7FF, upper & ((1 << _UPPER_FRACTION) - 1)
    exponent = 0xFF if field == 0x7FF else BIAS + (field + 1 & 1) if field else 0
    return upper & SIGN | exponent << ARGUMENT_BITS | fraction << 3


@compiled
def assemble_upper_word(magnitude: int, unit: int, negative: int) -> int:
    """As `assemble`, with 21 significant bits, in f64."""
    cut = bit_length(magnitude) - _UPPER_FRACTION - 1
    bits = (magnitude >> cut) + ((unit + cut + _UPPER_FRACTION + _BIAS64 - 1) << _UPPER_FRACTION)
    return (0 if bits < 1 << _UPPER_FRACTION else bits) << 32 | negative << 63


@compiled
def upper_word_exponent(x: int) -> int:
    """The exponent of an f64 that is normal."""
    return (x >> 52 & 0x7FF) - _BIAS64


@compiled
def widened_special(special: int) -> int:
    """A special result of f32 in f64."""
    if special == NAN:
        return _NAN64
    return (special & SIGN | (0x7FF00000 if special & INFINITY else 0)) << 32


@compiled
def rcp_upper_word(x: int, table: Table) -> int:
    """One divided by x, in f64."""
    operand = upper_word_as_f32(x)
    special = rcp_special(operand)
    if special != NOT_SPECIAL:
        return widened_special(special)
    row, offset, _, negative = rcp_argument(operand, table)
    unit = -upper_word_exponent(x) - table.fraction_bits
    return assemble_upper_word(polynomial(table, row, offset), unit, negative)


@compiled
def rsqrt_upper_word(x: int, table: Table) -> int:
    """One divided by the square root of x, in f64; powers of four are exact."""
    operand = upper_word_as_f32(x)
    special = root_special(operand, INFINITY, 0)
    if special != NOT_SPECIAL:
        return widened_special(special)
    half = upper_word_exponent(x) >> 1
    if rsqrt_special(operand) != NOT_SPECIAL:
        return (_BIAS64 - half) << 52
    row, offset, _, _ = rsqrt_argument(operand, table)
    return assemble_upper_word(polynomial(table, row, offset), -half - table.fraction_bits, 0)


RESULTS: Final = {"rcp": rcp_upper_word, "rsqrt": rsqrt_upper_word}
