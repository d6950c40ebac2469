"""The floating-point types of scalar instructions: bit fields, and the numbers that patterns stand for."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from golden.arithmetic.decode import layout
from golden.scalar.form import Array
from golden.tables.formats import float_format

MODES: Final = ".rn|.rz|.rm|.rp"
"""The rounding modes, as `golden.scalar.form.Form` writes alternatives."""


class Element:
    """A floating-point type as masks and constants of its bit patterns.

    `native` is numpy's floating-point type with the same exponents: of bf16 float32.
    """

    def __init__(self, name: str, native: str) -> None:
        self.format = float_format(name)
        self.layout = layout(self.format)
        """The same for compiled code."""
        self.raw = np.dtype(f"u{self.format.bits // 8}")
        """Unsigned integers of the type's width."""
        self.native = np.dtype(native)
        self.spare_bits = 8 * self.native.itemsize - self.format.bits
        """How many bits `native` has more."""
        raw, fraction_bits = self.raw.type, self.format.fraction_bits
        self.sign = raw(self.format.sign_mask)
        self.magnitude = ~self.sign
        self.infinity = raw(self.format.infinity)
        self.least_normal = raw(1 << fraction_bits)
        self.one = raw(self.format.bias << fraction_bits)
        """Bit patterns: -0, all but the sign, infinity, the least normal number, 1."""

    def comparable(self, a: Array) -> Array:
        """The numbers in `native`: without loss, infinities and NaN included."""
        if self.spare_bits:
            a = a.astype(f"u{self.native.itemsize}") << np.uint32(self.spare_bits)
        return a.view(self.native)


FLOATS: Final[Mapping[str, Element]] = {
    name: Element(name, native)
    for name, native in (("f16", "f2"), ("bf16", "f4"), ("f32", "f4"), ("f64", "f8"))
}
"""The types by their qualifiers."""


def is_nan(a: Array, element: Element) -> Array:
    """Where the patterns are NaN."""
    return (a & element.magnitude) > element.infinity


def result_nan(a: Array, element: Element) -> Array:
    """What operations make of a NaN operand: quiet in f64, the canonical NaN elsewhere."""
    if element.format.bits == 64:
        return a | (element.least_normal >> np.uint64(1))
    return np.full_like(a, element.format.canonical_nan)


def flushed(a: Array, element: Element) -> Array:
    """The patterns with zeros of their sign in place of subnormal numbers (``.ftz``)."""
    return np.where(a & element.infinity == 0, a & element.sign, a)


def clamped(a: Array, element: Element, clamp: str) -> Array:
    """The numbers limited to 0 and 1, NaN as 0 (``sat``), or negative ones as 0 (``relu``)."""
    zero, one = element.raw.type(0), element.one
    if clamp == "sat":
        return np.where(a <= one, a, np.where(a <= element.infinity, one, zero))
    return np.where(a >= element.sign, zero, a) if clamp == "relu" else a
