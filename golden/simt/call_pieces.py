"""Pieces of calls: parameters on the stack, copies of variables and of instructions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from golden.ptx.declarations import Placement
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Location
from golden.ptx.syntax import Address, Guard, Immediate, Instruction, Register, Sink, Symbol, Variable, mapped
from golden.simt.stack import STACK_POINTER


@dataclass
class Frame(Placement):
    """What a function or a call has on the stack, from the address in a register on."""

    alignment: int = 16
    base: Register = STACK_POINTER


def arranged(formals: Iterable[Variable]) -> tuple[list[tuple[Variable, int]], tuple[int, int]]:
    """Results and parameters with their offsets on the stack, and the bytes and the alignment of them all."""
    frame = Frame()
    placed = [(formal, frame.place(formal)) for formal in formals]
    return placed, (frame.size, frame.alignment)


def passed(
    formal: Variable, actual: Any, place: Address, space: str, prefix: str, *, inward: bool
) -> Iterator[Instruction]:
    """Pass an argument to a parameter, or with `inward` off a result, whose place is in a state space."""
    at = place.location
    type_ = formal.type.name if space == "param" else f"b{formal.type.bits}"
    if isinstance(actual, Symbol):
        pair = (Address(actual, 0, at), "param"), (place, space)
        yield from _copies(formal, *(pair if inward else pair[::-1]), prefix)
    elif inward:
        yield Instruction.of(f"st.{space}.{type_}", at, place, actual)
    elif not isinstance(actual, Sink):
        yield Instruction.of(f"ld.{space}.{type_}", at, actual, place)


def _copies(
    variable: Variable, source: tuple[Address, str], target: tuple[Address, str], prefix: str
) -> Iterator[Instruction]:
    """Copy the bytes of a variable from an address in a state space to one in another."""
    offset, at = 0, source[0].location
    while offset < (variable.size or 0):
        left = (variable.size or 0) - offset
        unit = min(variable.alignment, 8, 1 << (left.bit_length() - 1))
        type_ = TYPES[f"b{8 * unit}"]
        between = Register("a parameter", f"{prefix}%{type_.name}", type_, at)
        here, there = (replace(place, offset=place.offset + offset) for place, _ in (source, target))
        yield Instruction.of(f"ld.{source[1]}.{type_.name}", at, between, here)
        yield Instruction.of(f"st.{target[1]}.{type_.name}", at, there, between)
        offset += unit


def zeros(results: Sequence[Any], location: Location) -> Iterator[Instruction]:
    """What gives a call the results 0."""
    zero = Immediate(0, "integer", location)
    for result in results:
        if isinstance(result, Symbol):
            yield Instruction.of("st.param.b32", location, Address(result, 0, location), zero)
        elif isinstance(result, Register) and result.type is not TYPES["pred"]:
            yield Instruction.of(f"mov.b{result.type.bits}", location, result, zero)


def renamed(instruction: Instruction, prefix: str, symbols: Mapping[str, str]) -> Instruction:
    """An instruction of one copy of a body, whose registers and names have their own keys."""

    def own(element: Any) -> Any:
        if isinstance(element, Register):
            return replace(element, key=prefix + element.key)
        if isinstance(element, Symbol):
            return replace(element, key=symbols.get(element.key, element.key))
        return element

    guard = instruction.guard
    return replace(
        instruction,
        operands=tuple(mapped(operand, own) for operand in instruction.operands),
        guard=None if guard is None else Guard(own(guard.register), guard.negated),
    )
