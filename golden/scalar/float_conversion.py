"""Conversions between floating-point types."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from golden.scalar.floats import FLOATS, Element, flushed, is_nan, quieted, silent
from golden.scalar.form import Array, Form, width
from golden.scalar.integer_conversion import TO_INTEGRAL
from golden.scalar.rounding import MODES, rounder

__all__ = ["FORMS"]

_F64: Final = FLOATS["f64"]


def _narrowed_nan(a: Array, element: Element) -> Array:
    """A NaN of f64 as NaN of another type: sign and upper bits of the fraction, made quiet."""
    fraction = 52 - (element.significand_bits - 1)
    payload = ((a >> np.uint64(fraction)) & np.uint64(element.infinity - 1)).astype(element.raw)
    sign = np.where(a >= np.uint64(_F64.sign), element.raw.type(element.sign), element.raw.type(0))
    low = element.raw.type(element.least_normal - 1)
    return (payload & low) | sign | element.raw.type(element.infinity | element.quiet)


def _convert(rounding: str, flush: str, clamp: str, target: str, source: str) -> Any:
    """From one type to another, wider or narrower."""
    of, to = FLOATS[source], FLOATS[target]

    @silent
    def widen(a: Array) -> Array:
        """To f64: a NaN keeps its payload, unless flushing makes it the canonical one first."""
        nan = of.raw.type(of.nan) if flush else quieted(a, of)
        value = of.numbers(np.where(is_nan(a, of), nan, flushed(a, of) if flush else a))
        if clamp:
            value = np.where(value > 0, np.minimum(value, 1.0), 0.0)
        return value.view(np.uint64)

    if target == "f64":
        return (64,), (width(source),), widen
    if (source, target) == ("bf16", "f32") and not (flush or clamp):
        return (32,), (16,), lambda a: of.comparable(a).view(np.uint32)
    round_ = rounder(to, rounding or "rn", flush=flush if target == "f32" else "", clamp=clamp)

    @silent
    def narrow(a: Array) -> Array:
        result = round_(of.numbers(flushed(a, of) if flush and of.name == "f32" else a))
        if of.name != "f64" or clamp == "sat":
            return result
        return np.where(is_nan(a, of), _narrowed_nan(a, to), result)

    return (width(target),), (width(source),), narrow


def _same(rounding: str, flush: str, saturate: str, target: str, source: str) -> Any:
    """To the same type: a copy, an integral number, or clamped to 0 and 1."""
    del source
    element = FLOATS[target]
    integral = TO_INTEGRAL.get(rounding)
    bits = (width(target),)

    def copy(a: Array) -> Array:
        return a

    @silent
    def evaluate(a: Array) -> Array:
        if flush:
            a = flushed(a, element)
        value = element.comparable(a)
        if saturate:
            value = np.where(value > 0, np.minimum(value, value.dtype.type(1)), value.dtype.type(0))
        if integral:
            value = integral(value)
        result = value.view(f"u{value.dtype.itemsize}")
        result = (result >> result.dtype.type(element.spare_bits)).astype(element.raw)
        if saturate:
            return result
        nan = quieted(a, element) if element.name == "f64" else element.raw.type(element.nan)
        return np.where(is_nan(a, element), nan, result)

    plain = not (integral or flush or saturate) and element.name in ("f32", "f64")
    return bits, bits, copy if plain else evaluate


_INTEGRAL = ".rni|.rzi|.rmi|.rpi"


def _unflushed(build: Callable[..., Any]) -> Callable[..., Any]:
    """A builder for forms without ``.ftz``."""
    return lambda rounding, clamp, *types: build(rounding, "", clamp, *types)


def _of_halves(rounding: str, saturate: str, target: str, source: str) -> Any:
    return _same(rounding, "", saturate, target, source) if target == source else None


def _between_halves(rounding: str, target: str, source: str) -> Any:
    return _convert(rounding, "", "", target, source) if target != source else None


FORMS: Final = (
    Form(f"cvt {_INTEGRAL}? .ftz? .sat? .f32 .f32", _same),
    Form(f"cvt {_INTEGRAL}? .sat? .f16|.bf16 .f16|.bf16", _of_halves),
    Form(f"cvt {_INTEGRAL}? .sat? .f64 .f64", _unflushed(_same)),
    Form(f"cvt {MODES}? .f16|.bf16 .f16|.bf16", _between_halves),
    Form(f"cvt {MODES}? .ftz? .sat? .f32 .f16|.bf16", _convert),
    Form(f"cvt {MODES}? .sat? .f64 .f16|.bf16", _unflushed(_convert)),
    Form(f"cvt {MODES}? .ftz? .sat? .f64 .f32", _convert),
    Form(f"cvt {MODES} .ftz? .sat|.relu? .f16|.bf16 .f32", _convert),
    Form(f"cvt {MODES} .ftz? .sat? .f32 .f64", _convert),
    Form(f"cvt {MODES} .sat? .f16|.bf16 .f64", _unflushed(_convert)),
)
"""The forms of this family."""
