"""Conversions between floating-point types."""

from typing import Any, Final

import numpy as np

from golden.arithmetic.arrays import convert, elementwise
from golden.arithmetic.decode import layout
from golden.arithmetic.round_pack import ROUNDINGS
from golden.arithmetic.whole import to_integral
from golden.scalar.floats import FLOATS, MODES, clamped, flushed, is_nan, quieted
from golden.scalar.form import Array, Form, width


def _convert(rounding: str, *qualifiers: str) -> Any:
    """From one type to another, wider or narrower; ``.ftz`` concerns operands and results of f32."""
    *words, target, source = qualifiers
    flush, clamp = "ftz" in words, next((word for word in words if word in ("sat", "relu")), "")
    if source == target:
        return None
    of, to = FLOATS[source], FLOATS[target]
    bits = (width(target),), (width(source),)
    if (source, target) == ("bf16", "f32") and not (flush or clamp):
        return *bits, lambda a: of.comparable(a).view(np.uint32)
    flush_result = flush and target == "f32"

    def evaluate(a: Array) -> Array:
        if flush and source == "f32":
            # The canonical NaN in place of a NaN that f64 would keep.
            a = np.where(is_nan(a, of), of.raw.type(of.nan), flushed(a, of))
        return clamped(convert(a, of.format, to.format, rounding or "rn", flush_result), to, clamp)

    return *bits, evaluate


def _same(rounding: str, *qualifiers: str) -> Any:
    """To the same type: a copy, an integral number, or clamped to 0 and 1."""
    *words, target, source = qualifiers
    if source != target:
        return None
    element, flush, saturate = FLOATS[target], "ftz" in words, "sat" in words
    bits = (width(target),)
    constants = (layout(element.format),)

    def copy(a: Array) -> Array:
        return a

    def evaluate(a: Array) -> Array:
        if flush:
            a = flushed(a, element)
        if rounding:
            arguments = (ROUNDINGS.index(rounding[:2]),)
            a = elementwise(to_integral, (a,), constants, element.raw, arguments=arguments)
        else:
            nan = quieted(a, element) if target == "f64" else element.raw.type(element.nan)
            a = np.where(is_nan(a, element), nan, a)
        return clamped(a, element, "sat" if saturate else "")

    plain = not (rounding or flush or saturate) and target in ("f32", "f64")
    return bits, bits, copy if plain else evaluate


_INTEGRAL = ".rni|.rzi|.rmi|.rpi"


FORMS: Final = (
    Form(f"cvt {_INTEGRAL}? .ftz? .sat? .f32 .f32", _same),
    Form(f"cvt {_INTEGRAL}? .sat? .f16|.bf16 .f16|.bf16", _same),
    Form(f"cvt {_INTEGRAL}? .sat? .f64 .f64", _same),
    Form(f"cvt {MODES}? .f16|.bf16 .f16|.bf16", _convert),
    Form(f"cvt {MODES}? .ftz? .sat? .f32 .f16|.bf16", _convert),
    Form(f"cvt {MODES}? .sat? .f64 .f16|.bf16", _convert),
    Form(f"cvt {MODES}? .ftz? .sat? .f64 .f32", _convert),
    Form(f"cvt {MODES} .ftz? .sat|.relu? .f16|.bf16 .f32", _convert),
    Form(f"cvt {MODES} .ftz? .sat? .f32 .f64", _convert),
    Form(f"cvt {MODES} .sat? .f16|.bf16 .f64", _convert),
)
"""The forms of this family."""
