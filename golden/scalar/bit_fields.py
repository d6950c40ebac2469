"""Bit counts, bit fields and masks, and the dot products of bytes."""

from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from golden.scalar.form import Array, Form, dtype, width

_NOT_FOUND: Final = np.uint32(0xFFFFFFFF)
_LIMITS: Final = MappingProxyType({32: np.uint32(0xFF), 64: np.uint32(0xFFFFFFFF)})
"""The bits of a position or length that count: in 32-bit instructions eight, in 64-bit ones all."""


def _bit_length(value: Array) -> Array:
    """Bits needed for each unsigned integer, as uint32."""
    raw = value.dtype.type
    smeared = value
    for distance in (1, 2, 4, 8, 16, 32)[: 5 + (value.dtype.itemsize == 8)]:
        smeared = smeared | (smeared >> raw(distance))
    return np.bitwise_count(smeared).astype(np.uint32)


def _count_ones(type_: str) -> Any:
    return (32,), (width(type_),), lambda a: np.bitwise_count(a).astype(np.uint32)


def _leading_zeros(type_: str) -> Any:
    bits = np.uint32(width(type_))
    return (32,), (width(type_),), lambda a: bits - _bit_length(a)


def _reverse(type_: str) -> Any:
    bits = width(type_)
    # Swap neighbouring bits, then pairs, then groups of four; then the bytes.
    steps = [(1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)]

    def evaluate(a: Array) -> Array:
        raw = a.dtype.type
        for distance, mask in steps:
            low = raw(mask & ((1 << bits) - 1))
            a = ((a >> raw(distance)) & low) | ((a & low) << raw(distance))
        return a.byteswap()

    return (bits,), (bits,), evaluate


def _find_leading(as_shift: str, type_: str) -> Any:
    """Position of the leading one; of the leading bit that is not the sign in negative numbers."""
    top = np.uint32(width(type_) - 1)
    number = dtype(type_)

    def evaluate(a: Array) -> Array:
        if number.kind == "i":
            a = np.where(a.view(number) < 0, ~a, a)
        position = _bit_length(a) - np.uint32(1)
        return np.where(position == _NOT_FOUND, _NOT_FOUND, top - position) if as_shift else position

    return (32,), (width(type_),), evaluate


def _low_mask(length: Array) -> Array:
    """Ones in the lowest `length` bits; a length of the width or more gives ones only."""
    raw = length.dtype.type
    return ~(raw(~raw(0)) << length)


def _extract(type_: str) -> Any:
    bits, signed = width(type_), dtype(type_).kind == "i"
    one, top, limit = np.uint32(1), np.uint32(bits - 1), _LIMITS[bits]

    def evaluate(a: Array, b: Array, c: Array) -> Array:
        raw = a.dtype.type
        position, length = b & limit, c & limit
        start = position.astype(a.dtype)
        field = _low_mask(length.astype(a.dtype))
        extracted = (a >> start) & field
        if not signed:
            return extracted
        last = np.minimum(start + (length - one), top).astype(a.dtype)
        sign = ((a >> last) & raw(1) != 0) & (length != 0)
        return np.where(sign, extracted | ~field | ~(raw(~raw(0)) >> start), extracted)

    return (bits,), (bits, 32, 32), evaluate


def _insert(type_: str) -> Any:
    bits = width(type_)
    limit = _LIMITS[bits]

    def evaluate(a: Array, b: Array, c: Array, d: Array) -> Array:
        start = (c & limit).astype(a.dtype)
        field = _low_mask((d & limit).astype(a.dtype)) << start
        return (b & ~field) | ((a << start) & field)

    return (bits,), (bits, bits, 32, 32), evaluate


def _mask(mode: str, _type: str) -> Any:
    """``bmsk``: ones from bit `a` on, `b` of them."""
    greatest, wrap = np.uint32(32), np.uint32(31)

    def evaluate(a: Array, b: Array) -> Array:
        start, length = (a & wrap, b & wrap) if mode == "wrap" else (np.minimum(a, greatest), b)
        return _low_mask(np.minimum(length, greatest)) << start

    return (32,), (32, 32), evaluate


