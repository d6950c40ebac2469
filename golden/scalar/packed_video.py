"""Video instructions on two halves or four bytes, chosen from both operands."""

import re
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from golden.scalar.form import Array, Evaluate, Form
from golden.scalar.video import ARITHMETIC, clamped, comparison


def _average(a: Array, b: Array) -> Array:
    """Half the sum: upwards where it is not negative, else downwards."""
    total = a + b
    return (total + (total >= 0)) >> 1


_ARITHMETIC: Final[Mapping[str, Evaluate]] = MappingProxyType({**ARITHMETIC, "vavrg": _average})


class _Packing(NamedTuple):
    """How a word is divided."""

    lanes: int
    letter: str

    @property
    def bits(self) -> int:
        return 32 // self.lanes

    def chosen(self, part: str, first: int) -> list[int] | None:
        """The fields of a selector, lowest first; without one, those from `first` on in order."""
        if not part:
            return list(range(first, first + self.lanes))
        if not re.fullmatch(rf"{self.letter}[0-{2 * self.lanes - 1}]{{{self.lanes}}}", part):
            return None
        return [int(digit) for digit in reversed(part[1:])]

    def masked(self, part: str) -> list[int] | None:
        """The fields of the destination that a mask names."""
        if not part:
            return list(range(self.lanes))
        fields = [int(digit) for digit in reversed(part[1:]) if digit.isdecimal()]
        legal = (
            part[0] == self.letter and fields and fields == sorted(set(fields)) and fields[-1] < self.lanes
        )
        return fields if legal and len(fields) == len(part) - 1 else None


def _operation(
    function: Evaluate,
    packing: _Packing,
    parts: tuple[str, ...],
    types: tuple[str, str, str],
    second: str,
) -> Any:
    into, a_part, b_part = (*parts, "", "", "")[:3]
    target, a_type, b_type = types
    fields, a_chosen, b_chosen = (
        packing.masked(into),
        packing.chosen(a_part, 0),
        packing.chosen(b_part, packing.lanes),
    )
    if fields is None or a_chosen is None or b_chosen is None or any(parts[3:]):
        return None
    bits = packing.bits
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
            value = clamped(value, bits, target)
        result = np.ascontiguousarray(value.astype(f"u{bits // 8}")).view(np.uint32)[..., 0]
        return (result & mask) | (c & ~mask)

    return (32,), (32, 32, 32), evaluate


def _arithmetic(
    name: str, packing: _Packing, parts: tuple[str, ...], target: str, a: str, b: str, second: str
) -> Any:
    return _operation(_ARITHMETIC[name], packing, parts, (target, a, b), second)


def _compare(packing: _Packing, parts: tuple[str, ...], a: str, b: str, name: str, second: str) -> Any:
    return _operation(comparison(name), packing, parts, ("u32", a, b), second)


_TYPE = ".u32|.s32"
_PACKINGS = (_Packing(2, "h"), _Packing(4, "b"))

FORMS: Final = (
    *(
        Form(
            f"{name}{packing.lanes} {_TYPE} {_TYPE} {_TYPE} .sat|.add?",
            partial(_arithmetic, name, packing),
            selects=True,
        )
        for packing in _PACKINGS
        for name in _ARITHMETIC
    ),
    *(
        Form(
            f"vset{packing.lanes} {_TYPE} {_TYPE} .eq|.ne|.lt|.le|.gt|.ge .add?",
            partial(_compare, packing),
            selects=True,
        )
        for packing in _PACKINGS
    ),
)
"""The forms of this family."""
