"""The correctly rounded result of an approximate instruction, for comparison.

Quotients and square roots are exact integers; the other functions are evaluated with 150 decimal digits by
the standard library's `decimal`, whose exp and ln are correctly rounded. The result is an interval of the
relative width ``2 * 10**-60``, and both ends must round to the same number.
"""

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import isqrt

from golden.approximation.instructions import ApproximateInstruction
from golden.arithmetic.round_pack import NEAREST, round_pack
from golden.explanation.steps import decoded
from golden.tables.formats import FloatFormat, float_format

_DIGITS = 150
_RELATIVE_ERROR = Fraction(1, 10**60)
_CONTEXT = Context(prec=_DIGITS, Emin=-999999, Emax=999999)

Interval = tuple[Fraction, Fraction]


def correctly_rounded(form: ApproximateInstruction, operands: tuple[int, ...]) -> int | None:
    """The exact result for the bit patterns of single elements, rounded once to nearest even.

    With ``.ftz``, subnormal operands and results are zeros. None where an operand is not finite, or the
    function has no finite real value. ArithmeticError where 150 digits do not decide the rounding.
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
        raise ArithmeticError(f"{_DIGITS} digits do not decide the rounding of {form.text} of {operands}")
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
    if function == "sqrt":
        return None if x < 0 else _root(x)
    if function == "rsqrt":
        return None if x <= 0 else _root(1 / x)
    if function == "lg2" and x <= 0:
        return None
    exact = _EXACT[function](x)
    if exact is not None:
        return exact, exact
    with localcontext(_CONTEXT):
        found = Fraction(_TRANSCENDENTAL[function](Decimal(x.numerator) / Decimal(x.denominator)))
    error = abs(found) * _RELATIVE_ERROR
    return found - error, found + error


def _root(x: Fraction) -> Interval:
    """Bounds of a square root, equal where it is rational."""
    scale = 1 << 600
    whole, exact = divmod(x.numerator * scale * scale, x.denominator)
    root = isqrt(whole)
    rational = exact == 0 and root * root == whole
    return Fraction(root, scale), Fraction(root + (not rational), scale)


def _exact_power(x: Fraction) -> Fraction | None:
    """Two to the power of an integer; beyond 2000, any number that overflows or underflows."""
    if x.denominator > 1 and abs(x) <= 2000:
        return None
    exponent = max(-2000, min(2000, int(x)))
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def _exact_logarithm(x: Fraction) -> Fraction | None:
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    return Fraction(exponent) if x == Fraction(2) ** exponent else None


def _exact_tanh(x: Fraction) -> Fraction | None:
    """Zero; beyond 100, a number that rounds to 1 in every format as tanh does."""
    if abs(x) > 100:
        return (1 - Fraction(1, 2**200)) * (1 if x > 0 else -1)
    return Fraction(0) if x == 0 else None


_EXACT: dict[str, Callable[[Fraction], Fraction | None]] = {
    "ex2": _exact_power,
    "lg2": _exact_logarithm,
    "tanh": _exact_tanh,
    "sin": lambda x: Fraction(0) if x == 0 else None,
    "cos": lambda x: Fraction(1) if x == 0 else None,
}


def _tanh(x: Decimal) -> Decimal:
    power = (2 * x).exp()
    return (power - 1) / (power + 1)


@cache
def _pi() -> Decimal:
    """Machin's formula: pi / 4 = 4 arctan(1 / 5) - arctan(1 / 239)."""
    unit = 10 ** (2 * _DIGITS)

    def arctan_of_inverse(n: int) -> int:
        total: int = unit // n
        term = total
        for k in range(3, 6 * _DIGITS, 2):
            term //= -n * n
            total += term // k
        return total

    return Decimal(4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))).scaleb(-2 * _DIGITS)


def _series(x: Decimal, first: int) -> Decimal:
    """The Taylor series of sine (first 1) or cosine (0), after reduction to a quarter turn about zero."""
    quarters = (x / (_pi() / 2)).to_integral_value()
    rest = x - quarters * _pi() / 2
    power = first + int(quarters) % 4
    term = rest if power % 2 else Decimal(1)
    total, k = term, power % 2
    while abs(term) > abs(total) * Decimal(10) ** -_DIGITS:
        term *= -rest * rest / ((k + 1) * (k + 2))
        total += term
        k += 2
    # sin(r + n quarters) is sin, cos, -sin, -cos of r for n = 0, 1, 2, 3; cosine begins one quarter later.
    turned = int(quarters) % 4 + (1 - first)
    return -total if turned % 4 >= 2 else total


_TRANSCENDENTAL: dict[str, Callable[[Decimal], Decimal]] = {
    "ex2": lambda x: (x * Decimal(2).ln()).exp(),
    "lg2": lambda x: x.ln() / Decimal(2).ln(),
    "tanh": _tanh,
    "sin": lambda x: _series(x, 1),
    "cos": lambda x: _series(x, 0),
}
