"""What an f64 fused multiply-add must give, in integers of any size, written from the specification alone.

Nothing of the golden model or of the hardware is used here, not even their tables.
"""

__all__ = ["CANONICAL_NAN", "INFINITY", "LARGEST", "MODES", "SIGN", "expected_fma64", "round_to_f64"]

MODES = ("rn", "rz", "rm", "rp")

SIGN = 1 << 63
INFINITY = 0x7FF << 52
LARGEST = INFINITY - 1
QUIET = 1 << 51
CANONICAL_NAN = 0xFFF8_0000_0000_0000
LAST_PLACE = -1074
"""The exponent of the least subnormal."""


def expected_fma64(a: int, b: int, c: int, mode: str) -> int:
    """``a * b + c``, rounded once; bit patterns in, a bit pattern out."""
    for operand in (b, c, a):
        if _is_nan(operand):
            return operand | QUIET
    sign = (a ^ b) & SIGN
    infinite = [x & ~SIGN == INFINITY for x in (a, b, c)]
    if infinite[0] or infinite[1]:
        if 0 in (a & ~SIGN, b & ~SIGN) or (infinite[2] and c & SIGN != sign):
            return CANONICAL_NAN
        return sign | INFINITY
    if infinite[2]:
        return c
    (m, p), (n, q), (r, s) = _parts(a), _parts(b), _parts(c)
    product, exponent = m * n, p + q
    least = min(exponent, s)
    total = (product << exponent - least) * (-1 if sign else 1) + (r << s - least) * (-1 if c & SIGN else 1)
    if total == 0:
        if sign == c & SIGN:
            return sign
        return SIGN if mode == "rm" else 0
    return round_to_f64(total, least, mode)


def round_to_f64(number: int, exponent: int, mode: str) -> int:
    """The f64 for ``number * 2**exponent``, which is not zero."""
    negative = number < 0
    magnitude = abs(number)
    place = max(magnitude.bit_length() + exponent - 53, LAST_PLACE)
    cut = place - exponent
    if cut <= 0:
        kept, lost, half = magnitude << -cut, 0, 1
    else:
        kept, lost, half = magnitude >> cut, magnitude & (1 << cut) - 1, 1 << cut - 1
    if mode == "rn":
        up = lost > half or (lost == half and kept & 1 == 1)
    else:
        up = lost > 0 and mode == ("rm" if negative else "rp")
    kept += up
    if kept == 1 << 53:
        kept, place = kept >> 1, place + 1
    if kept >= 1 << 52 and place > 1023 - 52:
        to_infinity = mode in ("rn", "rm" if negative else "rp")
        bits = INFINITY if to_infinity else LARGEST
    elif kept >= 1 << 52:
        bits = (place - LAST_PLACE + 1 << 52) + kept - (1 << 52)
    else:
        bits = kept
    return bits | (SIGN if negative else 0)


def _is_nan(bits: int) -> bool:
    return bits & ~SIGN > INFINITY


def _parts(bits: int) -> tuple[int, int]:
    """Integer significand and the exponent of its last place."""
    field = bits >> 52 & 0x7FF
    fraction = bits & (1 << 52) - 1
    return (fraction, LAST_PLACE) if field == 0 else (fraction | 1 << 52, LAST_PLACE + field - 1)
