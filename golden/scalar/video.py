"""Video instructions on one field, with a second operation or a merge, and on two halves or four bytes.

No chip of today has them. The assembler's substitutes differ from the manual, and the results here are the
substitutes': a merge into ``.h1`` takes the upper half of a result; saturation to a part turns a negative
number into the greatest; in ``.u32``, saturation loses what exceeds a word, and a second minimum or maximum
takes a negative number for one above 2**32; a saturated result is a signed word for the second operation;
shifts saturate 34 bits to 32, whatever the destination is; a third operand that nothing names is ignored.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from golden.scalar.comparison import INTEGER_COMPARISONS
from golden.scalar.form import Array, Evaluate, Form, clamped_integer, dtype

_ARITHMETIC: Final[Mapping[str, Evaluate]] = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vabsdiff": lambda a, b: np.abs(a - b),
    "vmin": np.minimum,
    "vmax": np.maximum,
}
"""The operations on signed 64-bit integers, which hold every intermediate result."""

_SECOND: Final[Mapping[str, Evaluate]] = {"add": np.add, "min": np.minimum, "max": np.maximum}
_FIELDS: Final[Mapping[str, tuple[int, int]]] = {
    "": (32, 0),
    **{f"b{index}": (8, 8 * index) for index in range(4)},
    **{f"h{index}": (16, 16 * index) for index in range(2)},
}
"""Width and position of each part of an operand."""


def _field(value: Array, part: str, type_: str) -> Array:
    bits, position = _FIELDS[part]
    number = dtype(type_)
    top = (value << np.uint32(32 - bits - position)).view(number)
    return (top >> number.type(32 - bits)).astype(np.int64)


def _signed_word(value: Array) -> Array:
    """The low 32 bits as a signed number."""
    return value.astype(np.int32).astype(np.int64)


def _operation(
    function: Evaluate, parts: tuple[str, ...], types: tuple[str, ...], second: str, saturate: Evaluate | None
) -> Any:
    """An operation on fields of two operands, then `second` with a third operand or a merge into it.

    The `types` are of the destination and both operands. `saturate` brings a result into the range of
    the destination, given its bits and type.
    """
    target, a_type, b_type = types
    into, first_part, second_part = (*parts, "", "", "")[:3]
    if not {*parts} <= {*_FIELDS} or any(parts[3:]) or (into and second):
        return None
    bits, position = _FIELDS[into]
    mask = np.uint32(((1 << bits) - 1) << position)

    def evaluate(a: Array, b: Array, *c: Array) -> Array:
        value = function(_field(a, first_part, a_type), _field(b, second_part, b_type))
        if saturate:
            value = saturate(value, bits, target)
        if second:
            value = _signed_word(value) if saturate else value
            if target == "u32":  # a negative number is one of 33 bits
                value = np.where(value >> 32 != 0, value & 0xFFFFFFFF | 1 << 32, value)
            value = _SECOND[second](value, _field(c[0], "", target))
        result = value.astype(np.uint32)
        if not into:
            return result
        moved = result if into == "h1" else result << np.uint32(position)
        return (moved & mask) | (c[0] & ~mask)

    return (32,), (32,) * (3 if into or second or len(parts) > 3 else 2), evaluate


def _arithmetic(
    name: str, parts: tuple[str, ...], target: str, a: str, b: str, saturate: str, second: str
) -> Any:
    exact = _ARITHMETIC[name]
    wraps = name in ("vadd", "vsub") and not saturate
    saturates = saturate and not (second and (name, target) == ("vabsdiff", "u32"))

    def wrapped(x: Array, y: Array) -> Array:
        return _signed_word(exact(x, y))

    def clamped_field(value: Array, bits: int, type_: str) -> Array:
        """Saturation; what exceeds a word is lost in ``.u32``."""
        if bits == 32:
            return np.maximum(value, 0) & 0xFFFFFFFF if type_ == "u32" else clamped_integer(value, type_)
        greatest = (1 << bits - (type_[0] == "s")) - 1
        return np.where((value < 0) | (value > greatest), greatest, value)

    function = wrapped if wraps else exact
    return _operation(function, parts, (target, a, b), second, clamped_field if saturates else None)


def _shift(
    left: bool, parts: tuple[str, ...], target: str, a: str, b: str, saturate: str, mode: str, second: str
) -> Any:
    """``vshl`` and ``vshr``, which saturate to 32 bits whatever the destination is."""

    def function(value: Array, count: Array) -> Array:
        count = count & 31 if mode == "wrap" else np.minimum(count, 32)
        return value << count if left else value >> count

    def to_word(value: Array, _bits: int, type_: str) -> Array:
        """Saturation of the low 34 bits."""
        return clamped_integer(value << 30 >> 30, type_)

    return _operation(function, parts, (target, a, b), second, to_word if saturate else None)


def _multiply_add(
    parts: tuple[str, ...], _target: str, a_type: str, b_type: str, plus_one: str, saturate: str, scale: str
) -> Any:
    """``vmad``: the product, or its negative, plus or minus the third operand.

    As on the chip, words count as signed numbers of 64 bits; only shift and saturation know unsigned ones.
    """
    into, first, second, third = (*parts, "", "", "", "")[:4]
    negative = first.startswith("-") != second.startswith("-")
    first, second, subtracts = first.removeprefix("-"), second.removeprefix("-"), third == "-"
    legal = not into and third in ("", "-") and {first, second} <= {*_FIELDS}
    if not legal or (negative and subtracts) or (plus_one and any(part.startswith("-") for part in parts)):
        return None
    signed = "s32" in (a_type, b_type) or negative or subtracts
    shift = int(scale.removeprefix("shr") or 0)

    def evaluate(a: Array, b: Array, c: Array) -> Array:
        x, y, z = (
            _signed_word(_field(value, part, type_))
            for value, part, type_ in ((a, first, a_type), (b, second, b_type), (c, "", "s32"))
        )
        total = (-x if negative else x) * y + (-z if subtracts else z) + bool(plus_one)
        result = total >> shift if signed else (total.view(np.uint64) >> np.uint64(shift)).view(np.int64)
        return (clamped_integer(result, "s32" if signed else "u32") if saturate else result).astype(np.uint32)

    return (32,), (32, 32, 32), evaluate


def _average(a: Array, b: Array) -> Array:
    """Half the sum: upwards where it is not negative, else downwards."""
    total = a + b
    return (total + (total >= 0)) >> 1


def _fields(part: str, pattern: str, default: range) -> list[int] | None:
    """The fields that a selector or a mask names, lowest first; None where it does not match a pattern."""
    if not part:
        return list(default)
    return [int(digit) for digit in reversed(part[1:])] if re.fullmatch(pattern, part) else None


def _packed_operation(
    function: Evaluate, lanes: int, parts: tuple[str, ...], target: str, a_type: str, b_type: str, second: str
) -> Any:
    """An operation on two halves or four bytes of any of both operands, whose results are merged or added."""
    letter, bits = {2: "h", 4: "b"}[lanes], 32 // lanes
    mask_pattern = f"{letter}(?=.)" + "".join(f"{field}?" for field in reversed(range(lanes)))
    selector = f"{letter}[0-{2 * lanes - 1}]{{{lanes}}}"
    into, a_part, b_part = (*parts, "", "", "")[:3]
    fields = _fields(into, mask_pattern, range(lanes))
    a_chosen = _fields(a_part, selector, range(lanes))
    b_chosen = _fields(b_part, selector, range(lanes, 2 * lanes))
    if fields is None or a_chosen is None or b_chosen is None or any(parts[3:]):
        return None
    mask = np.uint32(sum(((1 << bits) - 1) << bits * field for field in fields))

    def taken(both: Array, chosen: list[int], type_: str) -> Array:
        columns = both[..., None].view(f"u{bits // 8}")[..., chosen]
        return columns.view(f"{'i' if type_[0] == 's' else 'u'}{bits // 8}").astype(np.int64)

    def evaluate(a: Array, b: Array, c: Array) -> Array:
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        value = function(taken(both, a_chosen, a_type), taken(both, b_chosen, b_type))
        if second == "add":
            return (value[..., fields].sum(axis=-1) + c).astype(np.uint32)
        if second == "sat":
            value = clamped_integer(value, f"{target[0]}{bits}")
        result = np.ascontiguousarray(value.astype(f"u{bits // 8}")).view(np.uint32)[..., 0]
        return (result & mask) | (c & ~mask)

    return (32,), (32, 32, 32), evaluate


def _compare(lanes: int, parts: tuple[str, ...], a: str, b: str, name: str, second: str) -> Any:
    """``vset`` on one field, or on `lanes` halves or bytes."""
    compare = INTEGER_COMPARISONS[name]

    def function(x: Array, y: Array) -> Array:
        return compare(x, y).astype(np.int64)

    if lanes == 1:
        return _operation(function, parts, (a, a, b), second, None)
    return _packed_operation(function, lanes, parts, "u32", a, b, second)


_COMPARISONS = ".eq|.ne|.lt|.le|.gt|.ge"
_TYPE = ".u32|.s32"
_THEN = ".add|.min|.max?"


_form: Final = partial(Form, selects=True)

FORMS: Final = (
    *(
        _form(f"{name} {_TYPE} {_TYPE} {_TYPE} .sat? {_THEN}", partial(_arithmetic, name))
        for name in _ARITHMETIC
    ),
    *(
        _form(f"{name} {_TYPE} {_TYPE} .u32 .sat? .clamp|.wrap {_THEN}", partial(_shift, name == "vshl"))
        for name in ("vshl", "vshr")
    ),
    _form(f"vmad {_TYPE} {_TYPE} {_TYPE} .po? .sat? .shr7|.shr15?", _multiply_add),
    _form(f"vset {_TYPE} {_TYPE} {_COMPARISONS} {_THEN}", partial(_compare, 1)),
    *(
        _form(
            f"{name}{lanes} {_TYPE} {_TYPE} {_TYPE} .sat|.add?", partial(_packed_operation, function, lanes)
        )
        for lanes in (2, 4)
        for name, function in {**_ARITHMETIC, "vavrg": _average}.items()
    ),
    *(
        _form(f"vset{lanes} {_TYPE} {_TYPE} {_COMPARISONS} .add?", partial(_compare, lanes))
        for lanes in (2, 4)
    ),
)
