"""What an operation of scalar PTX is, and the tables that turn a mnemonic into one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.qualifier_lines import chosen_qualifiers

Array = NDArray[Any]
"""Raw bits of one operand, one element for each thread."""

Evaluate = Callable[..., Any]
"""From the raw bits of the sources to the bits of the result, or to a tuple of them."""

_WIDTHS: Final[Mapping[str, int]] = {
    "pred": 1,
    **{f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)},
    **{f"{kind}{bits}": bits for kind in "us" for bits in (2, 4)},
    **{"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64},
    **{"u16x2": 32, "s16x2": 32, "f16x2": 32, "bf16x2": 32},
    **{"e4m3x2": 16, "e5m2x2": 16, "e3m2x2": 16, "e2m3x2": 16, "e2m1x2": 8, "ue8m0x2": 16},
}
"""Bits of a value of each type, by the qualifier without its dot."""


class UnsupportedInstruction(ValueError):
    """A mnemonic that names no scalar instruction known here; the message repeats it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A scalar instruction as a function on arrays of raw bits.

    Operands and results are arrays of the unsigned integer of their width, predicates of bool. They have one
    dimension or more and broadcast: an immediate operand (the table of ``lop3``, the selector of ``prmt``) is
    an array of one element. A numpy scalar does as well, beside an array and under
    ``numpy.errstate(over="ignore")``.

    A register may be wider than the operand it holds (``cvt``): the operand is its low bits. A result goes to
    a wider register extended by its sign if `signed` is set, else by zeros.

    A carry flag (``add.cc``, ``addc``, ``madc.hi.cc``, ...) is one more predicate: the last operand of what
    reads it, the last result of what writes it. A subtraction adds the complement and 1, as the chip
    does: its flag is set where nothing is borrowed.
    """

    name: str
    """The mnemonic with all its qualifiers."""
    results: tuple[int, ...]
    """Width in bits of each destination; 1 for a predicate."""
    operands: tuple[int, ...]
    """Width in bits of each source."""
    evaluate: Evaluate = field(repr=False)
    """Takes the sources as positional arguments. Returns the result, or a tuple where there are several. It
    changes no operand, but may return one of them."""
    signed: bool = False
    """Whether a result that is narrower than its register is extended by its sign."""


@dataclass(frozen=True)
class Form:
    """A line of syntax, and what makes the operation of each mnemonic that it describes."""

    syntax: str
    """As `golden.qualifier_lines` describes it, with types taken in their order."""
    build: Callable[..., Any]
    """Takes one string for each qualifier in the order of the syntax, without its dot, empty where it is left
    off. Returns results, operands and evaluation, and optionally `Operation.signed`; None where the
    combination does not exist."""
    pair: bool = False
    """Whether the form has two predicates as destinations (``setp`` with ``p|q``)."""
    selects: bool = False
    """Whether parts of its operands may be chosen; `build` then takes them first, as `operation` does."""

    @property
    def opcode(self) -> str:
        """The first word."""
        return self.syntax.split(maxsplit=1)[0]

    def operation(self, name: str, parts: tuple[str, ...] = ()) -> Operation | None:
        """The operation that `name` stands for, or None where it is not of this form.

        `parts` are the chosen parts of the operands, such as ``"h1"`` and ``"-b0"``; empty for a whole one.

        Types are taken in their order; the other qualifiers may stand anywhere after the opcode.
        """
        chosen: list[Any] | None = chosen_qualifiers(self.syntax, name.split(".")[1:], _WIDTHS)
        if chosen is None:
            return None
        if self.selects:
            chosen = [parts, *chosen]
        elif any(parts):
            return None
        definition = self.build(*chosen)
        return None if definition is None else Operation(name, *definition)


def width(type_: str) -> int:
    """Bits of a value of a type, given by its qualifier."""
    return _WIDTHS[type_]


@cache
def raw_dtype(type_: str) -> np.dtype[Any]:
    """The dtype of the raw bits of a type."""
    return np.dtype(f"u{width(type_) // 8}")


@cache
def dtype(type_: str) -> np.dtype[Any]:
    """The dtype of the numbers of an integer or bit type: signed for ``s32``, else unsigned."""
    return np.dtype(f"{'i' if type_[0] == 's' else 'u'}{width(type_) // 8}")


def clamped_integer(value: Array, type_: str) -> Array:
    """The nearest numbers of an integer type."""
    bits = width(type_)
    least = -(1 << (bits - 1)) if type_[0] == "s" else 0
    return np.clip(value, least, least + (1 << bits) - 1)


def typed(results: str, sources: str, function: Evaluate) -> Callable[..., Any]:
    """`Form.build` of a function that takes the qualifiers and then the sources.

    Each result and each source is given by its width: bits, ``type`` for the last qualifier, ``target`` for
    the one before it. A result of a signed type is extended by its sign.
    """
    places = {"type": -1, "target": -2}

    def build(*qualifiers: str) -> Any:
        types = {word: qualifiers[place] for word, place in places.items() if len(qualifiers) >= -place}
        bits = (
            tuple(width(types[word]) if word in places else int(word) for word in words.split())
            for words in (results, sources)
        )
        return *bits, partial(function, *qualifiers), types.get(results, "")[:1] == "s"

    return build


def elements(operand: Array, bits: int) -> Array:
    """The elements of registers on a last axis, the lowest first; predicates are for all of them."""
    column = np.ascontiguousarray(operand)[..., None]
    return column if column.dtype == np.bool_ else column.view(f"u{bits // 8}")


def by_halves(evaluate: Evaluate) -> Evaluate:
    """A function of 32-bit operands that applies one of 16-bit operands to the halves."""

    def both(*operands: Array) -> Array:
        halves = (elements(operand, 16) for operand in operands)
        result: Array = np.ascontiguousarray(evaluate(*halves)).view(np.uint32)[..., 0]
        return result

    return both


def of_one_type(evaluate: Evaluate, sources: int, type_: str) -> Any:
    """What `Form.build` returns where operands and result have one type.

    Of packed halves, two in a register, `evaluate` works on the elements.
    """
    bits = width(type_)
    return (bits,), (bits,) * sources, by_halves(evaluate) if type_.endswith("x2") else evaluate
