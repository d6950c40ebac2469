"""Numbers that several stages of the unit for sums of groups agree on, derived from the formats.

An element of e2m1 is a multiple of 1/2 of at most 6. So a product is a whole number of quarters, at most
144, and a group's sum at most 16 * 144 = 2304 in magnitude: 12 bits. The product of two significands of
scales, in 64ths, is at most 15 * 15 = 225: 8 bits. Their product is at most 518 400, which takes 19 bits;
its last bit weighs ``2**(e - 8)`` for the sum e of the exponents of the scales.

Terms are kept in units of ``2**(Emax - 35)``. At distance 0 the 19 bits of a term begin 27 bits above the
last one, so a term takes 46 bits, and 36 bits are enough for C, which has 23 fraction bits. Four terms, each
below 2026 * 2**Emax, and C, below 2 * 2**Emax, stay below 2**13 * 2**Emax: 48 bits, and a sign.

Exponents travel as the sum of two biased exponents of ue8m0, so that all of them are positive: 0 to 508. A
group that takes no part has 0. ue4m3 has 242 to 270 and C 128 to 381. The least Emax, -139, is 115, and that
is also the exponent of a C that is zero.
"""

from typing import Final

from golden.tables.formats import float_format

_F32: Final = float_format("f32")

GROUP: Final = 16
"""Products of a group: `golden.tables.profiles.Profile.fp4_group` of `blackwell`."""

GROUPS: Final = 4

PASSES: Final = 2
"""Cycles in which the unit takes the operands of a result: the lower groups and the higher ones."""

PASS_GROUPS: Final = GROUPS // PASSES
PASS_PRODUCTS: Final = PASS_GROUPS * GROUP

PRODUCT: Final = 9
"""Bits of a product in quarters, with its sign."""

SUM: Final = (GROUP * 12 * 12).bit_length()
"""Bits of the magnitude of a group's sum."""

SCALE: Final = 8
"""Bits of a scale, and of the product of two significands of scales."""

SCALE_FRACTION: Final = 3
"""Fraction bits of a scale's significand."""

TERM: Final = 19
TERM_FRACTION: Final = 2 + 2 * SCALE_FRACTION

KEPT: Final = 35
"""Fraction bits that alignment keeps."""

WINDOW: Final = TERM - TERM_FRACTION + KEPT
"""Bits of an aligned term."""

FINE: Final = 8
"""Steps of the distance that the multiplier shifts."""

ADDEND: Final = KEPT + 1
"""Bits of an aligned C."""

SIGNIFICAND: Final = _F32.significand_bits
BIAS: Final = 127
"""Of ue8m0 and f32."""

EXPONENT: Final = 9
"""Bits of an exponent that travels."""

DISTANCE: Final = 6
"""Bits of the distance of a term from Emax; all ones is beyond the window."""

TOTAL: Final = KEPT + 13
"""Bits of the magnitude of the sum."""

LEAST_MAXIMUM: Final = 2 * BIAS - 139
"""The least Emax."""

TOP: Final = TOTAL + 1
"""Bits of the magnitude that is normalised: with a zero above it, the highest one weighs no less than the
least normal number of f32, as ``2**(-139 + 13)``. So it is never shifted right."""

assert GROUP * 144 * 15 * 15 < 1 << TERM
assert GROUPS * (GROUP * 144 * 15 * 15) + (2 << TERM_FRACTION) < 1 << TOTAL - KEPT + TERM_FRACTION
assert _F32.minimum_exponent == LEAST_MAXIMUM - 2 * BIAS + TOP - 1 - KEPT
