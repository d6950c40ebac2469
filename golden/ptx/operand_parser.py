"""Operands of instructions, the names and constants in them, and what braces declare."""

import re
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from golden.limits import REGISTERS
from golden.ptx.declarations import DeclarationParser
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.source import Location, Source, Token
from golden.ptx.special_registers import SPECIAL
from golden.ptx.syntax import (
    Address,
    Arguments,
    Element,
    Immediate,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Sink,
    SpecialRegister,
    Symbol,
    TensorAddress,
    Variable,
    Vector,
)

_CONSTANT: Final = "WARP_SZ"
"""The name of a constant."""
_INDEX_DIGITS: Final = len(str(REGISTERS))
_COMPONENTS: Final = "xyzw"
_COLOURS: Final = str.maketrans("rgba", _COMPONENTS)
_SELECTOR: Final = re.compile(r"b[0-7]{1,4}|h[0-3]{1,2}")


class Registers(NamedTuple):
    """What a name in a declaration stands for."""

    type: ScalarType
    """Of an element."""
    length: int
    """Elements of a vector; 1 for a scalar."""
    numbers: int = 0
    """How many there are of numbered ones."""


@dataclass
class Scope:
    """What one pair of braces declares."""

    number: int
    """Makes the keys of what it declares unique."""
    names: ChainMap[str, str]
    """The keys of variables and labels; the first map has the names of these braces alone."""
    registers: dict[str, Registers] = field(default_factory=dict)
    ranges: dict[str, Registers] = field(default_factory=dict)
    """By name, and numbered ones by prefix."""

    def declares(self, name: str) -> bool:
        """Whether a name is a variable or a label of these braces."""
        return name in self.names.maps[0]

    def register(self, token: Token) -> Register | Vector | Selected | None:
        """What a name stands for: a register, an element or a part of one, or a whole vector of them."""
        name, location = token.text, token.location
        found = self._find(name)
        if found is None:
            base, dot, suffix = name.rpartition(".")
            vector = self._find(base) if dot else None
            component = _COMPONENTS.find(suffix.translate(_COLOURS)) if len(suffix) == 1 else -1
            if vector is not None and 0 <= component < vector.length > 1:
                return self._register(f"{base}.{_COMPONENTS[component]}", vector.type, location)
            return self._part(token, base, suffix) if dot else None
        if found.type.bits == 128:
            halves = (self._register(f"{name}{half}", TYPES["b64"], location) for half in (".lo", ".hi"))
            return Vector(tuple(halves), location, wide=True)
        if found.length > 1:
            names = (f"{name}.{component}" for component in _COMPONENTS[: found.length])
            return Vector(tuple(self._register(item, found.type, location) for item in names), location)
        return self._register(name, found.type, location)

    def _register(self, name: str, type_: ScalarType, location: Location) -> Register:
        return Register(name, f"{name}@{self.number}", type_, location)

    def _part(self, token: Token, base: str, selector: str) -> Selected | None:
        """A part of a register, such as ``r.b0``."""
        register = self.register(token._replace(text=base)) if _SELECTOR.fullmatch(selector) else None
        return Selected(register, selector, False, token.location) if isinstance(register, Register) else None

    def _find(self, name: str) -> Registers | None:
        """What a declared name stands for."""
        if name in self.registers:
            return self.registers[name]
        prefix = name.rstrip("0123456789")
        for split in range(max(len(prefix), len(name) - _INDEX_DIGITS), len(name)):
            index = name[split:]
            canonical = index == "0" or not index.startswith("0")
            found = self.ranges.get(name[:split]) if canonical else None
            if found is not None and int(index) < found.numbers:
                return found
        return None


