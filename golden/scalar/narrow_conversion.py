"""Conversions to pairs of halves and of 8-bit floats, and to tf32."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from golden.arithmetic.arrays import convert
from golden.scalar.floats import FLOATS, Element, clamped, is_nan
from golden.scalar.form import Array, Evaluate, Form, width
from golden.tables.formats import float_format

_F16, _F32 = FLOATS["f16"], FLOATS["f32"]
_TF32: Final = float_format("tf32")
_SIGN8: Final = np.uint8(0x80)
_NAN8: Final = np.uint8(0x7F)


def _pair(convert: Callable[[Array], Array], bits: int) -> Evaluate:
    """A function of two f32 operands: the first becomes the upper element of the result."""
    raw = np.dtype(f"u{bits // 4}").type

    def evaluate(a: Array, b: Array) -> Array:
        upper, lower = (convert(operand).astype(raw) for operand in (a, b))
        return (upper << raw(bits)) | lower

    return evaluate


def _parts(a: Array, bits: int) -> Array:
    """The elements of registers on a last axis, the lowest first."""
    return np.ascontiguousarray(a)[..., None].view(f"u{bits // 8}")


def _halves(rounding: str, relu: str, target: str, source: str) -> Any:
    """``cvt.rn.f16x2.f32`` and its like."""
    element = FLOATS[target.removesuffix("x2")]

    def narrow(a: Array) -> Array:
        return clamped(convert(a, _F32.format, element.format, rounding), element, relu)

    return (32,), (width(source),) * 2, _pair(narrow, 16)


def _to_eight(target: str, relu: str, source: Element) -> Callable[[Array], Array]:
    """To nearest; numbers beyond the largest become the largest, NaN 0x7f without sign."""
    format_ = float_format(target.removesuffix("x2"))
    largest = np.uint8(format_.largest_finite)

    def narrow(a: Array) -> Array:
        result = convert(a, source.format, format_)
        sign = result & _SIGN8
        magnitude = np.minimum(result & ~_SIGN8, largest)
        result = np.where(sign > 0, np.uint8(0), magnitude) if relu else magnitude | sign
        return np.where(is_nan(a, source), _NAN8, result)

    return narrow


def _eight_of_singles(_rounding: str, _satfinite: str, relu: str, target: str, source: str) -> Any:
    return (16,), (width(source),) * 2, _pair(_to_eight(target, relu, _F32), 8)


def _eight_of_halves(_rounding: str, _satfinite: str, relu: str, target: str, source: str) -> Any:
    narrow = _to_eight(target, relu, _F16)
    return (16,), (width(source),), lambda a: narrow(_parts(a, 16)).view(np.uint16)[..., 0]


def _halves_of_eight(_rounding: str, relu: str, target: str, source: str) -> Any:
    format_ = float_format(source.removesuffix("x2"))

    def evaluate(a: Array) -> Array:
        halves = clamped(convert(_parts(a, 8), format_, _F16.format), _F16, relu)
        return halves.view(np.uint32)[..., 0]

    return (width(target),), (16,), evaluate


def _to_tf32(rounding: str, relu: str, _target: str, source: str) -> Any:
    """``cvt.rn.tf32.f32`` and ``cvt.rz``: a NaN becomes the canonical one, its ignored bits cleared."""
    kept = np.uint32(0xFFFFFFFF << _TF32.ignored_bits & 0xFFFFFFFF)

    def evaluate(a: Array) -> Array:
        return clamped(convert(a, _F32.format, _TF32, rounding) & kept, _F32, relu)

    return (32,), (width(source),), evaluate


def _to_tf32_away(_rounding: str, satfinite: str, _target: str, source: str) -> Any:
    """``cvt.rna.tf32.f32``: to nearest, ties away from zero.

    A NaN is cut off like a number. ``.satfinite`` gives the pattern before the infinity or NaN.
    """
    unit = 1 << _TF32.ignored_bits
    kept, half = np.uint32(0x100000000 - unit), np.uint32(unit // 2)
    special = np.uint32(_F32.infinity)

    def evaluate(a: Array) -> Array:
        result = np.where(a & special == special, a, a + half) & kept
        return (
            np.where(result & special == special, result - np.uint32(unit), result) if satfinite else result
        )

    return (32,), (width(source),), evaluate


_EIGHT = ".e4m3x2|.e5m2x2"

FORMS: Final = (
    Form("cvt .rn|.rz .relu? .f16x2|.bf16x2 .f32", _halves),
    Form(f"cvt .rn .satfinite .relu? {_EIGHT} .f32", _eight_of_singles),
    Form(f"cvt .rn .satfinite .relu? {_EIGHT} .f16x2", _eight_of_halves),
    Form(f"cvt .rn .relu? .f16x2 {_EIGHT}", _halves_of_eight),
    Form("cvt .rn|.rz .relu? .tf32 .f32", _to_tf32),
    Form("cvt .rna .satfinite? .tf32 .f32", _to_tf32_away),
)
"""The forms of this family."""
