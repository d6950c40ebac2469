"""What one pair of braces declares: registers, and the names of variables and labels."""

from dataclasses import dataclass, field
from typing import Final

from golden.limits import REGISTERS
from golden.ptx.cursor import Cursor
from golden.ptx.scalar_types import ScalarType

__all__ = ["Scope"]

_INDEX_DIGITS: Final = len(str(REGISTERS))


@dataclass
class Scope:
    """What one pair of braces declares.

    Parameters
    ----------
    number : int
        Makes the keys of what it declares unique.
    parent : Scope or None
        That of the braces around it.
    registers : dict of str to ScalarType
    ranges : dict of str to (int, ScalarType)
        Numbered registers: how many, by prefix.
    names : dict of str to str
        The keys of variables and labels.
    """

    number: int
    parent: "Scope | None"
    registers: dict[str, ScalarType] = field(default_factory=dict)
    ranges: dict[str, tuple[int, ScalarType]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def register(self, name: str) -> ScalarType | None:
        """The type of a register declared here."""
        if name in self.registers:
            return self.registers[name]
        prefix = name.rstrip("0123456789")
        for split in range(max(len(prefix), len(name) - _INDEX_DIGITS), len(name)):
            index = name[split:]
            canonical = index == "0" or not index.startswith("0")
            if canonical and name[:split] in self.ranges:
                count, type_ = self.ranges[name[:split]]
                if int(index) < count:
                    return type_
        return None

    def declare_registers(self, cursor: Cursor) -> None:
        """Take what follows ``.reg``, up to and with the semicolon.

        Raises
        ------
        PtxError
            For a malformed declaration, and for a register that is already declared here.
        """
        if cursor.next.text in (".v2", ".v4"):
            raise cursor.error(cursor.next, "registers that are vectors are not supported")
        type_ = cursor.type()
        while True:
            token = cursor.expect_kind("word", "a register name")
            if "." in token.text:
                raise cursor.error(token, f"expected a register name, not {token}")
            if cursor.accept("<"):
                if token.text in self.ranges:
                    raise cursor.error(token, f"registers {token.text} are already declared")
                number = cursor.next
                count = cursor.integer("the number of registers")
                if count > REGISTERS:
                    raise cursor.error(number, f"{count} registers exceed {REGISTERS}")
                self.ranges[token.text] = (count, type_)
                cursor.expect(">")
            elif token.text in self.registers:
                raise cursor.error(token, f"register {token.text} is already declared")
            else:
                self.registers[token.text] = type_
            if not cursor.accept(","):
                break
        cursor.expect(";")
