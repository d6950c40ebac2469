"""Exact dot products: unlimited alignment and one rounding, the yardstick for every profile.

Sums are Python integers of any length, so this is never compiled.
"""

from collections.abc import Sequence

from golden.arithmetic.decode import FINITE, INFINITE, NAN, ZERO, decode
from golden.arithmetic.round_pack import DOWN, round_pack
from golden.arithmetic.scales import SCALE_BITS, SCALE_TYPES, decode_scale
from golden.tables.formats import FloatFormat

Number = tuple[int, int, int, int]


def scaled(number: Number, scale: int, scale_type: str) -> Number:
    """A decoded number multiplied by a block scale; a scale that is NaN gives NaN."""
    negative, significand, exponent, kind = number
    factor, power, nan = decode_scale(scale, SCALE_TYPES.index(scale_type))
    if kind == FINITE and not factor:
        kind = ZERO
    if nan or kind == NAN or (kind == INFINITE and not factor):
        return negative, 0, exponent, NAN
    return negative, significand * factor, exponent + power - SCALE_BITS, kind


def zero_is_negative(signs: set[int], rounding: int) -> bool:
    """Sign of an exact zero, as IEEE 754 has it, from the signs of all terms."""
    return signs == {1} or (rounding == DOWN and signs != {0})


def exact_dot_product(
    a: Sequence[Number], b: Sequence[Number], c: int, *, formats: tuple[FloatFormat, ...], rounding: int
) -> int:
    """The sum of all products and c without error, rounded once as IEEE 754 rounds; a bit pattern.

    Overflow and gradual underflow are IEEE's for the rounding. A sum of exactly zero is +0 (down: -0), unless
    all its terms are zeros of the same sign, which it then keeps. NaN is canonical.

    The factors a and b are as `golden.arithmetic.decode.decode` takes them apart, c is a bit pattern; the
    formats are of a, b, c and the result. `rounding` is a place in `golden.arithmetic.round_pack.ROUNDINGS`.
    """
    a_format, b_format, c_format, d_format = formats
    c_negative, c_significand, c_exponent, c_kind = decode(c, c_format)
    fraction_bits = a_format.fraction_bits + b_format.fraction_bits
    lowest = min((x[2] + y[2] for x, y in zip(a, b, strict=True)), default=0) - fraction_bits
    least = min(lowest, c_format.minimum_exponent - c_format.fraction_bits)
    scale = -fraction_bits - least
    magnitude = c_significand << (c_exponent - c_format.fraction_bits - least)
    total = -magnitude if c_negative else magnitude
    signs, infinities, nan = {c_negative}, set(), c_kind == NAN
    if c_kind == INFINITE:
        infinities.add(c_negative)
    for (a_negative, x, x_exponent, a_kind), (b_negative, y, y_exponent, b_kind) in zip(a, b, strict=True):
        negative = a_negative ^ b_negative
        signs.add(negative)
        kind = max(a_kind, b_kind)
        if kind >= INFINITE:
            nan = nan or kind == NAN or min(a_kind, b_kind) == ZERO
            infinities.add(negative)
            continue
        magnitude = x * y << (x_exponent + y_exponent + scale)
        total += -magnitude if negative else magnitude
    if nan or len(infinities) == 2:
        return d_format.canonical_nan
    if infinities:
        return d_format.infinity | infinities.pop() << (d_format.bits - 1)
    below = int(total < 0 if total else zero_is_negative(signs, rounding))
    return round_pack(below, abs(total), least, d_format, rounding, False)
