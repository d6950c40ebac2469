"""Floating-point arithmetic, by the functions of `golden.arithmetic`: every result is rounded once."""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from golden.arithmetic.arrays import elementwise
from golden.arithmetic.decode import layout
from golden.arithmetic.division import divide, reciprocal, square_root
from golden.arithmetic.fma import add, fused_multiply_add, multiply, subtract
from golden.arithmetic.round_pack import NEAREST, ROUNDINGS
from golden.scalar.floats import FLOATS, MODES, clamped
from golden.scalar.form import Array, Form, of_one_type

_FUNCTIONS: Final = MappingProxyType[str, tuple[int, Callable[..., int]]](
    {
        "add": (2, add),
        "sub": (2, subtract),
        "mul": (2, multiply),
        "fma": (3, fused_multiply_add),
        "mad": (3, fused_multiply_add),
        "div": (2, divide),
        "rcp": (1, reciprocal),
        "sqrt": (1, square_root),
    }
)
"""Number of sources, and the rule."""


def _arithmetic(operation: str, *qualifiers: str) -> Any:
    *words, type_ = qualifiers
    element = FLOATS[type_.removesuffix("x2")]
    sources, function = _FUNCTIONS[operation]
    rounding = next((ROUNDINGS.index(word) for word in words if word in ROUNDINGS), NEAREST)
    clamp = next((word for word in words if word in ("sat", "relu")), "")
    constants, arguments = (layout(element.format),), (rounding, "ftz" in words)

    def evaluate(*operands: Array) -> Array:
        result = elementwise(function, operands, constants, element.raw, arguments=arguments)
        return clamped(result, element, clamp)

    return of_one_type(evaluate, sources, type_)


def _forms(names: str, *qualifiers: str) -> tuple[Form, ...]:
    """Forms of several opcodes."""
    return tuple(
        Form(f"{name} {rest}", partial(_arithmetic, name)) for rest in qualifiers for name in names.split()
    )


FORMS: Final = (
    *_forms("add sub mul", f"{MODES}? .ftz? .sat? .f32", f"{MODES}? .f64"),
    *_forms("add sub mul", ".rn? .ftz? .sat? .f16|.f16x2", ".rn? .bf16|.bf16x2"),
    *_forms("fma mad", f"{MODES} .ftz? .sat? .f32", f"{MODES} .f64"),
    *_forms("fma", ".rn .ftz? .sat|.relu? .f16|.f16x2", ".rn .relu? .bf16|.bf16x2"),
    *_forms("div rcp sqrt", f"{MODES} .ftz? .f32", f"{MODES} .f64"),
)
"""The forms of this family."""
