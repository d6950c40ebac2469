"""Integer arithmetic: add, subtract, multiply, divide, minimum, maximum, absolute difference."""

from functools import partial
from typing import Any, Final

import numpy as np

from golden.scalar.form import Array, Evaluate, Form, dtype, of_one_type, width

_NARROW = ".u16|.s16|.u32|.s32"
_ALL = f"{_NARROW}|.u64|.s64"
_SIGNED = ".s16|.s32|.s64"
_HALF: Final = np.uint64(32)
_LOW_HALF: Final = np.uint64(0xFFFFFFFF)


def _absolute(type_: str) -> Any:
    number = dtype(type_)

    def evaluate(a: Array) -> Array:
        return np.maximum(a.view(number), -a.view(number)).view(a.dtype)

    return of_one_type(evaluate, 1, type_)


def _saturated(ufunc: Evaluate, _sign: str) -> Any:
    """``add.sat.s32`` and ``sub.sat.s32``."""

    def evaluate(a: Array, b: Array) -> Array:
        return _clamped(ufunc(a.view(np.int32).astype(np.int64), b.view(np.int32)))

    return of_one_type(evaluate, 2, "s32")


def _clamped(exact: Array) -> Array:
    return np.clip(exact, -(1 << 31), (1 << 31) - 1).astype(np.int32).view(np.uint32)


def _high_product64(x: Array, y: Array) -> Array:
    """The upper 64 bits of products of unsigned 64-bit integers, from four products of halves."""
    x_high, x_low, y_high, y_low = x >> _HALF, x & _LOW_HALF, y >> _HALF, y & _LOW_HALF
    middle = x_high * y_low + (x_low * y_low >> _HALF)
    cross = x_low * y_high + (middle & _LOW_HALF)
    return x_high * y_high + (middle >> _HALF) + (cross >> _HALF)


def high_product(type_: str) -> Evaluate:
    """A function to the upper half of the products of two integers of a type, on raw bits."""
    number, bits = dtype(type_), width(type_)
    if bits < 64:
        wide = np.dtype(f"{number.kind}{bits // 4}")

        def narrow(a: Array, b: Array) -> Array:
            product = a.view(number).astype(wide) * b.view(number)
            return (product >> wide.type(bits)).astype(a.dtype)

        return narrow
    if number.kind == "u":
        return _high_product64

    def signed(a: Array, b: Array) -> Array:
        # A negative factor was taken for one larger by 2**64.
        excess = np.where(a.view(np.int64) < 0, b, np.uint64(0))
        excess = excess + np.where(b.view(np.int64) < 0, a, np.uint64(0))
        return _high_product64(a, b) - excess

    return signed


def _wide_product(type_: str) -> Evaluate:
    number = dtype(type_)
    wide = np.dtype(f"{number.kind}{number.itemsize * 2}")
    raw = np.dtype(f"u{number.itemsize * 2}")

    def evaluate(a: Array, b: Array) -> Array:
        return (a.view(number).astype(wide) * b.view(number)).view(raw)

    return evaluate


def _product(part: str, type_: str) -> tuple[Evaluate, int]:
    """The function for ``.lo``, ``.hi`` or ``.wide``, and the width of its result."""
    if part == "wide":
        return _wide_product(type_), 2 * width(type_)
    return (np.multiply if part == "lo" else high_product(type_)), width(type_)


def _multiply(add: bool, part: str, type_: str) -> Any:
    """``mul`` and ``mad``."""
    product, bits = _product(part, type_)

    def multiply_add(a: Array, b: Array, c: Array) -> Array:
        return product(a, b) + c

    factors = (width(type_), width(type_))
    return (bits,), (*factors, bits) if add else factors, multiply_add if add else product


def _saturated_multiply_add(_part: str, _saturate: str, type_: str) -> Any:
    product = high_product(type_)

    def evaluate(a: Array, b: Array, c: Array) -> Array:
        return _clamped(product(a, b).view(np.int32).astype(np.int64) + c.view(np.int32))

    return of_one_type(evaluate, 3, type_)


