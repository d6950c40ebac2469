"""A second opinion on scalar instructions: one result at a time, in fractions and unbounded integers.

Nothing of the golden model is used here.
"""

from fractions import Fraction
from math import isqrt

from rational_model import FINITE, LAYOUTS, NAN, take_apart

ROOT_BITS = 256


def value(bits, layout):
    """The finite number of a bit pattern."""
    number = take_apart(bits, layout)
    magnitude = number.significand * Fraction(2) ** (number.exponent - layout.fraction)
    return -magnitude if number.sign else magnitude


def kind(bits, layout):
    return take_apart(bits, layout).kind


def floor_log2(magnitude):
    estimate = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return estimate if Fraction(2) ** estimate <= magnitude else estimate - 1


def rounded(number, layout, mode, *, zero_sign=0, flush=False):
    """The bit pattern of a fraction, rounded once; `flush` gives zeros below the least normal number."""
    if number == 0:
        return zero_sign * layout.sign
    sign = int(number < 0)
    magnitude = abs(number)
    lowest = -(10**6) if flush else layout.emin
    place = max(floor_log2(magnitude), lowest) - layout.fraction
    quotient, rest = divmod(magnitude, Fraction(2) ** place)
    half = rest / Fraction(2) ** place
    up = {
        "rn": half > Fraction(1, 2) or (half == Fraction(1, 2) and quotient % 2 == 1),
        "rz": False,
        "rm": rest != 0 and sign == 1,
        "rp": rest != 0 and sign == 0,
    }[mode]
    result = (quotient + up) * Fraction(2) ** place
    if result >= Fraction(2) ** (1 - layout.emin + 1):
        finite = (mode, sign) in {("rz", 0), ("rz", 1), ("rm", 0), ("rp", 1)}
        return sign * layout.sign + layout.infinity - finite
    if result < Fraction(2) ** layout.emin:
        if flush:
            return sign * layout.sign
        return sign * layout.sign + int(result / Fraction(2) ** (layout.emin - layout.fraction))
    exponent = floor_log2(result)
    significand = int(result / Fraction(2) ** (exponent - layout.fraction))
    return sign * layout.sign + ((exponent - layout.emin) << layout.fraction) + significand


def root(number):
    """A fraction that rounds as the square root does: exact, or cut off with something added."""
    shifted = number.numerator * number.denominator << 2 * ROOT_BITS
    whole = isqrt(shifted)
    sticky = Fraction(0 if whole * whole == shifted else 1, 2)
    return (whole + sticky) / (number.denominator << ROOT_BITS)


def sum_zero_sign(terms, mode):
    """The sign of an exact zero sum, from the signs of its terms."""
    return int(all(terms) if mode != "rm" else any(terms))


def arithmetic(operation, operands, type_, mode, *, flush=False):
    """The bit pattern of the result, or None where an operand or the result is infinite or NaN."""
    layout = LAYOUTS[type_]
    if any(kind(bits, layout) != FINITE for bits in operands):
        return None
    if flush:
        operands = [
            bits & layout.sign if value(bits, layout) and abs(value(bits, layout)) < least(layout) else bits
            for bits in operands
        ]
    signs = [bits // layout.sign for bits in operands]
    x, y, z = [value(bits, layout) for bits in operands] + [Fraction(0)] * (3 - len(operands))
    product_sign = signs[0] ^ signs[1 % len(signs)]
    if operation in ("div", "rcp") and (y if operation == "div" else x) == 0:
        return None
    if operation == "sqrt" and x < 0:
        return None
    exact, zero_sign = {
        "add": lambda: (x + y, sum_zero_sign(signs, mode)),
        "sub": lambda: (x - y, sum_zero_sign([signs[0], 1 - signs[-1]], mode)),
        "mul": lambda: (x * y, product_sign),
        "div": lambda: (x / y, product_sign),
        "fma": lambda: (x * y + z, sum_zero_sign([product_sign, signs[-1]], mode)),
        "rcp": lambda: (1 / x, signs[0]),
        "sqrt": lambda: (root(x), signs[0]),
    }[operation]()
    return rounded(exact, layout, mode, zero_sign=zero_sign, flush=flush)


def least(layout):
    """The least normal number."""
    return Fraction(2) ** layout.emin


def integral(number, mode):
    """A fraction rounded to an integer: ``rni``, ``rzi``, ``rmi``, ``rpi``."""
    floor = number.numerator // number.denominator
    if mode == "rni":
        return round(number)
    if mode == "rmi" or number == floor:
        return floor
    return floor + 1 if mode == "rpi" or number < 0 else floor


__all__ = ["FINITE", "LAYOUTS", "NAN", "arithmetic", "integral", "kind", "rounded", "value"]
