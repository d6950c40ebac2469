"""The fused dot-product-add (FDPA): products and an addend aligned, added exactly and rounded once.

`dot_products` chains them for one row of A and several columns of B: its *lanes*. Factors are decoded before.
The products of a block are taken in groups, one group for all lanes, so that a processor computes several
lanes with one instruction. With one lane it is a dot product.

Sources: ``docs/explanation/numerics.md``.
"""

from typing import Any, Final, NamedTuple

from golden.arithmetic.compiled import compiled, shift, unsigned_word, word
from golden.arithmetic.decode import FINITE, NAN, ZERO, ZERO_EXPONENT, Format, decode
from golden.arithmetic.round_pack import pack, round_significand

GROUP: Final = 4
"""Products added in one step; blocks of other lengths are filled up with zeros."""

HALF: Final = 4
"""Groups whose sum fits into a word; those behind them have a sum of their own."""

INFINITE_EXPONENT: Final = 1 << 13
NAN_EXPONENT: Final = 1 << 14
"""Stand where factors are not finite."""

CODE_BITS: Final = 8
CODE_ZERO: Final = 1 << CODE_BITS - 1
"""Of a code: bits below the exponent, and the number that stands for a term of 0."""

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
    product_bits: int
    """Fraction bits of a product."""
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

    Terms and exponents have the axes (row or columns, block, group, place): place ``k * lanes + lane`` has
    factor k of a lane, and a row has one lane. The others have one bit for each product of a block, and the
    axes (row or columns, block, lane).
    """

    terms: Table
    """Signed significands; of A multiplied by ``2**(fraction_bits - product_bits)`` where that is whole."""
    exponents: Table
    """With `ZERO_EXPONENT`, `INFINITE_EXPONENT` and `NAN_EXPONENT`."""
    nan: Table
    infinite: Table
    zero: Table
    negative: Table


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
def largest_of_group(largest: int, a_exponents: Any, b_exponents: Any, lanes: int, lane: int) -> int:
    """The largest exponent so far; a product's is the sum of its factors' exponents."""
    for k in range(GROUP):
        largest = word(max(word(largest), word(a_exponents[k] + b_exponents[k * lanes + lane])))
    return largest


@compiled
def add_group(
    total: int,
    reach: int,
    a_terms: Any,
    a_exponents: Any,
    b_terms: Any,
    b_exponents: Any,
    lanes: int,
    lane: int,
) -> int:
    """Add a group's products to the total, each truncated to whole units; nothing is rounded in between.

    From the exponent `reach` on a product is whole units: one of a lesser exponent is shifted by the
    difference.
    """
    for k in range(GROUP):
        place = k * lanes + lane
        product = word(a_terms[k] * b_terms[place])
        distance = word(reach - word(a_exponents[k] + b_exponents[place]))
        total = word(total + align(product, distance))
    return total


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
def special_sum(nan: int, plus: int, minus: int, addend: int, exponent: int, format: Format) -> int:
    """The result where a term is not finite; 0 where all are.

    `nan`, `plus` and `minus` are not zero where a product is NaN (infinity times zero included), +infinity,
    -infinity; `addend` and `exponent` are the addend as a `signed_term`.
    """
    infinite = exponent == INFINITE_EXPONENT
    positive = (plus != 0) | (infinite & (addend > 0))
    negative = (minus != 0) | (infinite & (addend < 0))
    if (nan != 0) | (exponent == NAN_EXPONENT) | (positive & negative):
        return format.canonical_nan
    if positive | negative:
        return format.infinity | (1 if negative else 0) << (format.bits - 1)
    return 0


@compiled
def decode_factors(bits: Any, format: Format, factor: int, terms: Any, exponents: Any) -> None:
    """Decode any number of bit patterns into exponents and terms, which are multiplied by `factor`."""
    for i in range(len(bits)):
        term, exponents[i] = signed_term(bits[i], format)
        terms[i] = word(word(term) * word(factor))


@compiled
def unpack_factors(codes: Any, _: Any, factor: int, terms: Any, exponents: Any) -> None:
    """As `decode_factors`, from codes instead of bit patterns: the exponent, and the term in the low byte."""
    for i in range(len(codes)):
        exponents[i] = codes[i] >> CODE_BITS
        terms[i] = word(word((codes[i] & CODE_ZERO * 2 - 1) - CODE_ZERO) * word(factor))


@compiled
def marks(term: int, exponent: int, mark: int) -> tuple[int, int, int, int]:
    """The mark where a factor is NaN, infinite, zero and negative."""
    return (
        word(mark if exponent == NAN_EXPONENT else 0),
        word(mark if exponent == INFINITE_EXPONENT else 0),
        word(mark if exponent == ZERO_EXPONENT else 0),
        word(mark if term < 0 else 0),
    )


@compiled
def marks_of_row(terms: Any, exponents: Any) -> tuple[int, int, int, int]:
    """The four marks of a row's block."""
    nan = infinite = zero = negative = word(0)
    for k in range(len(terms)):
        found = marks(terms[k], exponents[k], word(word(1) << (k & 31)))
        nan = word(nan | found[0])
        infinite = word(infinite | found[1])
        zero = word(zero | found[2])
        negative = word(negative | found[3])
    return nan, infinite, zero, negative


