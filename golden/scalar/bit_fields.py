"""Bit counts, bit fields and masks, and the dot products of bytes."""

from functools import partial
from types import MappingProxyType
from typing import Final

import numpy as np

from golden.scalar.form import Array, Form, dtype, typed, width

_ONE: Final = np.uint32(1)
_WORD: Final = np.uint32(32)
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


def _reverse(type_: str, a: Array) -> Array:
    """Swap neighbouring bits, then pairs, then groups of four; then the bytes."""
    raw, ones = a.dtype.type, (1 << width(type_)) - 1
    for distance, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        low = raw(mask & ones)
        a = ((a >> raw(distance)) & low) | ((a & low) << raw(distance))
    return a.byteswap()


def _find_leading(as_shift: str, type_: str, a: Array) -> Array:
    """Position of the leading one; of the leading bit that is not the sign in negative numbers."""
    number = dtype(type_)
    if number.kind == "i":
        a = np.where(a.view(number) < 0, ~a, a)
    position, top = _bit_length(a) - _ONE, np.uint32(width(type_) - 1)
    return np.where(position == _NOT_FOUND, _NOT_FOUND, top - position) if as_shift else position


def _low_mask(length: Array) -> Array:
    """Ones in the lowest `length` bits; a length of the width or more gives ones only."""
    raw = length.dtype.type
    return ~(raw(~raw(0)) << length)


def _extract(type_: str, a: Array, b: Array, c: Array) -> Array:
    raw, limit = a.dtype.type, _LIMITS[width(type_)]
    position, length = b & limit, c & limit
    start = position.astype(a.dtype)
    field = _low_mask(length.astype(a.dtype))
    extracted = (a >> start) & field
    if type_[0] == "u":
        return extracted
    last = np.minimum(start + (length - _ONE), np.uint32(width(type_) - 1)).astype(a.dtype)
    sign = ((a >> last) & raw(1) != 0) & (length != 0)
    return np.where(sign, extracted | ~field | ~(raw(~raw(0)) >> start), extracted)


def _insert(type_: str, a: Array, b: Array, c: Array, d: Array) -> Array:
    limit = _LIMITS[width(type_)]
    start = (c & limit).astype(a.dtype)
    field = _low_mask((d & limit).astype(a.dtype)) << start
    return (b & ~field) | ((a << start) & field)


def _mask(mode: str, _type: str, a: Array, b: Array) -> Array:
    """``bmsk``: ones from bit `a` on, `b` of them."""
    wrap = np.uint32(31)
    start, length = (a & wrap, b & wrap) if mode == "wrap" else (np.minimum(a, _WORD), b)
    return _low_mask(np.minimum(length, _WORD)) << start


def _extend(mode: str, type_: str, a: Array, b: Array) -> Array:
    """``szext``: the low `b` bits of `a`, extended by zeros or by their sign."""
    length = b & np.uint32(31) if mode == "wrap" else np.minimum(b, _WORD)
    field = _low_mask(length)
    if type_[0] == "u":
        return a & field
    sign = ((a >> (length - _ONE)) & _ONE != 0) & (length != 0)
    return np.where(sign, a | ~field, a & field)


def _parts(value: Array, type_: str, bits: int, first: int, count: int) -> list[Array]:
    """Fields of `bits` bits from field `first` on, extended to 32 bits."""
    number = dtype(type_)
    unused = number.type(32 - bits)
    shifts = (np.uint32(32 - bits * (first + index + 1)) for index in range(count))
    return [((value << shift).view(number) >> unused).view(np.uint32) for shift in shifts]


def _dot_product(count: int, half: str, a_type: str, b_type: str, a: Array, b: Array, c: Array) -> Array:
    """``dp4a`` (four bytes by four) and ``dp2a`` (two 16-bit halves by the low or high two bytes)."""
    first = 2 if half == "hi" else 0
    x, y = _parts(a, a_type, 32 // count, 0, count), _parts(b, b_type, 8, first, count)
    for left, right in zip(x, y, strict=True):
        c = c + left * right
    return c


def _find_nth(_type: str, mask: Array, base: Array, offset: Array) -> Array:
    """``fns``: the position of the one that is `offset` ones away from bit `base`, above or below it.

    The least offset gives 0, as on the chip.
    """
    mask, base, offset = np.broadcast_arrays(mask, base, offset)
    distance = offset.view(np.int32).astype(np.int64)
    positions = np.arange(32)
    ones = (mask[..., None] >> positions.astype(np.uint32)) & _ONE != 0
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
    return np.where(offset == np.uint32(1 << 31), np.uint32(0), position.astype(np.uint32))


FORMS: Final = (
    Form("fns .b32", typed("32", "32 32 32", _find_nth)),
    Form("popc .b32|.b64", typed("32", "type", lambda _, a: np.bitwise_count(a).astype(np.uint32))),
    Form("clz .b32|.b64", typed("32", "type", lambda type_, a: np.uint32(width(type_)) - _bit_length(a))),
    Form("brev .b32|.b64", typed("type", "type", _reverse)),
    Form("bfind .shiftamt? .u32|.s32|.u64|.s64", typed("32", "type", _find_leading)),
    Form("bfe .u32|.s32|.u64|.s64", typed("type", "type 32 32", _extract)),
    Form("bfi .b32|.b64", typed("type", "type type 32 32", _insert)),
    Form("bmsk .clamp|.wrap .b32", typed("32", "32 32", _mask)),
    Form("szext .clamp|.wrap .u32|.s32", typed("32", "32 32", _extend)),
    Form("dp4a .u32|.s32 .u32|.s32", typed("32", "32 32 32", partial(_dot_product, 4, ""))),
    Form("dp2a .lo|.hi .u32|.s32 .u32|.s32", typed("32", "32 32 32", partial(_dot_product, 2))),
)
