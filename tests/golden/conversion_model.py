"""Conversions, one result at a time, in fractions and unbounded integers."""

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
        number = extended(flushed(a, of) if flush and source == "f32" else a, of)
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


EIGHT = {"e4m3": (4, 3, 7, 0x7F), "e5m2": (5, 2, 15, 0x7C)}


def eight(bits, name):
    """The number of an 8-bit float; None for one that is not finite."""
    exponent, fraction, bias, end = EIGHT[name]
    magnitude = bits & 0x7F
    if magnitude >= end:
        return None
    field, rest = magnitude >> fraction, Fraction(magnitude % (1 << fraction), 1 << fraction)
    number = (1 + rest) * Fraction(2) ** (field - bias) if field else rest * Fraction(2) ** (1 - bias)
    del exponent
    return -number if bits >> 7 else number


def to_eight(words, bits, layout, name):
    number = extended(bits, layout)
    if number is None:
        return 0x7F
    if "relu" in words and bits & layout.sign:
        return 0
    finite = [pattern for pattern in range(EIGHT[name][3]) if eight(pattern, name) is not None]
    if abs(number) == INFINITY:
        return finite[-1] | 0x80 * (bits // layout.sign)
    nearest = min(finite, key=lambda pattern: (abs(eight(pattern, name) - abs(number)), pattern & 1))
    return nearest | 0x80 * (bits // layout.sign)


def convert_pair(words, target, source, *operands):
    name = target.removesuffix("x2")
    if source.removesuffix("x2") in EIGHT:
        parts = []
        for shift in (0, 8):
            number = eight(operands[0] >> shift & 0xFF, source.removesuffix("x2"))
            if number is None:
                return None
            sign = operands[0] >> shift + 7 & 1
            parts.append(limited(words, LAYOUTS[name], rounded(number, LAYOUTS[name], "rn", zero_sign=sign)))
        return parts[0] | parts[1] << 16
    elements = operands[::-1] if source == "f32" else (operands[0] & 0xFFFF, operands[0] >> 16)
    layout = LAYOUTS[source.removesuffix("x2")]
    if name in EIGHT:
        lower, upper = (to_eight(words, bits, layout, name) for bits in elements)
        return lower | upper << 8
    one = Words([*words[:-2], name, source])
    lower, upper = (convert(one, bits) for bits in elements)
    return None if lower is None or upper is None else lower | upper << 16
