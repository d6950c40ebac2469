"""Declarations of variables and parameters, and where these are placed.

For example ``.global .align 8 .b64 A[2][2] = {{1, 2}, {generic(B)}};``.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
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
from golden.ptx.scalar_types import float_value
from golden.ptx.source import Token
from golden.ptx.syntax import Piece, Variable

Extents = tuple[int | None, ...]
"""The dimensions of an array; the first one may be open, which is None."""

STATE_SPACES: Final = (".shared", ".local", ".global", ".const", ".param")
"""What a declaration of variables begins with."""

_INITIALISED: Final = (".global", ".const")
_VECTOR_BITS: Final = 128
_LARGEST: Final = {
    "global": VARIABLE_BYTES,
    "const": CONSTANT_BYTES,
    "shared": VARIABLE_BYTES,
    "local": LOCAL_BYTES,
    "param": PARAMETER_BYTES,
    "reg": PARAMETER_BYTES,
}
"""Bytes of a variable, by state space."""


class DeclarationParser(ConstantParser):
    """Takes declarations of variables and parameters."""

    def declare(self, space: str, *, external: bool = False, block: int | None = None) -> list[Variable]:
        """Take a declaration from after its state space up to and with the semicolon.

        The `space` has its dot; `external` is whether ``.extern`` stands before it. The number `block` of the
        braces that it stands in makes the keys unique; it is None outside of functions.
        """
        element = self._element_of(space, predicates=False)
        declared: list[Variable] = []
        while not declared or self.accept(","):
            name = self.expect_kind("word", "a variable name")
            variable, extents = self._variable(element, name)
            if self.accept("="):
                if external or space not in _INITIALISED:
                    where = f"with .extern in {space}" if external else f"in {space}"
                    raise self.error(name, f"{name.text} {where} cannot have an initialiser")
                variable = self._initialised(variable, element, extents)
            if not variable.size and not external:
                raise self.error(name, f"{name.text} in {space} must have a size")
            key = name.text if block is None else f"{name.text}@{block}"
            declared.append(replace(variable, key=key, external=external))
        self.expect(";")
        return declared

    def parameters(self, *, registers: bool = True, results: bool = False) -> tuple[Variable, ...]:
        """Take the parameters, or the results, of a function from its opening to its closing parenthesis.

        Without `registers`, for an entry, a parameter in a register is refused. The last parameter of a
        function may be an array without a length.
        """
        self.expect("(")
        found: dict[str, Variable] = {}
        while not self.accept(")"):
            if found:
                self.expect(",")
            space = self.next.text
            if not (self.accept(".param") or (registers and self.accept(".reg"))):
                raise self.unexpected("'.param'")
            element = self._element_of(space, predicates=True)
            name = self.expect_kind("word", "the name of a parameter")
            variable, _ = self._variable(element, name)
            may_be_open = registers and not results and space == ".param" and self.sees(")")
            if not variable.size and not may_be_open:
                raise self.error(name, f"parameter {name.text} must have a size")
            key = name.text if name.text != "_" else str(len(found))
            if key in found:
                raise self.error(name, f"parameter {name.text} is already declared")
            found[key] = variable
        return tuple(found.values())

    def _element_of(self, space: str, *, predicates: bool) -> Variable:
        """Take alignment, vector length and type: a variable without name and dimensions.

        `predicates` is whether ``.pred`` may be the type.
        """
        alignment: int | None = None
        length = 1
        while True:
            if self.sees(".align"):
                alignment = self._alignment()
            elif self.accept(".attribute"):
                self.skip_behind(")")
            elif self.accept(".v2"):
                length = 2
            elif self.accept(".v4"):
                length = 4
            else:
                break
        token = self.next
        type_ = self.type()
        if type_.kind == "predicate" and not predicates:
            raise self.error(token, "a variable in memory cannot be .pred")
        if length * type_.bits > _VECTOR_BITS:
            raise self.error(token, f"a vector has at most {_VECTOR_BITS} bits, not {length * type_.bits}")
        if self.accept(".ptr"):
            if self.next.text in STATE_SPACES:
                self.advance()
            self._alignment()
        alignment = self._alignment() or alignment
        size = type_.size * length
        return Variable(
            "", "", space[1:], type_, size, alignment or size, token.location, is_array=length > 1
        )

    def _alignment(self) -> int | None:
        """Take ``.align`` and what follows, where it is next."""
        if not self.accept(".align"):
            return None
        token = self.next
        value = self.integer("an alignment")
        if value < 1 or value & (value - 1) or value > ALIGNMENT_BYTES:
            message = f"the alignment must be a power of two up to {ALIGNMENT_BYTES}, not {value}"
            raise self.error(token, message)
        return value

    def _variable(self, element: Variable, name: Token) -> tuple[Variable, Extents]:
        """The variable of a name that has been taken, and its dimensions, which follow."""
        extents = self._extents()
        inner = math.prod(extent or 0 for extent in extents[1:]) * (element.size or 0)
        size = None if extents[:1] == (None,) else (extents[0] or 0) * inner if extents else element.size
        most = _LARGEST[element.space]
        if max(inner, size or 0) > most:
            message = f"a variable in .{element.space} has at most {most} bytes, not {size or inner}"
            raise self.error(name, message)
        is_array = bool(extents) or element.is_array
        return replace(
            element, key=name.text, name=name.text, size=size, location=name.location, is_array=is_array
        ), extents

    def _extents(self) -> Extents:
        extents: list[int | None] = []
        while self.sees("["):
            token = self.advance()
            if self.accept("]"):
                if extents:
                    raise self.error(token, "only the first dimension may be open")
                extents.append(None)
            else:
                extents.append(self.integer("the size of an array"))
                self.expect("]")
            if len(extents) > ARRAY_DIMENSIONS:
                raise self.error(token, f"a variable has at most {ARRAY_DIMENSIONS} dimensions")
        return tuple(extents)

    def _initialised(self, variable: Variable, element: Variable, extents: Extents) -> Variable:
        """Take the values that follow the equals sign of a variable.

        Every dimension is a list in braces. What a list does not give is zero; the outermost list of an open
        array gives its length. The elements of a vector are one more list.
        """
        vector = ((element.size or 0) // element.type.size,) if element.is_array else ()
        pieces: list[Piece] = []
        end = self._values(variable, (*extents, *vector), 0, pieces, vectors=len(extents))
        size = end if variable.size is None else variable.size
        return replace(variable, size=size, initialiser=tuple(pieces))

    def _values(
        self, variable: Variable, extents: Extents, offset: int, pieces: list[Piece], *, vectors: int
    ) -> int:
        """Take a list, or an element where there are no dimensions; where the values end.

        `vectors` counts the dimensions down to vectors, which must be complete.
        """
        if not extents:
            pieces.append(self._value(variable, offset))
            return offset + variable.type.size
        most, *inner = extents
        opening = self.expect("{")
        stride = math.prod(extent or 0 for extent in inner) * variable.type.size
        count = 0
        while not self.accept("}"):
            if count == most:
                raise self.error(self.next, f"a list of {variable.name} has more than {most} elements")
            self._values(variable, tuple(inner), offset + count * stride, pieces, vectors=vectors - 1)
            count += 1
            if not self.sees("}"):
                self.expect(",")
        if not vectors and count != most:
            raise self.error(opening, f"a vector of {variable.name} has {most} elements, not {count}")
        return offset + count * stride

    def _value(self, variable: Variable, offset: int) -> Piece:
        """Take an element of a variable."""
        token, type_ = self.next, variable.type
        piece = partial(Piece, offset, type_.size, location=token.location)
        if self.sees("{"):
            raise self.error(token, f"an element of {variable.name} is a value, not a list")
        if token.kind == "word":
            symbol, added = self._symbol(self.advance())
            if type_.bits < 32:
                raise self.error(token, f"an address does not fit into {type_}")
            return piece(value=added, symbol=symbol)
        constant = self.immediate()
        value = constant.value
        if self.accept("("):  # 0xff(symbol): one byte of an address
            shift = (value & -value).bit_length() - 1
            if not value or value >> shift != 0xFF or shift % 8:
                raise self.error(token, f"the mask {value:#x} does not select one byte of an address")
            symbol, added = self._symbol(self.expect_kind("word", "a variable name"))
            self.expect(")")
            return piece(value=added, symbol=symbol, shift=shift)
        if constant.kind == "integer" and type_.kind != "float":
            return piece(value=type_.wrap(value))
        if type_.kind not in ("float", "bits") or type_.bits < 32 or constant.kind == "integer":
            raise self.error(token, f"{token} cannot initialise an element of type {type_}")
        bits = 32 if constant.kind == "f32" else 64
        return piece(value=value if bits == type_.bits else type_.float_bits(float_value(value, bits)))

    def _symbol(self, token: Token) -> tuple[str, int]:
        """The variable and the offset after its name, or after ``generic``."""
        if token.text != "generic":
            return token.text, self._sum()
        self.expect("(")
        name = self.expect_kind("word", "a variable name").text
        offset = self._sum()
        self.expect(")")
        return name, offset + self._sum()

    def _sum(self) -> int:
        return self.immediate().value if self.accept("+") or self.sees("-") else 0


@dataclass
class Placement:
    """Variables one behind the other, each at the lowest address with its alignment."""

    size: int = 0
    """Bytes of all of them."""
    alignment: int = 1

    def place(self, variable: Variable) -> int:
        """The offset of one more."""
        offset = -(-self.size // variable.alignment) * variable.alignment
        self.size = offset + (variable.size or 0)
        self.alignment = max(self.alignment, variable.alignment)
        return offset


def place_shared(variables: Iterable[Variable]) -> tuple[dict[str, int], int]:
    """Addresses in shared memory by key, from zero on.

    Arrays without a length are the memory that is left: each begins behind the others, at a multiple of 16
    and of its alignment. The second result is where the last of them begins. The variables come in the order
    of their declarations.
    """
    placement = Placement()
    given = [item if item.size else replace(item, alignment=max(16, item.alignment)) for item in variables]
    ordered = sorted(given, key=lambda item: 0 if item.size else item.alignment)
    return {item.key: placement.place(item) for item in ordered}, placement.size
