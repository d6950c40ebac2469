"""The fused dot-product-add (FDPA): products and an addend aligned, added exactly and rounded once.

`dot_products` chains them for one row of A and several columns of B: its *lanes*. Factors are decoded before.
The products of a block are taken in groups, one group for all lanes, so that a processor computes several
lanes with one instruction. With one lane it is a dot product.

Sources: ``docs/explanation/numerics.md``.
"""

from math import inf, nan
from typing import Any, Final, NamedTuple

from golden.arithmetic.compiled import (
    TOGETHER,
    add_products,
    add_values,
    compiled,
    like,
    power_of_two,
    raise_to_sums,
    shift,
    unsigned_word,
    word,
)
from golden.arithmetic.decode import FINITE, NAN, ZERO, ZERO_EXPONENT, Format, decode
from golden.arithmetic.round_pack import pack, round_significand

GROUP: Final = TOGETHER
"""Products added in one step; blocks of other lengths are filled up with zeros."""

HALF: Final = 16 // GROUP
"""Groups whose sum fits into a word; those behind them have a sum of their own."""

INFINITE_EXPONENT: Final = -3 * ZERO_EXPONENT
NAN_EXPONENT: Final = 4 * INFINITE_EXPONENT
"""Stand where factors are not finite."""

SPECIAL_EXPONENT: Final = -ZERO_EXPONENT
"""Products have at least this exponent if a factor is not finite, zero times infinity included."""

_LARGE: Final = 1 << 29
"""Four times as much still fits into a word without a sign."""

_FAR: Final = 31
"""Nothing is left of a term that is shifted so far."""

Table = Any
"""Several axes: lists of lists, or a compiled array."""


class Rules(NamedTuple):
    """How sums are formed; `golden.arithmetic.rules.rules` makes them of an instruction and a profile."""

    groups: int
    """Groups of products in one sum."""
    fraction_bits: int
    """Alignment keeps multiples of ``2**(Emax - fraction_bits)``."""
    least_exponent: int
    """Lower limit of Emax."""
    format: Format
    """Of the sums' results and of the addend."""
    rounding: int
    discarded_bits: int
    """Lowest fraction bits that are zero in every result."""
    wide: bool
    """Whether the sum of all products of a block may not fit into a word."""


class Operand(NamedTuple):
    """Rows of A, or columns of B side by side, decoded.

    The axes are (row or columns, block, place): place ``k * lanes + lane`` has factor k of a lane, and a row
    has one lane.
    """

    values: Table
    """Floating-point numbers, whose products are exact."""
    exponents: Table
    """With `ZERO_EXPONENT`, `INFINITE_EXPONENT` and `NAN_EXPONENT`."""


class Pairs(NamedTuple):
    """What meets what. On the axes of rows, columns and blocks the last entry is for all behind it, too."""

    places: Table
    """The factor of B that meets each factor of A; axes (row, block, k)."""
    a_scales: Table
    """Added to the exponents of the products of a block; `NAN_EXPONENT` makes their sum NaN. Axes (row,
    block)."""
    b_scales: Table
    """Axes (columns, block, lane)."""


@compiled
def signed_term(bits: int, format: Format) -> tuple[int, int]:
    """The significand with its sign (of an infinity, any), and the exponent for the alignment."""
    negative, significand, exponent, kind = decode(bits, format)
    if kind > FINITE:
        significand = 1
        exponent = NAN_EXPONENT if kind == NAN else INFINITE_EXPONENT
    return -significand if negative else significand, ZERO_EXPONENT if kind == ZERO else exponent


@compiled
def align(term: int, distance: int) -> int:
    """The term, below ``2**31`` in magnitude, in units of ``2**distance``, truncated towards zero.

    The distance is not negative.
    """
    magnitude = word(word(abs(word(term))) >> min(unsigned_word(distance), _FAR))
    return word(-magnitude if term < 0 else magnitude)


@compiled
def aligned_addend(addend: int, exponent: int, largest: int, addend_bits: int, fraction_bits: int) -> int:
    """The addend, of `addend_bits` fraction bits, in units of ``2**(largest - fraction_bits)``."""
    more = word(fraction_bits - addend_bits)
    scaled = word(word(addend) << (max(more, 0) & 31))
    return align(scaled, word(word(largest - exponent) + max(word(-more), 0)))


@compiled
def magnitude_of_sum(products: int, addend: int) -> tuple[int, int]:
    """Sign and magnitude of the sum of two words, which may need a bit more than a word."""
    half = word(word(products >> 1) + word(addend >> 1) + word(products & addend & 1))  # rounded down
    negative = 1 if half < 0 else 0
    total = word(products + addend)
    return negative, unsigned_word(-total if negative else total)


@compiled
def magnitude_of_wide_sum(products: int, more: int, addend: int) -> tuple[int, int, int]:
    """Sign and magnitude of the sum of three words, in units of ``2**exponent``, which is the last result.

    A sum that a word cannot hold has two bits less, the lowest one sticky.
    """
    rest = word(word(products & 3) + word(more & 3) + word(addend & 3))
    quarter = word(word(word(products >> 2) + word(more >> 2)) + word(word(addend >> 2) + word(rest >> 2)))
    negative = 1 if quarter < 0 else 0
    sticky = word(1 if rest & 3 else 0)
    total = word(word(products + more) + addend)
    large = word(word(-word(quarter + sticky) if negative else quarter) | sticky)
    fits = abs(quarter) < _LARGE
    magnitude = word(word(-total if negative else total) if fits else large)
    return negative, unsigned_word(magnitude), word(0 if fits else 2)


