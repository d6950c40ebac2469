"""Arrays of floating-point numbers taken apart."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic import decode as scalar
from golden.arithmetic.arrays import elementwise
from golden.arithmetic.compiled import bit_length
from golden.arithmetic.decode import FINITE, NAN, ZERO, ZERO_EXPONENT, layout
from golden.arithmetic.engine import Compiled
from golden.tables.formats import FloatFormat


def bit_lengths(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """See `golden.arithmetic.compiled.bit_length`."""
    return elementwise(bit_length, (values,), (), np.int64)


class Decoded(NamedTuple):
    """Numbers taken apart, as `golden.arithmetic.decode.decode` does; all arrays have one shape."""

    format: FloatFormat
    negative: NDArray[np.bool_]
    significand: NDArray[np.int64]
    exponent: NDArray[np.int64]
    kind: NDArray[np.int64]

    @property
    def special(self) -> NDArray[np.bool_]:
        """Whether a number is an infinity or a NaN."""
        special: NDArray[np.bool_] = self.kind > FINITE
        return special

    def alignment_exponent(self) -> NDArray[np.int64]:
        """The exponent, with `ZERO_EXPONENT` where the number is a zero."""
        return np.where(self.kind == ZERO, ZERO_EXPONENT, self.exponent)

    def float64(self) -> NDArray[np.float64]:
        """The numbers, of formats of at most 32 bits: exact, infinities and NaN included."""
        value = np.ldexp(self.significand.astype(np.float64), self.exponent - self.format.fraction_bits)
        value = np.where(self.special, np.where(self.kind == NAN, np.nan, np.inf), value)
        return np.where(self.negative, -value, value)


@Compiled
def _decode(bits: Any, format: Any, fields: Any) -> None:
    for i in range(len(bits)):
        fields[0][i], fields[1][i], fields[2][i], fields[3][i] = scalar.decode(bits[i], format)


def decode(bits: NDArray[Any], format: FloatFormat) -> Decoded:
    """Take an array of bit patterns apart."""
    words = np.ascontiguousarray(bits).reshape(-1).astype(np.int64)
    fields = np.empty((4, len(words)), np.int64)
    _decode(words, layout(format), fields)
    negative, significand, exponent, kind = (field.reshape(np.shape(bits)) for field in fields)
    return Decoded(format, negative != 0, significand, exponent, kind)
