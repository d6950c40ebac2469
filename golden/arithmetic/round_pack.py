"""Round and pack: an exact or sticky magnitude into a bit pattern of any floating-point format, once."""

from typing import Final

from golden.arithmetic.compiled import bit_length, compiled
from golden.arithmetic.decode import INFINITE, NAN, Format, decode

__all__ = ["NEAREST", "ROUNDINGS", "convert", "pack", "round_pack", "round_significand", "saturate_to_finite"]

ROUNDINGS: Final = ("rn", "rz", "rm", "rp")
"""To nearest with ties to even, towards zero, minus and plus infinity; a rounding's number is its place."""

NEAREST: Final = 0
TOWARDS_ZERO: Final = 1
DOWN: Final = 2
UP: Final = 3

_PLACES: Final = 62
"""More zeros are appended to nothing but 0."""


@compiled
def round_significand(
    negative: int, magnitude: int, exponent: int, format: Format, rounding: int, discarded_bits: int
) -> tuple[int, int, int, bool]:
    """Round ``magnitude * 2**exponent`` to the last place that the format has at its size.

    No last place is lower than in the smallest normal number: underflow is gradual.

    Parameters
    ----------
    negative : int
    magnitude : int
        Below ``2**62`` in compiled code. Its lowest bit may be sticky (set when anything below it was cut
        off) if it has at least two bits more than the format's significand.
    exponent : int
    format : FloatFormat or Layout
    rounding : int
        Place in `ROUNDINGS`.
    discarded_bits : int
        Fraction bits that the result leaves zero: the last place lies so much higher.

    Returns
    -------
    normal : int
        Exponent of the result's hidden bit.
    dropped_bits : int
        Bits of the magnitude below the last place; negative where zeros were appended.
    kept : int
        The significand in last places, before rounding.
    up : bool
        Whether one is added to it.
    """
    length = bit_length(magnitude)
    normal = max(exponent + length - 1, format.minimum_exponent) if length else format.minimum_exponent
    dropped_bits = normal - format.fraction_bits + discarded_bits - exponent
    # More dropped bits than these decide nothing else: the magnitude is below half a last place.
    count = min(max(dropped_bits, 0), length + 1)
    kept = magnitude << min(max(-dropped_bits, 0), _PLACES) >> count
    dropped = magnitude & ((1 << count) - 1)
    half = 1 << max(count - 1, 0)
    if rounding == NEAREST:
        up = (dropped > half) | ((dropped == half) & (kept & 1 > 0))
    else:
        outwards = (negative > 0) == (rounding == DOWN)
        up = (dropped > 0) & outwards & (rounding != TOWARDS_ZERO)
    return normal, dropped_bits, kept, up


@compiled
def pack(
    negative: int, significand: int, normal: int, format: Format, rounding: int, always_infinity: bool
) -> int:
    """The bit pattern of a rounded significand in last places; a carry raises the exponent.

    Parameters
    ----------
    negative, significand, normal, format, rounding
        As `round_significand` has them; all the format's places, discarded ones included.
    always_infinity : bool
        Beyond the largest finite number: an infinity, or what IEEE 754 says for the rounding.
    """
    infinity = format.infinity >> format.ignored_bits
    # The hidden bit raises the exponent field by one.
    packed = significand + ((min(normal, format.bias + 1) - format.minimum_exponent) << format.fraction_bits)
    if packed >= infinity or normal > format.bias:
        inwards = rounding in (TOWARDS_ZERO, UP if negative else DOWN)
        packed = infinity - (inwards and not always_infinity)
    return packed << format.ignored_bits | negative << (format.bits - 1)


@compiled
def round_pack(
    negative: int, magnitude: int, exponent: int, format: Format, rounding: int, always_infinity: bool
) -> int:
    """Round ``magnitude * 2**exponent`` once and pack it; zeros keep the sign given."""
    normal, _, kept, up = round_significand(negative, magnitude, exponent, format, rounding, 0)
    return pack(negative, kept + up, normal, format, rounding, always_infinity)


@compiled
def convert(bits: int, source: Format, target: Format) -> int:
    """Convert between formats as IEEE 754 does, to nearest even; a NaN becomes the canonical one."""
    negative, significand, exponent, kind = decode(bits, source)
    if kind == NAN:
        return target.canonical_nan
    if kind == INFINITE:
        return target.infinity | negative << (target.bits - 1)
    return round_pack(negative, significand, exponent - source.fraction_bits, target, NEAREST, False)


@compiled
def saturate_to_finite(bits: int, format: Format) -> int:
    """satf: an infinity becomes the largest finite number of its sign, a NaN +0."""
    _, _, _, kind = decode(bits, format)
    if kind == NAN:
        return 0
    return bits - (1 << format.ignored_bits) if kind == INFINITE else bits
