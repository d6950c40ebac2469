"""Declarations of variables and parameters: ``.shared .align 32 .f16 A[16][16], B[256];``."""

from dataclasses import dataclass, replace
from typing import Final

from golden.limits import (
    ALIGNMENT_BYTES,
    CONSTANT_BYTES,
    INITIALISER_DIMENSIONS,
    LOCAL_BYTES,
    PARAMETER_BYTES,
    VARIABLE_BYTES,
)
from golden.ptx.cursor import Cursor
from golden.ptx.lexer import Token
from golden.ptx.scalar_types import ScalarType, float_bits, float_value
from golden.ptx.syntax import Piece, Variable

__all__ = ["STATE_SPACES", "declare", "parameters"]

STATE_SPACES: Final = (".shared", ".local", ".global", ".const", ".param")
"""What a declaration of variables begins with."""

_LARGEST: Final = {
    ".global": VARIABLE_BYTES,
    ".const": CONSTANT_BYTES,
    ".shared": VARIABLE_BYTES,
    ".local": LOCAL_BYTES,
    ".param": PARAMETER_BYTES,
    ".reg": PARAMETER_BYTES,
}
"""Bytes of a variable, by state space."""


def declare(
    cursor: Cursor, space: str, *, external: bool = False, block: int | None = None
) -> list[Variable]:
    """Take a declaration from after its state space up to and with the semicolon.

    Parameters
    ----------
    cursor : Cursor
    space : str
        State space with its dot.
    external : bool
        Whether ``.extern`` stands before it.
    block : int or None
        Number of the pair of braces it stands in, which makes the keys unique; None outside of functions.

    Raises
    ------
    PtxError
        For a malformed declaration and for an initialiser that does not fit.
    """
    form = _Form.take(cursor, predicates=False)
    declared = []
    while True:
        name = cursor.expect_kind("word", "a variable name")
        variable = form.variable(cursor, name, space)
        if cursor.accept("="):
            variable = _initialised(cursor, variable)
        if variable.size is None and space != ".shared" and not external:
            raise cursor.error(name, f"{name.text} in {space} must have a size")
        key = name.text if block is None else f"{name.text}@{block}"
        declared.append(replace(variable, key=key, external=external))
        if not cursor.accept(","):
            break
    cursor.expect(";")
    return declared


def parameters(cursor: Cursor, *, registers: bool = True) -> tuple[Variable, ...]:
    """Take the parameters of a function from its opening to its closing parenthesis.

    Parameters
    ----------
    cursor : Cursor
    registers : bool
        Whether they may be in registers; those of an entry may not.

    Raises
    ------
    PtxError
    """
    cursor.expect("(")
    found: dict[str, Variable] = {}
    while not cursor.accept(")"):
        if found:
            cursor.expect(",")
        space = cursor.next.text
        if not (cursor.accept(".param") or (registers and cursor.accept(".reg"))):
            raise cursor.unexpected("'.param'")
        form = _Form.take(cursor, predicates=True)
        name = cursor.expect_kind("word", "the name of a parameter")
        variable = form.variable(cursor, name, space)
        if variable.size is None:
            raise cursor.error(name, f"parameter {name.text} must have a size")
        key = name.text if name.text != "_" else str(len(found))
        if key in found:
            raise cursor.error(name, f"parameter {name.text} is already declared")
        found[key] = variable
    return tuple(found.values())


@dataclass(frozen=True)
class _Form:
    """What a declaration says of all its variables.

    Parameters
    ----------
    type : ScalarType
        Of an element.
    length : int
        Elements of a vector.
    alignment : int or None
    """

    type: ScalarType
    length: int
    alignment: int | None

    @classmethod
    def take(cls, cursor: Cursor, *, predicates: bool) -> "_Form":
        """Take alignment, vector length and type; `predicates` is whether ``.pred`` may be the type."""
        alignment: int | None = None
        length = 1
        while True:
            if cursor.accept(".align"):
                alignment = _alignment(cursor)
            elif cursor.accept(".attribute"):
                while not cursor.accept(")"):
                    if cursor.next.kind == "end":
                        raise cursor.unexpected("')'")
                    cursor.advance()
            elif cursor.accept(".v2"):
                length = 2
            elif cursor.accept(".v4"):
                length = 4
            else:
                break
        token = cursor.next
        type_ = cursor.type()
        if type_.kind == "predicate" and not predicates:
            raise cursor.error(token, "a variable in memory cannot be .pred")
        if cursor.accept(".ptr"):
            if cursor.next.text in STATE_SPACES:
                cursor.advance()
            if cursor.accept(".align"):
                _alignment(cursor)
        if cursor.accept(".align"):
            alignment = _alignment(cursor)
        return cls(type_, length, alignment)

    def variable(self, cursor: Cursor, name: Token, space: str) -> Variable:
        """The variable of a name that has been taken; its dimensions follow."""
        element = self.type.size * self.length
        size, is_array = _extent(cursor, element, space)
        return Variable(
            key=name.text,
            name=name.text,
            space=space[1:],
            type=self.type,
            size=size,
            alignment=self.alignment or element,
            location=name.location,
            is_array=is_array or self.length > 1,
        )


