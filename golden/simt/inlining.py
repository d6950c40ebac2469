"""Puts the bodies of called functions in the place of their calls.

Recursion is refused. Every copy has registers, labels and variables of its own. Parameters are passed by
value; a parameter that the callee only reads is the variable of the caller itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from golden.limits import CALL_DEPTH, KERNEL_INSTRUCTIONS
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Location, Source
from golden.ptx.syntax import (
    Address,
    Arguments,
    Body,
    Function,
    Guard,
    Immediate,
    Instruction,
    Register,
    Sink,
    Symbol,
    Variable,
    mapped,
    parts,
)
from golden.simt.names import readable

_IGNORED_FUNCTIONS: Final = frozenset({"vprintf"})
_TRAPS: Final = frozenset({"__assertfail", "__assert_fail", "abort"})


def flatten(
    source: Source, entry: Function, functions: Mapping[str, Function], body_of: Callable[[Function], Body]
) -> Body:
    """The body of an entry with all calls replaced by what they call; `body_of` parses a body.

    Calls are of functions of the module, by name. More copies than `golden.limits` allows are a PtxError.
    """
    parameters = {parameter.key: parameter for parameter in entry.parameters}
    inliner = _Inliner(source, functions, body_of, parameters)
    size = inliner.measure(entry, ())
    if size > KERNEL_INSTRUCTIONS:
        told = f"{readable(entry.name)} has {size} instructions with all its calls"
        raise source.error(entry.location, f"{told}, more than {KERNEL_INSTRUCTIONS}")
    inliner.insert(entry, "", {}, None)
    return inliner.flat


@dataclass
class _Inliner:
    _source: Source
    _functions: Mapping[str, Function]
    _body_of: Callable[[Function], Body]
    _entry_parameters: Mapping[str, Variable]
    flat: Body = field(default_factory=Body)
    _copies: int = 0
    _sizes: dict[str, int] = field(default_factory=dict)
    _exposed: dict[str, frozenset[str]] = field(default_factory=dict)

    def measure(self, function: Function, callers: tuple[str, ...]) -> int:
        """The instructions of a function with the copies of all that it calls."""
        if function.name not in self._sizes:
            callers = (*callers, function.name)
            instructions = self._body_of(function).instructions
            total = 1 + len(instructions)
            for instruction in instructions:
                callee = self._functions.get(_callee(instruction) or "")
                if callee is None or callee.kind != "function" or not callee.tokens:
                    continue
                refuse = partial(self._source.error, instruction.location)
                if callee.name in callers:
                    raise refuse(f"{readable(callee.name)} calls itself, which is not supported")
                if len(callers) > CALL_DEPTH:
                    raise refuse(f"calls are nested more than {CALL_DEPTH} deep")
                total += self.measure(callee, callers)
            self._sizes[function.name] = total
        return self._sizes[function.name]

    def insert(self, function: Function, prefix: str, symbols: dict[str, str], end: str | None) -> None:
        body = self._body_of(function)
        flat = self.flat
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
            changed = _renamed(instruction, prefix, symbols) if prefix else instruction
            if instruction.opcode[0] == "call":
                self._call(changed)
            elif end is not None and instruction.opcode[0] == "ret":
                target = Symbol(end, end, instruction.location)
                flat.instructions.append(replace(changed, opcode=("bra",), operands=(target,)))
            else:
                flat.instructions.append(changed)
        for label in places.get(len(body.instructions), ()):
            flat.labels[label] = len(flat.instructions)

    def _call(self, call: Instruction) -> None:
        operands: list[Any] = list(call.operands)
        results = operands.pop(0).elements if operands and isinstance(operands[0], Arguments) else ()
        if not operands:
            raise self._source.error(call.location, "call needs the name of a function")
        named, *behind = operands
        if not isinstance(named, Symbol):
            raise self._source.error(call.location, "a call through a register is not supported")
        arguments = behind[0].elements if behind and isinstance(behind[0], Arguments) else ()
        self._copies += 1
        prefix = f"{self._copies}:"
        after = f"{prefix}return"
        self.flat.calls.append(len(self.flat.instructions))
        if call.guard is not None:
            guard = Guard(call.guard.register, not call.guard.negated)
            target = Symbol(after, after, call.location)
            self.flat.instructions.append(Instruction.of("bra", call.location, target, guard=guard))
        if named.key in _TRAPS:
            self.flat.instructions.append(Instruction.of("trap", call.location))
        elif named.key in _IGNORED_FUNCTIONS:
            self.flat.instructions += _zeros(results, call.location)
        else:
            self._copy(call.location, named.key, prefix, results, arguments)
        self.flat.labels[after] = len(self.flat.instructions)
        self.flat.calls.append(len(self.flat.instructions))

    def _copy(
        self, call: Location, name: str, prefix: str, results: Sequence[Any], arguments: Sequence[Any]
    ) -> None:
        function = self._functions.get(name)
        refuse = partial(self._source.error, call)
        if function is None or function.kind != "function":
            raise refuse(f"{readable(name)} is not a function of this module")
        if not function.tokens:
            raise refuse(f"{readable(name)} is declared, but has no body in this module")
        for what, declared, given in (
            ("results", function.results, results),
            ("arguments", function.parameters, arguments),
        ):
            if len(declared) != len(given):
                raise refuse(f"{readable(name)} has {len(declared)} {what}, not {len(given)}")
        symbols: dict[str, str] = {}
        incoming: list[Instruction] = []
        outgoing: list[Instruction] = []
        written = {actual.key for actual in results if isinstance(actual, Symbol)}
        exposed = self._exposed_by(function)
        inputs = [(*pair, True) for pair in zip(function.parameters, arguments, strict=True)]
        outputs = [(*pair, False) for pair in zip(function.results, results, strict=True)]
        for formal, actual, inward in inputs + outputs:
            self._require_size(name, formal, actual, call)
            if formal.space != "param" or not isinstance(actual, Symbol):
                self._pass(formal, actual, prefix, symbols, incoming if inward else outgoing, inward=inward)
            elif inward and (formal.name in exposed or actual.key in written):
                symbols[formal.name] = self._own_copy(formal, actual, prefix, incoming)
            else:
                symbols[formal.name] = actual.key
        self.flat.instructions.extend(incoming)
        inside = f"{prefix}end"
        self.insert(function, prefix, symbols, inside)
        self.flat.labels[inside] = len(self.flat.instructions)
        self.flat.instructions.extend(outgoing)

    def _pass(
        self,
        formal: Variable,
        actual: Any,
        prefix: str,
        symbols: dict[str, str],
        moves: list[Instruction],
        *,
        inward: bool,
    ) -> None:
        """Bind a parameter or result, of which one side is no variable."""
        location = getattr(actual, "location", formal.location)
        type_ = formal.type
        if formal.space == "reg":
            if isinstance(actual, Symbol):
                raise self._source.error(
                    location, f"{formal.name} is passed in a register, not in a variable"
                )
            inner = Register(formal.name, f"{prefix}{formal.name}@0", type_, location)
            pair = (inner, actual) if inward else (actual, inner)
            moves.append(Instruction.of(f"mov.{type_.name}", location, *pair))
            return
        key = f"{prefix}{formal.name}"
        symbols[formal.name] = key
        self.flat.variables[key] = replace(formal, key=key, space="param")
        place = Address(Symbol(formal.name, key, location), 0, location)
        if inward:
            moves.append(Instruction.of(f"st.param.{type_.name}", location, place, actual))
        elif not isinstance(actual, Sink):
            moves.append(Instruction.of(f"ld.param.{type_.name}", location, actual, place))

    def _exposed_by(self, function: Function) -> frozenset[str]:
        """The names of what a function does more with than load it or pass it on."""
        if function.name not in self._exposed:
            found: set[str] = set()
            for instruction in self._body_of(function).instructions:
                operands = instruction.operands
                if _callee(instruction) is not None or instruction.opcode[0] == "ld":
                    operands = operands[:1]
                for operand in operands:
                    found.update(part.key for part in parts(operand) if isinstance(part, Symbol))
            self._exposed[function.name] = frozenset(found)
        return self._exposed[function.name]

    def _require_size(self, name: str, formal: Variable, actual: object, location: Location) -> None:
        """Refuse an argument or result of another size than its parameter."""
        if formal.space != "param":
            return
        refuse = partial(self._source.error, location)
        if isinstance(actual, Symbol):
            variable = self.flat.variables.get(actual.key) or self._entry_parameters.get(actual.key)
            if variable is None or variable.space != "param":
                raise self._source.error(actual.location, f"{actual.name} is not a variable in .param")
            told, size = actual.name, variable.size
        elif formal.is_array:
            raise refuse(f"{formal.name} of {readable(name)} is an array: its argument is a variable")
        elif isinstance(actual, Register):
            told, size = actual.name, actual.type.size
        else:
            return
        if size != formal.size:
            raise refuse(f"{told} has {size} bytes, but {formal.name} of {readable(name)} has {formal.size}")

    def _own_copy(self, formal: Variable, actual: Symbol, prefix: str, moves: list[Instruction]) -> str:
        """Copy a parameter from the variable of the caller; the key of the copy."""
        key = f"{prefix}{formal.name}"
        self.flat.variables[key] = replace(formal, key=key)
        offset = 0
        while offset < (formal.size or 0):
            left = (formal.size or 0) - offset
            unit = min(formal.alignment, 8, 1 << (left.bit_length() - 1))
            type_ = TYPES[f"b{8 * unit}"]
            between = Register("a parameter", f"{key}@{type_.name}", type_, actual.location)
            source, target = (
                Address(symbol, offset, actual.location) for symbol in (actual, replace(actual, key=key))
            )
            moves.append(Instruction.of(f"ld.param.{type_.name}", actual.location, between, source))
            moves.append(Instruction.of(f"st.param.{type_.name}", actual.location, target, between))
            offset += unit
        return key


def _zeros(results: Sequence[Any], location: Location) -> Iterator[Instruction]:
    """What gives a call the results 0."""
    zero = Immediate(0, "integer", location)
    for result in results:
        if isinstance(result, Symbol):
            yield Instruction.of("st.param.b32", location, Address(result, 0, location), zero)
        elif isinstance(result, Register) and result.type is not TYPES["pred"]:
            yield Instruction.of(f"mov.b{result.type.bits}", location, result, zero)


def _callee(instruction: Instruction) -> str | None:
    """The name of what a call calls; None for another instruction, and for a call through a register."""
    if instruction.opcode[0] != "call":
        return None
    return next((operand.key for operand in instruction.operands if isinstance(operand, Symbol)), "")


def _renamed(instruction: Instruction, prefix: str, symbols: Mapping[str, str]) -> Instruction:
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
