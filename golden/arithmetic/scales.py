"""Block scales: bytes without a sign that multiply the elements of a block."""

from typing import Final

from golden.arithmetic.compiled import choose, compiled, like

SCALE_TYPES: Final = ("ue8m0", "ue4m3")
"""A power of two; a floating-point number of 4 and 3 bits. A scale type's number is its place."""

SCALE_BITS: Final = 3
"""Fraction bits of the significand of a scale."""

POWER: Final = 0
"""The number of ue8m0."""

_ONE: Final = 1 << SCALE_BITS
_POWER_BIAS: Final = 127
_POWER_NAN: Final = 0xFF
_BIAS: Final = 7
_NAN: Final = 0x7F


@compiled
def decode_scale(bits: int, scale_type: int) -> tuple[int, int, bool]:
    """Significand, exponent and whether it is NaN: ``significand * 2**(exponent - SCALE_BITS)``.

    ue8m0 has neither zero nor subnormals. Of ue4m3 the top bit is ignored.
    """
    if scale_type == POWER:
        return like(_ONE, bits), bits - _POWER_BIAS, bits == _POWER_NAN
    bits = bits & _NAN
    field = bits >> SCALE_BITS
    significand = choose(field > 0, bits & (_ONE - 1) | _ONE, bits & (_ONE - 1))
    return significand, max(field, 1) - _BIAS, bits == _NAN
