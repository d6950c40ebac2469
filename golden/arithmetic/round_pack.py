"""Round and pack: an exact or sticky sum into a bit pattern of any floating-point format."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from golden.tables.formats import FloatFormat

__all__ = ["Overflow", "bit_length", "round_pack"]

Overflow = Literal["infinity", "ieee"]


def bit_length(value: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bits needed for each non-negative value; 0 for 0.

    Clearing every bit whose upper neighbour is set keeps the top bit and makes the conversion to
    float64 unable to round up to the next power of two; the exponent field is then the answer.
    """
    top = (value & ~(value >> 1)).astype(np.float64).view(np.int64)
    top >>= 52
    top -= 1022
    return np.maximum(top, 0, out=top)


def round_pack(
    negative: NDArray[np.bool_],
    significand: NDArray[np.int64],
    exponent: NDArray[Any],
    format: FloatFormat,
    rounding: str,
    overflow: Overflow = "ieee",
) -> NDArray[Any]:
    """Round ``significand * 2**exponent`` once and pack it.

    The result is a multiple of the format's unit in the last place at the value's magnitude, which
    never falls below that of the smallest normal number: underflow is gradual.

    Parameters
    ----------
    negative : ndarray of bool
    significand : ndarray of int64
        From 0 to ``2**62 - 1``. Its lowest bit may be sticky (set when anything below it was cut off)
        if the significand then has at least two bits more than the format's.
    exponent : ndarray of integers
        Weight of the significand's lowest bit.
    format : FloatFormat
        Format of the result.
    rounding : {"rn", "rz", "rm", "rp"}
        To nearest with ties to even, towards zero, minus infinity, plus infinity.
    overflow : {"ieee", "infinity"}
        Beyond the largest finite number: what IEEE 754 says for the rounding, or always an infinity.

    Returns
    -------
    ndarray of the unsigned integer of ``format.bits``
        Zeros keep the sign given.
    """
    exponent = exponent.astype(np.int64)
    leading = bit_length(significand)
    leading += exponent
    leading -= 1 + format.minimum_exponent
    biased = np.maximum(leading, 0, out=leading)
    shift = biased + (format.minimum_exponent - format.fraction_bits)
    shift -= exponent
    dropped_bits = np.clip(shift, 0, 63)
    kept = significand >> dropped_bits
    if rounding != "rz":
        dropped = significand - (kept << dropped_bits)
        if rounding == "rn":
            half = np.int64(1) << np.maximum(dropped_bits - 1, 0)
            up = (dropped > half) | ((dropped == half) & (kept & 1 != 0))
        else:
            up = (dropped != 0) & (negative if rounding == "rm" else ~negative)
        kept += up
    np.negative(shift, out=shift)
    np.maximum(shift, 0, out=shift)
    kept <<= np.minimum(shift, 63, out=shift)
    greatest = (1 << format.exponent_bits) - 3  # one less than the field of the largest finite number
    beyond = biased > greatest
    np.minimum(biased, greatest, out=biased)
    biased <<= format.fraction_bits
    packed = kept
    packed += biased
    packed[significand == 0] = 0
    beyond &= significand != 0

    infinity = format.infinity >> format.ignored_bits
    beyond |= packed >= infinity
    if beyond.any():
        packed[beyond] = infinity
        if overflow == "ieee" and rounding != "rn":
            towards_zero = {"rz": beyond, "rm": beyond & ~negative, "rp": beyond & negative}[rounding]
            packed[towards_zero] = infinity - 1
    unsigned = np.dtype(f"u{format.bits // 8}").type
    result: NDArray[Any] = packed.astype(unsigned)
    result <<= unsigned(format.ignored_bits)
    result |= negative.astype(unsigned) << unsigned(format.bits - 1)
    return result