def _initialised(cursor: Cursor, variable: Variable) -> Variable:
    """A variable with the values that follow; they are the size of an open array."""
    pieces = _Initialiser(cursor, variable.type).parse()
    size = variable.size
    end = max((piece.offset + piece.size for piece in pieces), default=0)
    if size is not None and end > size:
        message = f"{variable.name} has {size} bytes, but its initialiser has {end}"
        raise cursor.source.error(variable.location, message)
    return replace(variable, size=end if size is None else size, initialiser=pieces)


def _alignment(cursor: Cursor) -> int:
    token = cursor.next
    value = cursor.integer("an alignment")
    if value < 1 or value & (value - 1) or value > ALIGNMENT_BYTES:
        message = f"the alignment must be a power of two up to {ALIGNMENT_BYTES}, not {value}"
        raise cursor.error(token, message)
    return value


def _extent(cursor: Cursor, element: int, space: str) -> tuple[int | None, bool]:
    """Bytes of the array whose dimensions follow, None if a dimension is open; and whether any follow."""
    size: int | None = element
    is_array = False
    while cursor.accept("["):
        is_array = True
        if cursor.accept("]"):
            size = None
            continue
        token = cursor.next
        extent = cursor.integer("the size of an array")
        size = None if size is None else size * extent
        if size is not None and size > _LARGEST[space]:
            raise cursor.error(
                token, f"a variable in {space} has at most {_LARGEST[space]} bytes, not {size}"
            )
        cursor.expect("]")
    return size, is_array


class _Initialiser:
    """Parser of what follows the equals sign of a declaration."""

    def __init__(self, cursor: Cursor, type_: ScalarType) -> None:
        self._cursor = cursor
        self._type = type_
        self._pieces: list[Piece] = []
        self._offset = 0

    def parse(self) -> tuple[Piece, ...]:
        if self._cursor.sees("{"):
            self._list()
        else:
            self._element()
        return tuple(self._pieces)

    def _list(self, depth: int = 0) -> None:
        cursor = self._cursor
        opening = cursor.expect("{")
        if depth > INITIALISER_DIMENSIONS:
            raise cursor.error(opening, f"an initialiser has at most {INITIALISER_DIMENSIONS} dimensions")
        while not cursor.accept("}"):
            if cursor.sees("{"):
                self._list(depth + 1)
            else:
                self._element()
            if not cursor.sees("}"):
                cursor.expect(",")

    def _element(self) -> None:
        cursor, type_ = self._cursor, self._type
        token = cursor.next
        if token.kind == "word":
            self._address(token)
            return
        constant = cursor.immediate()
        if cursor.sees("("):
            self._masked(token, constant.value)
            return
        if constant.kind == "integer":
            if type_.kind == "float":
                value = float_bits(float(constant.value), type_.bits)
            else:
                value = constant.value & ((1 << type_.bits) - 1)
        elif type_.kind == "float" or constant.kind == f"f{type_.bits}":
            bits = 32 if constant.kind == "f32" else 64
            same = bits == type_.bits
            value = constant.value if same else float_bits(float_value(constant.value, bits), type_.bits)
        else:
            raise cursor.error(token, f"{token} cannot initialise an element of type {type_}")
        self._add(value, None, token)

    def _masked(self, token: Token, mask: int) -> None:
        """``0xff(symbol)``: one byte of an address."""
        cursor = self._cursor
        shift = (mask & -mask).bit_length() - 1
        if not mask or mask >> shift != 0xFF or shift % 8:
            raise cursor.error(token, f"the mask {mask:#x} does not select one byte of an address")
        cursor.expect("(")
        name = cursor.expect_kind("word", "a variable name")
        symbol, offset = self._named(name)
        cursor.expect(")")
        self._add(offset, symbol, token, shift=shift)

    def _address(self, token: Token) -> None:
        cursor = self._cursor
        cursor.advance()
        symbol, offset = self._named(token)
        if self._type.bits < 32:
            raise cursor.error(token, f"an address does not fit into {self._type}")
        self._add(offset, symbol, token)

    def _named(self, token: Token) -> tuple[str, int]:
        """The variable and the offset after its name, or after ``generic``."""
        cursor = self._cursor
        if token.text != "generic":
            return token.text, self._sum()
        cursor.expect("(")
        name = cursor.expect_kind("word", "a variable name").text
        offset = self._sum()
        cursor.expect(")")
        return name, offset + self._sum()

    def _sum(self) -> int:
        cursor = self._cursor
        if cursor.accept("+") or cursor.sees("-"):
            return cursor.immediate().value
        return 0

    def _add(self, value: int, symbol: str | None, token: Token, *, shift: int = 0) -> None:
        size = self._type.size
        self._pieces.append(Piece(self._offset, size, value, symbol, shift, token.location))
        self._offset += size
