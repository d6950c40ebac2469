"""Declarations of variables and parameters: ``.global .align 8 .b64 A[2][2] = {{1, 2}, {generic(B)}};``."""

import math
from dataclasses import dataclass, replace
from typing import Final

from golden.limits import (
    ALIGNMENT_BYTES,
    ARRAY_DIMENSIONS,
    CONSTANT_BYTES,
    LOCAL_BYTES,
    PARAMETER_BYTES,
    VARIABLE_BYTES,
)
from golden.ptx.expressions import ConstantParser
from golden.ptx.lexer import Token
from golden.ptx.scalar_types import ScalarType, float_value
from golden.ptx.syntax import Piece, Variable

Extents = tuple[int | None, ...]
"""The dimensions of an array; the first one may be open, which is None."""

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
    cursor: ConstantParser, space: str, *, external: bool = False, block: int | None = None
) -> list[Variable]:
    """Take a declaration from after its state space up to and with the semicolon.

    The `space` has its dot; `external` is whether ``.extern`` stands before it. The number `block` of the
    braces that it stands in makes the keys unique; it is None outside of functions.
    """
    form = _Form.take(cursor, predicates=False)
    declared = []
    while True:
        name = cursor.expect_kind("word", "a variable name")
        variable, extents = form.variable(cursor, name, space)
        if cursor.accept("="):
            variable = _Initialiser(cursor, variable).parse(extents, form.length)
        if variable.size is None and space != ".shared" and not external:
            raise cursor.error(name, f"{name.text} in {space} must have a size")
        key = name.text if block is None else f"{name.text}@{block}"
        declared.append(replace(variable, key=key, external=external))
        if not cursor.accept(","):
            break
    cursor.expect(";")
    return declared


def parameters(cursor: ConstantParser, *, registers: bool = True) -> tuple[Variable, ...]:
    """Take the parameters of a function from its opening to its closing parenthesis; PtxError if malformed.

    Without `registers`, for an entry, a parameter in a register is refused.
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
        variable, _ = form.variable(cursor, name, space)
        if variable.size is None:
            raise cursor.error(name, f"parameter {name.text} must have a size")
        key = name.text if name.text != "_" else str(len(found))
        if key in found:
            raise cursor.error(name, f"parameter {name.text} is already declared")
        found[key] = variable
    return tuple(found.values())


@dataclass(frozen=True)
class _Form:
    """What a declaration says of all its variables."""

    type: ScalarType
    """Of an element."""
    length: int
    """Elements of a vector."""
    alignment: int | None

    @classmethod
    def take(cls, cursor: ConstantParser, *, predicates: bool) -> "_Form":
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

    def variable(self, cursor: ConstantParser, name: Token, space: str) -> tuple[Variable, Extents]:
        """The variable of a name that has been taken, and its dimensions, which follow."""
        element = self.type.size * self.length
        extents = _extents(cursor)
        inner = math.prod(extent or 0 for extent in extents[1:]) * element
        size = None if extents[:1] == (None,) else (extents[0] or 0) * inner if extents else element
        if max(inner, size or 0) > _LARGEST[space]:
            raise cursor.error(
                name, f"a variable in {space} has at most {_LARGEST[space]} bytes, not {size or inner}"
            )
        variable = Variable(
            key=name.text,
            name=name.text,
            space=space[1:],
            type=self.type,
            size=size,
            alignment=self.alignment or element,
            location=name.location,
            is_array=bool(extents) or self.length > 1,
        )
        return variable, extents


def _alignment(cursor: ConstantParser) -> int:
    token = cursor.next
    value = cursor.integer("an alignment")
    if value < 1 or value & (value - 1) or value > ALIGNMENT_BYTES:
        message = f"the alignment must be a power of two up to {ALIGNMENT_BYTES}, not {value}"
        raise cursor.error(token, message)
    return value


def _extents(cursor: ConstantParser) -> Extents:
    extents: list[int | None] = []
    while cursor.sees("["):
        token = cursor.advance()
        if cursor.accept("]"):
            if extents:
                raise cursor.error(token, "only the first dimension may be open")
            extents.append(None)
        else:
            extents.append(cursor.integer("the size of an array"))
            cursor.expect("]")
        if len(extents) > ARRAY_DIMENSIONS:
            raise cursor.error(token, f"a variable has at most {ARRAY_DIMENSIONS} dimensions")
    return tuple(extents)


class _Initialiser:
    """The values that follow the equals sign of a variable.

    Every dimension is a list in braces. What a list does not give is zero; the outermost list of an open
    array gives its length. The elements of a vector are one more list.
    """

    def __init__(self, cursor: ConstantParser, variable: Variable) -> None:
        self._cursor = cursor
        self._name = variable.name
        self._variable = variable
        self._type = variable.type
        self._pieces: list[Piece] = []
        self._offset = 0

    def parse(self, extents: Extents, length: int) -> Variable:
        """Take the values of an array with these dimensions, of vectors of that length."""
        vector = (length,) if length > 1 else ()
        end = self._values((*extents, *vector), 0, vectors=len(extents))
        size = end if self._variable.size is None else self._variable.size
        return replace(self._variable, size=size, initialiser=tuple(self._pieces))

    def _values(self, extents: Extents, offset: int, *, vectors: int) -> int:
        """Take a list, or an element where there are no dimensions; where the values end.

        `vectors` counts the dimensions down to vectors, which must be complete.
        """
        cursor = self._cursor
        if not extents:
            self._offset = offset
            self._element()
            return offset + self._type.size
        most, *inner = extents
        opening = cursor.expect("{")
        stride = math.prod(extent or 0 for extent in inner) * self._type.size
        count = 0
        while not cursor.accept("}"):
            if count == most:
                raise cursor.error(cursor.next, f"a list of {self._name} has more than {most} elements")
            self._values(tuple(inner), offset + count * stride, vectors=vectors - 1)
            count += 1
            if not cursor.sees("}"):
                cursor.expect(",")
        if not vectors and count != most:
            raise cursor.error(opening, f"a vector of {self._name} has {most} elements, not {count}")
        return offset + count * stride

    def _element(self) -> None:
        cursor, type_ = self._cursor, self._type
        token = cursor.next
        if cursor.sees("{"):
            raise cursor.error(token, f"an element of {self._name} is a value, not a list")
        if token.kind == "word":
            self._address(token)
            return
        constant = cursor.immediate()
        if cursor.sees("("):
            self._masked(token, constant.value)
            return
        if constant.kind == "integer":
            if type_.kind == "float":
                value = type_.float_bits(float(constant.value))
            else:
                value = constant.value & ((1 << type_.bits) - 1)
        elif type_.kind == "float" or (type_.kind == "bits" and type_.bits >= 32):
            bits = 32 if constant.kind == "f32" else 64
            same = bits == type_.bits
            value = constant.value if same else type_.float_bits(float_value(constant.value, bits))
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
