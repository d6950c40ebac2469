"""The fused dot-product-add (FDPA): products and an addend aligned, added exactly and rounded once.

`dot_products` chains them, for several independent results at once: its *lanes*, each with factors of its
own. Factors are decoded before. The products of a block are taken in groups, one group for all lanes, so
that a processor computes several lanes with one instruction. With one lane it is a dot product.

Sources: ``docs/explanation/numerics.md``.
"""

from typing import Any, Final, NamedTuple

from golden.arithmetic.align import align
from golden.arithmetic.compiled import compiled, word
from golden.arithmetic.decode import FINITE, NAN, ZERO, ZERO_EXPONENT, Format, decode
from golden.arithmetic.round_pack import pack, round_significand

__all__ = [
    "GROUP",
    "Operand",
    "Rules",
    "aligned_addend",
    "decode_factors",
    "dot_products",
    "mark_factors",
    "round_sum",
    "signed_term",
    "special_sum",
]

GROUP: Final = 4
"""Products added in one step; blocks of other lengths are filled up with zeros."""

INFINITE_EXPONENT: Final = 1 << 13
NAN_EXPONENT: Final = 1 << 14
"""Stand where factors are not finite."""

Table = Any
"""Two or three axes: lists of lists, or a compiled array."""


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


class Operand(NamedTuple):
    """Rows of A or columns of B, decoded: tables with the axes (row or column, group, k, lane).

    The last four have one bit for each product of a block, and the axes (row or column, block, lane).
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
def largest_of_group(largest: int, a_exponents: Table, b_exponents: Table, lane: int) -> int:
    """The largest exponent so far; a product's is the sum of its factors' exponents."""
    for k in range(GROUP):
        largest = word(max(word(largest), word(a_exponents[k][lane] + b_exponents[k][lane])))
    return largest


@compiled
def add_group(
    total: int, reach: int, a_terms: Table, a_exponents: Table, b_terms: Table, b_exponents: Table, lane: int
) -> int:
    """Add a group's products, each truncated to whole units; nothing is rounded in between.

    Parameters
    ----------
    total : int
        Units.
    reach : int
        Exponent from which on a product is whole units: a lesser one is shifted by the difference.
    a_terms, a_exponents, b_terms, b_exponents
        The group's.
    lane : int
    """
    for k in range(GROUP):
        product = word(a_terms[k][lane] * b_terms[k][lane])
        distance = word(reach - word(a_exponents[k][lane] + b_exponents[k][lane]))
        total = word(total + align(product, distance))
    return total


@compiled
def aligned_addend(addend: int, exponent: int, largest: int, addend_bits: int, fraction_bits: int) -> int:
    """The addend, of `addend_bits` fraction bits, in units of ``2**(largest - fraction_bits)``."""
    more = fraction_bits - addend_bits
    return align(addend << max(more, 0), largest - exponent + max(-more, 0))


@compiled
def round_sum(total: int, exponent: int, rules: Rules) -> int:
    """The result of a sum of finite terms, in units of ``2**exponent``.

    f32 is truncated, f16 rounded to nearest even; beyond the largest finite number the result is an infinity
    in spite of the truncation. Every zero is +0, also when a negative sum rounds to it.
    """
    negative = 1 if total < 0 else 0
    format = rules.format
    normal, _, kept, up = round_significand(
        negative, abs(total), exponent, format, rules.rounding, rules.discarded_bits
    )
    significand = kept + up << rules.discarded_bits
    if significand == 0:
        return 0
    return pack(negative, significand, normal, format, rules.rounding, True)


@compiled
def special_sum(nan: int, plus: int, minus: int, addend: int, exponent: int, format: Format) -> int:
    """The result where a term is not finite; 0 where all are.

    Parameters
    ----------
    nan, plus, minus : int
        Not zero where a product is NaN (infinity times zero included), +infinity, -infinity.
    addend, exponent : int
        The addend as a `signed_term`.
    format : FloatFormat or Layout
        Of the result.
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
def decode_factors(bits: Any, format: Format, scale: int, terms: Any, exponents: Any) -> None:
    """Decode any number of factors.

    Parameters
    ----------
    bits : sequence of int
        Bit patterns.
    format : FloatFormat or Layout
    scale : int
        The terms are multiplied by ``2**scale``.
    terms, exponents : sequence of int
        The results.
    """
    for i in range(len(bits)):
        term, exponents[i] = signed_term(bits[i], format)
        terms[i] = term << scale


