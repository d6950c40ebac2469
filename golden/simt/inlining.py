"""Puts the bodies of called functions in the place of their calls.

Recursion is refused. Every copy has registers, labels and variables of its own; a parameter that is passed in
a variable is that variable.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Location, PtxError, Source
from golden.ptx.syntax import (
    Address,
    Arguments,
    Body,
    Function,
    Guard,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Sink,
    Symbol,
    Variable,
    Vector,
)
from golden.simt.names import readable

__all__ = ["FlatBody", "flatten"]

_MOST_INSTRUCTIONS: Final = 2_000_000
_IGNORED_FUNCTIONS: Final = frozenset({"vprintf"})
_TRAPS: Final = frozenset({"__assertfail", "__assert_fail", "abort"})


@dataclass
class FlatBody:
    """A body without calls.

    Parameters
    ----------
    instructions : list of Instruction
    labels : dict of str to int
    variables : dict of str to Variable
    targets : dict of str to tuple of Symbol
    """

    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    targets: dict[str, tuple[Symbol, ...]] = field(default_factory=dict)


def flatten(
    source: Source, entry: Function, functions: Mapping[str, Function], body_of: Callable[[Function], Body]
) -> FlatBody:
    """The body of an entry with all calls replaced by what they call.

    Parameters
    ----------
    source : Source
    entry : Function
    functions : mapping of str to Function
    body_of : callable
        The parsed body of a function.

    Raises
    ------
    PtxError
        For a call of what is not a function of the module, through a register, or recursive.
    """
    return _Inliner(source, functions, body_of).run(entry)


class _Inliner:
    def __init__(
        self, source: Source, functions: Mapping[str, Function], body_of: Callable[[Function], Body]
    ) -> None:
        self._source = source
        self._functions = functions
        self._body_of = body_of
        self._flat = FlatBody()
        self._copies = 0

    def run(self, entry: Function) -> FlatBody:
        self._insert(entry, "", {}, None, (entry.name,))
        return self._flat

    def _insert(
        self,
        function: Function,
        prefix: str,
        symbols: dict[str, str],
        end: str | None,
        stack: tuple[str, ...],
    ) -> None:
        body = self._body_of(function)
        flat = self._flat
        for key, variable in body.variables.items():
            flat.variables[prefix + key] = replace(variable, key=prefix + key)
            symbols[key] = prefix + key
        symbols.update({label: prefix + label for label in body.labels})
        symbols.update({key: prefix + key for key in body.targets})
        for key, targets in body.targets.items():
            flat.targets[prefix + key] = tuple(replace(label, key=prefix + label.key) for label in targets)
        places: dict[int, list[str]] = {}
        for label, index in body.labels.items():
            places.setdefault(index, []).append(prefix + label)
        for index, instruction in enumerate(body.instructions):
            for label in places.get(index, ()):
                flat.labels[label] = len(flat.instructions)
            changed = _Renaming(prefix, symbols).instruction(instruction) if prefix else instruction
            if instruction.opcode[0] == "call":
                self._call(changed, stack)
            elif end is not None and instruction.opcode[0] == "ret":
                target = Symbol(end, end, instruction.location)
                flat.instructions.append(replace(changed, opcode=("bra",), operands=(target,)))
            else:
                flat.instructions.append(changed)
            if len(flat.instructions) > _MOST_INSTRUCTIONS:
                raise self._source.error(
                    function.location, f"the kernel exceeds {_MOST_INSTRUCTIONS} instructions with its calls"
                )
        for label in places.get(len(body.instructions), ()):
            flat.labels[label] = len(flat.instructions)

    def _call(self, call: Instruction, stack: tuple[str, ...]) -> None:
        operands = list(call.operands)
        results: tuple[Any, ...] = ()
        if operands and isinstance(operands[0], Arguments):
            results = operands.pop(0).elements  # type: ignore[union-attr]
        if not operands:
            raise self._error(call.location, "call needs the name of a function")
        named = operands.pop(0)
        if not isinstance(named, Symbol):
            raise self._error(call.location, "a call through a register is not supported")
        arguments: tuple[Any, ...] = ()
        if operands and isinstance(operands[0], Arguments):
            arguments = operands[0].elements
        self._copies += 1
        prefix = f"{self._copies}:"
        after = f"{prefix}return"
        if call.guard is not None:
            guard = Guard(call.guard.register, not call.guard.negated)
            self._flat.instructions.append(
                Instruction(("bra",), (Symbol(after, after, call.location),), guard, call.location)
            )
        name = named.key
        if name in _TRAPS:
            self._flat.instructions.append(Instruction(("trap",), (), None, call.location))
        elif name in _IGNORED_FUNCTIONS:
            self._return_zero(results, call.location)
        else:
            self._copy(call, name, prefix, after, stack, results, arguments)
        self._flat.labels[after] = len(self._flat.instructions)

    def _copy(
        self,
        call: Instruction,
        name: str,
        prefix: str,
        after: str,
        stack: tuple[str, ...],
        results: tuple[Any, ...],
        arguments: tuple[Any, ...],
    ) -> None:
        function = self._functions.get(name)
        if function is None or function.kind != "function":
            raise self._error(call.location, f"{readable(name)} is not a function of this module")
        if not function.tokens:
            raise self._error(call.location, f"{readable(name)} is declared, but has no body in this module")
        if name in stack:
            raise self._error(call.location, f"{readable(name)} calls itself, which is not supported")
        for what, formal, actual in (
            ("results", function.results, results),
            ("arguments", function.parameters, arguments),
        ):
            if len(formal) != len(actual):
                raise self._error(
                    call.location, f"{readable(name)} has {len(formal)} {what}, not {len(actual)}"
                )
        symbols: dict[str, str] = {}
        incoming: list[Instruction] = []
        outgoing: list[Instruction] = []
        for parameter, actual in zip(function.parameters, arguments, strict=True):
            self._pass(parameter, actual, prefix, symbols, incoming, inward=True)
        for result, actual in zip(function.results, results, strict=True):
            self._pass(result, actual, prefix, symbols, outgoing, inward=False)
        self._flat.instructions.extend(incoming)
        inside = f"{prefix}end"
        self._insert(function, prefix, symbols, inside, (*stack, name))
        self._flat.labels[inside] = len(self._flat.instructions)
        self._flat.instructions.extend(outgoing)

    def _pass(
        self,
        formal: Variable,
        actual: object,
        prefix: str,
        symbols: dict[str, str],
        moves: list[Instruction],
        *,
        inward: bool,
    ) -> None:
        """Bind a parameter or result to what stands in the call."""
        location = getattr(actual, "location", formal.location)
        if formal.space == "param" and isinstance(actual, Symbol):
            symbols[formal.name] = actual.key
            return
        type_ = formal.type
        if formal.space == "reg":
            inner: Operand = Register(formal.name, f"{prefix}{formal.name}@0", type_, location)
            if isinstance(actual, Symbol):
                raise self._error(location, f"{formal.name} is passed in a register, not in a variable")
            pair = (inner, actual) if inward else (actual, inner)
            moves.append(Instruction(("mov", type_.name), pair, None, location))  # type: ignore[arg-type]
            return
        key = f"{prefix}{formal.name}"
        symbols[formal.name] = key
        self._flat.variables[key] = replace(formal, key=key, space="param")
        place = Address(Symbol(formal.name, key, location), 0, location)
        if inward:
            moves.append(Instruction(("st", "param", type_.name), (place, actual), None, location))  # type: ignore[arg-type]
        elif not isinstance(actual, Sink):
            moves.append(Instruction(("ld", "param", type_.name), (actual, place), None, location))  # type: ignore[arg-type]

    def _return_zero(self, results: tuple[Any, ...], location: Location) -> None:
        for result in results:
            if isinstance(result, Symbol):
                zero = Immediate(0, "integer", location)
                place = Address(result, 0, location)
                self._flat.instructions.append(
                    Instruction(("st", "param", "b32"), (place, zero), None, location)
                )
            elif isinstance(result, Register) and result.type is not TYPES["pred"]:
                zero = Immediate(0, "integer", location)
                move = ("mov", f"b{result.type.bits}")
                self._flat.instructions.append(Instruction(move, (result, zero), None, location))

    def _error(self, location: Location, message: str) -> PtxError:
        return self._source.error(location, message)


class _Renaming:
    """Gives the registers and names of one copy of a body their own keys."""

    def __init__(self, prefix: str, symbols: Mapping[str, str]) -> None:
        self._prefix = prefix
        self._symbols = symbols

    def instruction(self, instruction: Instruction) -> Instruction:
        guard = instruction.guard
        return replace(
            instruction,
            operands=tuple(self._operand(operand) for operand in instruction.operands),
            guard=None if guard is None else Guard(self._operand(guard.register), guard.negated),
        )

    def _operand(self, operand: Any) -> Any:
        if isinstance(operand, Register):
            return replace(operand, key=self._prefix + operand.key)
        if isinstance(operand, Symbol):
            return replace(operand, key=self._symbols.get(operand.key, operand.key))
        if isinstance(operand, Address):
            return replace(operand, base=self._operand(operand.base))
        if isinstance(operand, Vector):
            return replace(operand, elements=tuple(self._operand(part) for part in operand.elements))
        if isinstance(operand, Arguments):
            return replace(operand, elements=tuple(self._operand(part) for part in operand.elements))
        if isinstance(operand, Negated | Selected):
            return replace(operand, register=self._operand(operand.register))
        if isinstance(operand, Pair):
            return replace(operand, first=self._operand(operand.first), second=self._operand(operand.second))
        return operand
