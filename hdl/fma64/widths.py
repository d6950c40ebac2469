"""Numbers that several stages of the f64 unit agree on, derived from the format.

The *window* is the fixed-point number in which product and addend meet. Its top bit, number `WINDOW` - 1,
is where the leading one of a result is at home: the biased exponent of the window is the one that a result
with that leading bit has. The addend is shifted right by a distance from the top. The product takes one of
two places:

*Addend leads* (distance below `SPLIT`): product bit `LOW_PRODUCT` lies in window bit 0, so the product ends
two bits below an addend at distance 0. The product's lower bits reach the window only as a carry and as
inexactness. An addend too far above the product stays at distance 0; then the product, wherever it is, lies
below the guard bit. The product is below 2**55 in the window and a normal addend at least 2**56, so their
difference is above 2**55 and all 54 bits down to its guard bit lie in the window.

*Product leads*: the window is `WINDOW_STEP` bits lower, product bit 0 lies in window bit 2, and the addend
is shifted by that much less, at least by 1; the product is below 2**108 and the addend below 2**109, so
their sum fits 110 bits. Only here can numbers cancel, and only bits of the addend are lost. The least
one-sided case is a product of 2**52 (one factor the least subnormal), so 2**54 in the window, minus an
addend that has lost bits and thus is below 2**52. The difference is above 2**53 and its guard bit in bit 0
or higher: two bits below the product are enough, and significands need not be normalised first.

Where both factors are subnormal the addend is always at distance 0; where the addend is subnormal or zero,
and leads, the result's last place is the addend's.
"""

from typing import Final

from golden.tables.formats import float_format

_F64 = float_format("f64")

FRACTION: Final = _F64.fraction_bits
SIGNIFICAND: Final = _F64.significand_bits
EXPONENT_BITS: Final = _F64.exponent_bits
SPECIAL_EXPONENT: Final = (1 << EXPONENT_BITS) - 1
"""The biased exponent of infinities and NaN."""

PRODUCT: Final = 2 * SIGNIFICAND
LOW_PRODUCT: Final = FRACTION - 1
"""Product bits below the window where the addend leads."""

BELOW_PRODUCT: Final = 2
"""Window bits below the product where the product leads."""

WINDOW: Final = BELOW_PRODUCT + PRODUCT + 2
"""Above the product there is one bit for a larger addend and one for the carry."""

WINDOW_STEP: Final = LOW_PRODUCT + BELOW_PRODUCT
"""How much lower the window is where the product leads."""

SPLIT: Final = WINDOW_STEP + 1
"""The first distance at which the product leads."""

SHIFT_BITS: Final = WINDOW.bit_length()
"""Of a shift within the window; all ones, 127, is beyond it."""

PRODUCT_OFFSET: Final = _F64.bias - SIGNIFICAND - 3
"""The sum of two biased exponents, less this, is the biased exponent of the upper window's top bit.

Product bit j weighs ``2**(ea + eb - 2 * bias - 2 * FRACTION + j)``, and the window's top bit is product bit
`LOW_PRODUCT` + `WINDOW` - 1 = 160: ``ea + eb - 2150 + 160 + bias = ea + eb - 967``.
"""

WINDOW_EXPONENT_BITS: Final = EXPONENT_BITS + 1
"""Of the biased exponent of the window: at most 2046 + 2046 - 967 = 3125."""

NAN_PRODUCT_EXPONENT: Final = SPECIAL_EXPONENT + WINDOW_STEP + 3
"""The upper window's exponent that makes a significand times 1, alone, come out with a NaN's exponent.

Its leading one is product bit 104, three below the top of the lower window; the distance from any addend is
54 or more.
"""

DISTANCE_BITS: Final = EXPONENT_BITS + 2
"""Of the signed distance of the addend, from 1 + 1 - 967 - 2046 = -3011 to 3125 - 1."""

assert _F64.bias + LOW_PRODUCT + WINDOW - 1 - 2 * _F64.bias - 2 * FRACTION == -PRODUCT_OFFSET
assert WINDOW - 1 - (BELOW_PRODUCT + 2 * FRACTION) == 3
assert NAN_PRODUCT_EXPONENT - SPECIAL_EXPONENT >= SPLIT
