"""Declarations of variables in memory: ``.shared .align 32 .f16 A[16][16], B[256];``."""

from golden.ptx.cursor import Cursor
from golden.ptx.scalar_types import ScalarType
from golden.ptx.syntax import Variable

__all__ = ["STATE_SPACES", "declare_variables"]

STATE_SPACES = (".shared", ".local", ".global", ".const", ".param")
"""What a declaration of variables begins with."""


def declare_variables(cursor: Cursor, space: str, declared: dict[str, Variable]) -> None:
    """Take what follows the state space, up to the semicolon, and add the variables to `declared`.

    Raises
    ------
    PtxError
        For an alignment that is no power of two, a variable of predicates, and a name declared twice.
    """
    alignment = None
    length = 1
    while True:
        if cursor.accept(".align"):
            token = cursor.next
            alignment = cursor.integer("an alignment")
            if alignment < 1 or alignment & (alignment - 1):
                raise cursor.error(token, f"the alignment must be a power of two, not {alignment}")
        elif cursor.accept(".attribute"):
            _skip_to(cursor, (")",))
            cursor.expect(")")
        elif cursor.accept(".v2"):
            length = 2
        elif cursor.accept(".v4"):
            length = 4
        else:
            break
    token = cursor.next
    type_ = cursor.type()
    if type_.kind == "predicate":
        raise cursor.error(token, "a variable in memory cannot be .pred")
    while True:
        variable = _variable(cursor, space, type_, length, alignment)
        if variable.name in declared:
            raise cursor.source.error(variable.location, f"variable {variable.name} is already declared")
        declared[variable.name] = variable
        if not cursor.accept(","):
            break
    cursor.expect(";")


def _variable(cursor: Cursor, space: str, type_: ScalarType, length: int, alignment: int | None) -> Variable:
    name = cursor.expect_kind("word", "a variable name")
    element = type_.bits // 8 * length
    size: int | None = element
    while cursor.accept("["):
        if cursor.accept("]"):
            size = None
            continue
        extent = cursor.integer("the size of an array")
        size = None if size is None else size * extent
        cursor.expect("]")
    initialised = cursor.accept("=")
    if initialised:
        _skip_to(cursor, (",", ";"))
    return Variable(name.text, space[1:], size, alignment or element, initialised, name.location)


def _skip_to(cursor: Cursor, ends: tuple[str, ...]) -> None:
    """Take everything up to one of the punctuation marks `ends` that is in no inner bracket."""
    depth = 0
    while depth or not any(cursor.sees(end) for end in ends):
        if cursor.next.kind == "end":
            raise cursor.unexpected(repr(ends[-1]))
        token = cursor.advance()
        if token.kind == "punctuation":
            depth += (token.text in "{([") - (token.text in "])}")
