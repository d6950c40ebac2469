"""Changes of a body: what stands before a statement, in its place and behind it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Location
from golden.ptx.syntax import Instruction, Operand, Register


@dataclass
class Edit:
    """Instructions around one statement."""

    before: list[Instruction] = field(default_factory=list)
    instead: Instruction | None = None
    """What takes the place of the statement; None where it stays."""
    after: list[Instruction] = field(default_factory=list)


@dataclass
class Edits:
    """The changes of one pass, and its new registers."""

    instructions: Sequence[Instruction]
    stem: str
    """Begins the names of the new registers, which no PTX text can have."""
    of: dict[int, Edit] = field(default_factory=dict)
    """By number of the statement."""
    _count: int = 0

    def register(self, type_: str, location: Location) -> Register:
        """A new register."""
        self._count += 1
        name = f"{self.stem}:{self._count}"
        return Register(name, name, TYPES[type_], location)

    def at(self, place: int) -> Edit:
        """The changes around a statement."""
        return self.of.setdefault(place, Edit())

    def before(self, place: int, name: str, type_: str, *operands: Operand) -> Register:
        """Add an instruction before a statement; its result is a new register."""
        location = self.instructions[place].location
        target = self.register(type_, location)
        self.at(place).before.append(Instruction.of(name, location, target, *operands))
        return target

    def replace(self, place: int, name: str, *operands: Operand) -> None:
        """Put another instruction in the place of a statement, with its destination and guard."""
        old = self.instructions[place]
        new = Instruction.of(name, old.location, old.operands[0], *operands, guard=old.guard)
        self.at(place).instead = new
