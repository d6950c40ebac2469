"""Floating-point operations that round nothing: minimum, maximum, absolute value, negation, copied signs."""

from functools import partial
from typing import Any, Final

import numpy as np

from golden.scalar.floats import FLOATS, Element, flushed, is_nan, quieted
from golden.scalar.form import Array, Evaluate, Form, of_one_type


def _nan_of(a: Array, element: Element) -> Array:
    """What a NaN operand becomes: quiet in f64, the canonical NaN elsewhere."""
    return quieted(a, element) if element.format.bits == 64 else np.full_like(a, element.nan)


def _ordered(a: Array, element: Element) -> Array:
    """Signed integers in the order of the numbers, -0 below +0; applied twice, it gives the patterns back."""
    signed = a.view(f"i{a.dtype.itemsize}")
    return signed ^ ((signed >> signed.dtype.type(8 * a.dtype.itemsize - 1)) & (element.sign - 1))


def _extreme(ufunc: Evaluate, *qualifiers: str) -> Any:
    """The lesser or greater number; a NaN gives way to a number, or with ``.NaN`` prevails.

    With ``.xorsign.abs`` of the magnitudes, the sign being the product's.
    """
    *words, type_ = qualifiers
    flush, nan, xorsign = ("ftz" in words, "NaN" in words, "xorsign" in words)
    element = FLOATS[type_.removesuffix("x2")]
    raw = element.raw.type
    sign, canonical = raw(element.sign), raw(element.nan)

    def evaluate(a: Array, b: Array) -> Array:
        if flush:
            a, b = flushed(a, element), flushed(b, element)
        if xorsign:
            signs = (a ^ b) & sign
            a, b = a & ~sign, b & ~sign
        result = ufunc(_ordered(a, element), _ordered(b, element)).view(element.raw)
        result = _ordered(result, element).view(element.raw)
        if xorsign:
            result = result | signs
        a_nan, b_nan = is_nan(a, element), is_nan(b, element)
        if np.count_nonzero(a_nan) or np.count_nonzero(b_nan):
            if nan:
                result = np.where(a_nan | b_nan, canonical, result)
            else:
                only_a, only_b = (a | signs, b | signs) if xorsign else (a, b)
                result = np.where(a_nan, only_b, np.where(b_nan, only_a, result))
                result = np.where(a_nan & b_nan, _nan_of(b, element), result)
        return result

    return of_one_type(evaluate, 2, type_)


def _changed_sign(negate: bool, flush: str, type_: str) -> Any:
    """``neg`` and ``abs``."""
    element = FLOATS[type_.removesuffix("x2")]
    sign = element.raw.type(element.sign)

    def evaluate(a: Array) -> Array:
        if flush:
            a = flushed(a, element)
        return np.where(is_nan(a, element), _nan_of(a, element), a ^ sign if negate else a & ~sign)

    return of_one_type(evaluate, 1, type_)


def _copied_sign(type_: str) -> Any:
    """The second operand with the sign of the first."""
    sign = FLOATS[type_].raw.type(FLOATS[type_].sign)
    return of_one_type(lambda a, b: (a & sign) | (b & ~sign), 2, type_)


_FLUSHED = ".f32|.f16|.f16x2"
_UNFLUSHED = ".bf16|.bf16x2"

FORMS: Final = (
    *(
        form
        for name, ufunc in (("min", np.minimum), ("max", np.maximum))
        for form in (
            Form(f"{name} .ftz? .NaN? {_FLUSHED}", partial(_extreme, ufunc)),
            Form(f"{name} .ftz? .NaN? .xorsign .abs {_FLUSHED}", partial(_extreme, ufunc)),
            Form(f"{name} .NaN? {_UNFLUSHED}", partial(_extreme, ufunc)),
            Form(f"{name} .NaN? .xorsign .abs {_UNFLUSHED}", partial(_extreme, ufunc)),
            Form(f"{name} .f64", partial(_extreme, ufunc)),
        )
    ),
    *(
        form
        for name, negate in (("abs", False), ("neg", True))
        for form in (
            Form(f"{name} .ftz? {_FLUSHED}", partial(_changed_sign, negate)),
            Form(f"{name} {_UNFLUSHED}|.f64", partial(_changed_sign, negate, "")),
        )
    ),
    Form("copysign .f32|.f64", _copied_sign),
)
"""The forms of this family."""
