"""Integer instructions without numpy: one table entry for each, its type left off.

`golden.scalar` has every instruction, on arrays; a program of one warp with those here runs without numpy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from golden.ptx.scalar_types import TYPES, ScalarType

_BITS = ("b16", "b32", "b64")
_UNSIGNED = ("u16", "u32", "u64")
_ORDERED = (*_UNSIGNED, "s16", "s32", "s64")
_NARROW = ("u16", "s16", "u32", "s32")


@dataclass(frozen=True)
class Arithmetic:
    """An instruction without side effects."""

    types: tuple[str, ...]
    compute: Callable[..., int]
    """From the width in bits and the values of the sources to the result, which is wrapped afterwards."""
    sources: tuple[str, ...] = ("same", "same")
    destination: str = "same"
    """The type of each operand: ``same`` as the instruction's, ``wide``: twice its width, or a fixed one."""


ARITHMETIC: Final[Mapping[str, Arithmetic]] = {
    "add": Arithmetic(_ORDERED, lambda _, a, b: a + b),
    "sub": Arithmetic(_ORDERED, lambda _, a, b: a - b),
    "mul.lo": Arithmetic(_ORDERED, lambda _, a, b: a * b),
    "mul.hi": Arithmetic(_ORDERED, lambda bits, a, b: (a * b) >> bits),
    "mul.wide": Arithmetic(_NARROW, lambda _, a, b: a * b, destination="wide"),
    "mad.lo": Arithmetic(_ORDERED, lambda _, a, b, c: a * b + c, ("same",) * 3),
    "mad.wide": Arithmetic(_NARROW, lambda _, a, b, c: a * b + c, ("same", "same", "wide"), "wide"),
    "min": Arithmetic(_ORDERED, lambda _, a, b: min(a, b)),
    "max": Arithmetic(_ORDERED, lambda _, a, b: max(a, b)),
    "and": Arithmetic(("pred", *_BITS), lambda _, a, b: a & b),
    "or": Arithmetic(("pred", *_BITS), lambda _, a, b: a | b),
    "xor": Arithmetic(("pred", *_BITS), lambda _, a, b: a ^ b),
    "not": Arithmetic(("pred", *_BITS), lambda _, a: ~a, ("same",)),
    "shl": Arithmetic(_BITS, lambda bits, a, b: a << min(b, bits), ("same", "u32")),
    "shr": Arithmetic(_BITS + _ORDERED, lambda bits, a, b: a >> min(b, bits), ("same", "u32")),
    "setp.eq": Arithmetic(_BITS + _ORDERED, lambda _, a, b: a == b, destination="pred"),
    "setp.ne": Arithmetic(_BITS + _ORDERED, lambda _, a, b: a != b, destination="pred"),
    "setp.lt": Arithmetic(_ORDERED, lambda _, a, b: a < b, destination="pred"),
    "setp.le": Arithmetic(_ORDERED, lambda _, a, b: a <= b, destination="pred"),
    "setp.gt": Arithmetic(_ORDERED, lambda _, a, b: a > b, destination="pred"),
    "setp.ge": Arithmetic(_ORDERED, lambda _, a, b: a >= b, destination="pred"),
    "setp.lo": Arithmetic(_UNSIGNED, lambda _, a, b: a < b, destination="pred"),
    "setp.ls": Arithmetic(_UNSIGNED, lambda _, a, b: a <= b, destination="pred"),
    "setp.hi": Arithmetic(_UNSIGNED, lambda _, a, b: a > b, destination="pred"),
    "setp.hs": Arithmetic(_UNSIGNED, lambda _, a, b: a >= b, destination="pred"),
}
"""What is evaluated, by the opcode without its type."""


class IntegerOperation(NamedTuple):
    """As `golden.scalar.Operation`, on Python's integers."""

    results: tuple[int, ...]
    operands: tuple[int, ...]
    evaluate: Callable[..., int]
    signed: bool = False


def integer_operation(opcode: tuple[str, ...]) -> IntegerOperation | None:
    """The operation of an opcode; None for one that is not here."""
    *stem, name = opcode
    found = ARITHMETIC.get(".".join(stem))
    if found is None or name not in found.types:
        return _conversion(opcode) if opcode[0] == "cvt" else None
    type_ = TYPES[name]
    sources = [_operand_type(type_, kind) for kind in found.sources]
    result, compute, bits = _operand_type(type_, found.destination), found.compute, type_.bits

    def evaluate(*patterns: int) -> int:
        numbers = (item.interpret(pattern) for item, pattern in zip(sources, patterns, strict=True))
        return result.wrap(compute(bits, *numbers))

    return IntegerOperation((result.bits,), tuple(item.bits for item in sources), evaluate)


def _operand_type(type_: ScalarType, kind: str) -> ScalarType:
    if kind == "same":
        return type_
    return TYPES[f"{type_.name[0]}{2 * type_.bits}" if kind == "wide" else kind]


def _conversion(opcode: tuple[str, ...]) -> IntegerOperation | None:
    """``cvt`` between integers."""
    names = [name for name in opcode[1:] if name != "sat"]
    if len(names) != 2 or any(name not in TYPES or name[0] not in "us" for name in names):
        return None
    to, of = (TYPES[name] for name in names)
    least, greatest = to.range
    saturates = "sat" in opcode
    if saturates and least <= of.range[0] and of.range[1] <= greatest:
        return None  # as the assembler, which refuses it

    def evaluate(pattern: int) -> int:
        number = of.interpret(pattern)
        return to.wrap(min(max(number, least), greatest) if saturates else number)

    return IntegerOperation((to.bits,), (of.bits,), evaluate, to.kind == "signed")
