"""What one pair of braces declares: registers, and the names of variables and labels."""

import re
from collections import ChainMap
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from golden.limits import REGISTERS
from golden.ptx.expressions import ConstantParser
from golden.ptx.lexer import Token
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.syntax import Register, Selected, Vector

_INDEX_DIGITS: Final = len(str(REGISTERS))
_VECTORS: Final = {".v2": 2, ".v4": 4}
_COMPONENTS: Final = "xyzw"
_COLOURS: Final = str.maketrans("rgba", _COMPONENTS)
_SELECTOR: Final = re.compile(r"b[0-7]{1,4}|h[0-3]{1,2}")


class _Registers(NamedTuple):
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
    """The keys of variables and labels; its first map has those of these braces alone."""
    registers: dict[str, _Registers] = field(default_factory=dict)
    ranges: dict[str, _Registers] = field(default_factory=dict)
    """By name, and numbered ones by prefix."""

    def declares(self, name: str) -> bool:
        """Whether a name is a variable or a label of these braces."""
        return name in self.names.maps[0]

    def add(self, name: str, type_: ScalarType) -> None:
        """Declare a register."""
        self.registers[name] = _Registers(type_, 1)

    def register(self, token: Token) -> Register | Vector | Selected | None:
        """What a name stands for: a register, an element or a part of one, or a whole vector of them."""
        name, location = token.text, token.location
        found = self._find(name)
        if found is None:
            base, dot, suffix = name.rpartition(".")
            found = self._find(base) if dot else None
            if found is None:
                return self._part(token, base, suffix) if dot else None
            component = _COMPONENTS.find(suffix.translate(_COLOURS)) if len(suffix) == 1 else -1
            if 0 <= component < found.length > 1:
                return self._element(base, component, found.type, token)
            return self._part(token, base, suffix)
        if found.type.bits == 128:
            halves = (
                Register(f"{name}{half}", f"{name}{half}@{self.number}", TYPES["b64"], location)
                for half in (".lo", ".hi")
            )
            return Vector(tuple(halves), location, wide=True)
        if found.length > 1:
            return Vector(
                tuple(self._element(name, i, found.type, token) for i in range(found.length)), location
            )
        return Register(name, f"{name}@{self.number}", found.type, location)

    def _element(self, name: str, index: int, type_: ScalarType, token: Token) -> Register:
        component = f"{name}.{_COMPONENTS[index]}"
        return Register(component, f"{component}@{self.number}", type_, token.location)

    def _part(self, token: Token, base: str, selector: str) -> Selected | None:
        """A part of a register, such as ``r.b0``."""
        register = self.register(token._replace(text=base)) if _SELECTOR.fullmatch(selector) else None
        return Selected(register, selector, False, token.location) if isinstance(register, Register) else None

    def _find(self, name: str) -> _Registers | None:
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

    def declare_registers(self, cursor: ConstantParser) -> None:
        """Take what follows ``.reg``, up to and with the semicolon."""
        vector = cursor.next
        length = _VECTORS.get(vector.text, 1)
        if length > 1:
            cursor.advance()
        type_ = cursor.type()
        if length > 1 and (type_.kind == "predicate" or length * type_.bits > 128):
            raise cursor.error(
                vector,
                f"a vector of registers has at most 128 bits and no predicates, not {vector.text} {type_}",
            )
        while True:
            token = cursor.expect_kind("word", "a register name")
            if "." in token.text:
                raise cursor.error(token, f"expected a register name, not {token}")
            if cursor.accept("<"):
                if token.text in self.ranges:
                    raise cursor.error(token, f"registers {token.text} are already declared")
                number = cursor.next
                count = cursor.number("the number of registers")
                if count > REGISTERS:
                    raise cursor.error(number, f"{count} registers exceed {REGISTERS}")
                self.ranges[token.text] = _Registers(type_, length, count)
                cursor.expect(">")
            elif token.text in self.registers:
                raise cursor.error(token, f"register {token.text} is already declared")
            else:
                self.registers[token.text] = _Registers(type_, length)
            if not cursor.accept(","):
                break
        cursor.expect(";")
