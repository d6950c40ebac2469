"""Which registers a command reads and writes."""

from dataclasses import replace
from typing import Any, TypeVar

from golden.tables.commands import Command, Fill, Load, LoadMatrix, Mma, Move, MoveMatrix, Store, StoreMatrix

_Command = TypeVar("_Command", bound=Command)


def operands_of(command: Command) -> dict[str, tuple[int, bool]]:
    """How many registers each operand of a command has, and whether it is written; by its field."""
    match command:
        case Mma(instruction):
            return {use: (layout.registers, use == "d") for use, layout in instruction.fragments.items()}
        case Load(instruction) | Store(instruction):
            return {"register": (instruction.fragment.registers, isinstance(command, Load))}
        case LoadMatrix() | StoreMatrix():
            return {"register": (command.count, isinstance(command, LoadMatrix)), "addresses": (1, False)}
        case Fill():
            return {"register": (command.count, True)}
        case Move() | MoveMatrix():
            count = command.count if isinstance(command, Move) else 1
            return {"destination": (count, True), "source": (count, False)}


def registers_of(command: Command) -> tuple[list[range], range]:
    """What a command reads, and what it writes."""
    reads, written = [], range(0)
    for name, (count, is_written) in operands_of(command).items():
        first = getattr(command, name)
        if is_written:
            written = range(first, first + count)
        else:
            reads.append(range(first, first + count))
    return reads, written


def past_registers(command: _Command, operand: str, registers: int) -> _Command:
    """A command of which an operand ends one register behind the last of so many."""
    count, _ = operands_of(command)[operand]
    changed: dict[str, Any] = {operand: max(0, registers + 1 - count)}
    return replace(command, **changed)
