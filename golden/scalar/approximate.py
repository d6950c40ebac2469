"""Approximate instructions: `golden.approximation`, and what the assembler makes of one of its functions."""

from functools import partial
from typing import Any, Final

import numpy as np

from golden.approximation.instructions import FORMS as APPROXIMATE_FORMS
from golden.approximation.operations import operation
from golden.scalar.double import multiply_add
from golden.scalar.floats import F64_INVALID, FLOATS, is_nan, quieted, silent
from golden.scalar.form import Array, Form

__all__ = ["FORMS"]

_F64: Final = FLOATS["f64"]
_SCALE: Final = 54
"""Power of two that makes subnormal operands normal; the root is scaled back by half of it."""


def _reciprocal_root(approx: str, type_: str) -> Any:
    """One step of a cubic iteration on the estimate y of ``1 / sqrt(x)``.

    With ``e = 1 - x * y * y`` it gives ``y + (0.375 * e + 0.5) * (y * e)``, each step rounded to nearest.
    Zeros, infinities, NaN and negative numbers have the results of division and root.
    """
    del approx, type_
    estimate = operation("rsqrt.approx.ftz.f64")
    one, half, weight = (np.array([number]).view(np.uint64) for number in (1.0, 0.5, 0.375))
    sign, infinity = np.uint64(_F64.sign), np.uint64(_F64.infinity)
    least_normal = np.uint64(_F64.least_normal)

    @silent
    def evaluate(a: Array) -> Array:
        regular = (a != 0) & (a < infinity)
        subnormal = regular & (a < least_normal)
        x = np.where(regular, a, one)
        x = np.where(subnormal, (x.view(np.float64) * 2.0**_SCALE).view(np.uint64), x)
        y = np.asarray(estimate(x))
        square = (y.view(np.float64) * y.view(np.float64)).view(np.uint64)
        e = multiply_add(x, square ^ sign, one)
        change = (y.view(np.float64) * e.view(np.float64)).view(np.uint64)
        root = multiply_add(multiply_add(e, weight, half), change, y)
        root = np.where(subnormal, (root.view(np.float64) * 2.0 ** (_SCALE // 2)).view(np.uint64), root)
        special = (1.0 / np.sqrt(a.view(np.float64))).view(np.uint64)
        special = np.where(is_nan(special, _F64), F64_INVALID, special)
        special = np.where(is_nan(a, _F64), quieted(a, _F64), special)
        return np.where(regular, root, special)

    return (64,), (64,), evaluate


def _approximate(text: str, *qualifiers: str) -> Any:
    del qualifiers
    form = APPROXIMATE_FORMS[text]
    return (form.bits,), (form.bits,) * form.operands, operation(text)


FORMS: Final = (
    *(Form(text.replace(".", " ."), partial(_approximate, text)) for text in APPROXIMATE_FORMS),
    Form("rsqrt .approx .f64", _reciprocal_root),
)
"""The forms of this family."""