class OperandParser(DeclarationParser):
    """Takes operands from the tokens of a body.

    `variables` are those that may have been declared, by key, innermost first.
    """

    def __init__(
        self, source: Source, stream: Iterable[Token], variables: Sequence[Mapping[str, Variable]]
    ) -> None:
        super().__init__(source, stream)
        self._variables = variables
        self._scopes: list[Scope] = []
        """The braces that are open, outermost first."""
        self._named = False
        """Whether a name was met that may be declared further on."""

    def predicate(self) -> Register:
        """Take a predicate."""
        token = self.next
        operand = self._simple()
        if not isinstance(operand, Register) or operand.type is not TYPES["pred"]:
            raise self.error(token, f"expected a .pred register, not {token}")
        return operand

    def operand(self, opcode: str) -> Operand:
        """Take an operand of an instruction whose first word is `opcode`."""
        opening = self.next
        if self.accept("{"):
            return Vector(tuple(self.several(self._element, "}")), opening.location)
        if self.accept("["):
            return self._address(opening)
        if opening.text == "(" and (opcode == "call" or self._names_follow()):
            self.advance()
            arguments = () if self.accept(")") else self.several(self._element, ")")
            return Arguments(tuple(arguments), opening.location)
        if opening.text in ("!", "-") and self._names_follow():
            self.advance()
            return self._negated(opening)
        named = self._name() if opening.kind == "word" else None
        if isinstance(named, Vector | Selected):
            return named
        operand = named or self._element()
        if self.accept("|"):
            second = self._element()
            if not isinstance(operand, Register | Sink) or not isinstance(second, Register | Sink):
                raise self.error(opening, "both sides of | must be registers")
            return Pair(operand, second, opening.location)
        if not isinstance(operand, Symbol):
            return operand
        if self.sees("["):
            offset = self._index(operand)
            if opcode not in ("mov", "cvta"):
                return Address(operand, offset, opening.location)
            return replace(operand, offset=offset)
        return replace(operand, offset=self._offset())

    def _names_follow(self) -> bool:
        """Whether the token after the one in sight is a name of what is no constant, or closes a list."""
        token = self.peek()
        return (token.kind == "word" and token.text != _CONSTANT) or token.text == ")"

    def _negated(self, sign: Token) -> Operand:
        """``!p`` and ``-r``, after the sign."""
        if sign.text == "!":
            return Negated(self.predicate(), sign.location)
        token = self.next
        named = self._name()
        if isinstance(named, Selected):
            return replace(named, negative=True)
        if not isinstance(named, Register):
            raise self.error(token, f"expected a register or a constant after -, not {token}")
        return Selected(named, "", True, sign.location)

    def _address(self, opening: Token) -> Operand:
        """An address after its opening bracket."""
        base = self._simple()
        if not isinstance(base, Register | Symbol | Immediate):
            raise self.error(opening, "an address must be a register, a name or a number")
        offset = self._index(base) if isinstance(base, Symbol) and self.sees("[") else self._offset()
        address = Address(base, offset, opening.location)
        if self.accept(","):
            if not self.sees("{"):  # a sampler, of textures, which are not supported
                self._element()
                self.expect(",")
            self.expect("{")
            coordinates = self.several(self._element, "}")
            self.expect("]")
            return TensorAddress(address, tuple(coordinates), opening.location)
        self.expect("]")
        return address

    def _index(self, array: Symbol) -> int:
        """The offset in bytes of the element of an array whose index follows in brackets."""
        name = array.name
        key = self._scopes[-1].names.get(name, name)
        found = next((variables[key] for variables in self._variables if key in variables), None)
        if found is None or not found.is_array:
            message = f"{name} is not an array declared before, and has no elements"
            raise self.source.error(array.location, message)
        self.expect("[")
        index = self._signed_integer("an index")
        self.expect("]")
        return index * found.type.size

    def _element(self) -> Element:
        token = self.next
        if self.accept("_"):
            return Sink(token.location)
        return self._simple()

    def _offset(self) -> int:
        """The offset after a name or register; 0 where there is none."""
        if not self.accept("+") and not self.sees("-"):
            return 0
        return self._signed_integer("an offset")

    def _signed_integer(self, what: str) -> int:
        """Take an integer, as a signed one of 64 bits."""
        token = self.next
        constant = self.immediate()
        if constant.kind != "integer":
            raise self.error(token, f"{what} must be an integer")
        return TYPES["s64"].interpret(constant.value)

    def _simple(self) -> Register | SpecialRegister | Immediate | Symbol:
        token = self.next
        if token.kind == "number" or token.text in ("-", "+", "~", "!", "(", _CONSTANT):
            return self.immediate()
        if token.kind != "word":
            raise self.unexpected("an operand")
        named = self._name()
        if named is None or isinstance(named, Vector | Selected):
            raise self.error(token, f"expected a single register, not {token}")
        return named

    def _name(self) -> Register | Vector | Selected | SpecialRegister | Immediate | Symbol | None:
        """Take a name; None, with nothing taken, where the word in sight is a constant or `_`."""
        token = self.next
        name = token.text
        if name in ("_", _CONSTANT):
            return None
        self.advance()
        for scope in reversed(self._scopes):
            register = scope.register(token)
            if register is not None:
                return register
            if scope.declares(name):
                break
        else:
            if name in SPECIAL:
                return SpecialRegister(name, token.location)
        self._named = True
        return Symbol(name, name, token.location)
