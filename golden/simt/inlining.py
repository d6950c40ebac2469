"""Puts the bodies of called functions in the place of their calls, or calls them.

Every copy has registers, labels and variables of its own. Parameters are passed by value; a parameter that
the callee only reads is the variable of the caller itself.

A function of `golden.simt.call_graph.CallGraph.called` has one body, before the entry's. Its caller puts
results and parameters on the stack of the thread, the function its variables below them. The stack is local
memory and grows downwards from `golden.limits.STACK_BYTES`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple

from golden.limits import CALL_DEPTH, KERNEL_INSTRUCTIONS, STACK_BYTES
from golden.ptx.blocks import CALL, RETURN
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Location
from golden.ptx.syntax import (
    Address,
    Arguments,
    Body,
    Function,
    Guard,
    Immediate,
    Instruction,
    Operand,
    Register,
    Sink,
    Symbol,
    Variable,
)
from golden.simt.call_graph import CallGraph, Frame, Signature, arranged, exposed, passed, renamed
from golden.simt.names import readable
from golden.simt.printing import PARAMETERS, PRINT
from golden.simt.stack import STACK, STACK_POINTER

_TRAPS: Final = frozenset({"__assertfail", "__assert_fail", "abort"})


def flatten(graph: CallGraph) -> Body:
    """The body of the graph's entry with all that it calls; its label is `ENTRY`.

    More instructions than `golden.limits` allows are a PtxError.
    """
    entry = graph.entry
    inliner = _Inliner(graph, {parameter.key: parameter for parameter in entry.parameters})
    size = sum(inliner.measure(function, ()) for function in (entry, *graph.called.values()))
    if size > KERNEL_INSTRUCTIONS:
        told = f"{readable(entry.name)} has {size} instructions with all its calls"
        raise graph.source.error(entry.location, f"{told}, more than {KERNEL_INSTRUCTIONS}")
    for function in graph.called.values():
        inliner.place(function)
    inliner.begin(entry)
    inliner.insert(entry, "", {}, None)
    return inliner.flat


ENTRY: Final = "%entry"
"""The label of the first instruction of an entry."""


class _Call(NamedTuple):
    """A call."""

    at: Location
    prefix: str
    """Begins the names of what is its own."""
    results: Sequence[Any]
    arguments: Sequence[Any]

    def passes(self, signature: Signature) -> list[tuple[Variable, Any, bool]]:
        """Each result and parameter of a signature, what is given for it, and whether it is a parameter."""
        found = []
        for formal, actual in zip(signature[0], self.results, strict=True):
            dropped = Register("_", f"{self.prefix}{formal.name}@_", formal.type, self.at)
            found.append((formal, dropped if isinstance(actual, Sink) else actual, False))
        return [*found, *((*pair, True) for pair in zip(signature[1], self.arguments, strict=True))]


@dataclass
class _Inliner:
    _graph: CallGraph
    _entry_parameters: Mapping[str, Variable]
    flat: Body = field(default_factory=Body)
    _copies: int = 0
    _sizes: dict[str, int] = field(default_factory=dict)
    _exposed: dict[str, frozenset[str]] = field(default_factory=dict)
    _frame: Frame | None = None
    """Of the function with a body of its own that grows; None for the entry."""

    def measure(self, function: Function, callers: tuple[str, ...]) -> int:
        """The instructions of a function with the copies of all that it calls."""
        if function.name not in self._sizes:
            callers = (*callers, function.name)
            instructions = self._graph.body_of(function).instructions
            total = 1 + len(instructions)
            for instruction in instructions:
                callee = self._graph.callee(instruction)
                if callee is None or callee.name in self._graph.called:
                    continue
                if len(callers) > CALL_DEPTH:
                    message = f"calls are nested more than {CALL_DEPTH} deep"
                    raise self._graph.source.error(instruction.location, message)
                total += self.measure(callee, callers)
            self._sizes[function.name] = total
        return self._sizes[function.name]

    def begin(self, entry: Function) -> None:
        """Begin the body of the entry, with an empty stack if it needs one."""
        self._frame = None
        functions = (entry, *self._graph.reached.values())
        bodies = map(self._graph.body_of, functions)
        opcodes = {instruction.opcode[0] for body in bodies for instruction in body.instructions}
        self.flat.labels[ENTRY] = len(self.flat.instructions)
        if self._graph.called or opcodes & {"alloca", "stacksave", "stackrestore"}:
            self.flat.variables = {STACK.key: STACK, **self.flat.variables}
            top = Symbol(STACK.name, STACK.key, entry.location, STACK_BYTES)
            self._emit("mov.u64", entry.location, STACK_POINTER, top)

    def place(self, function: Function) -> None:
        """Add the one body of a function."""
        prefix, at = f"{function.name}:", function.location
        arguments = Register("arguments", f"{prefix}%arguments", TYPES["u64"], at)
        self._frame = frame = Frame(base=Register("frame", f"{prefix}%frame", TYPES["u64"], at))
        self.flat.labels[f"{prefix}entry"] = len(self.flat.instructions)
        self.flat.calls.append(len(self.flat.instructions))
        self._emit("mov.u64", at, arguments, STACK_POINTER)
        opening = len(self.flat.instructions)
        self._emit("alloca.u64", at, frame.base)
        symbols: dict[str, str] = {}
        placed = arranged((*function.results, *function.parameters))[0]
        registers = []
        for formal, offset in placed:
            if formal.type is TYPES["pred"]:
                message = f"{formal.name} is a predicate, which cannot be on the stack"
                raise self._graph.source.error(formal.location, message)
            if formal.space == "reg":
                inner = Register(formal.name, f"{prefix}{formal.name}@0", formal.type, at)
                registers.append((inner, Address(arguments, offset, at)))
            else:
                symbols[formal.name] = key = prefix + formal.name
                self.flat.variables[key] = replace(formal, key=key, space="param")
                self.flat.frames[key] = arguments, offset
        results = registers[: sum(item.space == "reg" for item in function.results)]
        for inner, where in registers[len(results) :]:
            self._emit(f"ld.local.b{inner.type.bits}", at, inner, where)
        self.insert(function, prefix, symbols, f"{prefix}end")
        self.flat.labels[f"{prefix}end"] = len(self.flat.instructions)
        for inner, where in results:
            self._emit(f"st.local.b{inner.type.bits}", at, where, inner)
        self._emit(RETURN, at)
        size, alignment = (Immediate(value, "integer", at) for value in (frame.size, frame.alignment))
        opened = Instruction.of("alloca.u64", at, frame.base, size, alignment)
        self.flat.instructions[opening] = opened
        self.flat.calls.append(len(self.flat.instructions))

    def insert(self, function: Function, prefix: str, symbols: dict[str, str], end: str | None) -> None:
        """Add a copy of a body, whose names are changed by `symbols` and `prefix`; it returns to `end`."""
        body = self._graph.body_of(function)
        flat = self.flat
        for key, variable in body.variables.items():
            shared = variable.space not in ("local", "param")  # by all copies of the function
            symbols[key] = self._declare(
                f"{function.name}:{key}" if prefix and shared else prefix + key, variable
            )
        symbols.update({label: prefix + label for label in body.labels})
        symbols.update({key: prefix + key for key in body.targets})
        for key, targets in body.targets.items():
            flat.targets[prefix + key] = tuple(replace(label, key=prefix + label.key) for label in targets)
        places: dict[int, list[str]] = {}
        for label, index in body.labels.items():
            places.setdefault(index, []).append(prefix + label)
        saved = None
        if end is not None and any(item.opcode[0] == "alloca" for item in body.instructions):
            saved = Register("the stack pointer", f"{prefix}%stack", TYPES["u64"], function.location)
            self._emit("mov.u64", function.location, saved, STACK_POINTER)
        for index, instruction in enumerate(body.instructions):
            for label in places.get(index, ()):
                flat.labels[label] = len(flat.instructions)
            changed = renamed(instruction, prefix, symbols) if prefix else instruction
            if instruction.opcode[0] == "call":
                self._call(changed, instruction, body)
            elif end is not None and instruction.opcode[0] == "ret":
                if saved is not None:
                    restoring = Instruction.of("mov.u64", instruction.location, STACK_POINTER, saved)
                    flat.instructions.append(replace(restoring, guard=changed.guard))
                target = Symbol(end, end, instruction.location)
                flat.instructions.append(replace(changed, opcode=("bra",), operands=(target,)))
            else:
                flat.instructions.append(changed)
        for label in places.get(len(body.instructions), ()):
            flat.labels[label] = len(flat.instructions)
        if saved is not None:
            self._emit("mov.u64", function.location, STACK_POINTER, saved)

    def _declare(self, key: str, variable: Variable) -> str:
        """Add a variable under a key, to the frame if there is one; the key."""
        self.flat.variables[key] = replace(variable, key=key)
        if self._frame is not None and variable.space in ("local", "param"):
            offset = self._frame.place(variable)
            self.flat.frames[key] = self._frame.base, offset
        return key

    def _emit(self, name: str, location: Location, *operands: Operand) -> None:
        self.flat.instructions.append(Instruction.of(name, location, *operands))

    def _call(self, call: Instruction, written: Instruction, body: Body) -> None:
        """Add a call, whose operands are those of the copy; `written` stands in the `body`."""
        at, refuse = call.location, partial(self._graph.source.error, call.location)
        operands: list[Any] = list(call.operands)
        results = operands.pop(0).elements if operands and isinstance(operands[0], Arguments) else ()
        if not operands:
            raise refuse("call needs the name of a function")
        callee, *behind = operands
        arguments = behind[0].elements if behind and isinstance(behind[0], Arguments) else ()
        self._copies += 1
        made = _Call(at, f"{self._copies}:", results, arguments)
        after = f"{made.prefix}return"
        self.flat.calls.append(len(self.flat.instructions))
        if call.guard is not None:
            guard = Guard(call.guard.register, not call.guard.negated)
            self.flat.instructions.append(Instruction.of("bra", at, Symbol(after, after, at), guard=guard))
        if isinstance(callee, Register):
            signature, functions = self._graph.candidates(written, body)
            self._require(made, f"the call through {callee.name}", signature)
            self._call_body(made, callee, functions, signature)
        elif not isinstance(callee, Symbol):
            raise refuse("call needs the name of a function or a register")
        elif callee.key in PARAMETERS or callee.key in _TRAPS:
            if callee.key in PARAMETERS:
                self._call_host(made, *PARAMETERS[callee.key])
            if callee.key in _TRAPS:
                self._emit("trap", at)
        else:
            self._call_function(made, callee.key)
        self.flat.labels[after] = len(self.flat.instructions)
        self.flat.calls.append(len(self.flat.instructions))

    def _call_host(self, call: _Call, instruction: str, sizes: Sequence[int]) -> None:
        """Execute a function of the host as one instruction: its result and its operands are registers."""
        operands = []
        for number, (actual, bits) in enumerate(zip(call.arguments, sizes, strict=False)):
            operand = Register("argument", f"{call.prefix}%{number}", TYPES[f"b{bits}"], call.at)
            name, value = (
                ("ld.param", Address(actual, 0, call.at)) if isinstance(actual, Symbol) else ("mov", actual)
            )
            self._emit(f"{name}.b{bits}", call.at, operand, value)
            operands.append(operand)
        if len(operands) < len(sizes):
            raise self._graph.source.error(call.at, f"{instruction} takes {len(sizes)} arguments or more")
        result = Register("result", f"{call.prefix}%result", TYPES["b32"], call.at)
        self._emit(instruction, call.at, *(result,) * (instruction == PRINT), *operands)
        for actual in call.results:
            if isinstance(actual, Symbol):
                self._emit("st.param.b32", call.at, Address(actual, 0, call.at), result)
            elif isinstance(actual, Register):
                self._emit("mov.b32", call.at, actual, result)

    def _call_function(self, call: _Call, name: str) -> None:
        """Call the function of a name."""
        function = self._graph.functions.get(name)
        refuse = partial(self._graph.source.error, call.at)
        if function is None or function.kind != "function":
            raise refuse(f"{readable(name)} is not a function of this module")
        if not function.tokens:
            raise refuse(f"{readable(name)} is declared, but has no body in this module")
        signature = function.results, function.parameters
        self._require(call, readable(name), signature)
        if function.name in self._graph.called:
            self._call_body(call, Sink(call.at), (function,), signature)
            return
        symbols: dict[str, str] = {}
        outgoing: list[Instruction] = []
        written = {actual.key for actual in call.results if isinstance(actual, Symbol)}
        if name not in self._exposed:
            self._exposed[name] = exposed(self._graph.body_of(function))
        for formal, actual, inward in call.passes(signature):
            moves, own = self.flat.instructions if inward else outgoing, f"{call.prefix}{formal.name}"
            if formal.space == "reg":
                inner = Register(formal.name, f"{own}@0", formal.type, actual.location)
                pair = (inner, actual) if inward else (actual, inner)
                moves.append(Instruction.of(f"mov.{formal.type.name}", actual.location, *pair))
                continue
            is_changed = inward and formal.name in self._exposed[name]
            if isinstance(actual, Symbol) and not is_changed and not (inward and actual.key in written):
                symbols[formal.name] = actual.key
                continue
            sized = self._sized(formal, actual)
            symbols[formal.name] = self._declare(own, sized)
            place = Address(Symbol(formal.name, own, call.at), 0, call.at)
            moves += passed(sized, actual, place, "param", call.prefix, inward=inward)
        inside = f"{call.prefix}end"
        self.insert(function, call.prefix, symbols, inside)
        self.flat.labels[inside] = len(self.flat.instructions)
        self.flat.instructions.extend(outgoing)

    def _call_body(
        self, call: _Call, callee: Register | Sink, functions: Sequence[Function], signature: Signature
    ) -> None:
        """Call one of some functions with bodies of their own, the only one or by its address."""
        at, passes = call.at, call.passes(signature)
        placed, area = arranged(self._sized(formal, actual) for formal, actual, _ in passes)
        old, base = (
            Register(name, f"{call.prefix}%{name}", TYPES["u64"], at)
            for name in ("stack pointer", "arguments")
        )
        self._emit("mov.u64", at, old, STACK_POINTER)
        size, alignment = (Immediate(value, "integer", at) for value in area)
        self._emit("alloca.u64", at, base, size, alignment)
        outgoing: list[Instruction] = []
        for (formal, offset), (_, actual, inward) in zip(placed, passes, strict=True):
            moves, place = self.flat.instructions if inward else outgoing, Address(base, offset, at)
            moves += passed(formal, actual, place, "local", call.prefix, inward=inward)
        self._emit(CALL, at, callee, *(Symbol(function.name, function.name, at) for function in functions))
        self.flat.instructions += outgoing
        self._emit("mov.u64", at, STACK_POINTER, old)

    def _sized(self, formal: Variable, actual: Any) -> Variable:
        """A parameter with the size of its argument, if it has none of its own."""
        return replace(formal, size=self._variable(actual).size) if formal.size is None else formal

    def _variable(self, actual: Symbol) -> Variable:
        variable = self.flat.variables.get(actual.key) or self._entry_parameters.get(actual.key)
        if variable is None or variable.space != "param":
            raise self._graph.source.error(actual.location, f"{actual.name} is not a variable in .param")
        return variable

    def _require(self, call: _Call, name: str, signature: Signature) -> None:
        """Refuse arguments and results that do not fit their parameters."""
        given = ("results", call.results), ("arguments", call.arguments)
        for (what, actuals), formals in zip(given, signature, strict=True):
            if len(formals) != len(actuals):
                message = f"{name} has {len(formals)} {what}, not {len(actuals)}"
                raise self._graph.source.error(call.at, message)
        for formal, actual, _ in call.passes(signature):
            self._require_size(name, formal, actual, call.at)

    def _require_size(self, name: str, formal: Variable, actual: object, location: Location) -> None:
        """Refuse an argument or result of another size than its parameter."""
        refuse = partial(self._graph.source.error, location)
        if formal.space != "param":
            if isinstance(actual, Symbol):
                message = f"{formal.name} is passed in a register, not in a variable"
                raise self._graph.source.error(actual.location, message)
            return
        if isinstance(actual, Symbol):
            told, size = actual.name, self._variable(actual).size
        elif formal.is_array:
            raise refuse(f"{formal.name} of {name} is an array: its argument is a variable")
        elif isinstance(actual, Register):
            told, size = actual.name, actual.type.size
        else:
            return
        if formal.size not in (None, size):
            raise refuse(f"{told} has {size} bytes, but {formal.name} of {name} has {formal.size}")
