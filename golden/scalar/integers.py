"""Integer arithmetic: add, subtract, multiply, divide, minimum, maximum, absolute difference.

In extended precision, the carry flag is one more operand and one more result.
"""

from functools import partial
from typing import Any, Final

import numpy as np

from golden.scalar.form import Array, Evaluate, Form, clamped_integer, dtype, of_one_type, typed, width

_NARROW = ".u16|.s16|.u32|.s32"
_ALL = f"{_NARROW}|.u64|.s64"
_SIGNED = ".s16|.s32|.s64"
_CARRYING = ".u32|.s32|.u64|.s64"
_HALF: Final = np.uint64(32)
_LOW_HALF: Final = np.uint64(0xFFFFFFFF)


def _absolute(type_: str, a: Array) -> Array:
    number = a.view(dtype(type_))
    return np.maximum(number, -number).view(a.dtype)


def _saturated(ufunc: Evaluate, _saturate: str, _type: str, a: Array, b: Array) -> Array:
    """``add.sat.s32`` and ``sub.sat.s32``."""
    return _clamped(ufunc(a.view(np.int32).astype(np.int64), b.view(np.int32)))


def _clamped(exact: Array) -> Array:
    return clamped_integer(exact, "s32").astype(np.int32).view(np.uint32)


def _high_product64(x: Array, y: Array) -> Array:
    """The upper 64 bits of products of unsigned 64-bit integers, from four products of halves."""
    x_high, x_low, y_high, y_low = x >> _HALF, x & _LOW_HALF, y >> _HALF, y & _LOW_HALF
    middle = x_high * y_low + (x_low * y_low >> _HALF)
    cross = x_low * y_high + (middle & _LOW_HALF)
    return x_high * y_high + (middle >> _HALF) + (cross >> _HALF)


def _signed_high_product64(a: Array, b: Array) -> Array:
    # A negative factor was taken for one larger by 2**64.
    excess = np.where(a.view(np.int64) < 0, b, np.uint64(0))
    excess = excess + np.where(b.view(np.int64) < 0, a, np.uint64(0))
    return _high_product64(a, b) - excess


def _product(part: str, type_: str) -> tuple[Evaluate, int]:
    """The function for ``.lo``, ``.hi`` or ``.wide``, on raw bits, and the width of its result."""
    number, bits = dtype(type_), width(type_)
    if part == "lo":
        return np.multiply, bits
    if bits == 64:
        return _high_product64 if number.kind == "u" else _signed_high_product64, bits
    wide = np.dtype(f"{number.kind}{bits // 4}")
    raw = np.dtype(f"u{bits // 4}")

    def evaluate(a: Array, b: Array) -> Array:
        product = a.view(number).astype(wide) * b.view(number)
        return product.view(raw) if part == "wide" else (product >> wide.type(bits)).astype(a.dtype)

    return evaluate, 2 * bits if part == "wide" else bits


def _multiply(add: bool, part: str, type_: str) -> Any:
    """``mul`` and ``mad``."""
    product, bits = _product(part, type_)

    def multiply_add(a: Array, b: Array, c: Array) -> Array:
        return product(a, b) + c

    factors = (width(type_), width(type_))
    return (bits,), (*factors, bits) if add else factors, multiply_add if add else product


def _saturated_multiply_add(part: str, _saturate: str, type_: str, a: Array, b: Array, c: Array) -> Array:
    product, _ = _product(part, type_)
    return _clamped(product(a, b).view(np.int32).astype(np.int64) + c.view(np.int32))


def _product24(part: str, type_: str, a: Array, b: Array) -> Array:
    """The product of the low 24 bits of each factor, from bit 0 (``.lo``) or bit 16 (``.hi``) on."""
    number = dtype(type_)
    unused = number.type(8)
    wide = np.dtype(f"{number.kind}8")
    exact = ((a.view(number) << unused) >> unused).astype(wide) * ((b.view(number) << unused) >> unused)
    return exact >> wide.type(16 if part == "hi" else 0)


def _multiply24(part: str, type_: str, a: Array, b: Array, *c: Array) -> Array:
    """``mul24`` and ``mad24``."""
    product = _product24(part, type_, a, b).astype(np.uint32)
    return product + c[0] if c else product


def _saturated_multiply24(part: str, _saturate: str, type_: str, a: Array, b: Array, c: Array) -> Array:
    return _clamped(_product24(part, type_, a, b) + c.view(np.int32))


def _extreme(ufunc: Evaluate, *qualifiers: str) -> Any:
    """Minimum and maximum; ``.relu`` raises negative results to 0."""
    type_, relu = qualifiers[-1], "relu" in qualifiers
    number = dtype(type_.removesuffix("x2"))

    def evaluate(a: Array, b: Array) -> Array:
        result = ufunc(a.view(number), b.view(number))
        return np.maximum(result, number.type(0)).view(a.dtype) if relu else result.view(a.dtype)

    return of_one_type(evaluate, 2, type_)


