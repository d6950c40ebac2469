"""Arithmetic on f64: add, subtract, multiply, fused multiply-add, divide, root, in four rounding modes."""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from golden.arithmetic.arrays import elementwise, fma64, round_pack
from golden.arithmetic.compiled import compiled
from golden.arithmetic.fma import multiply_wide
from golden.scalar.floats import F64_INVALID, FLOATS, is_nan, quieted, silent
from golden.scalar.form import Array, Evaluate, Form
from golden.scalar.packed import of_one_type
from golden.scalar.rounding import MODES, directed
from golden.tables.formats import float_format

__all__ = ["FORMS", "multiply_add"]

_F64: Final = FLOATS["f64"]
_FORMAT: Final = float_format("f64")
_ONE, _MINUS_ZERO = np.uint64(_F64.one), np.uint64(_F64.sign)
_SIGNIFICAND: Final = 53


def _with_nan(result: Array, *operands: Array) -> Array:
    """Put the chip's NaN in the place of NaN results: the last operand that is one, made quiet."""
    nan = is_nan(result, _F64)
    if not np.count_nonzero(nan):
        return result
    result = np.where(nan, F64_INVALID, result)
    for operand in operands:
        result = np.where(is_nan(operand, _F64), quieted(operand, _F64), result)
    return result


def _nearest(ufunc: Evaluate, *operands: Array) -> Array:
    """A result of numpy's float64, which is rounded to nearest."""
    value = silent(ufunc)(*(operand.view(np.float64) for operand in operands))
    return _with_nan(np.asarray(value).view(np.uint64), *operands)


def _negated(a: Array) -> Array:
    """The numbers with the other sign; NaN as they are."""
    return np.where(is_nan(a, _F64), a, a ^ _MINUS_ZERO)


def _split(a: Array) -> tuple[Array, Array]:
    """Magnitudes as a 53-bit integer (top bit set, or zero) and the exponent of its lowest bit."""
    fraction, exponent = np.frexp(np.abs(a.view(np.float64)))
    return (fraction * 2.0**_SIGNIFICAND).astype(np.int64), exponent.astype(np.int64) - _SIGNIFICAND


@compiled
def wide_sign(x: int, y: int, target: int, shift: int) -> int:
    """The sign of ``target * 2**shift - x * y``; factors below 2**53, target below 2**55."""
    high, low = multiply_wide(x, y)
    wanted_high, wanted_low = target >> (62 - shift), (target & ((1 << (62 - shift)) - 1)) << shift
    if high == wanted_high and low == wanted_low:
        return 0
    return 1 if high < wanted_high or (high == wanted_high and low < wanted_low) else -1


def _wide_sign(x: Array, y: Array, target: Array, shift: int) -> Array:
    return elementwise(wide_sign, (x, y, target), (shift,), np.int64)


def _divided(a: Array, b: Array) -> Array:
    """The quotient rounded to nearest; of two NaN the first one comes back."""
    value = silent(np.divide)(a.view(np.float64), b.view(np.float64))
    return _with_nan(value.view(np.uint64), b, a)


def _quotient(rounding: str, a: Array, b: Array) -> Array:
    """Divide in a directed mode.

    The quotient of the significands, rounded to nearest by float64, is an integer q of 53 bits times a power
    of two. The sign of the exact remainder says on which side of q the exact quotient lies. ``4 * q`` plus
    that sign is a significand with a sticky bit.
    """
    nearest = _divided(a, b)
    magnitude = nearest & np.uint64(_F64.sign - 1)
    infinity = np.uint64(_F64.infinity)
    # Zeros, infinities and NaN come from operands that are; an overflow does not.
    exact = (magnitude > infinity) | (a & ~_MINUS_ZERO == 0) | (b & ~_MINUS_ZERO == 0)
    exact |= (a & ~_MINUS_ZERO >= infinity) | (b & ~_MINUS_ZERO >= infinity)
    one = np.uint64(_F64.one)
    x, x_exponent = _split(np.where(exact, one, a))
    y, y_exponent = _split(np.where(exact, one, b))
    below = x < y  # then the quotient of the significands is below 1
    scale = _SIGNIFICAND - 1
    quotient = np.rint(np.ldexp(x / y, scale + below)).astype(np.int64)
    target = np.where(below, x << 1, x)
    sticky = 4 * quotient + _wide_sign(quotient, y, target, scale)
    exponent = x_exponent - y_exponent - below - scale - 2
    negative = (a ^ b) >= _MINUS_ZERO
    return np.where(exact, nearest, round_pack(negative, sticky, exponent, _FORMAT, rounding))


def _root(rounding: str, a: Array) -> Array:
    """Square root in a directed mode: the nearest one, corrected by the sign of its error."""
    nearest = _nearest(np.sqrt, a)
    usable = (nearest > 0) & (nearest < np.uint64(_F64.infinity))
    x, exponent = _split(np.where(usable, a, np.uint64(_F64.one)))
    root, _ = _split(np.where(usable, nearest, np.uint64(_F64.one)))
    # With an even exponent the root is the significand's on a scale of 2**52.
    side = _wide_sign(root, root, x << (exponent & 1), _SIGNIFICAND - 1)
    return directed(nearest.view(np.float64), np.where(usable, -side, 0), rounding)


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    """Multiply and add with one rounding to nearest."""
    return fma64(a, b, c)


_NEAREST: Final = MappingProxyType[str, Callable[..., Array]](
    {
        "add": partial(_nearest, np.add),
        "sub": partial(_nearest, np.subtract),
        "mul": partial(_nearest, np.multiply),
        "div": _divided,
        "rcp": lambda a: _divided(np.full_like(a, _ONE), a),
        "sqrt": partial(_nearest, np.sqrt),
        "fma": multiply_add,
    }
)

_DIRECTED: Final = MappingProxyType[str, Callable[..., Array]](
    {
        "add": lambda mode, a, b: fma64(a, np.broadcast_to(_ONE, np.shape(a)), b, mode),
        "sub": lambda mode, a, b: fma64(a, np.broadcast_to(_ONE, np.shape(a)), _negated(b), mode),
        "mul": lambda mode, a, b: fma64(a, b, (a ^ b) & _MINUS_ZERO, mode),
        "div": _quotient,
        "rcp": lambda mode, a: _quotient(mode, np.full_like(a, _ONE), a),
        "sqrt": _root,
        "fma": lambda mode, a, b, c: fma64(a, b, c, mode),
    }
)


def _arithmetic(operation: str, sources: int, rounding: str, type_: str) -> Any:
    nearest = rounding in ("", "rn")
    evaluate = _NEAREST[operation] if nearest else partial(_DIRECTED[operation], rounding)
    return of_one_type(evaluate, sources, type_)


FORMS: Final = (
    *(Form(f"{name} {MODES}? .f64", partial(_arithmetic, name, 2)) for name in ("add", "sub", "mul")),
    *(Form(f"{name} {MODES} .f64", partial(_arithmetic, "fma", 3)) for name in ("fma", "mad")),
    Form(f"div {MODES} .f64", partial(_arithmetic, "div", 2)),
    *(Form(f"{name} {MODES} .f64", partial(_arithmetic, name, 1)) for name in ("rcp", "sqrt")),
)
"""The forms of this family."""
