"""Round and pack: an exact or sticky magnitude into a bit pattern of any floating-point format, once."""

from typing import Final

from golden.arithmetic.compiled import bit_length, compiled, shift, word
from golden.arithmetic.decode import INFINITE, NAN, Format, decode

ROUNDINGS: Final = ("rn", "rz", "rm", "rp")
"""To nearest with ties to even, towards zero, minus and plus infinity; a rounding's number is its place."""

NEAREST: Final = 0
TOWARDS_ZERO: Final = 1
DOWN: Final = 2
UP: Final = 3

_NONE: Final = -(1 << 30)
"""Least exponent where there is none."""


@compiled
def round_at(negative: int, magnitude: int, dropped_bits: int, rounding: int) -> tuple[int, bool]:
    """Round ``magnitude * 2**-dropped_bits`` to an integer: its whole part, and whether one is added to it.

    `dropped_bits` is negative where zeros are appended; the others are as for `round_significand`.
    """
    # The integer and the bit below it, and whether anything is left below that.
    extended = shift(magnitude, 1 - dropped_bits)
    half = extended & 1 > 0
    rest = shift(extended, dropped_bits - 1) != magnitude
    kept = extended >> 1
    if rounding == NEAREST:
        up = half & (rest | (kept & 1 > 0))
    else:
        outwards = (negative > 0) == (rounding == DOWN)
        up = (half | rest) & outwards & (rounding != TOWARDS_ZERO)
    return kept, up


@compiled
def round_significand(
    negative: int,
    magnitude: int,
    exponent: int,
    format: Format,
    rounding: int,
    discarded_bits: int,
    unlimited: bool = False,
) -> tuple[int, int, int, bool]:
    """Round ``magnitude * 2**exponent`` to the last place that the format has at its size.

    No last place is lower than in the smallest normal number: underflow is gradual, unless exponents are
    `unlimited`. In compiled code the magnitude is below ``2**62``. Its lowest bit may be sticky (set when
    anything below it was cut off) if it has at least two bits more than the format's significand. `rounding`
    is a place in `ROUNDINGS`. The result leaves `discarded_bits` fraction bits zero: the last place lies so
    much higher.

    The result is the exponent of its hidden bit, the bits of the magnitude below the last place (negative
    where zeros were appended), the significand in last places before rounding, and whether one is added to
    it.
    """
    length = bit_length(magnitude)
    least = _NONE if unlimited else format.minimum_exponent
    hidden = max(word(exponent + length - 1), least)
    normal = word(hidden if length else format.minimum_exponent)
    dropped_bits = word(normal - format.fraction_bits + discarded_bits - exponent)
    kept, up = round_at(negative, magnitude, dropped_bits, rounding)
    return normal, dropped_bits, kept, up


@compiled
def pack(
    negative: int, significand: int, normal: int, format: Format, rounding: int, always_infinity: bool
) -> int:
    """The bit pattern of a rounded significand in last places; a carry raises the exponent.

    The operands are as `round_significand` has them, with all the format's places, discarded ones included.
    Beyond the largest finite number the result is an infinity with `always_infinity`, else what IEEE 754 says
    for the rounding.
    """
    infinity = format.infinity >> format.ignored_bits
    # The hidden bit raises the exponent field by one.
    raised = min(word(normal), format.bias + 1) - format.minimum_exponent
    packed = significand + (raised << format.fraction_bits)
    if packed >= infinity or normal > format.bias + (not format.has_infinity):
        inwards = rounding in (TOWARDS_ZERO, UP if negative else DOWN)
        packed = infinity - ((inwards and not always_infinity) or not format.has_nan)
    return packed << format.ignored_bits | negative << (format.bits - 1)


@compiled
def round_pack(
    negative: int,
    magnitude: int,
    exponent: int,
    format: Format,
    rounding: int,
    always_infinity: bool,
    flush: bool = False,
) -> int:
    """Round ``magnitude * 2**exponent`` once and pack it; zeros keep the sign given.

    With `flush`, a number below the least normal one becomes a zero (``.ftz``), once it is rounded as if
    exponents had no limit. Rounding to a subnormal first would keep more: what is nearest to the least normal
    number only in steps of the subnormals.
    """
    normal, _, kept, up = round_significand(negative, magnitude, exponent, format, rounding, 0, flush)
    significand = kept + up
    if flush and normal + (significand >> (format.fraction_bits + 1)) < format.minimum_exponent:
        significand, normal = 0, word(format.minimum_exponent)
    return pack(negative, significand, normal, format, rounding, always_infinity)


@compiled
def convert(bits: int, source: Format, target: Format, rounding: int = NEAREST, flush: bool = False) -> int:
    """Convert between formats as IEEE 754 does.

    A NaN becomes the canonical one. From and to f64 it stays, made quiet, with as much of its fraction as
    there is place for.
    """
    negative, significand, exponent, kind = decode(bits, source)
    sign = negative << (target.bits - 1)
    if kind == NAN:
        if max(source.bits, target.bits) < 64:
            return target.canonical_nan
        payload = shift(significand, target.fraction_bits - source.fraction_bits)
        return target.infinity | payload | 1 << (target.fraction_bits - 1) | sign
    if kind == INFINITE:
        return target.infinity | sign
    weight = exponent - source.fraction_bits
    return round_pack(negative, significand, weight, target, rounding, False, flush)


@compiled
def saturate_to_finite(bits: int, format: Format) -> int:
    """satf: an infinity becomes the largest finite number of its sign, a NaN +0."""
    _, _, _, kind = decode(bits, format)
    if kind == NAN:
        return 0
    return bits - (1 << format.ignored_bits) if kind == INFINITE else bits
