"""The unit's results: bit patterns in, arguments of the polynomial, bit patterns out.

Each function of f32 (the forms with ``.ftz``, sin, cos and tanh) consists of three: ``f_special`` gives the
results that do not come from the polynomial, `NOT_SPECIAL` for all other operands; ``f_argument`` the row,
the offset in it, the exponent and the sign of the result; ``f`` is the result. Subnormal operands count as
zero of their sign (tanh takes them as they are), results below ``2**-126`` become zero of their sign, no
result is rounded but truncated, and every NaN is 0x7fffffff.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from golden.approximation.interpolator import ARGUMENT_BITS, TANH_UNIT, Table, polynomial
from golden.arithmetic.compiled import bit_length, choose, compiled, shift

Argument = tuple[int, int, int, int]
"""Row, offset, exponent, sign."""

SIGN: Final = 0x80000000
MAGNITUDE: Final = 0x7FFFFFFF
INFINITY: Final = 0x7F800000
NAN: Final = 0x7FFFFFFF
LEAST_NORMAL: Final = 0x00800000
NOT_SPECIAL: Final = -1

ONE: Final = 0x3F800000
BIAS: Final = 127
FRACTION: Final = (1 << ARGUMENT_BITS) - 1
HIDDEN: Final = 1 << ARGUMENT_BITS
SIGNIFICAND: Final = 24

LG2_FRACTION_BITS: Final = 36

RECIPROCAL_TAU: Final = 0x3E22F983
"""1 / (2 pi) in f32: the factor of sin and cos."""

QUARTERS: Final = {"sin": 0, "cos": 1}
"""Quarter turns by which each wave is ahead of the sine."""

_TURN_BITS: Final = 25
"""Places of a turn behind the point: two number the quarter, 23 are the unit's argument."""


@compiled
def assemble(magnitude: int, unit: int, negative: int) -> int:
    """``magnitude * 2**unit``, truncated to 24 significant bits; zero of its sign if it is subnormal."""
    cut = bit_length(magnitude) - SIGNIFICAND
    kept = shift(magnitude, -cut)
    # The hidden bit raises the exponent field by one.
    bits = kept + ((unit + cut + ARGUMENT_BITS + BIAS - 1) << ARGUMENT_BITS)
    return choose((kept != 0) & (bits >= LEAST_NORMAL), bits, 0) | negative << 31


@compiled
def interpolated(special: int, argument: Argument, table: Table) -> int:
    """The polynomial's value, truncated, unless there is a special result."""
    row, offset, exponent, negative = argument
    result = assemble(polynomial(table, row, offset), exponent - table.fraction_bits, negative)
    return choose(special == NOT_SPECIAL, result, special)


@compiled
def split(argument: int, table: Table) -> tuple[int, int]:
    """Row and offset of an argument."""
    return argument >> table.offset_bits, argument & ((1 << table.offset_bits) - 1)


@compiled
def exponent_of(x: int) -> int:
    """The exponent of a number that is normal."""
    return ((x & MAGNITUDE) >> ARGUMENT_BITS) - BIAS


@compiled
def ex2_special(x: int) -> int:
    """From 128 on infinity, below -126 zero."""
    magnitude = x & MAGNITUDE
    above = choose(magnitude >= 0x43000000, INFINITY, NOT_SPECIAL)
    below = choose(magnitude > 0x42FC0000, 0, NOT_SPECIAL)
    return choose(magnitude > INFINITY, NAN, choose(x >= SIGN, below, above))


@compiled
def ex2_argument(x: int, table: Table) -> Argument:
    """The operand in units of ``2**-23``, rounded down."""
    fixed = shift(x & FRACTION | HIDDEN, exponent_of(x))
    down = ~fixed + (1 if fixed & FRACTION == 0 else 0)
    fixed = choose(x >= SIGN, down, fixed)
    row, offset = split(fixed & FRACTION, table)
    return row, offset, fixed >> ARGUMENT_BITS, 0


@compiled
def ex2(x: int, table: Table) -> int:
    """Two to the power x."""
    return interpolated(ex2_special(x), ex2_argument(x, table), table)