@compiled
def mark_columns(operand: Operand, columns: int, groups: int, lanes: int) -> None:
    """Fill the marks of columns side by side from their terms and exponents, blocks of so many groups."""
    for block in range(len(operand.nan[columns])):
        nan, infinite = operand.nan[columns][block], operand.infinite[columns][block]
        zero, negative = operand.zero[columns][block], operand.negative[columns][block]
        for lane in range(lanes):
            nan[lane] = infinite[lane] = zero[lane] = negative[lane] = 0
        for group in range(groups):
            terms, exponents = operand.terms[columns][block][group], operand.exponents[columns][block][group]
            for k in range(GROUP):
                mark = word(1 << group * GROUP + k)
                for lane in range(lanes):
                    found = marks(terms[k * lanes + lane], exponents[k * lanes + lane], mark)
                    nan[lane] |= found[0]
                    infinite[lane] |= found[1]
                    zero[lane] |= found[2]
                    negative[lane] |= found[3]


@compiled
def choose_columns(
    terms: Any, exponents: Any, base: int, places: Any, first: int, lanes: int, chosen: tuple[Any, Any]
) -> bool:
    """Copy as many factors as `chosen` has for each lane; whether one is not finite.

    The factors stand at `base` and the places ``places[first:]`` behind it, `lanes` side by side. `chosen`
    are their terms and exponents.
    """
    to_terms, to_exponents = chosen
    largest = word(0)
    for k in range(len(to_terms) // lanes):
        source = unsigned_word((base + places[first + k]) * lanes)
        target = unsigned_word(k * lanes)
        for lane in range(lanes):
            to_terms[target + lane] = terms[source + lane]
            exponent = exponents[source + lane]
            to_exponents[target + lane] = exponent
            largest = max(word(largest), word(exponent))
    return largest >= INFINITE_EXPONENT // 2


@compiled
def dot_products(
    a: Operand, row: int, b: Operand, columns: int, c: Any, lanes: int, room: tuple[Any, ...], rules: Rules
) -> None:
    """The chain of FDPAs over ascending k, for each lane.

    `c` has a bit pattern for each lane; the results take their place. The five sequences of `room` take, of
    each lane's last sum, the largest exponent, the exponent of the addend, and in units
    ``2**(largest - fraction_bits)`` the addend, the sum of the products of the first groups and the others'.
    """
    largest, powers, addends, products, more = room
    format = rules.format
    fraction_bits = rules.fraction_bits
    beyond = max(rules.product_bits - fraction_bits, 0)
    for block in range(len(a.nan[row])):
        a_terms, a_exponents = a.terms[row][block], a.exponents[row][block]
        b_terms, b_exponents = b.terms[columns][block], b.exponents[columns][block]
        # 1. The largest exponent of all terms that are not zero, with its lower limit.
        for lane in range(lanes):
            addends[lane], powers[lane] = signed_term(c[lane], format)
            largest[lane] = max(word(rules.least_exponent), word(powers[lane]))
            products[lane] = more[lane] = 0
        for group in range(rules.groups):
            a_powers, b_powers = a_exponents[group], b_exponents[group]
            for lane in range(lanes):
                largest[lane] = largest_of_group(largest[lane], a_powers, b_powers, lanes, lane)
        # 2. The products in units of 2**(largest - fraction_bits), truncated towards zero and added exactly.
        for group in range(rules.groups):
            a_factors, a_powers = a_terms[group], a_exponents[group]
            b_factors, b_powers = b_terms[group], b_exponents[group]
            totals = more if rules.wide and group >= HALF else products
            for lane in range(lanes):
                reach = word(largest[lane] + beyond)
                totals[lane] = add_group(
                    totals[lane], reach, a_factors, a_powers, b_factors, b_powers, lanes, lane
                )
        # 3. The addend likewise, and one rounding, unless a term is NaN or an infinity.
        a_nan, a_infinite = a.nan[row][block][0], a.infinite[row][block][0]
        a_zero, a_negative = a.zero[row][block][0], a.negative[row][block][0]
        b_nan, b_infinite = b.nan[columns][block], b.infinite[columns][block]
        b_zero, b_negative = b.zero[columns][block], b.negative[columns][block]
        for lane in range(lanes):
            infinite = a_infinite | b_infinite[lane]
            nan = a_nan | b_nan[lane] | a_infinite & b_zero[lane] | a_zero & b_infinite[lane]
            minus = infinite & (a_negative ^ b_negative[lane])
            special = word(special_sum(nan, infinite & ~minus, minus, addends[lane], powers[lane], format))
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
