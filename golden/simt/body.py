"""The body of an entry or a function: scopes, registers, labels, instructions."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from golden.ptx.body import skip_line_information
from golden.ptx.cursor import Cursor
from golden.ptx.lexer import Token
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.source import Source
from golden.ptx.syntax import Address, Guard, Immediate, Register, SpecialRegister, Symbol, Vector
from golden.simt.declarations import STATE_SPACES, declare
from golden.simt.special_registers import is_special
from golden.simt.syntax import Arguments, Body, Function, Instruction, Negated, Operand, Pair, Sink, Storage

__all__ = ["parse_body"]

_LINE_DIRECTIVES: Final = (".loc", ".pragma", ".file", ".noreturn", ".maxnreg")
_MOST_REGISTERS: Final = 1 << 20
_WARP_SIZE: Final = 32

Simple = Register | SpecialRegister | Immediate | Symbol | Negated | Sink | Pair


@dataclass
class _Scope:
    """What one pair of braces declares: registers by name, or by prefix and count; variables and labels."""

    number: int
    registers: dict[str, ScalarType] = field(default_factory=dict)
    ranges: dict[str, tuple[int, ScalarType]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def register(self, name: str) -> ScalarType | None:
        """The type of a register declared here."""
        if name in self.registers:
            return self.registers[name]
        prefix = name.rstrip("0123456789")
        for split in range(len(prefix), len(name)):
            index = name[split:]
            canonical = index == "0" or not index.startswith("0")
            if canonical and name[:split] in self.ranges and len(index) <= 10:
                count, type_ = self.ranges[name[:split]]
                if int(index) < count:
                    return type_
        return None


def parse_body(source: Source, function: Function, known: Iterable[str]) -> Body:
    """Parse the body of a function.

    Parameters
    ----------
    source : Source
    function : Function
    known : iterable of str
        Names of the module: its variables and functions.

    Raises
    ------
    PtxError
        For a syntax error, and for a name that is not declared.
    """
    return _BodyParser(source, function, frozenset(known)).parse()


class _BodyParser:
    def __init__(self, source: Source, function: Function, known: frozenset[str]) -> None:
        self._cursor = Cursor(source, function.tokens)
        self._known = known | {parameter.name for parameter in (*function.parameters, *function.results)}
        self._instructions: list[Instruction] = []
        self._scopes_of: list[tuple[_Scope, ...]] = []
        self._labels: dict[str, int] = {}
        self._storage: dict[str, Storage] = {}
        self._targets: dict[str, tuple[str, ...]] = {}
        self._targets_scopes: dict[str, tuple[_Scope, ...]] = {}
        self._scopes: tuple[_Scope, ...] = ()
        self._count = 0
        self._reg_parameters = {
            parameter.name: parameter.type
            for parameter in (*function.parameters, *function.results)
            if parameter.space == "reg"
        }

    def parse(self) -> Body:
        cursor = self._cursor
        opening = cursor.expect("{")
        self._open()
        self._scopes[0].registers.update(self._reg_parameters)
        while self._scopes:
            if cursor.accept("{"):
                self._open()
            elif cursor.accept("}"):
                self._scopes = self._scopes[:-1]
            elif cursor.next.kind == "end":
                raise cursor.error(opening, "body without its end }")
            elif cursor.next.kind == "directive":
                self._directive(None)
            elif not cursor.accept(";"):
                self._instruction()
        resolved = tuple(
            self._resolve_all(instruction, scopes)
            for instruction, scopes in zip(self._instructions, self._scopes_of, strict=True)
        )
        targets = {
            key: tuple(
                self._resolve(Symbol(name, resolved[0].location), self._targets_scopes[key]).name
                for name in names
            )
            for key, names in self._targets.items()
        }
        return Body(resolved, self._labels, self._storage, targets)

    def _open(self) -> None:
        self._scopes = (*self._scopes, _Scope(self._count))
        self._count += 1

    def _directive(self, label: Token | None) -> None:
        cursor = self._cursor
        token = cursor.advance()
        if token.text == ".reg":
            self._registers()
        elif token.text == ".loc":
            skip_line_information(cursor)
        elif token.text in (".callprototype", ".calltargets"):
            cursor.skip_statement()
        elif token.text == ".branchtargets":
            names = [cursor.expect_kind("word", "a label").text]
            while cursor.accept(","):
                names.append(cursor.expect_kind("word", "a label").text)
            cursor.expect(";")
            if label is None:
                raise cursor.error(token, ".branchtargets needs a label")
            key = self._scopes[-1].names[label.text]
            self._targets[key] = tuple(names)
            self._targets_scopes[key] = self._scopes
        elif token.text in _LINE_DIRECTIVES:
            cursor.skip_statement()
        elif token.text in STATE_SPACES:
            self._variables(token.text)
        else:
            supported = ", ".join((".reg", ".loc", ".pragma", ".branchtargets", *STATE_SPACES))
            raise cursor.error(token, f"unknown directive {token} in a body; supported: {supported}")

    def _variables(self, space: str) -> None:
        scope = self._scopes[-1]
        for variable in declare(self._cursor, space, block=scope.number):
            storage = variable.storage
            if storage.name in scope.names:
                raise self._cursor.source.error(storage.location, f"{storage.name} is already declared")
            if variable.pieces and space != ".const":
                raise self._cursor.source.error(
                    storage.location, f"{storage.name} in a body cannot have an initialiser"
                )
            scope.names[storage.name] = storage.key
            self._storage[storage.key] = storage

    def _registers(self) -> None:
        cursor = self._cursor
        if cursor.next.text in (".v2", ".v4"):
            raise cursor.error(cursor.next, "registers that are vectors are not supported")
        type_ = cursor.type()
        scope = self._scopes[-1]
        while True:
            token = cursor.expect_kind("word", "a register name")
            if cursor.accept("<"):
                if token.text in scope.ranges:
                    raise cursor.error(token, f"registers {token.text} are already declared")
                number = cursor.next
                count = cursor.integer("the number of registers")
                if count > _MOST_REGISTERS:
                    raise cursor.error(number, f"{count} registers exceed {_MOST_REGISTERS}")
                scope.ranges[token.text] = (count, type_)
                cursor.expect(">")
            elif token.text in scope.registers:
                raise cursor.error(token, f"register {token.text} is already declared")
            else:
                scope.registers[token.text] = type_
            if not cursor.accept(","):
                break
        cursor.expect(";")

    def _instruction(self) -> None:
        cursor = self._cursor
        guard = None
        if cursor.accept("@"):
            negated = cursor.accept("!")
            guard = Guard(self._predicate(), negated)
        opcode = cursor.expect_kind("word", "an instruction")
        if guard is None and cursor.accept(":"):
            scope = self._scopes[-1]
            if opcode.text in scope.names:
                raise cursor.error(opcode, f"label {opcode.text} is already defined")
            key = f"{opcode.text}@{scope.number}"
            scope.names[opcode.text] = key
            self._labels[key] = len(self._instructions)
            if cursor.next.kind == "directive" and cursor.next.text in (
                ".branchtargets",
                ".callprototype",
                ".calltargets",
            ):
                self._directive(opcode)
            return
        operands: list[Operand] = []
        if not cursor.sees(";"):
            operands.append(self._operand())
            while cursor.accept(","):
                operands.append(self._operand())
        cursor.expect(";")
        parts = tuple(opcode.text.replace("::", "\0").split("."))
        parts = tuple(part.replace("\0", "::") for part in parts)
        self._instructions.append(Instruction(parts, tuple(operands), guard, opcode.location))
        self._scopes_of.append(self._scopes)

    def _predicate(self) -> Register:
        token = self._cursor.next
        operand = self._simple()
        if not isinstance(operand, Register) or operand.type is not TYPES["pred"]:
            raise self._cursor.error(token, f"expected a .pred register, not {token}")
        return operand

    def _operand(self) -> Operand:
        cursor = self._cursor
        opening = cursor.next
        if cursor.accept("{"):
            elements = [self._element()]
            while cursor.accept(","):
                elements.append(self._element())
            cursor.expect("}")
            return Vector(tuple(elements), opening.location)  # type: ignore[arg-type]
        if cursor.accept("["):
            base = self._simple()
            if not isinstance(base, Register | Symbol | Immediate):
                raise cursor.error(opening, "an address must be a register, a name or a number")
            offset = self._offset()
            if cursor.accept(","):  # coordinates, of instructions that are not supported
                while not cursor.accept("]"):
                    if cursor.next.kind == "end" or cursor.sees(";"):
                        raise cursor.unexpected("']'")
                    cursor.advance()
                return Arguments((), opening.location)
            cursor.expect("]")
            return Address(base, offset, opening.location)
        if cursor.accept("("):
            arguments: list[Register | Immediate | Symbol | Sink] = []
            while not cursor.accept(")"):
                if arguments:
                    cursor.expect(",")
                element = self._element()
                arguments.append(element)  # type: ignore[arg-type]
            return Arguments(tuple(arguments), opening.location)
        if cursor.accept("!"):
            return Negated(self._predicate(), opening.location)
        operand = self._element()
        if cursor.accept("|"):
            second = self._element()
            if not isinstance(operand, Register | Sink) or not isinstance(second, Register | Sink):
                raise cursor.error(opening, "both sides of | must be registers")
            return Pair(operand, second, opening.location)
        return replace(operand, offset=self._offset()) if isinstance(operand, Symbol) else operand

    def _element(self) -> Register | SpecialRegister | Immediate | Symbol | Sink:
        token = self._cursor.next
        if self._cursor.accept("_"):
            return Sink(token.location)
        return self._simple()

    def _offset(self) -> int:
        cursor = self._cursor
        if not cursor.accept("+") and not cursor.sees("-"):
            return 0
        token = cursor.next
        constant = cursor.immediate()
        if constant.kind != "integer":
            raise cursor.error(token, "an offset must be an integer")
        return constant.value

    def _simple(self) -> Register | SpecialRegister | Immediate | Symbol:
        cursor = self._cursor
        token = cursor.next
        if token.kind == "number" or token.text == "-":
            return cursor.immediate()
        if token.kind != "word":
            raise cursor.unexpected("an operand")
        cursor.advance()
        name = token.text
        for scope in reversed(self._scopes):
            type_ = scope.register(name)
            if type_ is not None:
                return Register(name, f"{name}@{scope.number}", type_, token.location)
            if name in scope.names:
                return Symbol(name, token.location)
        if name == "WARP_SZ":
            return Immediate(_WARP_SIZE, "integer", token.location)
        if is_special(name):
            return SpecialRegister(name, token.location)
        return Symbol(name, token.location)

    def _resolve_all(self, instruction: Instruction, scopes: tuple[_Scope, ...]) -> Instruction:
        operands = instruction.operands
        if not any(isinstance(part, Symbol | Address | Arguments | Vector) for part in operands):
            return instruction
        changed: list[Operand] = []
        for operand in operands:
            if isinstance(operand, Symbol):
                changed.append(self._resolve(operand, scopes))
            elif isinstance(operand, Address) and isinstance(operand.base, Symbol):
                changed.append(replace(operand, base=self._resolve(operand.base, scopes)))
            elif isinstance(operand, Arguments | Vector):
                parts = tuple(
                    self._resolve(part, scopes) if isinstance(part, Symbol) else part
                    for part in operand.elements
                )
                changed.append(replace(operand, elements=parts))  # type: ignore[arg-type]
            else:
                changed.append(operand)
        return replace(instruction, operands=tuple(changed))

    def _resolve(self, symbol: Symbol, scopes: tuple[_Scope, ...]) -> Symbol:
        for scope in reversed(scopes):
            if symbol.name in scope.names:
                return replace(symbol, name=scope.names[symbol.name])
        if symbol.name not in self._known:
            raise self._cursor.source.error(
                symbol.location, f"{symbol.name} is not declared: no register, label, parameter or variable"
            )
        return symbol