@compiled
def rcp_special(x: int) -> int:
    """Of zero infinity, and the other way round."""
    magnitude = x & MAGNITUDE
    if magnitude > INFINITY:
        return NAN
    if magnitude < LEAST_NORMAL:
        return INFINITY | x & SIGN
    return x & SIGN if magnitude == INFINITY else NOT_SPECIAL


@compiled
def rcp_argument(x: int, table: Table) -> Argument:
    """The fraction; the exponent negated."""
    row, offset = split(x & FRACTION, table)
    return row, offset, -exponent_of(x), x >> 31


@compiled
def rcp(x: int, table: Table) -> int:
    """One divided by x."""
    return interpolated(rcp_special(x), rcp_argument(x, table), table)


@compiled
def root_special(x: int, zero: int, infinity: int) -> int:
    """`zero` with the sign of x and `infinity` for these; NaN for negative operands."""
    magnitude = x & MAGNITUDE
    if magnitude < LEAST_NORMAL:
        return zero | x & SIGN
    if x == INFINITY:
        return infinity
    return NAN if x > INFINITY else NOT_SPECIAL


@compiled
def rsqrt_special(x: int) -> int:
    """Powers of four are exact."""
    if x & (2 * HIDDEN - 1) == HIDDEN and LEAST_NORMAL <= x < INFINITY:
        return (BIAS - (exponent_of(x) >> 1)) << ARGUMENT_BITS
    return root_special(x, INFINITY, 0)


@compiled
def rsqrt_argument(x: int, table: Table) -> Argument:
    """The fraction, with the lowest bit of the biased exponent, which is 0 for odd exponents."""
    row, offset = split(x & (2 * HIDDEN - 1), table)
    return row, offset, -(exponent_of(x) >> 1), 0


@compiled
def rsqrt(x: int, table: Table) -> int:
    """One divided by the square root of x."""
    return interpolated(rsqrt_special(x), rsqrt_argument(x, table), table)


@compiled
def sqrt_special(x: int) -> int:
    """As `root_special` says."""
    return root_special(x, 0, INFINITY)


@compiled
def sqrt_argument(x: int, table: Table) -> Argument:
    """As of rsqrt."""
    row, offset = split(x & (2 * HIDDEN - 1), table)
    return row, offset, exponent_of(x) >> 1, 0


@compiled
def sqrt(x: int, table: Table) -> int:
    """The square root of x."""
    return interpolated(sqrt_special(x), sqrt_argument(x, table), table)


@compiled
def lg2_special(x: int) -> int:
    """Of 1 zero."""
    if x & MAGNITUDE < LEAST_NORMAL:
        return INFINITY | SIGN
    return 0 if x == ONE else root_special(x, 0, INFINITY)


@compiled
def lg2_argument(x: int, table: Table) -> Argument:
    """The fraction; the exponent is added to the polynomial."""
    row, offset = split(x & FRACTION, table)
    return row, offset, exponent_of(x), 0


@compiled
def lg2_sum(total: int, exponent: int) -> tuple[int, int]:
    """Magnitude in units of ``2**-36``, of a negative number the complement, and the sign."""
    magnitude = (exponent << LG2_FRACTION_BITS) + (total >> 2)
    return (~magnitude, 1) if magnitude < 0 else (magnitude, 0)


@compiled
def lg2(x: int, table: Table) -> int:
    """The logarithm of x to base two."""
    special = lg2_special(x)
    row, offset, exponent, _ = lg2_argument(x, table)
    magnitude, negative = lg2_sum(polynomial(table, row, offset), exponent)
    result = assemble(magnitude, -LG2_FRACTION_BITS, negative)
    return choose(special == NOT_SPECIAL, result, special)


@compiled
def tanh_special(x: int) -> int:
    """Below ``2**-8`` the operand, from 8 on 1."""
    magnitude = x & MAGNITUDE
    if magnitude > INFINITY:
        return NAN
    if magnitude < 0x3B800000:
        return x
    return ONE | x & SIGN if magnitude >= 0x41000000 else NOT_SPECIAL