def _extend(mode: str, type_: str) -> Any:
    """``szext``: the low `b` bits of `a`, extended by zeros or by their sign."""
    signed = dtype(type_).kind == "i"
    greatest, wrap, one = np.uint32(32), np.uint32(31), np.uint32(1)

    def evaluate(a: Array, b: Array) -> Array:
        length = b & wrap if mode == "wrap" else np.minimum(b, greatest)
        field = _low_mask(length)
        if not signed:
            return a & field
        sign = ((a >> (length - one)) & one != 0) & (length != 0)
        return np.where(sign, a | ~field, a & field)

    return (32,), (32, 32), evaluate


def _parts(value: Array, type_: str, bits: int, first: int, count: int) -> list[Array]:
    """Fields of `bits` bits from field `first` on, extended to 32 bits."""
    number = dtype(type_)
    unused = number.type(32 - bits)
    shifts = (np.uint32(32 - bits * (first + index + 1)) for index in range(count))
    return [((value << shift).view(number) >> unused).view(np.uint32) for shift in shifts]


def _dot_product(count: int, half: str, a_type: str, b_type: str) -> Any:
    """``dp4a`` (four bytes by four) and ``dp2a`` (two 16-bit halves by the low or high two bytes)."""
    a_bits, first = 32 // count, 2 if half == "hi" else 0

    def evaluate(a: Array, b: Array, c: Array) -> Array:
        pairs = zip(_parts(a, a_type, a_bits, 0, count), _parts(b, b_type, 8, first, count), strict=True)
        for x, y in pairs:
            c = c + x * y
        return c

    return (32,), (32, 32, 32), evaluate


def _find_nth(_type: str) -> Any:
    """``fns``: the position of the one that is `offset` ones away from bit `base`, above or below it.

    The least offset gives 0, as on the chip.
    """
    least = np.uint32(1 << 31)

    def evaluate(mask: Array, base: Array, offset: Array) -> Array:
        mask, base, offset = np.broadcast_arrays(mask, base, offset)
        distance = offset.view(np.int32).astype(np.int64)
        positions = np.arange(32)
        ones = (mask[..., None] >> positions.astype(np.uint32)) & np.uint32(1) != 0
        start = base[..., None].astype(np.int64)
        up, down = positions >= start, positions <= start
        ranks = np.where(
            distance[..., None] >= 0,
            np.cumsum(ones & up, axis=-1),
            -np.cumsum((ones & down)[..., ::-1], axis=-1)[..., ::-1],
        )
        sides = np.where(distance[..., None] >= 0, up, down)
        wanted = np.where(distance == 0, 1, distance)[..., None]
        found = ones & sides & (ranks == wanted) & ((distance[..., None] != 0) | (positions == start))
        position = np.where(found.any(axis=-1) & (base < 32), found.argmax(axis=-1), _NOT_FOUND)
        return np.where(offset == least, np.uint32(0), position.astype(np.uint32))

    return (32,), (32, 32, 32), evaluate


FORMS: Final = (
    Form("fns .b32", _find_nth),
    Form("popc .b32|.b64", _count_ones),
    Form("clz .b32|.b64", _leading_zeros),
    Form("brev .b32|.b64", _reverse),
    Form("bfind .shiftamt? .u32|.s32|.u64|.s64", _find_leading),
    Form("bfe .u32|.s32|.u64|.s64", _extract),
    Form("bfi .b32|.b64", _insert),
    Form("bmsk .clamp|.wrap .b32", _mask),
    Form("szext .clamp|.wrap .u32|.s32", _extend),
    Form("dp4a .u32|.s32 .u32|.s32", partial(_dot_product, 4, "")),
    Form("dp2a .lo|.hi .u32|.s32 .u32|.s32", partial(_dot_product, 2)),
)
"""The forms of this family."""