def _difference_sum(type_: str, a: Array, b: Array, c: Array) -> Array:
    x, y = a.view(dtype(type_)), b.view(dtype(type_))
    return (np.maximum(x, y) - np.minimum(x, y)).view(a.dtype) + c


def _divide(remainder: bool, type_: str, a: Array, b: Array) -> Array:
    """Quotient rounded towards zero, and its remainder; both are all ones where the divisor is 0."""
    raw, zero, signed = a.dtype.type, b == 0, type_[0] == "s"
    if signed:
        top = raw(width(type_) - 1)
        a_sign, b_sign = a >> top != 0, b >> top != 0
        a, b = np.where(a_sign, -a, a), np.where(b_sign, -b, b)
        negative = a_sign if remainder else a_sign ^ b_sign
    divisor = np.where(zero, raw(1), b)
    result = np.remainder(a, divisor) if remainder else np.floor_divide(a, divisor)
    if signed:
        result = np.where(negative, -result, result)
    return np.where(zero, raw(~raw(0)), result)


def _sum(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    partial_sum = a + b
    total = partial_sum + carry
    return total, (partial_sum < a) | (total < partial_sum)


def _difference(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    return _sum(a, ~b, carry)


def _chained(function: Evaluate, reads: bool, *qualifiers: str) -> Any:
    """An operation of `function`, which takes and gives a flag, for the flags that the instruction has.

    A qualifier before the flag is the part of a product, to which the third source is added.
    """
    *parts, writes, type_ = qualifiers
    bits = width(type_)
    products = [_product(part, type_)[0] for part in parts]

    def evaluate(*values: Array) -> Any:
        *sources, carry = values if reads else (*values, np.bool_(function is _difference))
        for product in products:
            sources[:2] = [product(*sources[:2])]
        outcome = function(*sources, carry)
        return outcome if writes else outcome[0]

    return (bits, 1) if writes else (bits,), (bits,) * (2 + len(parts)) + (1,) * reads, evaluate


FORMS: Final = (
    Form(f"add {_ALL}|.u16x2|.s16x2", partial(of_one_type, np.add, 2)),
    Form("add .sat .s32", typed("32", "32 32", partial(_saturated, np.add))),
    Form(f"sub {_ALL}", partial(of_one_type, np.subtract, 2)),
    Form("sub .sat .s32", typed("32", "32 32", partial(_saturated, np.subtract))),
    Form(f"mul .lo|.hi {_ALL}", partial(_multiply, False)),
    Form(f"mul .wide {_NARROW}", partial(_multiply, False)),
    Form(f"mad .lo|.hi {_ALL}", partial(_multiply, True)),
    Form(f"mad .wide {_NARROW}", partial(_multiply, True)),
    Form("mad .hi .sat .s32", typed("32", "32 32 32", _saturated_multiply_add)),
    Form("mul24 .lo|.hi .u32|.s32", typed("32", "32 32", _multiply24)),
    Form("mad24 .lo|.hi .u32|.s32", typed("32", "32 32 32", _multiply24)),
    Form("mad24 .hi .sat .s32", typed("32", "32 32 32", _saturated_multiply24)),
    Form(f"min {_ALL}|.u16x2", partial(_extreme, np.minimum)),
    Form(f"max {_ALL}|.u16x2", partial(_extreme, np.maximum)),
    Form("min .relu? .s16x2|.s32", partial(_extreme, np.minimum)),
    Form("max .relu? .s16x2|.s32", partial(_extreme, np.maximum)),
    Form(f"sad {_ALL}", typed("type", "type type type", _difference_sum)),
    Form(f"div {_ALL}", typed("type", "type type", partial(_divide, False))),
    Form(f"rem {_ALL}", typed("type", "type type", partial(_divide, True))),
    Form(f"abs {_SIGNED}", typed("type", "type", _absolute)),
    Form(f"neg {_SIGNED}", partial(of_one_type, np.negative, 1)),
    Form(f"add .cc {_CARRYING}", partial(_chained, _sum, False)),
    Form(f"addc .cc? {_CARRYING}", partial(_chained, _sum, True)),
    Form(f"sub .cc {_CARRYING}", partial(_chained, _difference, False)),
    Form(f"subc .cc? {_CARRYING}", partial(_chained, _difference, True)),
    Form(f"mad .lo|.hi .cc {_CARRYING}", partial(_chained, _sum, False)),
    Form(f"madc .lo|.hi .cc? {_CARRYING}", partial(_chained, _sum, True)),
)
