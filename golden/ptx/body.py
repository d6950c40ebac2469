"""The body of an entry or a function: registers, variables, labels, instructions and their operands."""

from collections import ChainMap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, takewhile
from typing import Final, TypeVar

from golden.limits import REGISTERS, SCOPE_DEPTH
from golden.ptx.declarations import STATE_SPACES
from golden.ptx.operand_parser import OperandParser, Registers, Scope
from golden.ptx.source import Source, Token
from golden.ptx.syntax import (
    Address,
    Body,
    Element,
    Function,
    Guard,
    Immediate,
    Instruction,
    Module,
    Operand,
    Register,
    Sink,
    Symbol,
    Vector,
    mapped,
)

_Element = TypeVar("_Element", bound=Element)

_SKIPPED: Final = (".pragma", ".file", ".noreturn", ".maxnreg")
_LABELLED: Final = (".branchtargets", ".callprototype", ".calltargets")
_VECTORS: Final = {"v2": 2, "v4": 4}
_WIDE: Final = "b128"


def parse_body(module: Module, function: Function) -> Body:
    """Parse the body of a function that has one; the variables and functions of the module may be named."""
    return _BodyParser(module, function).parse()


class _BodyParser(OperandParser):
    def __init__(self, module: Module, function: Function) -> None:
        self._module = module
        self._parameters = {parameter.name: parameter for parameter in function.parameters + function.results}
        self._body = Body()
        variables = (self._body.variables, self._parameters, module.variables)
        super().__init__(module.source, function.tokens, variables)
        self._targets: dict[str, tuple[list[Symbol], Scope]] = {}
        self._numbers = count()
        self._unresolved: dict[int, Scope] = {}
        """The scope of each instruction with a name that may be declared further on."""

    def parse(self) -> Body:
        first = self.expect("{")
        self._open()
        for name, item in self._parameters.items():
            if item.space == "reg":
                if item.is_array or item.type.bits > 64:
                    raise self.source.error(item.location, f"parameter {name} in a register must be a scalar")
                self._scopes[0].registers[name] = Registers(item.type, 1)
        while self._scopes:
            opening = self.next
            if self.accept("{"):
                if len(self._scopes) == SCOPE_DEPTH:
                    raise self.error(opening, f"braces are nested more than {SCOPE_DEPTH} deep")
                self._open()
            elif self.accept("}"):
                self._scopes.pop()
            elif self.next.kind == "end":
                raise self.error(first, "body without its end }")
            elif self.next.kind == "directive":
                self._directive(None)
            elif not self.accept(";"):
                self._instruction()
        for index, scope in self._unresolved.items():
            instruction = self._body.instructions[index]
            resolve = partial(self._resolved, scope)
            operands = tuple(mapped(operand, resolve) for operand in instruction.operands)
            self._body.instructions[index] = replace(instruction, operands=operands)
        for key, (symbols, scope) in self._targets.items():
            self._body.targets[key] = tuple(self._resolved(scope, symbol) for symbol in symbols)
        return self._body

    def _open(self) -> None:
        names = self._scopes[-1].names.new_child() if self._scopes else ChainMap[str, str]()
        self._scopes.append(Scope(next(self._numbers), names))

    def _directive(self, label: Token | None) -> None:
        """Take a directive; `label` is the label right before it."""
        token = self.advance()
        if token.text == ".reg":
            self._declare_registers()
        elif token.text == ".loc":
            self.skip_line_information()
        elif token.text in (".branchtargets", ".calltargets"):
            self._list_targets(token, label)
        elif token.text == ".callprototype":
            self._prototype(token, label)
        elif token.text in _SKIPPED:
            self.skip_behind(";")
        elif token.text in STATE_SPACES:
            self._declare(token.text)
        else:
            supported = ", ".join((".reg", ".loc", ".pragma", ".branchtargets", *STATE_SPACES))
            raise self.error(token, f"unknown directive {token} in a body; supported: {supported}")

    def _declare_registers(self) -> None:
        """Take what follows ``.reg``, up to and with the semicolon."""
        scope, vector = self._scopes[-1], self.next
        length = next((number for name, number in _VECTORS.items() if self.accept(f".{name}")), 1)
        type_ = self.type()
        if length > 1 and (type_.kind == "predicate" or length * type_.bits > 128):
            raise self.error(
                vector,
                f"a vector of registers has at most 128 bits and no predicates, not {vector.text} {type_}",
            )
        self.several(partial(self._declare_register, scope, Registers(type_, length)), ";")

    def _declare_register(self, scope: Scope, declared: Registers) -> None:
        """Take a name, or a prefix and a number."""
        token = self.expect_kind("word", "a register name")
        if "." in token.text:
            raise self.error(token, f"expected a register name, not {token}")
        if self.accept("<"):
            if token.text in scope.ranges:
                raise self.error(token, f"registers {token.text} are already declared")
            number = self.next
            count = self.number("the number of registers")
            if count > REGISTERS:
                raise self.error(number, f"{count} registers exceed {REGISTERS}")
            scope.ranges[token.text] = declared._replace(numbers=count)
            self.expect(">")
        elif token.text in scope.registers:
            raise self.error(token, f"register {token.text} is already declared")
        else:
            scope.registers[token.text] = declared

    def _list_targets(self, directive: Token, label: Token | None) -> None:
        names = self.several(partial(self.expect_kind, "word", "a name"), ";")
        symbols = [Symbol(name.text, name.text, name.location) for name in names]
        self._targets[self._key(directive, label)] = symbols, self._scopes[-1]

    def _prototype(self, directive: Token, label: Token | None) -> None:
        results = self.parameters(results=True) if self.sees("(") else ()
        self.expect("_")
        taken = self.parameters() if self.sees("(") else ()
        self.skip_behind(";")
        self._body.prototypes[self._key(directive, label)] = results, taken

    def _key(self, directive: Token, label: Token | None) -> str:
        if label is None:
            raise self.error(directive, f"{directive.text} needs a label")
        return self._scopes[-1].names[label.text]

    def _declare(self, space: str) -> None:
        scope = self._scopes[-1]
        for variable in self.declare(space, block=scope.number):
            if scope.declares(variable.name):
                raise self.source.error(variable.location, f"{variable.name} is already declared")
            scope.names[variable.name] = variable.key
            self._body.variables[variable.key] = variable

    def _instruction(self) -> None:
        guard = None
        if self.accept("@"):
            negated = self.accept("!")
            guard = Guard(self.predicate(), negated)
        opcode = self.expect_kind("word", "an instruction")
        if guard is None and self.accept(":"):
            scope = self._scopes[-1]
            if scope.declares(opcode.text):
                raise self.error(opcode, f"label {opcode.text} is already defined")
            key = f"{opcode.text}@{scope.number}"
            scope.names[opcode.text] = key
            self._body.labels[key] = len(self._body.instructions)
            if self.next.text in _LABELLED:
                self._directive(opcode)
            return
        parts = tuple(opcode.text.split("."))
        operands: Sequence[Operand] = ()
        if not self.accept(";"):
            operands = self.several(partial(self.operand, parts[0]), ";")
        if self._named:
            self._unresolved[len(self._body.instructions)] = self._scopes[-1]
            self._named = False
        instruction = Instruction(parts, tuple(operands), guard, opcode.location)
        self._body.instructions.extend(split(self.source, instruction))

    def _resolved(self, scope: Scope, element: _Element) -> _Element:
        """A name with the key of its innermost declaration; anything else as it is."""
        if not isinstance(element, Symbol):
            return element
        name, module = element.name, self._module
        if name in scope.names:
            return replace(element, key=scope.names[name])
        if name in self._parameters or name in module.variables or name in module.functions:
            return element
        message = f"{name} is not declared: no register, label, parameter or variable"
        raise module.source.error(element.location, message)


