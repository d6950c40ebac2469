"""Conversions to pairs of halves and of 8-bit floats, and to tf32."""

from typing import Any, Final, NamedTuple

import numpy as np

from golden.scalar.floats import FLOATS, is_nan, silent
from golden.scalar.form import Array, Evaluate, Form, width
from golden.scalar.rounding import Rounder, rounder, upper_bits
from golden.tables.formats import float_format

__all__ = ["FORMS"]

_F16, _F32 = FLOATS["f16"], FLOATS["f32"]
_TF32: Final = float_format("tf32")


class _EightBits(NamedTuple):
    """An 8-bit float, whose magnitudes are bits of the f16 pattern of the scaled number."""

    spare_bits: int
    """Bits that f16 has more."""
    scale: float
    """Factor that brings the least normal number to the least normal f16."""
    largest: float
    """The largest finite number."""
    least_nan: int
    """The least magnitude that is a NaN."""


_EIGHT_BITS: Final = {
    "e4m3x2": _EightBits(7, 2.0**-8, 448.0, 0x7F),
    "e5m2x2": _EightBits(8, 1.0, 57344.0, 0x7D),
}
_NAN8: Final = np.uint8(0x7F)


def _pair(convert: Rounder, bits: int) -> Evaluate:
    """A function of two f32 operands: the first becomes the upper element of the result."""
    raw = np.dtype(f"u{bits // 4}").type

    @silent
    def evaluate(a: Array, b: Array) -> Array:
        upper, lower = (convert(_F32.numbers(np.atleast_1d(operand))) for operand in (a, b))
        return (upper.astype(raw) << raw(bits)) | lower

    return evaluate


def _halves(rounding: str, relu: str, target: str, source: str) -> Any:
    """``cvt.rn.f16x2.f32`` and its like."""
    element = FLOATS[target.removesuffix("x2")]
    return (32,), (width(source),) * 2, _pair(rounder(element, rounding, clamp=relu), 16)


def _to_eight(target: str, relu: str) -> Rounder:
    """To nearest; numbers beyond the largest become the largest, NaN 0x7f without sign."""
    format_ = _EIGHT_BITS[target]
    truncate = rounder(_F16, "rz")
    round_ = upper_bits(np.dtype(np.float16), format_.spare_bits, "rn")

    def convert(v: Array) -> Array:
        scaled = np.minimum(np.abs(v), format_.largest) * format_.scale
        bits = truncate(scaled)
        bits = bits | (bits.view(np.float16) != scaled)
        magnitude = (round_(bits) >> np.uint16(format_.spare_bits)).astype(np.uint8)
        negative = np.signbit(v)
        result = np.where(negative & bool(relu), np.uint8(0), magnitude)
        if not relu:
            result = result | (negative.astype(np.uint8) << np.uint8(7))
        return np.where(np.isnan(v), _NAN8, result)

    return convert


def _eight_of_singles(rounding: str, satfinite: str, relu: str, target: str, source: str) -> Any:
    del rounding, satfinite
    return (16,), (width(source),) * 2, _pair(_to_eight(target, relu), 8)


def _eight_of_halves(rounding: str, satfinite: str, relu: str, target: str, source: str) -> Any:
    del rounding, satfinite
    convert = _to_eight(target, relu)

    @silent
    def evaluate(a: Array) -> Array:
        lower, upper = (
            convert(_F16.numbers((a >> np.uint32(shift)).astype(np.uint16))).astype(np.uint16)
            for shift in (0, 16)
        )
        return lower | (upper << np.uint16(8))

    return (16,), (width(source),), evaluate


def _halves_of_eight(rounding: str, relu: str, target: str, source: str) -> Any:
    """By a table of all 256 patterns."""
    del rounding
    format_ = _EIGHT_BITS[source]
    patterns = np.arange(256, dtype=np.uint16)
    magnitude, negative = patterns & np.uint16(0x7F), patterns >= 0x80
    magnitude = np.minimum(magnitude, np.uint16(format_.least_nan - 1))
    value = (magnitude << np.uint16(format_.spare_bits)).view(np.float16) / np.float16(format_.scale)
    table = value.view(np.uint16) | (negative * _F16.sign).astype(np.uint16)
    if relu:
        table = np.where(negative, np.uint16(0), table)
    table = np.where(patterns & np.uint16(0x7F) >= format_.least_nan, np.uint16(_F16.nan), table)

    def evaluate(a: Array) -> Array:
        lower, upper = table[a & np.uint16(0xFF)], table[a >> np.uint16(8)]
        return lower | (upper.astype(np.uint32) << np.uint32(16))

    return (width(target),), (16,), evaluate


def _to_tf32(rounding: str, relu: str, target: str, source: str) -> Any:
    """``cvt.rn.tf32.f32`` and ``cvt.rz``: a NaN becomes the canonical one, its ignored bits cleared."""
    del target
    kept = np.uint32(0xFFFFFFFF << _TF32.ignored_bits & 0xFFFFFFFF)
    nan = np.uint32(_TF32.canonical_nan) & kept
    round_ = upper_bits(np.dtype(np.float32), _TF32.ignored_bits, rounding)

    def evaluate(a: Array) -> Array:
        result = round_(a) & kept
        if relu:
            result = np.where(a >= np.uint32(_F32.sign), np.uint32(0), result)
        return np.where(is_nan(a, _F32), nan, result)

    return (32,), (width(source),), evaluate


def _to_tf32_away(rounding: str, satfinite: str, target: str, source: str) -> Any:
    """``cvt.rna.tf32.f32``: to nearest, ties away from zero.

    A NaN is cut off like a number. ``.satfinite`` gives the pattern before the infinity or NaN.
    """
    del rounding, target
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
