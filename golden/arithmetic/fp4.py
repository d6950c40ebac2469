"""The sum of ``.kind::mxf4`` and ``.kind::mxf4nvf4``: exact sums of groups, scaled, aligned and added.

It is no fused dot-product-add of `golden.arithmetic.fdpa`: a group is aligned by the exponents of its scales
alone, whatever its elements are.

Sources: ``docs/explanation/small-formats.md``.
"""

from typing import Any, Final

from golden.arithmetic.compiled import compiled
from golden.arithmetic.decode import INFINITE, NAN, ZERO, ZERO_EXPONENT, Format, decode
from golden.arithmetic.round_pack import TOWARDS_ZERO, pack, round_significand
from golden.arithmetic.scales import SCALE_BITS

KEPT_BITS: Final = 35
"""Alignment keeps multiples of ``2**(Emax - KEPT_BITS)``."""

LEAST_EXPONENT: Final = -139
"""Lower limit of Emax."""

TERM_BITS: Final = 2 + 2 * SCALE_BITS
"""Fraction bits of a term: its elements have one each."""

VALUES: Final = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
"""The elements, doubled, by their bits."""

_FAR: Final = 63


@compiled
def align_wide(term: int, bits: int, distance: int) -> int:
    """A term of `bits` fraction bits in units of ``2**-KEPT_BITS`` after a shift right, towards zero."""
    magnitude = (abs(term) << (KEPT_BITS - bits)) >> min(distance, _FAR)
    return -magnitude if term < 0 else magnitude


@compiled
def scaled_exponent(takes_part: bool, a_scale: int, b_scale: int, exponent: int) -> int:
    """The exponent of a group: of its scales, if a product is not zero and neither scale is."""
    return exponent if takes_part & (a_scale != 0) & (b_scale != 0) else ZERO_EXPONENT


@compiled
def sum_of_groups(
    terms: Any, exponents: Any, groups: int, lanes: int, lane: int, nan: bool, c: int, format: Format
) -> int:
    """The result for one of some elements side by side.

    Parameters
    ----------
    terms, exponents : sequence of int
        Of each group, and in it of each lane, its sum multiplied by both significands, with `TERM_BITS`
        fraction bits; and its `scaled_exponent`.
    groups, lanes, lane : int
    nan : bool
        Whether a scale is NaN, which counts whatever C is.
    c : int
        Bit pattern, of a format that the result has too. If it is infinite or NaN, it decides alone.
    format : FloatFormat or Layout
    """
    negative, significand, c_exponent, kind = decode(c, format)
    if kind == ZERO:
        c_exponent = ZERO_EXPONENT
    largest = max(LEAST_EXPONENT, c_exponent)
    for group in range(groups):
        largest = max(largest, exponents[group * lanes + lane])
    addend = -significand if negative else significand
    total = align_wide(addend, format.fraction_bits, largest - c_exponent)
    for group in range(groups):
        place = group * lanes + lane
        total += align_wide(terms[place], TERM_BITS, largest - exponents[place])
    sign = 1 if total < 0 else 0
    normal, _, kept, _ = round_significand(sign, abs(total), largest - KEPT_BITS, format, TOWARDS_ZERO, 0)
    result = pack(sign, kept, normal, format, TOWARDS_ZERO, True) if kept else 0
    if kind == INFINITE:
        result = c
    return format.canonical_nan if nan or kind == NAN else result