def split(source: Source, instruction: Instruction) -> tuple[Instruction, ...]:
    """The instructions that do what an instruction does: itself, but for moves of vectors and for ``.b128``.

    A register of 128 bits is two of 64 bits. A load, store or atomic of it is one of two elements.
    """
    opcode, operands = instruction.opcode, instruction.operands
    if opcode[0] == "mov" and len(opcode) == 3 and opcode[1] in _VECTORS:
        return _vector_move(source, instruction, _VECTORS[opcode[1]])
    if _WIDE not in opcode:
        for operand in operands:
            if isinstance(operand, Vector) and operand.wide:
                raise source.error(operand.location, f"{instruction.name} does not take a .b128 register")
        return (instruction,)
    given = operands[:-1] if "L2::cache_hint" in opcode else operands
    wide = [isinstance(item, Vector) and item.wide for item in given if not isinstance(item, Address | Sink)]
    if opcode == ("mov", _WIDE) and len(operands) == 2 and any(wide):
        targets, sources = (_halves(source, operand) for operand in operands)
        return _moves(instruction, "b64", zip(targets, sources, strict=True))
    one = len(operands) >= 2 and not _VECTORS.keys() & set(opcode)
    taken = opcode[0] in ("ld", "st") or (opcode[0] == "atom" and bool({"cas", "exch"} & set(opcode)))
    if not taken or not wide or not all(wide) or not one:
        message = (
            f"{instruction.name} is not supported: mov, ld, st, atom.cas, atom.exch take .b128 registers"
        )
        raise source.error(instruction.location, message)
    before = tuple(takewhile(lambda part: part != _WIDE, opcode))
    return (replace(instruction, opcode=(*before, "v2", "b64", *opcode[len(before) + 1 :])),)


def _halves(source: Source, operand: Operand) -> tuple[Operand, Operand]:
    """The lower and the upper 64 bits of an operand of ``mov.b128``."""
    if isinstance(operand, Immediate) and operand.kind == "integer":
        return operand, replace(operand, value=0)
    if not isinstance(operand, Vector) or len(operand.elements) not in (2, 4):
        raise source.error(operand.location, "expected a .b128, two or four registers, or an integer")
    if len(operand.elements) == 2:
        return operand.elements[0], operand.elements[1]
    return replace(operand, elements=operand.elements[:2]), replace(operand, elements=operand.elements[2:])


def _vector_move(source: Source, instruction: Instruction, length: int) -> tuple[Instruction, ...]:
    vectors = [item for item in instruction.operands if isinstance(item, Vector) and not item.wide]
    fitting = [len(vector.elements) == length for vector in vectors]
    if not len(instruction.operands) == len(vectors) == 2 or not all(fitting):
        message = f"{instruction.name} takes two vectors of {length} registers"
        raise source.error(instruction.location, message)
    targets, sources = (vector.elements for vector in vectors)
    written = {target.key for target in targets if isinstance(target, Register)}
    copies = [
        replace(item, key=f"{item.key}~") if isinstance(item, Register) and item.key in written else item
        for item in sources
    ]
    before = [pair for pair in zip(copies, sources, strict=True) if pair[0] is not pair[1]]
    return _moves(instruction, instruction.opcode[2], (*before, *zip(targets, copies, strict=True)))


def _moves(
    instruction: Instruction, type_: str, pairs: Iterable[tuple[Operand, Operand]]
) -> tuple[Instruction, ...]:
    return tuple(
        replace(instruction, opcode=("mov", type_), operands=pair)
        for pair in pairs
        if not isinstance(pair[0], Sink)
    )
