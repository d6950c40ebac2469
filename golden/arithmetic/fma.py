"""Sum, product and fused multiply-add of IEEE 754, in formats of up to 53 significand bits and all roundings.

Wide integers are pairs of 62-bit words, high and low, so that 124 bits are enough everywhere.

All take bit patterns of `format`, a `rounding` (its place in `golden.arithmetic.round_pack.ROUNDINGS`), and
`flush`: whether subnormal operands and results are zeros of their sign. NaN operands of f64 come back made
quiet; an invalid operation, and a NaN operand of another format, give the canonical NaN.
"""

from typing import Final

from golden.arithmetic.compiled import bit_length, compiled, shift
from golden.arithmetic.decode import FINITE, INFINITE, NAN, ZERO, Format, decode
from golden.arithmetic.round_pack import DOWN, round_pack

_WORD: Final = 62
_MASK: Final = (1 << 62) - 1
_HALF: Final = 27
_HALF_MASK: Final = (1 << 27) - 1
_SIGNIFICAND: Final = 53
_GUARD: Final = 8

_PRODUCT_SHIFT: Final = 17
_ADDEND_SHIFT: Final = 70
_VANISHED: Final = -(1 << 20)
"""Exponent of a zero term: the other one is always the larger."""


@compiled
def multiply_wide(x: int, y: int) -> tuple[int, int]:
    """The exact product of factors below ``2**53``, from four products of 27-bit halves."""
    x_high, x_low, y_high, y_low = x >> _HALF, x & _HALF_MASK, y >> _HALF, y & _HALF_MASK
    middle = x_high * y_low + x_low * y_high
    high = x_high * y_high
    first = x_low * y_low + ((middle & ((1 << 35) - 1)) << 27)
    second = (first & _MASK) + ((high & 0xFF) << 54)
    return (middle >> 35) + (high >> 8) + (first >> _WORD) + (second >> _WORD), second & _MASK


@compiled
def shift_right_sticky(high: int, low: int, count: int) -> tuple[int, int]:
    """Shift right by 0 to 124, setting the lowest bit when a one was shifted out."""
    sticky = False
    if count >= _WORD:
        sticky = low != 0
        high, low, count = 0, high, count - _WORD
    sticky |= low & ((1 << count) - 1) != 0
    low = low >> count | (high << (_WORD - count)) & _MASK
    return high >> count, low | (1 if sticky else 0)


@compiled
def shift_sticky(value: int, count: int) -> int:
    """The same of a single word, by any number of places."""
    kept = shift(value, -count)
    return kept | (1 if shift(kept, count) != value else 0)


@compiled
def normalised(significand: int, exponent: int, kind: int, format: Format) -> tuple[int, int]:
    """The significand with bit 52 set, or 0, and the weight of its lowest bit."""
    if kind != FINITE:
        return 0, _VANISHED
    missing = _SIGNIFICAND - bit_length(significand)
    return significand << missing, exponent - format.fraction_bits - missing


@compiled
def quiet_nan(bits: int, format: Format) -> int:
    """The NaN result of an operand that is a NaN."""
    return bits | 1 << (format.fraction_bits - 1) if format.bits == 64 else format.canonical_nan


