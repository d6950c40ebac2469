"""Declarations of variables and parameters: ``.shared .align 32 .f16 A[16][16], B[256];``."""

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
from golden.ptx.cursor import Cursor
from golden.ptx.initialisers import initialised
from golden.ptx.lexer import Token
from golden.ptx.scalar_types import ScalarType
from golden.ptx.syntax import Variable

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

    The `space` has its dot; `external` is whether ``.extern`` stands before it. The number `block` of the
    braces that it stands in makes the keys unique; it is None outside of functions.
    """
    form = _Form.take(cursor, predicates=False)
    declared = []
    while True:
        name = cursor.expect_kind("word", "a variable name")
        variable, extents = form.variable(cursor, name, space)
        if cursor.accept("="):
            variable = initialised(cursor, variable, extents, form.length)
        if variable.size is None and space != ".shared" and not external:
            raise cursor.error(name, f"{name.text} in {space} must have a size")
        key = name.text if block is None else f"{name.text}@{block}"
        declared.append(replace(variable, key=key, external=external))
        if not cursor.accept(","):
            break
    cursor.expect(";")
    return declared


def parameters(cursor: Cursor, *, registers: bool = True) -> tuple[Variable, ...]:
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

    def variable(self, cursor: Cursor, name: Token, space: str) -> tuple[Variable, tuple[int | None, ...]]:
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


def _alignment(cursor: Cursor) -> int:
    token = cursor.next
    value = cursor.integer("an alignment")
    if value < 1 or value & (value - 1) or value > ALIGNMENT_BYTES:
        message = f"the alignment must be a power of two up to {ALIGNMENT_BYTES}, not {value}"
        raise cursor.error(token, message)
    return value


def _extents(cursor: Cursor) -> tuple[int | None, ...]:
    """The dimensions of an array; the first one may be open, which is None."""
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
