"""Arithmetic of single elements as PTX defines it: add, multiply, fused multiply-add, minimum and maximum."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.fma64 import fma64
from golden.tables.elements import ELEMENT_BITS, ElementOperation, ElementType
from golden.tables.formats import FloatFormat, float_format

__all__ = ["compute"]

Patterns = NDArray[Any]
"""Elements as unsigned integers of their width."""

_VALUES: Final = MappingProxyType[str, type[np.floating[Any]]]({"f16": np.float16, "f32": np.float32})
"""Formats whose products are exact in f64, and whose sums are rounded from there."""

_INTEGERS: Final = MappingProxyType[ElementOperation, Callable[..., Patterns]](
    {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "fma": lambda a, b, c: a * b + c,
        "min": np.minimum,
        "max": np.maximum,
    }
)


def compute(
    operation: ElementOperation, type: ElementType, *operands: Patterns, flush: bool = False
) -> Patterns:
    """The result for each element, to the bit as an H200 gives it.

    Floating point is rounded once, to nearest even. A NaN comes out as the canonical one of f16 and f32; in
    f64 a NaN operand comes back made quiet, looked for in the order second, third, first. `min` and `max`
    give the number where one operand is NaN, and take -0 for less than +0. Integers wrap.

    Parameters
    ----------
    operation : {"add", "sub", "mul", "fma", "min", "max"}
    type : {"f16", "f32", "f64", "s32", "u32"}
    *operands : ndarray of the unsigned integer of the type's width
        As many as `OPERAND_COUNTS` says; they broadcast.
    flush : bool
        Subnormal operands and results become zeros of their sign (``.ftz``), in f16 and f32.

    Returns
    -------
    ndarray of the same dtype
    """
    raw = np.dtype(f"u{ELEMENT_BITS[type] // 8}")
    if type in ("s32", "u32"):
        number = np.dtype("i4" if type == "s32" else "u4")
        return np.asarray(_INTEGERS[operation](*(operand.view(number) for operand in operands))).view(raw)
    element = float_format(type)
    if flush:
        operands = tuple(_flushed(operand, element) for operand in operands)
    if operation in ("min", "max"):
        return _extreme(operation, element, *operands)
    terms = _as_multiply_add(operation, element, operands)
    return fma64(*terms) if type == "f64" else _multiply_add(element, *terms, flush=flush)


def _as_multiply_add(
    operation: ElementOperation, element: FloatFormat, operands: tuple[Patterns, ...]
) -> tuple[Patterns, Patterns, Patterns]:
    """Multiplier, multiplicand and addend that give the same result, zeros' signs and NaN included."""
    if operation == "fma":
        first, second, third = operands
        return first, second, third
    first, second = operands
    raw = first.dtype.type
    minus_zero = raw(element.sign_mask)
    if operation == "mul":
        return first, second, np.broadcast_to(minus_zero, second.shape)
    if operation == "sub":
        second = np.where(_is_nan(second, element), second, second ^ minus_zero)
    return first, np.broadcast_to(raw(element.bias << element.fraction_bits), first.shape), second


def _multiply_add(element: FloatFormat, a: Patterns, b: Patterns, c: Patterns, *, flush: bool) -> Patterns:
    """``a * b + c`` in f16 or f32 with one rounding.

    The product is exact in f64. The sum is made in f64 and rounded to odd: where it is inexact and its last
    bit is even, the neighbour on the side of the error takes its place. As f64 has more than two bits beyond
    the result's, rounding that once more gives what rounding the exact sum would.

    What is flushed are results below the least normal number after a rounding with unbounded exponent: scaled
    up, the sum is rounded so.
    """
    value = _VALUES[element.name]
    with np.errstate(all="ignore"):
        x, y, z = (np.asarray(operand).view(value).astype(np.float64) for operand in (a, b, c))
        product = x * y
        total = np.asarray(product + z)
        from_z = total - product
        error = (product - (total - from_z)) + (z - from_z)
        inexact = np.isfinite(total) & (error != 0) & (total.view(np.int64) & 1 == 0)
        step = np.where((error > 0) == (total > 0), 1, -1)
        odd = np.where(inexact, total.view(np.int64) + step, total.view(np.int64)).view(np.float64)
        rounded = np.asarray(odd.astype(value))
        scale = element.significand_bits
        tiny = np.abs((odd * 2.0**scale).astype(value)) < 2.0 ** (element.minimum_exponent + scale)
    result = np.where(np.isnan(rounded), a.dtype.type(element.canonical_nan), rounded.view(a.dtype))
    return np.where(tiny, result & a.dtype.type(element.sign_mask), result) if flush else result


def _extreme(operation: ElementOperation, element: FloatFormat, a: Patterns, b: Patterns) -> Patterns:
    """The lesser or the greater of two numbers."""
    raw = a.dtype.type
    keys = [
        # Negative numbers in the reverse order of their patterns, below all positive ones.
        np.where(operand & raw(element.sign_mask) != 0, ~operand, operand | raw(element.sign_mask))
        for operand in (a, b)
    ]
    first = keys[0] < keys[1] if operation == "min" else keys[0] > keys[1]
    a_nan, b_nan = _is_nan(a, element), _is_nan(b, element)
    result = np.where((first | b_nan) & ~a_nan, a, b)
    quiet = b | raw(1 << (element.fraction_bits - 1))
    neither = quiet if element.name == "f64" else raw(element.canonical_nan)
    return np.where(a_nan & b_nan, neither, result)


def _is_nan(operand: Patterns, element: FloatFormat) -> NDArray[np.bool_]:
    raw = operand.dtype.type
    return np.asarray(operand & ~raw(element.sign_mask) > raw(element.infinity))


def _flushed(operand: Patterns, element: FloatFormat) -> Patterns:
    raw = operand.dtype.type
    subnormal = operand & raw(element.infinity) == 0
    return np.where(subnormal, operand & raw(element.sign_mask), operand)
