"""Quotient and square root of IEEE 754; arguments and NaN as in `golden.arithmetic.fma`."""

from golden.arithmetic.compiled import bit_length, compiled, shift
from golden.arithmetic.decode import FINITE, INFINITE, NAN, ZERO, Format, decode
from golden.arithmetic.fma import quiet_nan
from golden.arithmetic.round_pack import round_pack


@compiled
def divide(a: int, b: int, format: Format, rounding: int, flush: bool = False) -> int:
    """The quotient, by long division of the significands; NaN in the order a, b.

    Both significands are normalised. Each step gives as many quotient bits as an integer of 63 bits has place
    for beside a significand; the last quotient bit is set if there is a remainder.
    """
    a_negative, x, x_exponent, a_kind = decode(a, format, flush)
    b_negative, y, y_exponent, b_kind = decode(b, format, flush)
    sign = (a_negative ^ b_negative) << (format.bits - 1)
    if max(a_kind, b_kind) == NAN:
        return quiet_nan(a if a_kind == NAN else b, format)
    if a_kind == b_kind and a_kind != FINITE:
        return format.canonical_nan
    if a_kind == INFINITE or b_kind == ZERO:
        return format.infinity | sign
    if a_kind == ZERO or b_kind == INFINITE:
        return sign
    length = format.fraction_bits + 1
    x_missing, y_missing = length - bit_length(x), length - bit_length(y)
    x, y = x << x_missing, y << y_missing
    bits = 63 - length
    steps = -(-(length + 2) // bits)
    quotient, rest = x // y, x % y
    for _ in range(steps):
        rest = rest << bits
        quotient = quotient << bits | rest // y
        rest = rest % y
    exponent = x_exponent - x_missing - (y_exponent - y_missing) - steps * bits
    sticky = quotient | (1 if rest else 0)
    return round_pack(a_negative ^ b_negative, sticky, exponent, format, rounding, False, flush)


@compiled
def reciprocal(a: int, format: Format, rounding: int, flush: bool = False) -> int:
    """One divided by a."""
    return divide(format.bias << format.fraction_bits, a, format, rounding, flush)


@compiled
def square_root(a: int, format: Format, rounding: int, flush: bool = False) -> int:
    """The square root, bit by bit; of -0 it is -0.

    The radicand has an even exponent and is read two bits at a time, from the top, with zeros behind its end.
    The last bit of the root is set if there is a remainder.
    """
    negative, x, exponent, kind = decode(a, format, flush)
    if kind == NAN:
        return quiet_nan(a, format)
    if kind == ZERO:
        return negative << (format.bits - 1)
    if negative:
        return format.canonical_nan
    if kind == INFINITE:
        return a
    length = format.fraction_bits + 1
    missing = length - bit_length(x)
    exponent = exponent - format.fraction_bits - missing
    x = x << (missing + (exponent & 1))
    exponent = exponent - (exponent & 1)
    width = (length + 2) // 2 * 2
    steps = length + 3
    root = rest = 0
    for step in range(1, steps + 1):
        rest = rest << 2 | shift(x, 2 * step - width) & 3
        trial = root << 2 | 1
        root = root << 1
        if rest >= trial:
            rest, root = rest - trial, root | 1
    half = (exponent + width) // 2 - steps
    return round_pack(0, root | (1 if rest else 0), half, format, rounding, False, flush)