@compiled
def round_sum(negative: int, magnitude: int, exponent: int, rules: Rules) -> int:
    """The result of a sum of finite terms, in units of ``2**exponent``.

    f32 is truncated, f16 rounded to nearest even; beyond the largest finite number the result is an infinity
    in spite of the truncation. Every zero is +0, also when a negative sum rounds to it.
    """
    format = rules.format
    normal, _, kept, up = round_significand(
        negative, magnitude, exponent, format, rules.rounding, rules.discarded_bits
    )
    significand = shift(unsigned_word(kept + up), rules.discarded_bits)
    packed = pack(negative, significand, normal, format, rules.rounding, True)
    return packed if significand else 0


@compiled
def float_value(term: int, exponent: int, fraction_bits: int, other: float) -> float:
    """The number of a `signed_term`; compiled, of the other's width."""
    scale = power_of_two(exponent - fraction_bits, other)
    if exponent == INFINITE_EXPONENT:
        scale = like(inf, other)
    if exponent == NAN_EXPONENT:
        scale = like(nan, other)
    return like(term, other) * scale


@compiled
def special_bits(value: float, format: Format) -> int:
    """The bit pattern of an infinity or of NaN; 0 for any other number."""
    if value != value:  # noqa: PLR0124  NaN
        return format.canonical_nan
    if abs(value) == inf:
        return format.infinity | (1 if value < 0 else 0) << (format.bits - 1)
    return 0


@compiled
def decode_factors(bits: Any, format: Format, values: Any, exponents: Any) -> None:
    """Decode any number of bit patterns into values and exponents."""
    for i in range(len(bits)):
        term, exponents[i] = signed_term(bits[i], format)
        values[i] = float_value(word(term), exponents[i], format.fraction_bits, values[i])


@compiled
def entry(index: int, table: Any) -> int:
    """Where a table of `Pairs` has what is for this row, columns or block."""
    return min(index, len(table) - 1)


@compiled
def dot_products(
    a: Operand,
    row: int,
    b: Operand,
    columns: int,
    pairs: Pairs,
    c: Any,
    lanes: tuple[int, ...],
    room: Any,
    rules: Rules,
) -> None:
    """The chain of FDPAs over ascending k, for each lane.

    `c` has a bit pattern for each lane; the results take their place. The seven sequences of `room` take, of
    each lane's last sum, the largest exponent, the exponent of the addend, in units
    ``2**(largest - fraction_bits)`` the addend, the sum of the products of the first groups and the others',
    the power of two that turns a value into units, and of products that are not finite the sum as numbers.
    """
    largest, powers, addends, products, more, units, specials = room
    format = rules.format
    fraction_bits, count = rules.fraction_bits, len(lanes)
    for block in range(len(a.values[row])):
        a_values, a_exponents = a.values[row][block], a.exponents[row][block]
        b_values, b_exponents = b.values[columns][block], b.exponents[columns][block]
        places, a_scales = pairs.places[entry(row, pairs.places)], pairs.a_scales[entry(row, pairs.a_scales)]
        b_scales = pairs.b_scales[entry(columns, pairs.b_scales)]
        places, a_scale = places[entry(block, places)], a_scales[entry(block, a_scales)]
        b_scales = b_scales[entry(block, b_scales)]
        # 1. The largest exponent of all terms that are not zero, with its lower limit.
        for lane in range(count):
            largest[lane] = ZERO_EXPONENT
        for group in range(rules.groups):
            raise_to_sums(largest, a_exponents, b_exponents, places, group * GROUP, lanes)
        most = word(0)
        for lane in range(count):
            addends[lane], powers[lane] = signed_term(c[lane], format)
            scale = word(a_scale + b_scales[lane])
            limit = max(word(rules.least_exponent), word(powers[lane]))
            largest[lane] = max(limit, word(largest[lane] + scale))
            units[lane] = power_of_two(word(fraction_bits + scale) - largest[lane], units[lane])
            most = max(most, word(largest[lane]))
            products[lane] = more[lane] = 0
            specials[lane] = like(nan if scale >= SPECIAL_EXPONENT else 0.0, units[lane])
        if most >= SPECIAL_EXPONENT:
            for group in range(rules.groups):
                add_values(specials, a_values, b_values, places, group * GROUP, lanes)
        # 2. The products in units of 2**(largest - fraction_bits), truncated towards zero and added exactly.
        for group in range(rules.groups):
            totals = more if rules.wide and group >= HALF else products
            add_products(totals, a_values, b_values, places, group * GROUP, lanes, units)
        # 3. The addend likewise, and one rounding, unless a term is NaN or an infinity.
        for lane in range(count):
            addend = float_value(word(addends[lane]), powers[lane], format.fraction_bits, units[lane])
            special = word(special_bits(specials[lane] + addend, format))
            addends[lane] = aligned_addend(
                addends[lane], powers[lane], largest[lane], format.fraction_bits, fraction_bits
            )
            exponent = word(largest[lane] - fraction_bits)
            if rules.wide:
                negative, magnitude, raised = magnitude_of_wide_sum(products[lane], more[lane], addends[lane])
                exponent = word(exponent + raised)
            else:
                negative, magnitude = magnitude_of_sum(products[lane], addends[lane])
            rounded = word(round_sum(negative, magnitude, exponent, rules))
            c[lane] = special if special else rounded
