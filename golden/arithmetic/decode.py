"""Decode: bit patterns of any floating-point format into sign, significand and exponent."""

from functools import cache
from typing import Final, NamedTuple

from golden.arithmetic.compiled import compiled, word
from golden.tables.formats import FloatFormat

ZERO: Final = 0
FINITE: Final = 1
INFINITE: Final = 2
NAN: Final = 3

ZERO_EXPONENT: Final = -1024
"""Exponent of a zero where terms are aligned: so small that it never decides."""


class Layout(NamedTuple):
    """What the arithmetic needs of a `FloatFormat`, in a type that compiled code can take; see there."""

    bits: int
    exponent_bits: int
    fraction_bits: int
    ignored_bits: int
    canonical_nan: int
    has_infinity: bool
    has_nan: bool
    bias: int
    minimum_exponent: int
    infinity: int


Format = FloatFormat | Layout
"""Compiled code takes a `Layout`, Python either."""


@cache
def layout(format: FloatFormat) -> Layout:
    """The layout of a format; a pattern beyond 63 bits is negative, as in compiled code."""
    values = {name: getattr(format, name) for name in Layout._fields}
    values["canonical_nan"] -= (values["canonical_nan"] >> 63) << 64
    return Layout(**values)


@compiled
def decode(bits: int, format: Format, flush: bool = False) -> tuple[int, int, int, int]:
    """Take a bit pattern apart: sign bit, significand, exponent, and `ZERO`, `FINITE`, `INFINITE` or `NAN`.

    The significand has its hidden bit; of an infinity it is 0, of a NaN its payload. A finite number is
    ``(-1)**negative * significand * 2**(exponent - fraction_bits)``. The exponent is the minimum for zeros
    and subnormals, the maximum + 1 for specials.

    Subnormals have no hidden bit: they are not normalised; with `flush` (``.ftz``), they count as zeros of
    their sign. Ignored low bits (tf32) do not count, so a NaN with its payload there is an infinity.
    """
    stored = bits >> format.ignored_bits
    hidden = 1 << format.fraction_bits
    significand = stored & (hidden - 1)
    greatest = (1 << format.exponent_bits) - 1
    field = word(stored >> format.fraction_bits & greatest)
    negative = word(bits >> (format.bits - 1) & 1)
    exponent = word(max(field, word(1)) - format.bias)
    if field == greatest and (format.has_infinity or (format.has_nan and significand == hidden - 1)):
        return negative, significand, exponent, NAN if significand else INFINITE
    if field:
        return negative, significand | hidden, exponent, FINITE
    if flush:
        significand = 0
    return negative, significand, exponent, FINITE if significand else ZERO
