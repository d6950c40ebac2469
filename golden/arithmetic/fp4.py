"""The sum of ``.kind::mxf4`` and ``.kind::mxf4nvf4``: exact sums of groups, scaled, aligned and added.

It is no fused dot-product-add of `golden.arithmetic.fdpa`: a group is aligned by the exponents of its scales
alone, whatever its elements are.

Sources: ``docs/explanation/small-formats.md``.
"""

from typing import Any, Final

from golden.arithmetic.compiled import compiled, unsigned_word, word
from golden.arithmetic.decode import ZERO_EXPONENT, Format
from golden.arithmetic.fdpa import signed_term, special_sum
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
def magnitude_in_word(total: int) -> tuple[int, int, int]:
    """Sign and magnitude of a sum below ``2**56`` in units of ``2**exponent``, which is the last result.

    Bits are cut off where a word cannot hold them, and at least 24 are left.
    """
    magnitude = abs(total)
    exponent = word(
        (8 if magnitude >> 32 else 0) + (8 if magnitude >> 40 else 0) + (8 if magnitude >> 48 else 0)
    )
    return 1 if total < 0 else 0, unsigned_word(magnitude >> exponent), exponent


@compiled
def sums_of_groups(
    terms: Any, exponents: Any, groups: int, lanes: int, nans: Any, c: Any, room: Any, format: Format
) -> None:
    """The results for some elements side by side.

    Parameters
    ----------
    terms, exponents : sequence of int
        Of each group, and in it of each lane, its sum multiplied by both significands, with `TERM_BITS`
        fraction bits; and its `scaled_exponent`.
    groups, lanes : int
    nans : sequence of int
        Of each lane, not 0 where a scale is NaN, which counts whatever C is.
    c : sequence of int
        A bit pattern for each lane, of a format that the result has too; the results take their place. If it
        is infinite or NaN, it decides alone.
    room : sequence of int, four
        Takes, of each lane, the largest exponent, the addend and its exponent, and the sum.
    format : FloatFormat or Layout
    """
    largest, addends, powers, totals = room
    for lane in range(lanes):
        addends[lane], powers[lane] = signed_term(c[lane], format)
        largest[lane] = max(word(LEAST_EXPONENT), word(powers[lane]))
    for group in range(groups):
        for lane in range(lanes):
            largest[lane] = max(word(largest[lane]), word(exponents[group * lanes + lane]))
    for lane in range(lanes):
        totals[lane] = align_wide(addends[lane], format.fraction_bits, largest[lane] - powers[lane])
    for group in range(groups):
        for lane in range(lanes):
            place = group * lanes + lane
            totals[lane] += align_wide(terms[place], TERM_BITS, largest[lane] - exponents[place])
    for lane in range(lanes):
        special = word(special_sum(nans[lane], 0, 0, addends[lane], powers[lane], format))
        negative, magnitude, raised = magnitude_in_word(totals[lane])
        exponent = word(word(largest[lane] - KEPT_BITS) + raised)
        normal, _, kept, _ = round_significand(negative, magnitude, exponent, format, TOWARDS_ZERO, 0)
        packed = word(pack(negative, kept, normal, format, TOWARDS_ZERO, True))
        result = word(packed if kept else 0)
        c[lane] = special if special else result
