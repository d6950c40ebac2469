"""The sum of ``.kind::mxf4`` and ``.kind::mxf4nvf4``: exact sums of groups, scaled, aligned and added.

It is no fused dot-product-add of `golden.arithmetic.fdpa`: a group is aligned by the exponents of its scales
alone, whatever its elements are.

An element, doubled and multiplied by the significand of its scale, fits into 16 bits. A word holds two of
them, and a processor multiplies two words and adds both products to a sum with one instruction.

Sources: ``docs/explanation/small-formats.md``.
"""

from typing import Final

from golden.arithmetic.compiled import choose, compiled, word
from golden.arithmetic.decode import ZERO_EXPONENT
from golden.arithmetic.fdpa import NAN_EXPONENT
from golden.arithmetic.scales import SCALE_BITS, decode_scale

KEPT_BITS: Final = 35
"""Alignment keeps multiples of ``2**(Emax - KEPT_BITS)``."""

LEAST_EXPONENT: Final = -139
"""Lower limit of Emax."""

TERM_BITS: Final = 2 + 2 * SCALE_BITS
"""Fraction bits of a term: its elements have one each."""

DOUBLED: Final = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
"""Every element, doubled."""


@compiled
def group_scale(bits: int, scale_type: int) -> tuple[int, int]:
    """Significand and exponent of a scale; the significand is not zero.

    The exponent is `ZERO_EXPONENT` of a zero and `NAN_EXPONENT` of NaN.
    """
    significand, exponent, nan = decode_scale(word(bits), scale_type)
    exponent = choose(significand == 0, ZERO_EXPONENT, exponent)
    return max(significand, 1), choose(nan, NAN_EXPONENT, exponent)
