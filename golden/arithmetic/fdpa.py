"""The fused dot-product-add (FDPA): products and an addend aligned, added exactly and rounded once.

`dot_products` chains them for one row of A and several columns of B: its *lanes*. Factors are decoded before.
Compiled, lanes are a vector of `golden.arithmetic.lanes`; in plain Python there is one, which is a number.

Sources: ``docs/explanation/numerics.md``.
"""

from math import inf, nan
from typing import Any, Final, NamedTuple

from golden.arithmetic.compiled import (
    choose,
    compiled,
    element,
    like,
    load,
    of_single_bits,
    power_of_two,
    single,
    single_bits,
    spread,
    store,
    truncated,
    which,
    whole,
    word,
)
from golden.arithmetic.decode import ZERO_EXPONENT, Format
from golden.arithmetic.round_pack import TOWARDS_ZERO

GROUP: Final = 4
"""Blocks are filled up with zeros to a multiple of so many products."""

HALF: Final = 16
"""Products whose sum fits into a word; the others have a sum of their own."""

INFINITE_EXPONENT: Final = -3 * ZERO_EXPONENT
NAN_EXPONENT: Final = 4 * INFINITE_EXPONENT
"""Stand where factors are not finite; two together fit into 16 bits."""

SPECIAL_EXPONENT: Final = -ZERO_EXPONENT
"""Products have at least this exponent if a factor is not finite, zero times infinity included."""

IS_NAN: Final = 3 * INFINITE_EXPONENT
"""Only sums of exponents of which one is NaN's are greater."""

_SINGLE_BITS: Final = 23
_SINGLE_BIAS: Final = 127
DOUBLE_BITS: Final = 52

Table = Any
"""Several axes: lists of lists, or a compiled array."""


class Rules(NamedTuple):
    """How sums are formed; `golden.arithmetic.rules.rules` makes them of an instruction and a profile."""

    products: int
    """In one sum: a multiple of `GROUP`."""
    fraction_bits: int
    """Alignment keeps multiples of ``2**(Emax - fraction_bits)``."""
    least_exponent: int
    """Lower limit of Emax."""
    format: Format
    """Of the sums' results and of the addend."""
    rounding: int
    discarded_bits: int
    """Lowest fraction bits that are zero in every result."""


class Operand(NamedTuple):
    """Rows of A, or columns of B side by side, decoded.

    The axes are (row or columns, block, place): place ``k * lanes + lane`` has factor k of a lane, and a row
    has one lane.
    """

    values: Table
    """Floating-point numbers, whose products are exact."""
    exponents: Table
    """Of 16 bits, with `ZERO_EXPONENT`, `INFINITE_EXPONENT` and `NAN_EXPONENT`."""


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
    hidden = 1 << format.fraction_bits
    greatest = (1 << format.exponent_bits) - 1
    stored = bits >> format.ignored_bits
    fraction, field = word(stored & (hidden - 1)), word(stored >> format.fraction_bits & greatest)
    significand = choose(field > 0, fraction | hidden, fraction)
    exponent = choose(significand == 0, ZERO_EXPONENT, max(field, 1) - format.bias)
    if format.has_infinity:
        power = choose(fraction == 0, INFINITE_EXPONENT, NAN_EXPONENT)
        exponent = choose(field == greatest, power, exponent)
    elif format.has_nan:
        exponent = choose((field == greatest) & (fraction == hidden - 1), NAN_EXPONENT, exponent)
    return choose(bits >> (format.bits - 1) != 0, 0 - significand, significand), exponent


def align(term: int, distance: int) -> int:
    """The term in units of ``2**distance``, truncated towards zero; the distance is not negative."""
    return -(-term >> distance) if term < 0 else term >> distance


@compiled
def aligned(term: int, distance: int) -> float:
    """A term of at most 24 bits, in units of ``2**-distance``, truncated towards zero."""
    number = single(term)
    return whole(number * power_of_two(distance, number))


