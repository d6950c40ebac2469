"""The body of an entry or a function: registers, variables, labels, instructions and their operands."""

from dataclasses import replace
from typing import Final

from golden.limits import SCOPE_DEPTH
from golden.ptx.cursor import Cursor
from golden.ptx.declarations import STATE_SPACES, declare
from golden.ptx.lexer import Token
from golden.ptx.scalar_types import TYPES
from golden.ptx.scope import Scope
from golden.ptx.special_registers import SPECIAL_REGISTERS
from golden.ptx.syntax import (
    Address,
    Arguments,
    Body,
    Element,
    Function,
    Guard,
    Immediate,
    Instruction,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Variable,
    Vector,
)
from golden.tables.layouts import LANES

__all__ = ["parse_body"]

_SKIPPED: Final = (".pragma", ".file", ".noreturn", ".maxnreg", ".callprototype", ".calltargets")
_LABELLED: Final = (".branchtargets", ".callprototype", ".calltargets")
_INITIALISED: Final = (".global", ".const")


def parse_body(module: Module, function: Function) -> Body:
    """Parse the body of a function.

    Parameters
    ----------
    module : Module
        Its variables and functions may be named.
    function : Function
        One with a body.

    Raises
    ------
    PtxError
        For a syntax error, and for a name that is not declared.
    """
    return _BodyParser(module, function).parse()


class _BodyParser:
    def __init__(self, module: Module, function: Function) -> None:
        self._module = module
        self._cursor = Cursor(module.source, function.tokens)
        self._parameters = {parameter.name: parameter for parameter in function.parameters + function.results}
        self._instructions: list[Instruction] = []
        self._labels: dict[str, int] = {}
        self._variables: dict[str, Variable] = {}
        self._targets: dict[str, tuple[list[Symbol], Scope]] = {}
        self._scopes: list[Scope] = []
        self._count = 0
        self._unresolved: dict[int, Scope] = {}
        """The scope of each instruction with a name that may be declared further on."""

    def parse(self) -> Body:
        cursor = self._cursor
        first = cursor.expect("{")
        self._open()
        self._scopes[0].registers.update(
            {name: item.type for name, item in self._parameters.items() if item.space == "reg"}
        )
        while self._scopes:
            opening = cursor.next
            if cursor.accept("{"):
                if len(self._scopes) == SCOPE_DEPTH:
                    raise cursor.error(opening, f"braces are nested more than {SCOPE_DEPTH} deep")
                self._open()
            elif cursor.accept("}"):
                self._scopes.pop()
            elif cursor.next.kind == "end":
                raise cursor.error(first, "body without its end }")
            elif cursor.next.kind == "directive":
                self._directive(None)
            elif not cursor.accept(";"):
                self._instruction()
        for index, scope in self._unresolved.items():
            instruction = self._instructions[index]
            operands = tuple(self._resolved(operand, scope) for operand in instruction.operands)
            self._instructions[index] = replace(instruction, operands=operands)
        targets = {
            key: tuple(self._declared(symbol, scope) for symbol in symbols)
            for key, (symbols, scope) in self._targets.items()
        }
        return Body(tuple(self._instructions), self._labels, self._variables, targets)

    def _open(self) -> None:
        self._scopes.append(Scope(self._count, self._scopes[-1] if self._scopes else None))
        self._count += 1

    def _directive(self, label: Token | None) -> None:
        """Take a directive; `label` is the label right before it."""
        cursor = self._cursor
        token = cursor.advance()
        if token.text == ".reg":
            self._scopes[-1].declare_registers(cursor)
        elif token.text == ".loc":
            cursor.skip_line_information()
        elif token.text == ".branchtargets":
            self._branch_targets(token, label)
        elif token.text in _SKIPPED:
            cursor.skip_statement()
        elif token.text in STATE_SPACES:
            self._declare(token.text)
        else:
            supported = ", ".join((".reg", ".loc", ".pragma", ".branchtargets", *STATE_SPACES))
            raise cursor.error(token, f"unknown directive {token} in a body; supported: {supported}")

    def _branch_targets(self, directive: Token, label: Token | None) -> None:
        cursor = self._cursor
        symbols: list[Symbol] = []
        while not symbols or cursor.accept(","):
            token = cursor.expect_kind("word", "a label")
            symbols.append(Symbol(token.text, token.text, token.location))
        cursor.expect(";")
        if label is None:
            raise cursor.error(directive, ".branchtargets needs a label")
        scope = self._scopes[-1]
        self._targets[scope.names[label.text]] = symbols, scope

    def _declare(self, space: str) -> None:
        scope = self._scopes[-1]
        for variable in declare(self._cursor, space, block=scope.number):
            problem = None
            if variable.name in scope.names:
                problem = "is already declared"
            elif variable.initialiser is not None and space not in _INITIALISED:
                problem = f"in {space} cannot have an initialiser"
            if problem is not None:
                raise self._cursor.source.error(variable.location, f"{variable.name} {problem}")
            scope.names[variable.name] = variable.key
            self._variables[variable.key] = variable

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
            if cursor.next.text in _LABELLED:
                self._directive(opcode)
            return
        operands: list[Operand] = []
        if not cursor.sees(";"):
            operands.append(self._operand())
            while cursor.accept(","):
                operands.append(self._operand())
        cursor.expect(";")
        parts = tuple(opcode.text.split("."))
        self._instructions.append(Instruction(parts, tuple(operands), guard, opcode.location))

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
            return Vector(tuple(elements), opening.location)
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
            arguments: list[Element] = []
            while not cursor.accept(")"):
                if arguments:
                    cursor.expect(",")
                arguments.append(self._element())
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

    def _element(self) -> Element:
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
                break
        else:
            if name == "WARP_SZ":
                return Immediate(LANES, "integer", token.location)
            if name in SPECIAL_REGISTERS:
                return SpecialRegister(name, token.location)
        self._unresolved[len(self._instructions)] = self._scopes[-1]
        return Symbol(name, name, token.location)

    def _resolved(self, operand: Operand, scope: Scope) -> Operand:
        """An operand with the keys of the names in it."""
        if isinstance(operand, Symbol):
            return self._declared(operand, scope)
        if isinstance(operand, Address) and isinstance(operand.base, Symbol):
            return replace(operand, base=self._declared(operand.base, scope))
        if isinstance(operand, Vector | Arguments):
            elements = (
                self._declared(element, scope) if isinstance(element, Symbol) else element
                for element in operand.elements
            )
            return replace(operand, elements=tuple(elements))
        return operand

    def _declared(self, symbol: Symbol, scope: Scope) -> Symbol:
        """A name with its key: that of the innermost declaration."""
        name, module = symbol.name, self._module
        declaring: Scope | None = scope
        while declaring is not None and name not in declaring.names:
            declaring = declaring.parent
        if declaring is not None:
            return replace(symbol, key=declaring.names[name])
        if name in self._parameters or name in module.variables or name in module.functions:
            return symbol
        raise module.source.error(
            symbol.location, f"{name} is not declared: no register, label, parameter or variable"
        )