@compiled
def mark_factors(operand: Operand, line: int) -> None:
    """Fill the marks of one row or column from its terms and exponents."""
    blocks = len(operand.nan[line])
    groups = len(operand.terms[line]) // blocks
    for block in range(blocks):
        nan, infinite = operand.nan[line][block], operand.infinite[line][block]
        zero, signs = operand.zero[line][block], operand.negative[line][block]
        for lane in range(len(nan)):
            nan[lane] = infinite[lane] = zero[lane] = signs[lane] = 0
        for group in range(groups):
            terms = operand.terms[line][block * groups + group]
            exponents = operand.exponents[line][block * groups + group]
            for k in range(GROUP):
                factors, powers = terms[k], exponents[k]
                mark = word(1 << group * GROUP + k)
                for lane in range(len(nan)):
                    nan[lane] |= mark if powers[lane] == NAN_EXPONENT else 0
                    infinite[lane] |= mark if powers[lane] == INFINITE_EXPONENT else 0
                    zero[lane] |= mark if powers[lane] == ZERO_EXPONENT else 0
                    signs[lane] |= mark if factors[lane] < 0 else 0


@compiled
def dot_products(
    a: Operand, row: int, b: Operand, column: int, c: Any, room: tuple[Any, ...], rules: Rules
) -> None:
    """The chain of FDPAs over ascending k, for each lane.

    Parameters
    ----------
    a, b : Operand
    row, column : int
    c : sequence of int
        Bit patterns; the results take their place.
    room : tuple of five sequences of int
        They take, of each lane's last sum, the largest exponent, the addend and its exponent, the sum of the
        products, and the total.
    rules : Rules
    """
    lanes = len(c)
    largest, addends, powers, products, total = room
    format = rules.format
    fraction_bits = rules.fraction_bits
    beyond = max(rules.product_bits - fraction_bits, 0)
    a_terms, a_exponents, b_terms, b_exponents = (
        a.terms[row],
        a.exponents[row],
        b.terms[column],
        b.exponents[column],
    )
    for block in range(len(a.nan[row])):
        first = block * rules.groups
        # 1. The largest exponent of all terms that are not zero, with its lower limit.
        for lane in range(lanes):
            addends[lane], powers[lane] = signed_term(c[lane], format)
            largest[lane] = max(rules.least_exponent, powers[lane])
        for group in range(first, first + rules.groups):
            a_powers, b_powers = a_exponents[group], b_exponents[group]
            for lane in range(lanes):
                largest[lane] = largest_of_group(largest[lane], a_powers, b_powers, lane)
        # 2. The products in units of 2**(largest - fraction_bits), truncated towards zero and added exactly.
        for lane in range(lanes):
            products[lane] = 0
        for group in range(first, first + rules.groups):
            a_factors, a_powers = a_terms[group], a_exponents[group]
            b_factors, b_powers = b_terms[group], b_exponents[group]
            for lane in range(lanes):
                reach = word(largest[lane] + beyond)
                products[lane] = add_group(
                    products[lane], reach, a_factors, a_powers, b_factors, b_powers, lane
                )
        # 3. The addend likewise, and one rounding, unless a term is NaN or an infinity.
        a_nan, a_infinite = a.nan[row][block], a.infinite[row][block]
        a_zero, a_negative = a.zero[row][block], a.negative[row][block]
        b_nan, b_infinite = b.nan[column][block], b.infinite[column][block]
        b_zero, b_negative = b.zero[column][block], b.negative[column][block]
        for lane in range(lanes):
            infinite = a_infinite[lane] | b_infinite[lane]
            nan = (
                a_nan[lane] | b_nan[lane] | a_infinite[lane] & b_zero[lane] | a_zero[lane] & b_infinite[lane]
            )
            minus = infinite & (a_negative[lane] ^ b_negative[lane])
            special = special_sum(nan, infinite & ~minus, minus, addends[lane], powers[lane], format)
            total[lane] = products[lane] + aligned_addend(
                addends[lane], powers[lane], largest[lane], format.fraction_bits, fraction_bits
            )
            c[lane] = special if special else round_sum(total[lane], largest[lane] - fraction_bits, rules)
