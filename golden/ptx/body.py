"""The body of an entry: register declarations, labels, statements and their operands."""

from dataclasses import dataclass, field, replace

from golden.ptx.cursor import Cursor
from golden.ptx.declarations import STATE_SPACES, declare_variables
from golden.ptx.lexer import Token
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.special_registers import is_special
from golden.ptx.syntax import (
    Address,
    Guard,
    Immediate,
    Operand,
    Register,
    SpecialRegister,
    Statement,
    Symbol,
    Variable,
    Vector,
)

__all__ = ["Body"]


@dataclass
class _Block:
    """The registers that one pair of braces declares: single ones, and numbered ones by prefix and count."""

    number: int
    singles: dict[str, ScalarType] = field(default_factory=dict)
    ranges: dict[str, tuple[int, ScalarType]] = field(default_factory=dict)

    def find(self, name: str) -> ScalarType | None:
        """The type of the register `name`, if this block declares it."""
        if name in self.singles:
            return self.singles[name]
        prefix = name.rstrip("0123456789")
        for split in range(len(prefix), len(name)):
            index = name[split:]
            canonical = index == "0" or not index.startswith("0")
            if canonical and name[:split] in self.ranges and len(index) <= 10:
                count, type_ = self.ranges[name[:split]]
                if int(index) < count:
                    return type_
        return None


class Body:
    """Parser of one entry's body.

    Parameters
    ----------
    cursor : Cursor
        In sight: the opening brace.

    Attributes
    ----------
    statements : list of Statement
    labels : dict of str to int
        Index of the statement each label stands before.
    variables : dict of str to Variable
        Those declared here, in order.
    """

    def __init__(self, cursor: Cursor) -> None:
        self.statements: list[Statement] = []
        self.labels: dict[str, int] = {}
        self.variables: dict[str, Variable] = {}
        self._cursor = cursor
        self._blocks: list[_Block] = []
        self._block_count = 0

    def parse(self) -> None:
        """Take everything from the opening to the closing brace.

        Raises
        ------
        PtxError
        """
        cursor = self._cursor
        opening = cursor.expect("{")
        self._open()
        while self._blocks:
            if cursor.accept("{"):
                self._open()
            elif cursor.accept("}"):
                self._blocks.pop()
            elif cursor.next.kind == "end":
                raise cursor.error(opening, "body without its end }")
            elif cursor.next.kind == "directive":
                self._directive()
            elif not cursor.accept(";"):
                self._statement()

    def _open(self) -> None:
        self._blocks.append(_Block(self._block_count))
        self._block_count += 1

    def _directive(self) -> None:
        cursor = self._cursor
        token = cursor.advance()
        if token.text == ".reg":
            self._registers()
        elif token.text == ".loc":
            skip_line_information(cursor)
        elif token.text == ".pragma":
            cursor.skip_statement()
        elif token.text in STATE_SPACES:
            declare_variables(cursor, token.text, self.variables)
        else:
            supported = ", ".join((".reg", ".loc", ".pragma", *STATE_SPACES))
            raise cursor.error(token, f"unknown directive {token} in a body; supported: {supported}")

    def _registers(self) -> None:
        cursor = self._cursor
        type_ = cursor.type()
        block = self._blocks[-1]
        while True:
            token = self._name("a register name")
            if token.text in block.singles or token.text in block.ranges:
                raise cursor.error(token, f"register {token.text} is already declared")
            if cursor.accept("<"):
                block.ranges[token.text] = (cursor.integer("the number of registers"), type_)
                cursor.expect(">")
            else:
                block.singles[token.text] = type_
            if not cursor.accept(","):
                break
        cursor.expect(";")

    def _name(self, what: str) -> Token:
        token = self._cursor.next
        if token.kind != "word" or "." in token.text:
            raise self._cursor.unexpected(what)
        return self._cursor.advance()

    def _statement(self) -> None:
        cursor = self._cursor
        guard = None
        if cursor.accept("@"):
            negated = cursor.accept("!")
            guard = Guard(self._predicate(), negated)
        opcode = cursor.expect_kind("word", "an instruction")
        if guard is None and cursor.accept(":"):
            if opcode.text in self.labels:
                raise cursor.error(opcode, f"label {opcode.text} is already defined")
            self.labels[opcode.text] = len(self.statements)
            return
        operands: list[Operand] = []
        if not cursor.sees(";"):
            operands.append(self._operand())
            while cursor.accept(","):
                operands.append(self._operand())
        cursor.expect(";")
        parts = tuple(opcode.text.split("."))
        self.statements.append(Statement(parts, tuple(operands), guard, opcode.location))

    def _predicate(self) -> Register:
        token = self._cursor.next
        operand = self._simple_operand()
        if not isinstance(operand, Register) or operand.type is not TYPES["pred"]:
            raise self._cursor.error(token, f"expected a .pred register, not {token}")
        return operand

    def _operand(self) -> Operand:
        cursor = self._cursor
        opening = cursor.next
        if cursor.accept("{"):
            elements = [self._simple_operand()]
            while cursor.accept(","):
                elements.append(self._simple_operand())
            cursor.expect("}")
            return Vector(tuple(elements), opening.location)
        if cursor.accept("["):
            base = self._simple_operand()
            if isinstance(base, SpecialRegister):
                raise cursor.error(opening, f"an address cannot be in {base.name}")
            offset = self._offset()
            cursor.expect("]")
            return Address(base, offset, opening.location)
        operand = self._simple_operand()
        return replace(operand, offset=self._offset()) if isinstance(operand, Symbol) else operand

    def _offset(self) -> int:
        cursor = self._cursor
        if not cursor.accept("+") and not cursor.sees("-"):
            return 0
        token = cursor.next
        constant = cursor.immediate()
        if constant.kind != "integer":
            raise cursor.error(token, "an offset must be an integer")
        return constant.value

    def _simple_operand(self) -> Register | SpecialRegister | Immediate | Symbol:
        cursor = self._cursor
        token = cursor.next
        if token.kind == "number" or token.text == "-":
            return cursor.immediate()
        if token.kind != "word":
            raise cursor.unexpected("an operand")
        cursor.advance()
        name = token.text
        for block in reversed(self._blocks):
            type_ = block.find(name)
            if type_ is not None:
                return Register(name, f"{name}@{block.number}", type_, token.location)
        if is_special(name):
            return SpecialRegister(name, token.location)
        return Symbol(name, token.location)


def skip_line_information(cursor: Cursor) -> None:
    """Take what follows ``.loc``: file, line and column, and where the code was inlined."""
    for what in ("a file number", "a line number", "a column"):
        cursor.integer(what)
    if cursor.accept(","):
        cursor.expect("function_name")
        cursor.expect_kind("word", "a label")
        if cursor.accept("+"):
            cursor.integer("an offset")
        cursor.expect(",")
        cursor.expect("inlined_at")
        for what in ("a file number", "a line number", "a column"):
            cursor.integer(what)
