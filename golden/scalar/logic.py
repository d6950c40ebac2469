"""Logic, shifts, bit counts, bit fields and masks, byte permutation, dot products of bytes, moves."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final

import numpy as np

from golden.scalar.form import Array, Evaluate, Form, dtype, of_one_type, typed, width

_BITS = ".b16|.b32|.b64"
_NUMBERS = ".u16|.s16|.u32|.s32|.u64|.s64"
_HIGH: Final = np.uint64(32)
_ONE: Final = np.uint32(1)
_WORD: Final = np.uint32(32)
_NOT_FOUND: Final = np.uint32(0xFFFFFFFF)
_LIMITS: Final[Mapping[int, np.uint32]] = {32: np.uint32(0xFF), 64: np.uint32(0xFFFFFFFF)}
"""The bits of a position or length that count: in 32-bit instructions eight, in 64-bit ones all."""

BOOLEAN: Final[Mapping[str, Evaluate]] = {
    "": lambda holds: holds,
    **{"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor},
}
"""How a predicate operand is combined with the result of a comparison, by the qualifier; "" where none is."""

_PERMUTATIONS: Final[Mapping[str, Array]] = {
    "f4e": np.array((0x3210, 0x4321, 0x5432, 0x6543), np.uint32),
    "b4e": np.array((0x5670, 0x6701, 0x7012, 0x0123), np.uint32),
    "rc8": np.array((0x0000, 0x1111, 0x2222, 0x3333), np.uint32),
    "ecl": np.array((0x3210, 0x3211, 0x3222, 0x3333), np.uint32),
    "ecr": np.array((0x0000, 0x1110, 0x2210, 0x3210), np.uint32),
    "rc16": np.array((0x1010, 0x3232, 0x1010, 0x3232), np.uint32),
}
"""The selector of default mode that each value of the two low selector bits stands for, by mode."""


def _shift(ufunc: Evaluate, type_: str) -> Any:
    """Shift by an unsigned 32-bit count; counts above the width act as the width."""
    number, greatest = dtype(type_), np.uint32(width(type_))

    def evaluate(a: Array, b: Array) -> Array:
        # numpy gives 0, or the sign, for a count of the width.
        return ufunc(a.view(number), np.minimum(b, greatest).astype(number)).view(a.dtype)

    return (width(type_),), (width(type_), 32), evaluate


def _funnel_shift(direction: str, mode: str, _type: str, a: Array, b: Array, c: Array) -> Array:
    count = (c & np.uint32(31) if mode == "wrap" else np.minimum(c, np.uint32(32))).astype(np.uint64)
    both = (b.astype(np.uint64) << _HIGH) | a
    shifted = (both << count) >> _HIGH if direction == "l" else both >> count
    return shifted.astype(np.uint32)


def _permute(_type: str, mode: str, a: Array, b: Array, c: Array) -> Array:
    """``prmt``: each digit of the selector picks one of eight bytes, or repeats that byte's sign."""
    selector = _PERMUTATIONS[mode][c & np.uint32(3)] if mode else c
    source = (b.astype(np.uint64) << _HIGH) | a
    if selector.size == 1:
        return _permuted_alike(source, selector.item())
    result = np.zeros(1, np.uint32)
    for position in range(4):
        digit = (selector >> np.uint32(4 * position)).astype(np.uint64)
        byte = (source >> ((digit & np.uint64(7)) << np.uint64(3))).astype(np.uint8)
        # Shifted by 7, a signed byte is its sign repeated.
        signs = (digit & np.uint64(8) != 0) * np.int8(7)
        byte = (byte.view(np.int8) >> signs).view(np.uint8)
        result = result | (byte.astype(np.uint32) << np.uint32(8 * position))
    return result


def _permuted_alike(source: Array, selector: int) -> Array:
    """Bytes of 64-bit integers, the same of each: by view instead of shifts."""
    columns = source[..., None].view(np.uint8)[..., [selector >> 4 * digit & 7 for digit in range(4)]]
    columns = np.ascontiguousarray(columns)
    for digit in range(4):
        if selector >> 4 * digit & 8:
            columns[..., digit] = (columns[..., digit].view(np.int8) >> 7).view(np.uint8)
    result: Array = columns.view(np.uint32)[..., 0]
    return result


_TWO_INPUT: Final[tuple[Callable[[Array, Array], Array], ...]] = (
    lambda b, c: np.zeros_like(b | c),
    lambda b, c: ~(b | c),
    lambda b, c: ~b & c,
    lambda b, c: ~(b | (c & ~c)),
    lambda b, c: b & ~c,
    lambda b, c: ~(c | (b & ~b)),
    lambda b, c: b ^ c,
    lambda b, c: ~(b & c),
    lambda b, c: b & c,
    lambda b, c: ~(b ^ c),
    lambda b, c: c | (b & ~b),
    lambda b, c: ~b | c,
    lambda b, c: b | (c & ~c),
    lambda b, c: b | ~c,
    lambda b, c: b | c,
    lambda b, c: ~np.zeros_like(b | c),
)
"""The functions of two inputs, by their table: bit ``2 * b + c`` is the result."""


@cache
def _of_table(table: int) -> Callable[[Array, Array, Array], Array]:
    """The function of three inputs whose table has the result in bit ``4 * a + 2 * b + c``."""
    clear, set_ = _TWO_INPUT[table & 15], _TWO_INPUT[table >> 4]
    if table & 15 == table >> 4:
        return lambda a, b, c: clear(b, c) | (a & ~a)
    if table & 15 == ~(table >> 4) & 15:
        return lambda a, b, c: a ^ clear(b, c)
    if table & 15 == 0:
        return lambda a, b, c: a & set_(b, c)
    if table >> 4 == 15:
        return lambda a, b, c: a | clear(b, c)
    return lambda a, b, c: (a & set_(b, c)) | (~a & clear(b, c))


def _table_logic(_type: str, a: Array, b: Array, c: Array, table: Array) -> Array:
    """``lop3``: the fourth operand is the table, the same for all threads."""
    return _of_table(int(table.flat[0]))(a, b, c)


def _table_predicate(combine: str, type_: str, *operands: Array) -> tuple[Array, Array]:
    """``lop3.or`` and its like: a predicate too."""
    *sources, p = operands
    result = _table_logic(type_, *sources)
    return result, BOOLEAN[combine](result != 0, p)


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
    *(
        Form(f"{name} .pred|{_BITS}", partial(of_one_type, ufunc, 2))
        for name, ufunc in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor))
    ),
    Form(f"not .pred|{_BITS}", partial(of_one_type, np.invert, 1)),
    Form(f"cnot {_BITS}", typed("type", "type", lambda _, a: (a == 0).astype(a.dtype))),
    Form("lop3 .b32", typed("32", "32 32 32 8", _table_logic)),
    Form("lop3 .and|.or .b32", typed("32 1", "32 32 32 8 1", _table_predicate)),
    Form(f"shl {_BITS}", partial(_shift, np.left_shift)),
    Form(f"shr {_BITS}|{_NUMBERS}", partial(_shift, np.right_shift)),
    Form("shf .l|.r .wrap|.clamp .b32", typed("32", "32 32 32", _funnel_shift)),
    Form("prmt .b32 .f4e|.b4e|.rc8|.ecl|.ecr|.rc16?", typed("32", "32 32 32", _permute)),
    Form(
        f"mov .pred|{_BITS}|{_NUMBERS}|.f32|.f64",
        typed("type", "type", lambda _, a: a),
    ),
)
