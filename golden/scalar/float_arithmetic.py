"""Floating-point arithmetic on f16, bf16, f32 and packed halves: every result is rounded once."""

from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from golden.scalar.floats import FLOATS, flushed, silent
from golden.scalar.form import Array, Evaluate, Form
from golden.scalar.packed import of_one_type
from golden.scalar.rounding import MODES, odd_sum, rounder

__all__ = ["FORMS"]

_SOURCES: Final = MappingProxyType({"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3, "rcp": 1, "sqrt": 1})

_BELOW_F32: Final = np.uint64((1 << 29) - 1)
_HALFWAY: Final = np.uint64(1 << 28)
_SUBNORMAL_END: Final = np.uint64((1023 - 126) << 53)


def _fused(x: Array, y: Array, z: Array) -> Array:
    """Multiply and add float32 with one rounding to nearest.

    The product is exact in float64, the sum rounded. Rounding that to float32 is wrong only if it lies
    halfway between two float32 though the exact sum does not: then, and among subnormal results, where
    halfway looks different, the sum is rounded to odd instead.
    """
    product = x.astype(np.float64) * y
    total = product + z
    bits = total.view(np.uint64)
    doubtful = (bits & _BELOW_F32) == _HALFWAY
    # Twice the pattern has no sign; less one, a zero is the greatest.
    doubtful |= (bits << np.uint64(1)) - np.uint64(1) < _SUBNORMAL_END
    if np.count_nonzero(doubtful):
        total = odd_sum(product, z.astype(np.float64))
    return total.astype(np.float32)


_DIRECT: Final = MappingProxyType[str, Evaluate](
    {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "rcp": np.reciprocal,
        "sqrt": np.sqrt,
        "fma": _fused,
    }
)
"""What has one rounding to nearest in float32."""


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


def _fused_half(x: Array, y: Array, z: Array) -> Array:
    """Multiply and add f16 in float64, whose rounding does no harm.

    Let the sum not fit 53 bits, and not be beyond f16. It is below 2**17 and the addend a multiple of
    2**-24, so the product is no multiple of 2**-35; as it has at most 22 bits, it is below 2**-14. It is a
    multiple of 2**-48, so the addend is above 16, and at least 2**-8 away from halfway points of f16. Exact
    or rounded, the sum is on the side of the addend.
    """
    return x.astype(np.float64) * y + z


def _nearest_single(operation: str) -> Evaluate:
    ufunc, nan = _DIRECT[operation], np.uint32(FLOATS["f32"].nan)

    def evaluate(*operands: Array) -> Array:
        value = ufunc(*[operand.view(np.float32) for operand in operands])
        result: Array = value.view(np.uint32)
        result[np.isnan(value)] = nan
        return result

    return evaluate


def _nearest_half(operation: str) -> Evaluate:
    """Rounding to nearest in f16, after float32 or float64.

    f16 has 11 bits and float32 24, more than twice as many and two: the sum or product of f16 rounded to
    float32 and again to f16 is rounded correctly.
    """
    ufunc = _fused_half if operation == "fma" else _DIRECT[operation]
    nan = np.uint16(FLOATS["f16"].nan)

    def evaluate(*operands: Array) -> Array:
        value = ufunc(*[operand.view(np.float16).astype(np.float32) for operand in operands])
        result: Array = value.astype(np.float16).view(np.uint16)
        result[np.isnan(value)] = nan
        return result

    return evaluate


_NEAREST: Final = MappingProxyType({"f16": _nearest_half, "f32": _nearest_single})
"""Fast ways for rounding to nearest without other qualifiers, by type."""


def _unless_tiny(nearest: Evaluate, flushing: Evaluate, type_: str) -> Evaluate:
    """`nearest`, or `flushing` if an operand or result is at most the least normal number, and no zero."""
    raw = FLOATS[type_].raw.type
    one, end = raw(1), raw(2 * FLOATS[type_].least_normal)

    def tiny(a: Array) -> Array:
        return (a << one) - one < end  # without the sign; of a zero the greatest number

    def evaluate(*operands: Array) -> Array:
        result: Array = nearest(*operands)
        doubtful = tiny(result)
        for operand in operands:
            doubtful = doubtful | tiny(operand)
        return flushing(*operands) if np.count_nonzero(doubtful) else result

    return evaluate


def _arithmetic(operation: str, rounding: str, flush: str, clamp: str, type_: str) -> Any:
    part = type_.removesuffix("x2")
    rounding = rounding or "rn"
    evaluate = _general(operation, rounding, flush, clamp, part)
    if rounding == "rn" and not clamp and part in _NEAREST:
        nearest = _NEAREST[part](operation)
        evaluate = _unless_tiny(nearest, evaluate, part) if flush else nearest
    return of_one_type(silent(evaluate), _SOURCES[operation], type_)


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


FORMS: Final = (
    *(
        Form(f"{name} {MODES}? .ftz? .sat? .f32", partial(_arithmetic, name))
        for name in ("add", "sub", "mul")
    ),
    Form(f"fma {MODES} .ftz? .sat? .f32", partial(_arithmetic, "fma")),
    Form(f"mad {MODES} .ftz? .sat? .f32", partial(_arithmetic, "fma")),
    *(
        Form(f"{name} {MODES} .ftz? .f32", lambda r, f, t, name=name: _arithmetic(name, r, f, "", t))
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