@compiled
def tanh_argument(x: int, table: Table) -> Argument:
    """The row from the exponent and four bits, the offset from the row's start."""
    row = int(table.cells[((x & MAGNITUDE) >> (ARGUMENT_BITS - 4)) - (BIAS - 8 << 4)])
    magnitude = (x & FRACTION | HIDDEN) << (exponent_of(x) + TANH_UNIT - ARGUMENT_BITS)
    distance = (magnitude - int(table.starts[row, 0])) << table.offset_bits
    return row, distance >> int(table.starts[row, 1]), 0, x >> 31


@compiled
def tanh(x: int, table: Table) -> int:
    """The hyperbolic tangent of x."""
    special = tanh_special(x)
    if special != NOT_SPECIAL:
        return special
    row, offset, _, negative = tanh_argument(x, table)
    total = polynomial(table, row, offset)
    return assemble(total, -table.fraction_bits, negative)


@compiled
def truncated_turns(x: int) -> tuple[int, int]:
    """The magnitude of x times 1 / (2 pi), truncated to 24 bits: these, and the exponent of their lowest."""
    significand = choose(x & MAGNITUDE >= LEAST_NORMAL, x & FRACTION | HIDDEN, 0)
    product = significand * (RECIPROCAL_TAU & FRACTION | HIDDEN)
    cut = bit_length(product | HIDDEN) - SIGNIFICAND
    weight = exponent_of(x) + exponent_of(RECIPROCAL_TAU) - 2 * ARGUMENT_BITS
    return product >> cut, weight + cut


@compiled
def turn_of(x: int) -> int:
    """The turns modulo 1, truncated to 25 fraction bits."""
    turns, weight = truncated_turns(x)
    return shift(turns, weight + _TURN_BITS) & ((1 << _TURN_BITS) - 1)


@compiled
def wave_special(x: int, quarter: int) -> int:
    """At the ends of quarter turns 0 or 1; `quarter` is one of `QUARTERS`."""
    turn = turn_of(x)
    rising = (turn >> ARGUMENT_BITS & 1) == quarter
    end = choose(rising, 0, ONE) | wave_sign(x, turn, quarter) << 31
    finite = choose(turn & FRACTION != 0, NOT_SPECIAL, end)
    return choose(x & MAGNITUDE >= INFINITY, NAN, finite)


@compiled
def wave_sign(x: int, turn: int, quarter: int) -> int:
    """The cosine is even; each is negative for half a turn."""
    half = (turn >> ARGUMENT_BITS) + quarter >> 1 & 1
    return half if quarter else half ^ x >> 31


@compiled
def wave_argument(x: int, quarter: int, table: Table) -> Argument:
    """The fraction of a quarter turn, counted backwards where the wave falls."""
    turn = turn_of(x)
    falling = turn >> ARGUMENT_BITS & 1 ^ quarter
    row, offset = split((turn ^ -falling) & FRACTION, table)
    return row, offset, 0, wave_sign(x, turn, quarter)


@compiled
def wave(x: int, quarter: int, table: Table) -> int:
    """Sine or cosine: the operand in turns, of which a quarter is the unit's argument."""
    return interpolated(wave_special(x, quarter), wave_argument(x, quarter, table), table)


class Rule(NamedTuple):
    """The functions of the unit for one function."""

    special: Callable[..., int]
    """What the result is without the polynomial; `NOT_SPECIAL` where it needs that."""
    argument: Callable[..., Argument]
    result: Callable[..., int]


RULES: Final = {
    "ex2": Rule(ex2_special, ex2_argument, ex2),
    "rcp": Rule(rcp_special, rcp_argument, rcp),
    "rsqrt": Rule(rsqrt_special, rsqrt_argument, rsqrt),
    "sqrt": Rule(sqrt_special, sqrt_argument, sqrt),
    "lg2": Rule(lg2_special, lg2_argument, lg2),
    "tanh": Rule(tanh_special, tanh_argument, tanh),
    **dict.fromkeys(QUARTERS, Rule(wave_special, wave_argument, wave)),
}