@compiled
def pack_places(places: float, last_place: int, bits: int) -> int:
    """The bit pattern of f32 of a number of so many fraction bits, in units of ``2**last_place``."""
    kept = truncated(whole(places), DOUBLE_BITS - bits) * power_of_two(last_place, 0.0)
    return single_bits(single(kept) + 0)


@compiled
def round_sum(total: float, exponent: int, format: Format, rounding: int, discarded_bits: int) -> int:
    """The bit pattern of a sum of finite terms, in units of ``2**exponent``.

    The sum is an integer below ``2**53``. f32 is truncated, f16 rounded to nearest even; beyond the largest
    finite number the result is an infinity in spite of the truncation. Every zero is +0, also when a negative
    sum rounds to it. The lowest `discarded_bits` fraction bits of the result are zero.
    """
    bits = format.fraction_bits - discarded_bits
    last_place = format.minimum_exponent - bits
    places = total * power_of_two(exponent - last_place, 0.0)
    if rounding == TOWARDS_ZERO:
        return pack_places(places, last_place, bits)
    size = choose(places < 0, 0 - places, places)
    # A number so large that its last place is the one of the result.
    large = truncated(size, DOUBLE_BITS) * power_of_two(DOUBLE_BITS - bits, 0.0)
    large = max(large, power_of_two(DOUBLE_BITS, 0.0))
    kept = min(size + large - large, power_of_two(format.bias + 1 - last_place, 0.0))
    # The fields of f32 are those of f16 where exponents are as far above the least one.
    pattern = single_bits(kept * power_of_two(last_place + format.bias - _SINGLE_BIAS, 0.0))
    sign = choose((places < 0) & (kept > 0), 1 << (format.bits - 1), 0)
    return word(pattern >> (_SINGLE_BITS - format.fraction_bits)) | sign


@compiled
def decode_factors(bits: Any, format: Format, values: Any, exponents: Any, lanes: tuple[int, ...]) -> None:
    """Decode any number of bit patterns into values and exponents, so many at once."""
    whole_steps = len(bits) // len(lanes) * len(lanes)
    for i in range(0, whole_steps, len(lanes)):
        decode_some(load(bits, i, lanes), i, format, values, exponents)
    for i in range(whole_steps, len(bits)):
        decode_some(load(bits, i, (0,)), i, format, values, exponents)


@compiled
def decode_some(bits: int, start: int, format: Format, values: Any, exponents: Any) -> None:
    """Decode what then stands from a place on."""
    value, exponent = factor(word(bits), format, values[0])
    store(exponents, start, like(exponent, exponents[0]))
    store(values, start, value)


@compiled
def factor(bits: int, format: Format, other: float) -> tuple[float, int]:
    """The number, compiled of the other's width, and the exponent for the alignment."""
    magnitude = bits >> format.ignored_bits & ((1 << (format.bits - 1 - format.ignored_bits)) - 1)
    exponent = choose(magnitude == 0, ZERO_EXPONENT, max(magnitude >> format.fraction_bits, 1) - format.bias)
    value = of_single_bits(magnitude << (_SINGLE_BITS - format.fraction_bits))
    value = like(value * power_of_two(_SINGLE_BIAS - format.bias, value), other)
    greatest = (format.infinity >> format.ignored_bits) - (not format.has_infinity)
    if format.has_infinity:
        exponent = choose(magnitude >= greatest, INFINITE_EXPONENT, exponent)
        value = choose(magnitude >= greatest, like(inf, value), value)
    if format.has_nan:
        exponent = choose(magnitude > greatest, NAN_EXPONENT, exponent)
        value = choose(magnitude > greatest, like(nan, value), value)
    return choose(bits >> (format.bits - 1) != 0, 0 - value, value), exponent


@compiled
def entry(index: int, table: Any) -> int:
    """Where a table of `Pairs` has what is for this row, columns or block."""
    return min(index, len(table) - 1)


