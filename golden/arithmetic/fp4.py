"""The sum of ``.kind::mxf4`` and ``.kind::mxf4nvf4``: exact sums of groups, scaled, aligned and added.

It is no fused dot-product-add of `golden.arithmetic.fdpa`: a group is aligned by the exponents of its scales
alone, whatever its elements are.

Sources: ``docs/explanation/small-formats.md``.
"""

from math import nan
from typing import Final

from golden.arithmetic.compiled import choose, compiled, like, power_of_two, signed_byte, single, word
from golden.arithmetic.decode import ZERO_EXPONENT
from golden.arithmetic.scales import POWER, SCALE_BITS, decode_scale

KEPT_BITS: Final = 35
"""Alignment keeps multiples of ``2**(Emax - KEPT_BITS)``."""

LEAST_EXPONENT: Final = -139
"""Lower limit of Emax."""

LARGEST: Final = 12
"""Twice the greatest element."""


@compiled
def doubled(bits: int) -> int:
    """Twice an element."""
    magnitude = signed_byte(bits & 7)
    # From 4 on the last bit counts twice as much, from 6 on four times.
    magnitude = max(magnitude, max(2 * magnitude - 4, 4 * magnitude - 16))  # noqa: PLW3301  vectors
    return choose(bits > 7, 0 - magnitude, magnitude)


@compiled
def group_scale(bits: int, scale_type: int) -> tuple[float, int]:
    """A factor, which is NaN of NaN, and the exponent, which is `ZERO_EXPONENT` of a zero.

    The factor is the value of ue4m3. Of ue8m0, whose values are beyond f32, it is 1.
    """
    significand, exponent, is_nan = decode_scale(word(bits), scale_type)
    number = single(significand)
    power = exponent * (scale_type != POWER) - SCALE_BITS
    factor = choose(is_nan, like(nan, number), number * power_of_two(power, number))
    return factor, choose(significand == 0, ZERO_EXPONENT, exponent)
