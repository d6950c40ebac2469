"""Conversions to and from integers."""

from types import MappingProxyType
from typing import Any, Final

import numpy as np

from golden.scalar.floats import FLOATS, flushed, silent
from golden.scalar.form import Array, Form, dtype, raw_dtype, width
from golden.scalar.rounding import MODES, directed, odd_sum, rounder, two_sum

__all__ = ["FORMS", "TO_INTEGRAL"]

_INTEGERS = ".u8|.s8|.u16|.s16|.u32|.s32|.u64|.s64"

TO_INTEGRAL: Final = MappingProxyType({"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil})
"""Rounding to an integral number, by the qualifier."""

_HALF: Final = 32


def _integer_to_integer(saturate: str, target: str, source: str) -> Any:
    to, of = np.iinfo(dtype(target)), np.iinfo(dtype(source))
    number, raw = dtype(source), raw_dtype(target)
    least, greatest = max(to.min, of.min), min(to.max, of.max)
    clamps = saturate and (least, greatest) != (of.min, of.max)
    low, high = number.type(least), number.type(greatest)

    def evaluate(a: Array) -> Array:
        return a.view(number).astype(raw)

    def clamped(a: Array) -> Array:
        return np.clip(a.view(number), low, high).astype(raw)

    definition = clamped if clamps else evaluate
    return (width(target),), (width(source),), definition, target[0] == "s"


def _pack(packed: str, source: str, appended: str) -> Any:
    """``cvt.pack.sat``: two saturated integers, the second lowest; above them the low bits of a third."""
    bits = int(packed[1:])
    if (bits == 16) == bool(appended):
        return None
    least = -(1 << (bits - 1)) if packed[0] == "s" else 0
    mask = np.uint32((1 << bits) - 1)
    number = dtype(source)

    def evaluate(a: Array, b: Array, *c: Array) -> Array:
        upper, lower = (
            np.clip(value.view(number), least, least + int(mask)).view(np.uint32) & mask for value in (a, b)
        )
        pair = (upper << np.uint32(bits)) | lower
        return pair | (c[0] << np.uint32(2 * bits)) if c else pair

    return (32,), (32,) * (3 if appended else 2), evaluate


def _float_to_integer(rounding: str, flush: str, saturate: str, target: str, source: str) -> Any:
    """Numbers out of range become the nearest integer of the type, with and without ``.sat``.

    A NaN becomes 0 on the way to 32 bits and less from types other than f64, elsewhere the pattern whose only
    set bit is the sign.
    """
    del saturate
    element, number, raw = FLOATS[source], dtype(target), raw_dtype(target)
    limits = np.iinfo(number)
    integral = TO_INTEGRAL[rounding]
    bits = width(target)
    nan = number.type(raw.type(1 << (bits - 1)).view(number) if source == "f64" or bits == 64 else 0)
    # Limits that float64 can hold; what lies above the greatest such number is out of range.
    end = float(limits.max + 1)
    least, greatest = float(limits.min), float(np.nextafter(end, 0)) if bits == 64 else end - 1

    @silent
    def evaluate(a: Array) -> Array:
        if flush:
            a = flushed(a, element)
        value = element.numbers(a)
        whole = integral(value)
        result = np.clip(whole, least, greatest).astype(number)
        if bits == 64:
            result = np.where(whole >= end, limits.max, result)
        return np.where(np.isnan(value), nan, result).view(raw)

    return (bits,), (width(source),), evaluate, number.kind == "i"


def _parts(a: Array) -> tuple[Array, Array]:
    """Two float64 whose sum is a 64-bit integer."""
    high = (a >> a.dtype.type(_HALF)).astype(np.float64) * 2.0**_HALF
    return high, (a & a.dtype.type((1 << _HALF) - 1)).astype(np.float64)


def _integer_to_float(rounding: str, target: str, source: str) -> Any:
    element, number = FLOATS[target], dtype(source)
    fits = number.itemsize < 8
    bits = (width(target),), (width(source),)

    def to_double(a: Array) -> Array:
        return a.view(number).astype(np.float64).view(np.uint64)

    def to_double_directed(a: Array) -> Array:
        total, error = two_sum(*_parts(a.view(number)))
        return directed(total, -error, rounding)

    if target == "f64":
        return *bits, to_double if fits or rounding == "rn" else to_double_directed
    round_ = rounder(element, rounding)

    @silent
    def to_narrow(a: Array) -> Array:
        value = a.view(number)
        return round_(value.astype(np.float64) if fits else odd_sum(*_parts(value)))

    return *bits, to_narrow


_ROUNDINGS = ".rni|.rzi|.rmi|.rpi"

FORMS: Final = (
    Form(f"cvt .sat? {_INTEGERS} {_INTEGERS}", _integer_to_integer),
    Form("cvt .pack .sat .u16|.s16|.u8|.s8|.u4|.s4|.u2|.s2 .s32 .b32?", lambda _pack_, _sat, *t: _pack(*t)),
    Form(f"cvt {_ROUNDINGS} .ftz? .sat? {_INTEGERS} .f32", _float_to_integer),
    Form(
        f"cvt {_ROUNDINGS} .sat? {_INTEGERS} .f16|.bf16|.f64",
        lambda mode, saturate, *types: _float_to_integer(mode, "", saturate, *types),
    ),
    Form(f"cvt {MODES} .f16|.bf16|.f32|.f64 {_INTEGERS}", _integer_to_float),
)
"""The forms of this family."""
