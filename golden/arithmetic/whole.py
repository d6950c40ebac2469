"""Floating-point numbers to integers and back; each rounds once.

A `rounding` is a place in `golden.arithmetic.round_pack.ROUNDINGS`.
"""

from typing import Final

from golden.arithmetic.compiled import bit_length, compiled, shift
from golden.arithmetic.decode import INFINITE, NAN, Format, decode
from golden.arithmetic.fma import quiet_nan, shift_sticky
from golden.arithmetic.round_pack import round_at, round_pack

_LONGEST: Final = 62
"""Bits that `round_pack` takes."""
_WIDEST: Final = 64
"""Bits of an integer."""


@compiled
def to_integral(bits: int, format: Format, rounding: int) -> int:
    """The number rounded to an integer, in its format; zeros keep the number's sign."""
    negative, significand, exponent, kind = decode(bits, format)
    if kind == NAN:
        return quiet_nan(bits, format)
    if exponent >= format.fraction_bits:  # an infinity too
        return bits
    kept, up = round_at(negative, significand, format.fraction_bits - exponent, rounding)
    return round_pack(negative, kept + up, 0, format, rounding, False)


@compiled
def to_integer(bits: int, format: Format, rounding: int, width: int, signed: int) -> int:
    """The number as an integer of at most 64 bits, in compiled code modulo ``2**64``; `signed` is 1 or 0.

    A number out of range becomes the nearest integer that there is, a NaN 0 on the way to 32 bits and less
    from formats other than f64, elsewhere the pattern whose only set bit is the highest.
    """
    negative, significand, exponent, kind = decode(bits, format)
    if kind == NAN:
        return 1 << (width - 1) if width == 64 or format.bits == 64 else 0
    dropped_bits = format.fraction_bits - exponent
    magnitude = shift(significand, -dropped_bits)
    if dropped_bits > 0:
        kept, up = round_at(negative, significand, dropped_bits, rounding)
        magnitude = kept + up
    if kind == INFINITE or exponent >= _WIDEST or bit_length(magnitude) > width - signed:
        # Not shifted from 1, since compiled code cannot shift by 64.
        magnitude = (2 << (width - signed - 1)) - 1 + (signed & negative)
    if negative:
        return -magnitude if signed else 0
    return magnitude


@compiled
def from_integer(value: int, format: Format, rounding: int, signed: int) -> int:
    """The integer of up to 64 bits as a floating-point number.

    `signed` is 1 or 0: in compiled code, an integer without sign of 64 bits may look negative.
    """
    negative = 1 if signed and value < 0 else 0
    magnitude = -value if negative else value
    excess = max(bit_length(magnitude) - _LONGEST, 0)
    return round_pack(negative, shift_sticky(magnitude, excess), excess, format, rounding, False)
