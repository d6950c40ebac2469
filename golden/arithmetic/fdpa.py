"""The fused dot-product-add (FDPA): products and an addend aligned, added exactly and rounded once.

`dot_products` chains them, for several independent results at once: its *lanes*, each with factors of its
own. Factors are decoded before. The products of a block are taken in groups, one group for all lanes, so
that a processor computes several lanes with one instruction. With one lane it is a dot product.

Sources: ``docs/explanation/numerics.md``.
"""

from typing import Any, Final, NamedTuple

from golden.arithmetic.align import align
from golden.arithmetic.compiled import compiled, word
from golden.arithmetic.decode import INFINITE, NAN, ZERO, ZERO_EXPONENT, Format, decode
from golden.arithmetic.round_pack import pack, round_significand

__all__ = [
    "GROUP",
    "Operand",
    "Rules",
    "aligned_addend",
    "decode_factors",
    "dot_products",
    "round_sum",
    "signed_term",
    "special_sum",
]

GROUP: Final = 4
"""Products added in one step; blocks of other lengths are filled up with zeros."""

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
    """Significands with their sign; those of A times ``2**(fraction_bits - product_bits)``, where whole."""
    exponents: Table
    """With `ZERO_EXPONENT` for a zero."""
    nan: Table
    infinite: Table
    zero: Table
    negative: Table


@compiled
def signed_term(bits: int, format: Format) -> tuple[int, int]:
    """The significand with its sign, and the exponent for the alignment."""
    negative, significand, exponent, kind = decode(bits, format)
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
    group = 0
    for k in range(GROUP):
        product = word(a_terms[k][lane] * b_terms[k][lane])
        distance = word(reach - word(a_exponents[k][lane] + b_exponents[k][lane]))
        group = word(group + align(product, distance))
    return total + group


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
def special_sum(nan: int, plus: int, minus: int, c_bits: int, format: Format) -> int:
    """The result where a term is not finite; 0 where all are.

    Parameters
    ----------
    nan, plus, minus : int
        Not zero where a product is NaN (infinity times zero included), +infinity, -infinity.
    c_bits : int
        The addend.
    format : FloatFormat or Layout
        Of addend and result.
    """
    c_negative, _, _, kind = decode(c_bits, format)
    infinite = kind == INFINITE
    positive = (plus != 0) | (infinite & (c_negative == 0))
    negative = (minus != 0) | (infinite & (c_negative != 0))
    if (nan != 0) | (kind == NAN) | (positive & negative):
        return format.canonical_nan
    if positive | negative:
        return format.infinity | (1 if negative else 0) << (format.bits - 1)
    return 0


@compiled
def decode_factors(
    operand: Operand, line: int, block: int, number: int, bits: Any, format: Format, scale: int
) -> None:
    """Decode factor `number` of a block, of all lanes.

    Parameters
    ----------
    operand : Operand
        Its marks of this block are zero before the first factor.
    line : int
        Row or column.
    block, number : int
    bits : sequence of int
        Bit patterns.
    format : FloatFormat or Layout
    scale : int
        The terms are multiplied by ``2**scale``.
    """
    group = block * (len(operand.terms[line]) // len(operand.nan[line])) + number // GROUP
    terms = operand.terms[line][group][number % GROUP]
    exponents = operand.exponents[line][group][number % GROUP]
    nan, infinite = operand.nan[line][block], operand.infinite[line][block]
    zero, signs = operand.zero[line][block], operand.negative[line][block]
    for lane in range(len(bits)):
        negative, significand, exponent, kind = decode(bits[lane], format)
        term = significand << scale
        terms[lane] = -term if negative else term
        exponents[lane] = ZERO_EXPONENT if kind == ZERO else exponent
        nan[lane] |= word((kind == NAN) << number)
        infinite[lane] |= word((kind == INFINITE) << number)
        zero[lane] |= word((kind == ZERO) << number)
        signs[lane] |= word(negative << number)


@compiled
def dot_products(
    a: Operand, row: int, b: Operand, column: int, c: Any, largest: Any, total: Any, rules: Rules
) -> None:
    """The chain of FDPAs over ascending k, for each lane.

    Parameters
    ----------
    a, b : Operand
    row, column : int
    c : sequence of int
        Bit patterns; the results take their place.
    largest, total : sequence of int
        Room for an intermediate result of each lane.
    rules : Rules
    """
    lanes = len(c)
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
            _, exponent = signed_term(c[lane], format)
            largest[lane] = max(rules.least_exponent, exponent)
        for group in range(first, first + rules.groups):
            a_powers, b_powers = a_exponents[group], b_exponents[group]
            for lane in range(lanes):
                largest[lane] = largest_of_group(largest[lane], a_powers, b_powers, lane)
        # 2. The terms in units of 2**(largest - fraction_bits), truncated towards zero and added exactly.
        for lane in range(lanes):
            addend, exponent = signed_term(c[lane], format)
            total[lane] = aligned_addend(addend, exponent, largest[lane], format.fraction_bits, fraction_bits)
        for group in range(first, first + rules.groups):
            a_factors, a_powers = a_terms[group], a_exponents[group]
            b_factors, b_powers = b_terms[group], b_exponents[group]
            for lane in range(lanes):
                reach = largest[lane] + beyond
                total[lane] = add_group(total[lane], reach, a_factors, a_powers, b_factors, b_powers, lane)
        # 3. One rounding, unless a term is NaN or an infinity.
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
            special = special_sum(nan, infinite & ~minus, minus, c[lane], format)
            c[lane] = special if special else round_sum(total[lane], largest[lane] - fraction_bits, rules)
