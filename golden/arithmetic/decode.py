"""Decode: bit patterns of any floating-point format into sign, significand and exponent."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.tables.formats import FloatFormat

__all__ = ["ZERO_EXPONENT", "Decoded", "decode"]

ZERO_EXPONENT = -8192
"""Alignment exponent of a zero: so small that it never decides, and two of them fit an int16."""


class Decoded(NamedTuple):
    """Numbers taken apart; all arrays have the shape of the bit patterns.

    A finite number is ``(-1)**negative * significand * 2**(exponent - fraction_bits)``.
    """

    format: FloatFormat
    """The format they came from."""
    negative: NDArray[np.bool_]
    """The sign bit."""
    significand: NDArray[Any]
    """Unsigned, hidden bit included; of an infinity 0, of a NaN its payload."""
    exponent: NDArray[np.int16]
    """Unbiased; the format's minimum exponent for zeros and subnormals, its maximum + 1 for specials."""
    special: NDArray[np.bool_]
    """Whether the pattern is an infinity or a NaN."""

    @property
    def nan(self) -> NDArray[np.bool_]:
        """Whether the pattern is a NaN."""
        nan: NDArray[np.bool_] = self.special & (self.significand != 0)
        return nan

    @property
    def infinite(self) -> NDArray[np.bool_]:
        """Whether the pattern is an infinity."""
        infinite: NDArray[np.bool_] = self.special & (self.significand == 0)
        return infinite

    def alignment_exponent(self) -> NDArray[np.int16]:
        """The exponent, with `ZERO_EXPONENT` where the number is a zero."""
        zero = (self.significand == 0) & ~self.special
        return np.where(zero, np.int16(ZERO_EXPONENT), self.exponent)

    def float64(self) -> NDArray[np.float64]:
        """The numbers as float64: exact, infinities and NaN included, for formats of at most 32 bits."""
        biased = self.exponent.astype(np.int64)
        biased += 1023 - self.format.fraction_bits
        biased |= self.negative.astype(np.int64) << 11
        biased <<= 52
        value: NDArray[np.float64] = self.significand.astype(np.float64)
        value *= biased.view(np.float64)
        if self.special.any():
            infinity = np.where(self.negative, -np.inf, np.inf)
            value = np.where(self.special, np.where(self.significand == 0, infinity, np.nan), value)
        return value


def decode(bits: NDArray[Any], format: FloatFormat) -> Decoded:
    """Take bit patterns apart.

    Subnormals keep the minimum exponent and have no hidden bit: they are neither normalised nor
    flushed. Ignored low bits (tf32) have no say, so a NaN whose payload lies there is an infinity.

    Parameters
    ----------
    bits : ndarray of the unsigned integer of ``format.bits``
    format : FloatFormat

    Returns
    -------
    Decoded
    """
    unsigned = bits.dtype.type
    field_mask = unsigned((1 << format.exponent_bits) - 1)
    fraction = bits >> unsigned(format.ignored_bits)
    field = (fraction >> unsigned(format.fraction_bits)) & field_mask
    fraction &= unsigned((1 << format.fraction_bits) - 1)
    special = field == field_mask
    if not format.has_infinity:
        special &= fraction == unsigned((1 << format.fraction_bits) - 1)
    hidden = (field != 0) & ~special
    fraction |= hidden.astype(unsigned) << unsigned(format.fraction_bits)
    exponent = np.maximum(field, unsigned(1)).astype(np.int16)
    exponent -= np.int16(format.bias)
    return Decoded(format, bits >= unsigned(format.sign_mask), fraction, exponent, special)
