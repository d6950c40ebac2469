"""Floating-point arithmetic, by the functions of `golden.arithmetic`: every result is rounded once.

Minimum, maximum, absolute value, negation and copied signs round nothing. Approximate instructions are those
of `golden.approximation`, and what the assembler makes of one of its functions.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from golden.approximation.instructions import FORMS as APPROXIMATE_FORMS
from golden.approximation.interpolator import Table, table
from golden.approximation.operations import operation as approximation
from golden.approximation.upper_word import rsqrt_upper_word
from golden.arithmetic.arrays import elementwise
from golden.arithmetic.compiled import compiled
from golden.arithmetic.decode import FINITE, Format, decode
from golden.arithmetic.division import divide, reciprocal, square_root
from golden.arithmetic.fma import add, fused_multiply_add, multiply, subtract
from golden.arithmetic.round_pack import NEAREST, ROUNDINGS
from golden.scalar.floats import FLOATS, MODES, Element, clamped, flushed, is_nan, result_nan
from golden.scalar.form import Array, Evaluate, Form, of_one_type, typed

_FUNCTIONS: Final[Mapping[str, tuple[int, Callable[..., int]]]] = {
    "add": (2, add),
    "sub": (2, subtract),
    "mul": (2, multiply),
    "fma": (3, fused_multiply_add),
    "mad": (3, fused_multiply_add),
    "div": (2, divide),
    "rcp": (1, reciprocal),
    "sqrt": (1, square_root),
}
"""Number of sources, and the rule."""

OUTSIDE_NAN: Final = 0x7FF7
"""What a tensor copy puts beyond a tensor on request; of it, with either sign, ``fma.oob`` makes +0."""

_ONE: Final = 0x3FF0000000000000
_HALF: Final = 0x3FE0000000000000
_WEIGHT: Final = 0x3FD8000000000000
"""0.375"""
_UP: Final = 0x4350000000000000
"""``2**54``, which makes subnormal operands normal."""
_BACK: Final = 0x41A0000000000000
"""``2**27``"""


def _arithmetic(operation: str, *qualifiers: str) -> Any:
    *words, type_ = qualifiers
    element = FLOATS[type_.removesuffix("x2")]
    sources, function = _FUNCTIONS[operation]
    rounding = next((ROUNDINGS.index(word) for word in words if word in ROUNDINGS), NEAREST)
    clamp = next((word for word in words if word in ("sat", "relu")), "")
    constants, arguments = (element.layout,), (rounding, "ftz" in words)

    def evaluate(*operands: Array) -> Array:
        result = elementwise(function, operands, constants, element.raw, arguments=arguments)
        if "oob" in words:
            a_fill, b_fill = ((operand & element.magnitude) == OUTSIDE_NAN for operand in operands[:2])
            result = np.where(a_fill | b_fill, element.raw.type(0), result)
        return clamped(result, element, clamp)

    return of_one_type(evaluate, sources, type_)


def _forms(names: str, *qualifiers: str) -> tuple[Form, ...]:
    """Forms of several opcodes."""
    return tuple(
        Form(f"{name} {rest}", partial(_arithmetic, name)) for rest in qualifiers for name in names.split()
    )


def _ordered(a: Array, element: Element) -> Array:
    """Signed integers in the order of the numbers, -0 below +0; applied twice, it gives the patterns back."""
    signed = a.view(f"i{a.dtype.itemsize}")
    return signed ^ ((signed >> signed.dtype.type(8 * a.dtype.itemsize - 1)) & int(element.magnitude))


def _extreme(ufunc: Evaluate, *qualifiers: str) -> Any:
    """The lesser or greater number; a NaN gives way to a number, or with ``.NaN`` prevails.

    With ``.xorsign.abs`` of the magnitudes, the sign being the product's.
    """
    *words, type_ = qualifiers
    flush, nan, xorsign = ("ftz" in words, "NaN" in words, "xorsign" in words)
    element = FLOATS[type_.removesuffix("x2")]
    sign, canonical = element.sign, element.raw.type(element.format.canonical_nan)

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
                result = np.where(a_nan & b_nan, result_nan(b, element), result)
        return result

    return of_one_type(evaluate, 2, type_)


def _changed_sign(negate: bool, *qualifiers: str) -> Any:
    """``neg`` and ``abs``."""
    type_, flush = qualifiers[-1], "ftz" in qualifiers
    element = FLOATS[type_.removesuffix("x2")]
    sign = element.sign

    def evaluate(a: Array) -> Array:
        if flush:
            a = flushed(a, element)
        return np.where(is_nan(a, element), result_nan(a, element), a ^ sign if negate else a & ~sign)

    return of_one_type(evaluate, 1, type_)


def _copied_sign(type_: str, a: Array, b: Array) -> Array:
    """The second operand with the sign of the first."""
    sign = FLOATS[type_].sign
    return (a & sign) | (b & ~sign)


@compiled
def reciprocal_root(x: int, f64: Format, table: Table) -> int:
    """One step of a cubic iteration on the estimate y of ``1 / sqrt(x)``.

    With ``e = 1 - x * y * y`` it gives ``y + (0.375 * e + 0.5) * (y * e)``, each step rounded to nearest.
    Zeros, infinities, NaN and negative numbers have the results of division and root.
    """
    negative, significand, _, kind = decode(x, f64)
    if negative or kind != FINITE:
        return reciprocal(square_root(x, f64, NEAREST), f64, NEAREST)
    subnormal = significand >> f64.fraction_bits == 0
    if subnormal:
        x = multiply(x, _UP, f64, NEAREST)
    y = rsqrt_upper_word(x, table)
    square = multiply(y, y, f64, NEAREST)
    e = fused_multiply_add(x, square ^ 1 << (f64.bits - 1), _ONE, f64, NEAREST)
    change = multiply(y, e, f64, NEAREST)
    factor = fused_multiply_add(e, _WEIGHT, _HALF, f64, NEAREST)
    root = fused_multiply_add(factor, change, y, f64, NEAREST)
    return multiply(root, _BACK, f64, NEAREST) if subnormal else root


def _reciprocal_root(_approx: str, _type: str, a: Array) -> Array:
    f64 = FLOATS["f64"]
    return elementwise(reciprocal_root, (a,), (f64.layout,), f64.raw, arguments=(table("rsqrt"),))


def _approximate(text: str, *_qualifiers: str) -> Any:
    form = APPROXIMATE_FORMS[text]
    return (form.bits,), (form.bits,) * form.operands, approximation(text)


_FLUSHED = ".f32|.f16|.f16x2"
_UNFLUSHED = ".bf16|.bf16x2"

FORMS: Final = (
    *_forms("add sub mul", f"{MODES}? .ftz? .sat? .f32", f"{MODES}? .f64"),
    *_forms("add sub mul", ".rn? .ftz? .sat? .f16|.f16x2", ".rn? .bf16|.bf16x2"),
    *_forms("fma mad", f"{MODES} .ftz? .sat? .f32", f"{MODES} .f64"),
    *_forms("fma", ".rn .ftz? .sat|.relu? .f16|.f16x2", ".rn .relu? .bf16|.bf16x2"),
    *_forms("fma", ".rn .oob .relu? .f16|.f16x2|.bf16|.bf16x2"),
    *_forms("div rcp sqrt", f"{MODES} .ftz? .f32", f"{MODES} .f64"),
    *(
        Form(f"{name} {qualifiers}", partial(_extreme, ufunc))
        for name, ufunc in (("min", np.minimum), ("max", np.maximum))
        for qualifiers in (
            f".ftz? .NaN? {_FLUSHED}",
            f".ftz? .NaN? .xorsign .abs {_FLUSHED}",
            f".NaN? {_UNFLUSHED}",
            f".NaN? .xorsign .abs {_UNFLUSHED}",
            ".f64",
        )
    ),
    *(
        Form(f"{name} {qualifiers}", partial(_changed_sign, name == "neg"))
        for name in ("abs", "neg")
        for qualifiers in (f".ftz? {_FLUSHED}", f"{_UNFLUSHED}|.f64")
    ),
    Form("copysign .f32|.f64", typed("type", "type type", _copied_sign)),
    *(Form(text.replace(".", " ."), partial(_approximate, text)) for text in APPROXIMATE_FORMS),
    Form("rsqrt .approx .f64", typed("64", "64", _reciprocal_root)),
)
