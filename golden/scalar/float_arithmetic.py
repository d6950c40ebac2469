"""Floating-point arithmetic on f16, bf16, f32 and packed halves: every result is rounded once."""

from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from golden.scalar.floats import FLOATS, flushed, silent
from golden.scalar.operation import Array, Evaluate, Form, width
from golden.scalar.packed import by_halves
from golden.scalar.rounding import odd_sum, rounder

__all__ = ["FORMS"]

_SOURCES: Final = MappingProxyType({"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3, "rcp": 1, "sqrt": 1})

_DIRECT: Final = MappingProxyType[str, Evaluate](
    {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt}
)
"""What float32 computes with one rounding to nearest."""


def _exact(operation: str, down: bool) -> Evaluate:
    """From float64 operands to the result in float64, exact or rounded to odd, as `rounder` wants it.

    A product of two f32 fits float64. A quotient or root of f32 is either a number of at most 25 bits, which
    float64 holds, or differs from each of them by more than one part in 2**51: rounded to float64 it lies on
    the same side of them, so no correction is needed.
    """
    functions: dict[str, Evaluate] = {
        "add": partial(odd_sum, down=down),
        "sub": lambda x, y: odd_sum(x, -y, down=down),
        "mul": np.multiply,
        "div": np.divide,
        "fma": lambda x, y, z: odd_sum(x * y, z, down=down),
        "rcp": lambda x: 1.0 / x,
        "sqrt": np.sqrt,
    }
    return functions[operation]


def _direct(operation: str, type_: str) -> Evaluate:
    """Rounding to nearest, in f32 and f16, where numpy's own operation on float32 is enough.

    f16 has 11 bits and float32 24, more than twice as many and two: the sum, product, quotient or root of f16
    rounded to float32 and again to f16 is rounded correctly.
    """
    element = FLOATS[type_]
    ufunc, nan = _DIRECT[operation], element.raw.type(element.nan)

    def single(*operands: Array) -> Array:
        value = ufunc(*(operand.view(np.float32) for operand in operands))
        result: Array = value.view(np.uint32)
        np.copyto(result, nan, where=np.isnan(value))
        return result

    def half(*operands: Array) -> Array:
        value = ufunc(*(operand.view(np.float16).astype(np.float32) for operand in operands))
        result: Array = value.astype(np.float16).view(np.uint16)
        np.copyto(result, nan, where=np.isnan(value))
        return result

    return half if type_ == "f16" else single


def _arithmetic(operation: str, rounding: str, flush: str, clamp: str, type_: str) -> Any:
    part = type_.removesuffix("x2")
    rounding = rounding or "rn"
    if operation in _DIRECT and rounding == "rn" and not (flush or clamp) and part != "bf16":
        evaluate = _direct(operation, part)
    else:
        evaluate = _general(operation, rounding, flush, clamp, part)
    evaluate = silent(evaluate)
    bits = width(type_)
    if part != type_:
        evaluate = by_halves(evaluate)
    return (bits,), (bits,) * _SOURCES[operation], evaluate


def _general(operation: str, rounding: str, flush: str, clamp: str, type_: str) -> Evaluate:
    element = FLOATS[type_]
    exact = _exact(operation, rounding == "rm")
    round_ = rounder(element, rounding, flush=flush, clamp=clamp)
    if flush:
        return lambda *operands: round_(exact(*(element.numbers(flushed(a, element)) for a in operands)))
    return lambda *operands: round_(exact(*(element.numbers(a) for a in operands)))


def _half(operation: str, *qualifiers: str) -> Any:
    """Forms of halves: ``.rn`` is the only rounding."""
    *rest, type_ = qualifiers
    flush = "ftz" if "ftz" in rest else ""
    clamp = next((word for word in rest if word in ("sat", "relu")), "")
    return _arithmetic(operation, "rn", flush, clamp, type_)


_MODES = ".rn|.rz|.rm|.rp"

FORMS: Final = (
    *(
        Form(f"{name} {_MODES}? .ftz? .sat? .f32", partial(_arithmetic, name))
        for name in ("add", "sub", "mul")
    ),
    Form(f"fma {_MODES} .ftz? .sat? .f32", partial(_arithmetic, "fma")),
    Form(f"mad {_MODES} .ftz? .sat? .f32", partial(_arithmetic, "fma")),
    *(
        Form(f"{name} {_MODES} .ftz? .f32", lambda r, f, t, name=name: _arithmetic(name, r, f, "", t))
        for name in ("div", "rcp", "sqrt")
    ),
    *(
        form
        for name in ("add", "sub", "mul")
        for form in (
            Form(f"{name} .rn? .ftz? .sat? .f16|.f16x2", partial(_half, name)),
            Form(f"{name} .rn? .bf16|.bf16x2", partial(_half, name)),
        )
    ),
    Form("fma .rn .ftz? .sat|.relu? .f16|.f16x2", partial(_half, "fma")),
    Form("fma .rn .relu? .bf16|.bf16x2", partial(_half, "fma")),
)
"""The forms of this family."""
