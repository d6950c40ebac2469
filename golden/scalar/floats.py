"""The floating-point types of scalar instructions: bit fields, and the numbers that patterns stand for."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from golden.arithmetic.decode import Layout, layout
from golden.scalar.form import Array
from golden.tables.formats import FloatFormat, float_format

MODES: Final = ".rn|.rz|.rm|.rp"
"""The rounding modes, as `golden.scalar.form.Form` writes alternatives."""


@dataclass(frozen=True, kw_only=True)
class Element:
    """A floating-point type as masks and constants of its bit patterns."""

    format: FloatFormat
    layout: Layout
    """The same for compiled code."""
    raw: np.dtype[Any]
    """Unsigned integers of the type's width."""
    native: np.dtype[Any]
    """numpy's floating-point type with the same exponents: of bf16 float32."""
    spare_bits: int
    """How many bits `native` has more."""
    sign: int
    infinity: int
    least_normal: int
    one: int
    quiet: int
    nan: int
    """Bit patterns: -0, infinity, the least normal number, 1, the bit that makes a NaN quiet, and the NaN
    that an operation returns (f64 operations return an operand's where there is one)."""

    def comparable(self, a: Array) -> Array:
        """The numbers in `native`: without loss, infinities and NaN included."""
        if self.spare_bits:
            a = a.astype(f"u{self.native.itemsize}") << np.uint32(self.spare_bits)
        return a.view(self.native)


def _element(name: str, native: str) -> Element:
    format_ = float_format(name)
    native_dtype = np.dtype(native)
    return Element(
        format=format_,
        layout=layout(format_),
        raw=np.dtype(f"u{format_.bits // 8}"),
        native=native_dtype,
        spare_bits=8 * native_dtype.itemsize - format_.bits,
        sign=format_.sign_mask,
        infinity=format_.infinity,
        least_normal=1 << format_.fraction_bits,
        one=format_.bias << format_.fraction_bits,
        quiet=1 << (format_.fraction_bits - 1),
        nan=format_.canonical_nan,
    )


FLOATS: Final = MappingProxyType(
    {
        name: _element(name, native)
        for name, native in (("f16", "f2"), ("bf16", "f4"), ("f32", "f4"), ("f64", "f8"))
    }
)
"""The types by their qualifiers."""


def is_nan(a: Array, element: Element) -> Array:
    """Where the patterns are NaN."""
    raw = element.raw.type
    return (a & raw(element.sign - 1)) > raw(element.infinity)


def quieted(a: Array, element: Element) -> Array:
    """The patterns with the quiet bit set, for NaN."""
    return a | element.raw.type(element.quiet)


def flushed(a: Array, element: Element) -> Array:
    """The patterns with zeros of their sign in place of subnormal numbers (``.ftz``)."""
    raw = element.raw.type
    return np.where(a & raw(element.infinity) == 0, a & raw(element.sign), a)


def clamped(a: Array, element: Element, clamp: str) -> Array:
    """The numbers limited to 0 and 1, NaN as 0 (``sat``), or negative ones as 0 (``relu``)."""
    raw = element.raw.type
    zero, one = raw(0), raw(element.one)
    if clamp == "sat":
        return np.where(a <= one, a, np.where(a <= raw(element.infinity), one, zero))
    return np.where(a >= raw(element.sign), zero, a) if clamp == "relu" else a
