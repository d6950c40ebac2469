"""Initialisers of variables: ``= {{1, 2}, {generic(other) + 4}}``."""

import math
from dataclasses import replace

from golden.ptx.cursor import Cursor
from golden.ptx.lexer import Token
from golden.ptx.scalar_types import float_value
from golden.ptx.syntax import Piece, Variable

Extents = tuple[int | None, ...]


def initialised(cursor: Cursor, variable: Variable, extents: Extents, length: int) -> Variable:
    """A variable with the values that follow its equals sign.

    Every dimension is a list in braces. What a list does not give is zero; the outermost list of an open
    array gives its length. The first of the dimensions `extents` may be open; the `length` elements of a
    vector are one more list.
    """
    return _Initialiser(cursor, variable).parse(extents, length)


class _Initialiser:
    def __init__(self, cursor: Cursor, variable: Variable) -> None:
        self._cursor = cursor
        self._name = variable.name
        self._variable = variable
        self._type = variable.type
        self._pieces: list[Piece] = []
        self._offset = 0

    def parse(self, extents: Extents, length: int) -> Variable:
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