@compiled
def meeting(a: Any, b: Any, places: Any, k: int, lanes: tuple[int, ...], is_sparse: bool) -> tuple[Any, Any]:
    """What an operand has for factor k of A, and for the factors of B that meet it."""
    x = load(b, (element(places, k) if is_sparse else k) * len(lanes), lanes)
    return spread(element(a, k), x), x


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
    is_sparse: bool,
) -> None:
    """The chain of FDPAs over ascending k, for each lane.

    `c` has a bit pattern for each lane; the results take their place. `room` takes each lane's largest
    exponent of the last sum and, in units of ``2**(largest - fraction_bits)``, the sum.
    """
    format, fraction_bits = rules.format, rules.fraction_bits
    bits, sign = word(load(c, 0, lanes)), 1 << (format.bits - 1)
    for block in range(len(a.values[row])):
        a_values, a_exponents = a.values[row][block], a.exponents[row][block]
        b_values, b_exponents = b.values[columns][block], b.exponents[columns][block]
        places, a_scales = pairs.places[entry(row, pairs.places)], pairs.a_scales[entry(row, pairs.a_scales)]
        b_scales = pairs.b_scales[entry(columns, pairs.b_scales)]
        places, a_scale = places[entry(block, places)], a_scales[entry(block, a_scales)]
        scale = load(b_scales[entry(block, b_scales)], 0, lanes)
        scale = scale + spread(a_scale, scale)
        # 1. The largest exponent of all terms that are not zero, with its lower limit.
        addend, power = signed_term(bits, format)
        largest = like(ZERO_EXPONENT, load(b_exponents, 0, lanes))
        other = largest
        for k in range(0, rules.products, 2):
            x, y = meeting(a_exponents, b_exponents, places, k, lanes, is_sparse)
            largest = max(largest, x + y)
            x, y = meeting(a_exponents, b_exponents, places, k + 1, lanes, is_sparse)
            other = max(other, x + y)
        largest = max(word(max(largest, other)) + scale, max(power, rules.least_exponent))  # noqa: PLW3301  vectors
        # 2. Infinities and NaN.
        special = choose(largest > IS_NAN, like(format.canonical_nan, power), 0)
        unit = power_of_two(fraction_bits + scale - largest, b_values[0])
        is_infinite = (largest >= SPECIAL_EXPONENT) & (special == 0)
        if which(is_infinite) != 0:
            infinity = choose(addend > 0, like(inf, unit), like(-inf, unit))
            number, other_number = choose(power == INFINITE_EXPONENT, infinity, 0 * unit), 0 * unit
            for k in range(0, rules.products, 2):
                x, y = meeting(a_values, b_values, places, k, lanes, is_sparse)
                number = number + x * y
                x, y = meeting(a_values, b_values, places, k + 1, lanes, is_sparse)
                other_number = other_number + x * y
            number = number + other_number
            pattern = choose(number > 0, format.infinity, format.infinity | sign)
            pattern = choose(number != number, format.canonical_nan, pattern)  # noqa: PLR0124  NaN
            special = choose(is_infinite, pattern, special)
        # 3. The terms in units of 2**(largest - fraction_bits), truncated towards zero and added exactly.
        total = like(aligned(addend, power - largest + fraction_bits - format.fraction_bits), 0.0)
        for start in range(0, rules.products, HALF):
            products, others = like(0, power), like(0, power)
            for k in range(start, min(start + HALF, rules.products), 2):
                x, y = meeting(a_values, b_values, places, k, lanes, is_sparse)
                products = products + word(x * y * unit)
                x, y = meeting(a_values, b_values, places, k + 1, lanes, is_sparse)
                others = others + word(x * y * unit)
            total = total + like(products + others, 0.0)
        # 4. One rounding.
        bits = round_sum(total, largest - fraction_bits, format, rules.rounding, rules.discarded_bits)
        bits = choose(special != 0, special, bits)
        store(room[0], 0, largest)
        store(room[1], 0, total)
    store(c, 0, like(bits, c[0]))