def _multiply24(add: bool, part: str, saturate: str, type_: str) -> Any:
    """``mul24`` and ``mad24``: low 24 bits of each factor; bits 31:0 or 47:16 of the product."""
    number = dtype(type_)
    unused = number.type(8)
    wide = np.dtype(f"{number.kind}8")
    if saturate and (part, type_, add) != ("hi", "s32", True):
        return None

    def product(a: Array, b: Array) -> Array:
        exact = ((a.view(number) << unused) >> unused).astype(wide) * ((b.view(number) << unused) >> unused)
        return exact >> wide.type(16 if part == "hi" else 0)

    def multiply(a: Array, b: Array) -> Array:
        return product(a, b).astype(np.uint32)

    def multiply_add(a: Array, b: Array, c: Array) -> Array:
        return product(a, b).astype(np.uint32) + c

    def saturated(a: Array, b: Array, c: Array) -> Array:
        return _clamped(product(a, b) + c.view(number))

    if not add:
        return of_one_type(multiply, 2, type_)
    return of_one_type(saturated if saturate else multiply_add, 3, type_)


def _extreme(ufunc: Evaluate, relu: str, type_: str) -> Any:
    """Minimum and maximum; ``.relu`` raises negative results to 0."""
    number = dtype(type_.removesuffix("x2"))

    def evaluate(a: Array, b: Array) -> Array:
        result = ufunc(a.view(number), b.view(number))
        return np.maximum(result, number.type(0)).view(a.dtype) if relu else result.view(a.dtype)

    return of_one_type(evaluate, 2, type_)


def _difference_sum(type_: str) -> Any:
    number = dtype(type_)

    def evaluate(a: Array, b: Array, c: Array) -> Array:
        x, y = a.view(number), b.view(number)
        return (np.maximum(x, y) - np.minimum(x, y)).view(a.dtype) + c

    return of_one_type(evaluate, 3, type_)


def _divide(remainder: bool, type_: str) -> Any:
    """Quotient rounded towards zero, and its remainder; both are all ones where the divisor is 0."""
    signed = dtype(type_).kind == "i"
    top = (dtype(type_).itemsize * 8) - 1

    def evaluate(a: Array, b: Array) -> Array:
        raw = a.dtype.type
        ones = raw(~raw(0))
        zero = b == 0
        if signed:
            a_sign, b_sign = a >> raw(top) != 0, b >> raw(top) != 0
            a, b = np.where(a_sign, -a, a), np.where(b_sign, -b, b)
            negative = a_sign if remainder else a_sign ^ b_sign
        divisor = np.where(zero, raw(1), b)
        result = np.remainder(a, divisor) if remainder else np.floor_divide(a, divisor)
        if signed:
            result = np.where(negative, -result, result)
        return np.where(zero, ones, result)

    return of_one_type(evaluate, 2, type_)


FORMS: Final = (
    Form(f"add {_ALL}|.u16x2|.s16x2", partial(of_one_type, np.add, 2)),
    Form("add .sat .s32", lambda _, type_: _saturated(np.add, type_)),
    Form(f"sub {_ALL}", partial(of_one_type, np.subtract, 2)),
    Form("sub .sat .s32", lambda _, type_: _saturated(np.subtract, type_)),
    Form(f"mul .lo|.hi {_ALL}", partial(_multiply, False)),
    Form(f"mul .wide {_NARROW}", partial(_multiply, False)),
    Form(f"mad .lo|.hi {_ALL}", partial(_multiply, True)),
    Form(f"mad .wide {_NARROW}", partial(_multiply, True)),
    Form("mad .hi .sat .s32", _saturated_multiply_add),
    Form("mul24 .lo|.hi .sat? .u32|.s32", partial(_multiply24, False)),
    Form("mad24 .lo|.hi .sat? .u32|.s32", partial(_multiply24, True)),
    Form(f"min {_ALL}|.u16x2", lambda type_: _extreme(np.minimum, "", type_)),
    Form(f"max {_ALL}|.u16x2", lambda type_: _extreme(np.maximum, "", type_)),
    Form("min .relu? .s16x2|.s32", partial(_extreme, np.minimum)),
    Form("max .relu? .s16x2|.s32", partial(_extreme, np.maximum)),
    Form(f"sad {_ALL}", _difference_sum),
    Form(f"div {_ALL}", partial(_divide, False)),
    Form(f"rem {_ALL}", partial(_divide, True)),
    Form(f"abs {_SIGNED}", _absolute),
    Form(f"neg {_SIGNED}", partial(of_one_type, np.negative, 1)),
)
"""The forms of this family."""
