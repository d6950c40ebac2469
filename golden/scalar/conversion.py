"""Conversions: between integers, floating-point types, pairs of narrow floats, and tf32."""

from functools import partial
from typing import Any, Final

import numpy as np

from golden.arithmetic.arrays import convert, elementwise
from golden.arithmetic.round_pack import ROUNDINGS
from golden.arithmetic.whole import from_integer, to_integer, to_integral
from golden.scalar.floats import FLOATS, MODES, Element, clamped, flushed, is_nan, result_nan
from golden.scalar.form import Array, Form, clamped_integer, dtype, elements, raw_dtype, typed, width
from golden.tables.formats import float_format

_INTEGERS = ".u8|.s8|.u16|.s16|.u32|.s32|.u64|.s64"
_INTEGRAL = ".rni|.rzi|.rmi|.rpi"
_NARROW = ".e4m3x2|.e5m2x2|.e3m2x2|.e2m3x2|.e2m1x2"
_F16, _F32 = FLOATS["f16"], FLOATS["f32"]
_TF32: Final = float_format("tf32")
_SCALE_BIAS: Final = 127
_SCALE_NAN: Final = 0xFF


def _integer_to_integer(saturate: str, target: str, source: str) -> Any:
    to, of = np.iinfo(dtype(target)), np.iinfo(dtype(source))
    number, raw = dtype(source), raw_dtype(target)
    least, greatest = max(to.min, of.min), min(to.max, of.max)
    clamps = (least, greatest) != (of.min, of.max)
    if saturate and not clamps:
        return None
    low, high = number.type(least), number.type(greatest)

    def evaluate(a: Array) -> Array:
        values = a.view(number)
        return (np.clip(values, low, high) if saturate else values).astype(raw)

    return (width(target),), (width(source),), evaluate, target[0] == "s"


def _pack(packed: str, a: Array, b: Array, *c: Array) -> Array:
    """``cvt.pack.sat``: two saturated integers, the second lowest; a third operand is above them."""
    bits = width(packed)
    mask = np.uint32((1 << bits) - 1)
    upper, lower = (clamped_integer(x.view(np.int32), packed).view(np.uint32) & mask for x in (a, b))
    both = (upper << np.uint32(bits)) | lower
    return both | c[0] << np.uint32(2 * bits) if c else both


def _float_to_integer(rounding: str, *others: Any) -> Array:
    """Numbers out of range become the nearest integer of the type, with and without ``.sat``."""
    *words, target, source, a = others
    element = FLOATS[source]
    arguments = (ROUNDINGS.index(rounding[:2]), width(target), int(target[0] == "s"))
    a = flushed(a, element) if "ftz" in words else a
    return elementwise(to_integer, (a,), (element.layout,), raw_dtype(target), arguments=arguments)


def _integer_to_float(rounding: str, *others: Any) -> Array:
    *words, target, source, a = others
    element, arguments = FLOATS[target], (ROUNDINGS.index(rounding), int(source[0] == "s"))
    # One type of operands, so that one function is compiled.
    operands = (a.view(dtype(source)).astype(np.int64),)
    result = elementwise(from_integer, operands, (element.layout,), element.raw, arguments=arguments)
    return clamped(result, element, "sat" if "sat" in words else "")


def _convert(rounding: str, *qualifiers: str) -> Any:
    """From one type to another, wider or narrower; ``.ftz`` concerns operands and results of f32."""
    *words, target, source = qualifiers
    flush, clamp = "ftz" in words, next((word for word in words if word in ("sat", "relu")), "")
    if source == target:
        return None
    of, to = FLOATS[source], FLOATS[target]
    bits = (width(target),), (width(source),)
    if (source, target) == ("bf16", "f32") and not (flush or clamp):
        return *bits, lambda a: of.comparable(a).view(np.uint32)
    flush_source, flush_result = (flush and name == "f32" for name in (source, target))
    flush_source &= target != "f16"  # the chip keeps them

    def evaluate(a: Array) -> Array:
        if flush_source:
            # The canonical NaN in place of a NaN that f64 would keep.
            a = np.where(is_nan(a, of), result_nan(a, of), flushed(a, of))
        result = convert(a, of.format, to.format, rounding or "rn", flush_result)
        return clamped(_finite(result, to) if "satfinite" in words else result, to, clamp)

    return *bits, evaluate


