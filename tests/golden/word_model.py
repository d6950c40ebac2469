"""Qualifiers and operands of scalar instructions, in unbounded integers: what the models share."""

import operator
from fractions import Fraction

from scalar_model import FINITE, LAYOUTS, NAN, kind, least, rounded, value

FLOATS = frozenset(LAYOUTS)
WIDTHS = {
    "pred": 1,
    **{f"{letter}{bits}": bits for letter in "bus" for bits in (2, 4, 8, 16, 32, 64)},
    **{"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64},
    **dict.fromkeys(("e4m3x2", "e5m2x2", "e3m2x2", "e2m3x2", "ue8m0x2"), 16),
    "e2m1x2": 8,
    **dict.fromkeys(("u16x2", "s16x2", "f16x2", "bf16x2"), 32),
}
INFINITY = float("inf")


class Words(list):
    """The qualifiers of a mnemonic."""

    @property
    def types(self):
        return [word for word in self if word in WIDTHS]

    @property
    def type(self):
        return self.types[0].removesuffix("x2")

    def choice(self, *words, default=""):
        return next((word for word in self if word in words), default)

    @property
    def mode(self):
        return self.choice("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", default="rn")


def integer(bits, type_, width=None):
    """The low bits as an integer of a type."""
    width = WIDTHS[type_] if width is None else width
    bits %= 1 << width
    return bits - (1 << width) if type_[0] == "s" and bits >> (width - 1) else bits


def clamp(number, type_, width=None):
    width = WIDTHS[type_] if width is None else width
    low = -(1 << (width - 1)) if type_[0] == "s" else 0
    return min(max(number, low), low + (1 << width) - 1)


def flushed(bits, layout):
    tiny = kind(bits, layout) == FINITE and 0 < abs(value(bits, layout)) < least(layout)
    return bits & layout.sign if tiny else bits


def extended(bits, layout):
    """The number, an infinity, or None for a NaN."""
    if kind(bits, layout) == FINITE:
        return value(bits, layout)
    return None if kind(bits, layout) == NAN else -INFINITY if bits & layout.sign else INFINITY


def packed(function, operands):
    parts = [function(*(x >> shift & 0xFFFF for x in operands)) for shift in (0, 16)]
    return None if None in parts else sum((part & 0xFFFF) << 16 * i for i, part in enumerate(parts))


def limited(words, layout, bits):
    """A finite result after ``.sat`` or ``.relu``."""
    if bits is not None and {"sat", "relu"} & set(words):
        if bits & layout.sign:
            return 0
        if "sat" in words and extended(bits, layout) > 1:
            return rounded(Fraction(1), layout, "rn")
    return bits


COMPARISONS = {
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{"lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge},
}


def counted(words, count, greatest=32):
    return count % 32 if "wrap" in words else min(count, greatest)
