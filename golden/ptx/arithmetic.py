"""Arithmetic opcodes: of integers one table entry for each, its type left off; and what works on fragments.

To add an integer instruction that computes one value from others, add it to `ARITHMETIC`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from golden.tables.elements import OPERAND_COUNTS, ElementOperation

__all__ = ["ARITHMETIC", "ELEMENTWISE_MNEMONICS", "FLOAT_OPERATIONS", "INTEGER_OPERATIONS"]
__all__ += ["Arithmetic", "OperandType"]

OperandType = Literal["same", "wide", "u32", "pred"]
"""The type of an operand: the instruction's, the one of twice the width, or a fixed one."""

_BITS = ("b16", "b32", "b64")
_UNSIGNED = ("u16", "u32", "u64")
_SIGNED = ("s16", "s32", "s64")
_NARROW = ("u16", "s16", "u32", "s32")


@dataclass(frozen=True)
class Arithmetic:
    """An instruction without side effects.

    Parameters
    ----------
    types : tuple of str
        Types that the instruction exists for.
    compute : callable
        From the width in bits and the values of the sources to the result, which is wrapped afterwards.
    sources : tuple of OperandType
        One for each source.
    destination : OperandType
    """

    types: tuple[str, ...]
    compute: Callable[..., int]
    sources: tuple[OperandType, ...] = ("same", "same")
    destination: OperandType = "same"


def _comparison(types: tuple[str, ...], compute: Callable[..., int]) -> Arithmetic:
    return Arithmetic(types, compute, destination="pred")


_ORDERED = _UNSIGNED + _SIGNED
_MULTIPLY_ADD: tuple[OperandType, ...] = ("same", "same", "same")
_MULTIPLY_ADD_WIDE: tuple[OperandType, ...] = ("same", "same", "wide")

ARITHMETIC: Final = MappingProxyType(
    {
        "add": Arithmetic(_ORDERED, lambda _, a, b: a + b),
        "sub": Arithmetic(_ORDERED, lambda _, a, b: a - b),
        "mul.lo": Arithmetic(_ORDERED, lambda _, a, b: a * b),
        "mul.hi": Arithmetic(_ORDERED, lambda bits, a, b: (a * b) >> bits),
        "mul.wide": Arithmetic(_NARROW, lambda _, a, b: a * b, destination="wide"),
        "mad.lo": Arithmetic(_ORDERED, lambda _, a, b, c: a * b + c, _MULTIPLY_ADD),
        "mad.wide": Arithmetic(_NARROW, lambda _, a, b, c: a * b + c, _MULTIPLY_ADD_WIDE, "wide"),
        "min": Arithmetic(_ORDERED, lambda _, a, b: min(a, b)),
        "max": Arithmetic(_ORDERED, lambda _, a, b: max(a, b)),
        "and": Arithmetic(("pred", *_BITS), lambda _, a, b: a & b),
        "or": Arithmetic(("pred", *_BITS), lambda _, a, b: a | b),
        "xor": Arithmetic(("pred", *_BITS), lambda _, a, b: a ^ b),
        "not": Arithmetic(("pred", *_BITS), lambda _, a: ~a, ("same",)),
        "shl": Arithmetic(_BITS, lambda bits, a, b: a << min(b, bits), ("same", "u32")),
        "shr": Arithmetic(_BITS + _ORDERED, lambda bits, a, b: a >> min(b, bits), ("same", "u32")),
        "setp.eq": _comparison(_BITS + _ORDERED, lambda _, a, b: a == b),
        "setp.ne": _comparison(_BITS + _ORDERED, lambda _, a, b: a != b),
        "setp.lt": _comparison(_ORDERED, lambda _, a, b: a < b),
        "setp.le": _comparison(_ORDERED, lambda _, a, b: a <= b),
        "setp.gt": _comparison(_ORDERED, lambda _, a, b: a > b),
        "setp.ge": _comparison(_ORDERED, lambda _, a, b: a >= b),
        "setp.lo": _comparison(_UNSIGNED, lambda _, a, b: a < b),
        "setp.ls": _comparison(_UNSIGNED, lambda _, a, b: a <= b),
        "setp.hi": _comparison(_UNSIGNED, lambda _, a, b: a > b),
        "setp.hs": _comparison(_UNSIGNED, lambda _, a, b: a >= b),
    }
)
"""What is evaluated, by the opcode without its type."""

FLOAT_OPERATIONS: Final = MappingProxyType[str, ElementOperation]({name: name for name in OPERAND_COUNTS})
"""What is computed in floating point, by the first word of the opcode."""

INTEGER_OPERATIONS: Final = MappingProxyType[str, ElementOperation](
    {"add": "add", "sub": "sub", "mul.lo": "mul", "mad.lo": "fma", "min": "min", "max": "max"}
)
"""Which of `ARITHMETIC` work on the elements of fragments too."""

ELEMENTWISE_MNEMONICS: Final = frozenset(
    {*FLOAT_OPERATIONS, *(name.partition(".")[0] for name in INTEGER_OPERATIONS)}
)
"""First words of the opcodes that may read fragment registers, and then write one."""
