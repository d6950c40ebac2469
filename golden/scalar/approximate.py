"""Approximate instructions: `golden.approximation`, and what the assembler makes of one of its functions."""

from functools import partial
from typing import Any, Final

import numpy as np

from golden.approximation.instructions import FORMS as APPROXIMATE_FORMS
from golden.approximation.interpolator import Table, table
from golden.approximation.operations import operation
from golden.approximation.upper_word import rsqrt_upper_word
from golden.arithmetic.arrays import elementwise
from golden.arithmetic.compiled import compiled
from golden.arithmetic.decode import FINITE, Format, decode, layout
from golden.arithmetic.division import reciprocal, square_root
from golden.arithmetic.fma import fused_multiply_add, multiply
from golden.arithmetic.round_pack import NEAREST
from golden.scalar.form import Array, Form, typed
from golden.tables.formats import float_format

_F64: Final = float_format("f64")
_ONE: Final = 0x3FF0000000000000
_HALF: Final = 0x3FE0000000000000
_WEIGHT: Final = 0x3FD8000000000000
"""0.375"""
_UP: Final = 0x4350000000000000
"""``2**54``, which makes subnormal operands normal."""
_BACK: Final = 0x41A0000000000000
"""``2**27``"""


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
    return elementwise(reciprocal_root, (a,), (layout(_F64),), np.uint64, arguments=(table("rsqrt"),))


def _approximate(text: str, *_qualifiers: str) -> Any:
    form = APPROXIMATE_FORMS[text]
    return (form.bits,), (form.bits,) * form.operands, operation(text)


FORMS: Final = (
    *(Form(text.replace(".", " ."), partial(_approximate, text)) for text in APPROXIMATE_FORMS),
    Form("rsqrt .approx .f64", typed("64", "64", _reciprocal_root)),
)
