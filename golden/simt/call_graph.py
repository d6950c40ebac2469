"""Which functions a kernel reaches, and which of them have bodies of their own.

A function that is called through a register, or that may call itself, has one body, which is called. All
others are copied to where they are called.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from golden.ptx.declarations import Placement
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Source
from golden.ptx.syntax import (
    Address,
    Arguments,
    Body,
    Function,
    Guard,
    Instruction,
    Register,
    Sink,
    Symbol,
    Variable,
    mapped,
    named,
    parts,
)
from golden.simt.stack import STACK_POINTER

Signature = tuple[tuple[Variable, ...], tuple[Variable, ...]]
"""Results and parameters."""


@dataclass
class CallGraph:
    """The functions of a module as a kernel calls them; PtxError for what a call through a register lacks."""

    source: Source
    functions: Mapping[str, Function]
    body_of: Callable[[Function], Body]
    """Parses a body."""
    stored: frozenset[str]
    """The names in the initialisers of variables."""
    entry: Function

    def callee(self, instruction: Instruction) -> Function | None:
        """The function that a call names and that has a body; None for any other instruction."""
        if instruction.opcode[0] != "call" or _is_indirect(instruction):
            return None
        names = (operand.key for operand in instruction.operands if isinstance(operand, Symbol))
        found = self.functions.get(next(names, ""))
        return found if found is not None and found.kind == "function" and found.tokens else None

    @cached_property
    def called(self) -> Mapping[str, Function]:
        """The functions with bodies of their own, by name, those that others call first."""
        callees = (pair for user in (*self.reached.values(), self.entry) for pair in self._callees(user))
        indirect = {callee.name for callee, is_named in callees if not is_named}
        return {
            name: function
            for name, function in self.reached.items()
            if name in indirect or self._calls_itself(function)
        }

    def candidates(self, call: Instruction, body: Body) -> tuple[Signature, tuple[Function, ...]]:
        """The signature of a call through a register, and the functions that it may call."""
        last = call.operands[-1]
        key = last.key if isinstance(last, Symbol) else ""
        listed = [self.functions.get(symbol.key) for symbol in body.targets.get(key, ())]
        found = [item for item in listed if item is not None and item.kind == "function" and item.tokens]
        if listed and len(found) == len(listed):
            signature = found[0].results, found[0].parameters
        elif key in body.prototypes:
            signature = body.prototypes[key]
            found = [self.functions[name] for name in self._taken]
        else:
            message = "a call through a register needs a list of functions or a prototype, by its label"
            raise self.source.error(call.location, message)
        shape = _shape(signature)
        return signature, tuple(item for item in found if _shape((item.results, item.parameters)) == shape)

    @cached_property
    def _taken(self) -> tuple[str, ...]:
        """The functions whose address is taken anywhere in the module."""
        names = set(self.stored)
        for function in self.functions.values():
            if function.tokens:
                others = (item for item in self.body_of(function).instructions if item.opcode[0] != "call")
                names |= named(others)
        return tuple(
            name
            for name, function in self.functions.items()
            if name in names and function.name == name and function.kind == "function" and function.tokens
        )

    def _callees(self, function: Function) -> Iterator[tuple[Function, bool]]:
        """What a function calls, and whether by its name or through a register."""
        body = self.body_of(function)
        for instruction in body.instructions:
            callee = self.callee(instruction)
            if callee is not None:
                yield callee, True
            elif _is_indirect(instruction):
                yield from ((item, False) for item in self.candidates(instruction, body)[1])

    @cached_property
    def reached(self) -> Mapping[str, Function]:
        """The functions that the entry reaches, each after those that it calls."""
        order: dict[str, Function] = {}
        seen = {self.entry.name}
        waiting = [(self.entry, self._callees(self.entry))]
        while waiting:
            function, callees = waiting[-1]
            callee = next((item for item, _ in callees if item.name not in seen), None)
            if callee is None:
                order[function.name] = function
                waiting.pop()
            else:
                seen.add(callee.name)
                waiting.append((callee, self._callees(callee)))
        del order[self.entry.name]
        return order

    def _calls_itself(self, function: Function) -> bool:
        seen: set[str] = set()
        waiting = [function]
        while waiting:
            for callee, is_named in self._callees(waiting.pop()):
                if is_named and callee.name not in seen:
                    seen.add(callee.name)
                    waiting.append(callee)
        return function.name in seen


def _is_indirect(instruction: Instruction) -> bool:
    """Whether an instruction is a call through a register."""
    callees = [operand for operand in instruction.operands if not isinstance(operand, Arguments)]
    return instruction.opcode[0] == "call" and bool(callees) and isinstance(callees[0], Register)


def exposed(body: Body) -> frozenset[str]:
    """The names of what a body does more with than load it or pass it on."""
    found: set[str] = set()
    for instruction in body.instructions:
        operands = instruction.operands
        if instruction.opcode[0] in ("call", "ld"):
            operands = operands[:1]
        for operand in operands:
            found.update(part.key for part in parts(operand) if isinstance(part, Symbol))
    return frozenset(found)


def _shape(signature: Signature) -> tuple[tuple[tuple[bool, int | None], ...], ...]:
    """What the results and parameters of a function and of its prototype have in common."""
    return tuple(tuple((item.space == "reg", item.size) for item in side) for side in signature)


_PASSED: Final = "a parameter"


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
        between = Register(_PASSED, f"{prefix}%{type_.name}", type_, at)
        here, there = (replace(place, offset=place.offset + offset) for place, _ in (source, target))
        yield Instruction.of(f"ld.{source[1]}.{type_.name}", at, between, here)
        yield Instruction.of(f"st.{target[1]}.{type_.name}", at, there, between)
        offset += unit


def passes(instruction: Instruction) -> bool:
    """Whether an instruction is one of `_copies`."""
    return any(getattr(operand, "name", "") == _PASSED for operand in instruction.operands)


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
