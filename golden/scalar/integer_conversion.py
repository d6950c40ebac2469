"""Conversions to and from integers."""

from typing import Any, Final

import numpy as np

from golden.arithmetic.arrays import elementwise
from golden.arithmetic.decode import layout
from golden.arithmetic.round_pack import ROUNDINGS
from golden.arithmetic.whole import from_integer, to_integer
from golden.scalar.floats import FLOATS, MODES, flushed
from golden.scalar.form import Array, Form, dtype, raw_dtype, width

_INTEGERS = ".u8|.s8|.u16|.s16|.u32|.s32|.u64|.s64"


def _integer_to_integer(saturate: str, target: str, source: str) -> Any:
    to, of = np.iinfo(dtype(target)), np.iinfo(dtype(source))
    number, raw = dtype(source), raw_dtype(target)
    least, greatest = max(to.min, of.min), min(to.max, of.max)
    clamps = saturate and (least, greatest) != (of.min, of.max)
    low, high = number.type(least), number.type(greatest)

    def evaluate(a: Array) -> Array:
        return a.view(number).astype(raw)

    def clamped(a: Array) -> Array:
        return np.clip(a.view(number), low, high).astype(raw)

    definition = clamped if clamps else evaluate
    return (width(target),), (width(source),), definition, target[0] == "s"


def _pack(packed: str, source: str, appended: str) -> Any:
    """``cvt.pack.sat``: two saturated integers, the second lowest; above them the low bits of a third."""
    bits = int(packed[1:])
    if (bits == 16) == bool(appended):
        return None
    least = -(1 << (bits - 1)) if packed[0] == "s" else 0
    mask = np.uint32((1 << bits) - 1)
    number = dtype(source)

    def evaluate(a: Array, b: Array, *c: Array) -> Array:
        upper, lower = (
            np.clip(value.view(number), least, least + int(mask)).view(np.uint32) & mask for value in (a, b)
        )
        pair = (upper << np.uint32(bits)) | lower
        return pair | (c[0] << np.uint32(2 * bits)) if c else pair

    return (32,), (32,) * (3 if appended else 2), evaluate


def _float_to_integer(rounding: str, flush: str, _saturate: str, target: str, source: str) -> Any:
    """Numbers out of range become the nearest integer of the type, with and without ``.sat``."""
    element, bits = FLOATS[source], width(target)
    signed = dtype(target).kind == "i"
    constants, arguments = (layout(element.format),), (ROUNDINGS.index(rounding[:2]), bits, int(signed))

    def evaluate(a: Array) -> Array:
        a = flushed(a, element) if flush else a
        return elementwise(to_integer, (a,), constants, raw_dtype(target), arguments=arguments)

    return (bits,), (width(source),), evaluate, signed


def _integer_to_float(rounding: str, target: str, source: str) -> Any:
    element, number = FLOATS[target], dtype(source)
    constants, arguments = (layout(element.format),), (ROUNDINGS.index(rounding), int(number.kind == "i"))

    def evaluate(a: Array) -> Array:
        # One type of operands, so that one function is compiled.
        operands = (a.view(number).astype(np.int64),)
        return elementwise(from_integer, operands, constants, element.raw, arguments=arguments)

    return (width(target),), (width(source),), evaluate


_ROUNDINGS = ".rni|.rzi|.rmi|.rpi"

FORMS: Final = (
    Form(f"cvt .sat? {_INTEGERS} {_INTEGERS}", _integer_to_integer),
    Form("cvt .pack .sat .u16|.s16|.u8|.s8|.u4|.s4|.u2|.s2 .s32 .b32?", lambda _pack_, _sat, *t: _pack(*t)),
    Form(f"cvt {_ROUNDINGS} .ftz? .sat? {_INTEGERS} .f32", _float_to_integer),
    Form(
        f"cvt {_ROUNDINGS} .sat? {_INTEGERS} .f16|.bf16|.f64",
        lambda mode, saturate, *types: _float_to_integer(mode, "", saturate, *types),
    ),
    Form(f"cvt {MODES} .f16|.bf16|.f32|.f64 {_INTEGERS}", _integer_to_float),
)
"""The forms of this family."""