def _finite(a: Array, element: Element) -> Array:
    """The patterns with the largest finite number in place of infinity (``.satfinite``)."""
    return a - (a & element.magnitude == element.infinity)


def _same(rounding: str, *qualifiers: str) -> Any:
    """To the same type: a copy, an integral number, or clamped to 0 and 1."""
    *words, target, source = qualifiers
    if source != target:
        return None
    element, flush, saturate = FLOATS[target], "ftz" in words, "sat" in words
    bits = (width(target),)
    if not (rounding or flush or saturate) and target in ("f32", "f64"):
        return bits, bits, lambda a: a

    def evaluate(a: Array) -> Array:
        if flush:
            a = flushed(a, element)
        if rounding:
            arguments = (ROUNDINGS.index(rounding[:2]),)
            a = elementwise(to_integral, (a,), (element.layout,), element.raw, arguments=arguments)
        else:
            a = np.where(is_nan(a, element), result_nan(a, element), a)
        return clamped(a, element, "sat" if saturate else "")

    return bits, bits, evaluate


def _halves(rounding: str, *qualifiers: str) -> Any:
    """``cvt.rn.f16x2.f32`` and its like: the first operand becomes the upper element."""
    *words, target, source = qualifiers
    _, _, narrowed = _convert(rounding, *words, target.removesuffix("x2"), source)

    def evaluate(a: Array, b: Array) -> Array:
        upper, lower = (narrowed(operand).astype(np.uint32) for operand in (a, b))
        return (upper << np.uint32(16)) | lower

    return (32,), (32, 32), evaluate


def _to_narrow(target: str, relu: str, source: Element, a: Array) -> Array:
    """To nearest; numbers beyond the largest become the largest, NaN the canonical one without sign."""
    format_ = float_format(target.removesuffix("x2"))
    sign = np.uint8(format_.sign_mask)
    result = convert(a & source.magnitude, source.format, format_)
    magnitude = np.minimum(result, np.uint8(format_.largest_finite))
    negative = a >= source.sign
    result = np.where(negative, np.uint8(0) if relu else magnitude | sign, magnitude)
    return np.where(is_nan(a, source), np.uint8(format_.canonical_nan), result)