@compiled
def fused_multiply_add(a: int, b: int, c: int, format: Format, rounding: int, flush: bool = False) -> int:
    """``a * b + c`` with one rounding, on bit patterns.

    *Method.* Significands are normalised, so the product P is an integer from 2**104 to 2**106 and the
    addend C one from 2**52 to 2**53. P moves up 17 and C 70 places: P is then in [2**121, 2**123) and C in
    [2**122, 2**123). The one of lesser weight is shifted right by the difference of the weights, a bit lost
    setting the lowest one (sticky); the two are added or subtracted, and the sum, shifted right with sticky
    to 62 bits, goes to `round_pack`.

    *Proof sketch.* P has 17 zeros at its end, C has 70, so a shift up to that loses nothing and the sum is
    exact. When P loses bits it was shifted by at least 18 and is below 2**105, C at least 2**122; when C
    loses bits it was shifted by at least 71 and is below 2**52, P at least 2**121. Either way the sum is at
    least 2**120, so its last 53-bit place weighs at least 2**68: far above the lowest bit, which says
    truthfully whether the exact sum is a multiple of two or not. Below the rounding place only "zero",
    "less than half", "half", "more than half" count, and a sticky bit at least two places below decides
    each of them as the exact sum would, after addition and after subtraction. The last shift keeps 62 bits,
    9 more than the result has. A subnormal result drops more bits, never fewer.

    NaN operands are looked for in the order b, c, a.
    """
    a_negative, a_significand, a_exponent, a_kind = decode(a, format, flush)
    b_negative, b_significand, b_exponent, b_kind = decode(b, format, flush)
    c_negative, c_significand, c_exponent, c_kind = decode(c, format, flush)
    negative = a_negative ^ b_negative
    if max(a_kind, b_kind, c_kind) > FINITE:
        if max(a_kind, b_kind, c_kind) == NAN:
            return quiet_nan(b if b_kind == NAN else c if c_kind == NAN else a, format)
        infinite = max(a_kind, b_kind) == INFINITE
        if infinite and (min(a_kind, b_kind) == ZERO or (c_kind == INFINITE and c_negative != negative)):
            return format.canonical_nan
        return format.infinity | (negative if infinite else c_negative) << (format.bits - 1)

    x, x_weight = normalised(a_significand, a_exponent, a_kind, format)
    y, y_weight = normalised(b_significand, b_exponent, b_kind, format)
    z, z_weight = normalised(c_significand, c_exponent, c_kind, format)
    high, low = multiply_wide(x, y)
    high, low = high << _PRODUCT_SHIFT | low >> (_WORD - _PRODUCT_SHIFT), (low << _PRODUCT_SHIFT) & _MASK
    product_weight = max(x_weight + y_weight - _PRODUCT_SHIFT, _VANISHED)
    c_high, c_low, c_weight = z << (_ADDEND_SHIFT - _WORD), 0, z_weight - _ADDEND_SHIFT
    weight = max(product_weight, c_weight)
    high, low = shift_right_sticky(high, low, min(weight - product_weight, 2 * _WORD))
    c_high, c_low = shift_right_sticky(c_high, c_low, min(weight - c_weight, 2 * _WORD))

    if negative == c_negative:
        high, low = high + c_high, low + c_low
    else:
        if high < c_high or (high == c_high and low < c_low):
            high, low, c_high, c_low, negative = c_high, c_low, high, low, c_negative
        high, low = high - c_high, low - c_low
        if high == 0 and low == 0:
            negative = 1 if rounding == DOWN else 0
    high, low = high + (low >> _WORD), low & _MASK
    excess = bit_length(high)
    _, significand = shift_right_sticky(high, low, excess)
    return round_pack(negative, significand, weight + excess, format, rounding, False, flush)


@compiled
def add(a: int, b: int, format: Format, rounding: int, flush: bool = False) -> int:
    """The sum: `fused_multiply_add` of a, 1 and b, in single words; NaN in the order b, a.

    Both significands have at most 53 bits and move up by 8 places. The one of lesser exponent is shifted
    down, with sticky. Bits are lost only where the exponents differ by more than 8; then the sum has at least
    six bits more than the format, so the sticky bit decides as the bits would.
    """
    a_negative, x, x_exponent, a_kind = decode(a, format, flush)
    b_negative, y, y_exponent, b_kind = decode(b, format, flush)
    if max(a_kind, b_kind) > FINITE:
        if max(a_kind, b_kind) == NAN:
            return quiet_nan(b if b_kind == NAN else a, format)
        if a_kind == b_kind and a_negative != b_negative:
            return format.canonical_nan
        return format.infinity | (a_negative if a_kind == INFINITE else b_negative) << (format.bits - 1)
    exponent = max(x_exponent, y_exponent)
    x = shift_sticky(x << _GUARD, exponent - x_exponent)
    y = shift_sticky(y << _GUARD, exponent - y_exponent)
    total = (-x if a_negative else x) + (-y if b_negative else y)
    negative = 1 if total < 0 else 0
    if total == 0:
        negative = a_negative if a_negative == b_negative else 1 if rounding == DOWN else 0
    weight = exponent - format.fraction_bits - _GUARD
    return round_pack(negative, abs(total), weight, format, rounding, False, flush)


@compiled
def subtract(a: int, b: int, format: Format, rounding: int, flush: bool = False) -> int:
    """The sum of a and the negated b; a NaN keeps its sign."""
    _, _, _, b_kind = decode(b, format)
    return add(a, b if b_kind == NAN else b ^ 1 << (format.bits - 1), format, rounding, flush)


@compiled
def multiply(a: int, b: int, format: Format, rounding: int, flush: bool = False) -> int:
    """The product; NaN in the order b, a."""
    a_negative, x, x_exponent, a_kind = decode(a, format, flush)
    b_negative, y, y_exponent, b_kind = decode(b, format, flush)
    negative = a_negative ^ b_negative
    if max(a_kind, b_kind) > FINITE:
        if max(a_kind, b_kind) == NAN:
            return quiet_nan(b if b_kind == NAN else a, format)
        if min(a_kind, b_kind) == ZERO:
            return format.canonical_nan
        return format.infinity | negative << (format.bits - 1)
    weight = x_exponent + y_exponent - 2 * format.fraction_bits
    if format.bits < 64:
        return round_pack(negative, x * y, weight, format, rounding, False, flush)
    high, low = multiply_wide(x, y)
    excess = bit_length(high)
    _, significand = shift_right_sticky(high, low, excess)
    return round_pack(negative, significand, weight + excess, format, rounding, False, flush)
