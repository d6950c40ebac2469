"""sin and cos: the operand in turns, of which a quarter is the unit's argument; as in `unit`."""

from typing import Final

from golden.approximation.interpolator import ARGUMENT_BITS, Table
from golden.approximation.unit import (
    FRACTION,
    HIDDEN,
    INFINITY,
    LEAST_NORMAL,
    MAGNITUDE,
    NAN,
    NOT_SPECIAL,
    ONE,
    SIGNIFICAND,
    Argument,
    exponent_of,
    interpolated,
    split,
)
from golden.arithmetic.compiled import bit_length, choose, compiled, shift

RECIPROCAL_TAU: Final = 0x3E22F983
"""1 / (2 pi) in f32: the factor of sin and cos."""

_TURN_BITS: Final = 25
"""Places of a turn behind the point: two number the quarter, 23 are the unit's argument."""


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
    """At the ends of quarter turns 0 or 1: `quarter` is 0 for the sine, 1 for the cosine."""
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
    """Sine or cosine."""
    return interpolated(wave_special(x, quarter), wave_argument(x, quarter, table), table)


@compiled
def sin(x: int, table: Table) -> int:
    """The sine of x."""
    return wave(x, 0, table)


@compiled
def cos(x: int, table: Table) -> int:
    """The cosine of x."""
    return wave(x, 1, table)
