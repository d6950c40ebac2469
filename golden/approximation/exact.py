"""The correctly rounded result of an approximate instruction, for comparison.

Quotients and powers with whole exponents are exact; the other functions are evaluated with 600 bits by
mpmath. The result is an interval of the relative width ``2**-199``, and both ends must round to the same
number.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import mpmath

from golden.approximation.instructions import ApproximateInstruction
from golden.arithmetic.number import decoded
from golden.arithmetic.round_pack import NEAREST, round_pack
from golden.tables.formats import FloatFormat, float_format

_PRECISION: Final = 600
_MP: Final = mpmath.MPContext()
_MP.prec = _PRECISION
_RELATIVE_ERROR: Final = Fraction(1, 1 << 200)
_BEYOND: Final = 2000
"""Two to this power overflows, and to the negative power underflows, in every format."""

Interval = tuple[Fraction, Fraction]


def correctly_rounded(form: ApproximateInstruction, operands: tuple[int, ...]) -> int | None:
    """The exact result for the bit patterns of single elements, rounded once to nearest even.

    With ``.ftz``, subnormal operands and results are zeros. None where an operand is not finite, or the
    function has no finite real value. ArithmeticError where 600 bits do not decide the rounding.
    """
    format = float_format(form.element)
    values = [value_of(bits, format) for bits in operands]
    if form.flush:
        least = Fraction(2) ** format.minimum_exponent
        values = [Fraction(0) if value is not None and abs(value) < least else value for value in values]
    if any(value is None for value in values):
        return None
    bounds = _bounds(form.function, *(value for value in values if value is not None))
    if bounds is None:
        return None
    negative = sum(bool(bits & format.sign_mask) for bits in operands) % 2 == 1
    low, high = (rounded(bound, format, negative_zero=negative) for bound in bounds)
    if low != high:
        raise ArithmeticError(f"{_PRECISION} bits do not decide the rounding of {form.text} of {operands}")
    if form.flush and not low & format.infinity:
        low &= format.sign_mask
    return low


def value_of(bits: int, format: FloatFormat) -> Fraction | None:
    """The number with this bit pattern; None for infinities and NaN."""
    number = decoded("", bits, format)
    if number.kind in ("infinity", "nan"):
        return None
    value = Fraction(number.significand) * Fraction(2) ** (number.exponent - number.fraction_bits)
    return -value if number.negative else value


def rounded(value: Fraction, format: FloatFormat, *, negative_zero: bool = False) -> int:
    """The bit pattern of a number rounded to nearest even, subnormals and overflow included."""
    magnitude = abs(value)
    # Significand bits enough to round, the last one sticky.
    unit = magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - format.significand_bits - 3
    scaled = magnitude / Fraction(2) ** unit
    sticky = int(scaled) | (scaled.denominator > 1)
    negative = negative_zero if value == 0 else value < 0
    return round_pack(int(negative), sticky, unit, format, NEAREST, False)


def _bounds(function: str, x: Fraction, divisor: Fraction = Fraction(1)) -> Interval | None:
    if function in {"rcp", "div"}:
        numerator, denominator = (Fraction(1), x) if function == "rcp" else (x, divisor)
        return None if denominator == 0 else (numerator / denominator,) * 2
    if (function == "sqrt" and x < 0) or (function in {"rsqrt", "lg2"} and x <= 0):
        return None
    if function == "ex2":
        x = max(Fraction(-_BEYOND), min(Fraction(_BEYOND), x))
        if x.denominator == 1:
            return (Fraction(2) ** int(x),) * 2
    found = Fraction(*_FUNCTIONS[function](_MP.mpf(x.numerator) / x.denominator).as_integer_ratio())
    error = abs(found) * _RELATIVE_ERROR
    return found - error, found + error


_FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "sqrt": _MP.sqrt,
    "rsqrt": lambda x: 1 / _MP.sqrt(x),
    "ex2": lambda x: _MP.power(2, x),
    "lg2": lambda x: _MP.log(x, 2),
    "tanh": _MP.tanh,
    "sin": _MP.sin,
    "cos": _MP.cos,
}