def _joined(target: str, upper: Array, lower: Array) -> Array:
    """A register of a pair of narrow numbers: two bytes, or two halves of one (e2m1)."""
    raw = raw_dtype(target).type
    return (upper.astype(raw) << raw(width(target) // 2)) | lower.astype(raw)


def _narrow_of_singles(
    _: str, _finite: str, relu: str, target: str, _source: str, a: Array, b: Array
) -> Array:
    return _joined(target, *(_to_narrow(target, relu, _F32, operand) for operand in (a, b)))


def _narrow_of_pair(_: str, _finite: str, relu: str, target: str, source: str, a: Array) -> Array:
    pair = _to_narrow(target, relu, FLOATS[source.removesuffix("x2")], elements(a, 16))
    return _joined(target, pair[..., 1], pair[..., 0])


def _pair_of_narrow(
    _: str, satfinite: str, relu: str, target: str, source: str, a: Array, *scales: Array
) -> Array:
    """The scales are powers of two, one for each element; the product is rounded once.

    Spare bits of a container are ignored. By the manual of PTX 9.2; no chip has confirmed it here.
    """
    element, narrow = FLOATS[target.removesuffix("x2")], float_format(source.removesuffix("x2"))
    pair = elements(a, 8) if width(source) == 16 else np.stack([a, a >> np.uint8(4)], axis=-1)
    pair = pair & np.uint8((1 << narrow.bits) - 1)
    if scales:
        double = FLOATS["f64"]
        factors = elements(scales[0], 8)
        numbers = double.comparable(convert(pair, narrow, double.format))
        exact = np.ldexp(numbers, factors.astype(np.int32) - _SCALE_BIAS).view(np.uint64)
        pair = convert(exact, double.format, element.format)
        pair = np.where(factors == _SCALE_NAN, element.raw.type(element.format.canonical_nan), pair)
    else:
        pair = convert(pair, narrow, element.format)
    pair = clamped(_finite(pair, element) if satfinite else pair, element, relu)
    return np.ascontiguousarray(pair).view(np.uint32)[..., 0]


def _to_scale(rounding: str, satfinite: str, element: Element, a: Array) -> Array:
    """The exponent of a number without its sign, of the next power of two for ``.rp``; ue8m0 has no zero.

    As the host functions of CUDA's ``cuda_fp8.h`` compute it.
    """
    magnitude, fraction = a & element.magnitude, element.least_normal - element.raw.type(1)
    scale = magnitude >> element.raw.type(element.format.fraction_bits)
    if rounding == "rp":
        least = element.least_normal >> element.raw.type(1)
        scale = scale + ((magnitude & fraction != 0) & (magnitude > least) & (magnitude < element.infinity))
    if satfinite:
        scale = np.where(magnitude <= element.infinity, np.minimum(scale, _SCALE_NAN - 1), scale)
    return scale.astype(np.uint8)


def _scales_of_singles(rounding: str, satfinite: str, target: str, _source: str, a: Array, b: Array) -> Array:
    return _joined(target, *(_to_scale(rounding, satfinite, _F32, operand) for operand in (a, b)))


def _scales_of_pair(rounding: str, satfinite: str, target: str, _source: str, a: Array) -> Array:
    pair = _to_scale(rounding, satfinite, FLOATS["bf16"], elements(a, 16))
    return _joined(target, pair[..., 1], pair[..., 0])


def _pair_of_scales(_: str, _target: str, _source: str, a: Array) -> Array:
    bfloat = FLOATS["bf16"]
    scales = elements(a, 8).astype(np.uint16)
    numbers = np.where(scales == 0, bfloat.least_normal >> 1, scales << bfloat.format.fraction_bits)
    numbers = np.where(scales == _SCALE_NAN, np.uint16(bfloat.format.canonical_nan), numbers)
    return np.ascontiguousarray(numbers.astype(np.uint16)).view(np.uint32)[..., 0]


def _to_tf32(rounding: str, relu: str, _target: str, _source: str, a: Array) -> Array:
    """``cvt.rn.tf32.f32`` and ``cvt.rz``: a NaN becomes the canonical one, its ignored bits cleared."""
    kept = np.uint32(0xFFFFFFFF << _TF32.ignored_bits & 0xFFFFFFFF)
    return clamped(convert(a, _F32.format, _TF32, rounding) & kept, _F32, relu)


def _to_tf32_away(_: str, satfinite: str, _target: str, _source: str, a: Array) -> Array:
    """``cvt.rna.tf32.f32``: to nearest, ties away from zero.

    A NaN is cut off like a number. ``.satfinite`` gives the pattern before the infinity or NaN.
    """
    unit, special = 1 << _TF32.ignored_bits, _F32.infinity
    kept, half = np.uint32(0x100000000 - unit), np.uint32(unit // 2)
    result = np.where(a & special == special, a, a + half) & kept
    return np.where(result & special == special, result - np.uint32(unit), result) if satfinite else result


FORMS: Final = (
    Form(f"cvt .sat? {_INTEGERS} {_INTEGERS}", _integer_to_integer),
    Form(
        "cvt .pack .sat .u16|.s16 .s32",
        typed("32", "32 32", lambda _pack_, _sat, packed, _source, a, b: _pack(packed, a, b)),
    ),
    Form(
        "cvt .pack .sat .u8|.s8|.u4|.s4|.u2|.s2 .s32 .b32",
        typed("32", "32 32 32", lambda _pack_, _sat, packed, _source, _below, *abc: _pack(packed, *abc)),
    ),
    Form(f"cvt {_INTEGRAL} .ftz? .sat? {_INTEGERS} .f32", typed("target", "type", _float_to_integer)),
    Form(f"cvt {_INTEGRAL} .sat? {_INTEGERS} .f16|.f64", typed("target", "type", _float_to_integer)),
    Form(f"cvt {_INTEGRAL} {_INTEGERS} .bf16", typed("target", "type", _float_to_integer)),
    Form(f"cvt {MODES} .sat? .f16|.f64 {_INTEGERS}", typed("target", "type", _integer_to_float)),
    Form(f"cvt {MODES} .ftz? .sat? .f32 {_INTEGERS}", typed("target", "type", _integer_to_float)),
    Form(f"cvt {MODES} .bf16 {_INTEGERS}", typed("target", "type", _integer_to_float)),
    Form(f"cvt {_INTEGRAL}? .ftz? .sat? .f32 .f32", _same),
    Form(f"cvt {_INTEGRAL}? .sat? .f16|.f64 .f16|.f64", _same),
    Form(f"cvt {_INTEGRAL}? .bf16 .bf16", _same),
    Form(f"cvt {MODES}? .f16|.bf16 .f16|.bf16", _convert),
    Form("cvt .ftz? .sat? .f32 .f16", partial(_convert, "")),
    Form(f"cvt {MODES}? .ftz? .f32 .bf16", _convert),
    Form("cvt .sat? .f64 .f16", partial(_convert, "")),
    Form(f"cvt {MODES}? .f64 .bf16", _convert),
    Form("cvt .ftz? .sat? .f64 .f32", partial(_convert, "")),
    Form(f"cvt {MODES} .ftz? .sat? .f16 .f32", _convert),
    Form(f"cvt {MODES} .ftz? .bf16 .f32", _convert),
    Form("cvt .rn|.rz .ftz? .relu .f16|.bf16 .f32", _convert),
    Form("cvt .rn|.rz .relu? .satfinite .f16|.bf16 .f32", _convert),
    Form(f"cvt {MODES} .ftz? .sat? .f32 .f64", _convert),
    Form(f"cvt {MODES} .sat? .f16 .f64", _convert),
    Form(f"cvt {MODES} .bf16 .f64", _convert),
    Form("cvt .rn|.rz .satfinite? .relu? .f16x2|.bf16x2 .f32", _halves),
    Form(f"cvt .rn .satfinite .relu? {_NARROW} .f32", typed("target", "32 32", _narrow_of_singles)),
    Form(f"cvt .rn .satfinite .relu? {_NARROW} .f16x2|.bf16x2", typed("target", "32", _narrow_of_pair)),
    Form(
        f"cvt .rn .relu? .f16x2 {_NARROW}",
        typed("32", "type", lambda mode, relu, *others: _pair_of_narrow(mode, "", relu, *others)),
    ),
    Form(f"cvt .rn .satfinite? .relu? .bf16x2 {_NARROW}", typed("32", "type", _pair_of_narrow)),
    Form(
        f"cvt .rn .satfinite? .relu? .scaled::n2::ue8m0 .bf16x2 {_NARROW}",
        typed("32", "type 16", lambda *given: _pair_of_narrow(*given[:3], *given[4:])),
    ),
    Form("cvt .rz|.rp .satfinite? .ue8m0x2 .f32", typed("16", "32 32", _scales_of_singles)),
    Form("cvt .rz|.rp .satfinite? .ue8m0x2 .bf16x2", typed("16", "32", _scales_of_pair)),
    Form("cvt .rn .bf16x2 .ue8m0x2", typed("32", "16", _pair_of_scales)),
    Form("cvt .rn|.rz .relu? .tf32 .f32", typed("32", "32", _to_tf32)),
    Form("cvt .rna .satfinite? .tf32 .f32", typed("32", "32", _to_tf32_away)),
)
