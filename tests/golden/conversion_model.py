"""Conversions, one result at a time, in fractions and unbounded integers."""

from bisect import bisect_left, bisect_right
from fractions import Fraction

from scalar_model import LAYOUTS, integral, rounded
from word_model import FLOATS, INFINITY, WIDTHS, Words, clamp, extended, flushed, integer, limited


def convert(words, *operands):
    target, source = words.types[0], words.types[-1]
    if "pack" in words:
        return pack(words.types, *operands)
    if target == "tf32":
        return to_tf32(words, *operands)
    if "x2" in target:
        return convert_pair(words, target, source, *operands)
    (a,) = operands
    flush, layout = "ftz" in words, LAYOUTS.get(target)
    if source not in FLOATS:
        number, zero = Fraction(integer(a, source)), 0
    else:
        of = LAYOUTS[source]
        number = extended(flushed(a, of) if flush and source == "f32" and target != "f16" else a, of)
        zero = a // of.sign
        if number is None or (layout and abs(number) == INFINITY):
            return None
        if words.mode.endswith("i"):
            number = number if abs(number) == INFINITY else integral(number, words.mode)
    if layout is None:
        if source in FLOATS:
            return int(clamp(number, target))
        return clamp(int(number), target) if "sat" in words else int(number)
    mode = words.mode.removesuffix("i")
    bits = rounded(Fraction(number), layout, mode, zero_sign=zero, flush=flush and target == "f32")
    if "satfinite" in words and bits % layout.sign == layout.infinity:
        bits -= 1
    return limited(words, layout, bits)


def pack(types, a, b, c=0):
    bits = WIDTHS[types[0]]
    a, b = (clamp(integer(x, "s32"), types[0]) % (1 << bits) for x in (a, b))
    return c << 2 * bits | a << bits | b


def to_tf32(words, a):
    layout, f32 = LAYOUTS["tf32"], LAYOUTS["f32"]
    number = extended(a, f32)
    if number is None or abs(number) == INFINITY:
        return None
    if "rna" in words:
        result = (a + (1 << 12)) >> 13 << 13
        return None if result & f32.infinity == f32.infinity else result
    return limited(words, layout, rounded(number, layout, words.mode, zero_sign=a >> 31)) << 13


NARROW = {
    "e4m3": (8, 3, 7, 0x7F),
    "e5m2": (8, 2, 15, 0x7C),
    "e3m2": (6, 2, 3, 0x20),
    "e2m3": (6, 3, 1, 0x20),
    "e2m1": (4, 1, 1, 8),
}
"""Bits, bits of the fraction, bias, and the first magnitude that is not a finite number."""


def narrow(bits, name):
    """The number of a narrow float; None for one that is not finite."""
    width, fraction, bias, end = NARROW[name]
    magnitude = bits & ((1 << width - 1) - 1)
    if magnitude >= end:
        return None
    field, rest = magnitude >> fraction, Fraction(magnitude % (1 << fraction), 1 << fraction)
    number = (1 + rest) * Fraction(2) ** (field - bias) if field else rest * Fraction(2) ** (1 - bias)
    return -number if bits >> width - 1 & 1 else number


def to_narrow(words, bits, layout, name):
    width, _, _, end = NARROW[name]
    number, sign = extended(bits, layout), 1 << width - 1
    if number is None:
        return sign - 1
    if bits & layout.sign and "relu" in words:
        return 0
    negative = sign * (bits // layout.sign)
    if abs(number) == INFINITY:
        return end - 1 | negative
    nearest = min(range(end), key=lambda pattern: (abs(narrow(pattern, name) - abs(number)), pattern & 1))
    return nearest | negative


POWERS = [Fraction(2) ** (scale - 127) for scale in range(255)]


def to_scale(words, bits, layout):
    """The exponent of a power of two, biased: the greatest below, or the least above; NaN is 255."""
    number = extended(bits, layout)
    if number is None:
        return 255
    if abs(number) == INFINITY:
        return 254 if "satfinite" in words else 255
    if "rz" in words:
        return max(bisect_right(POWERS, abs(number)) - 1, 0)
    found = bisect_left(POWERS, abs(number))
    return min(found, 254) if "satfinite" in words else found


def from_narrow(words, layout, source, bits, scale):
    number = narrow(bits, source)
    if number is None or scale == 255:
        return None
    sign = bits >> NARROW[source][0] - 1 & 1
    scaled = number * Fraction(2) ** (scale - 127)
    result = rounded(scaled, layout, "rn", zero_sign=sign)
    if "satfinite" in words and result % layout.sign == layout.infinity:
        result -= 1
    return limited(words, layout, result)


def convert_pair(words, target, source, *operands):
    name, of = target.removesuffix("x2"), source.removesuffix("x2")
    step = 4 if "e2m1" in (name, of) else 8
    if of == "ue8m0":
        parts = [operands[0] >> shift & 0xFF for shift in (0, 8)]
        if 255 in parts:
            return None
        lower, upper = (
            rounded(Fraction(2) ** (part - 127), LAYOUTS[name], "rn", zero_sign=0) for part in parts
        )
        return lower | upper << 16
    if of in NARROW:
        scales = operands[1] if len(operands) > 1 else 0x7F7F
        lower, upper = (
            from_narrow(words, LAYOUTS[name], of, operands[0] >> step * i, scales >> 8 * i & 0xFF)
            for i in (0, 1)
        )
        return None if lower is None or upper is None else lower | upper << 16
    elements = operands[::-1] if source == "f32" else (operands[0] & 0xFFFF, operands[0] >> 16)
    layout = LAYOUTS[of]
    if name == "ue8m0" or name in NARROW:
        lower, upper = (
            to_scale(words, bits, layout) if name == "ue8m0" else to_narrow(words, bits, layout, name)
            for bits in elements
        )
        return lower | upper << step
    one = Words([*words[:-2], name, source])
    lower, upper = (convert(one, bits) for bits in elements)
    return None if lower is None or upper is None else lower | upper << 16
