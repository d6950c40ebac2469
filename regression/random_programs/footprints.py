"""Which registers a command reads and writes, and which results of a program are compared."""

from dataclasses import replace
from typing import Any, TypeVar

from golden.lines import gather_lines
from golden.programs.buffers import BASE
from golden.tables.commands import Command, Fill, Load, LoadMatrix, Mma, Move, MoveMatrix, Store, StoreMatrix
from regression.random_programs.program import HOT_BYTES

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


def compared_results(commands: tuple[Command, ...]) -> int:
    """How many elements of D stand in memory at the end of a program.

    Counted is what one multiply left in its registers, nothing of it overwritten, when a store took it to
    global memory beyond the hot bytes, to which no program of this package stores twice.
    """
    writer: dict[int, int] = {}
    results: dict[int, range] = {}
    elements: dict[int, int] = {}
    stored: set[int] = set()
    for number, command in enumerate(commands):
        reads, written = registers_of(command)
        if isinstance(command, Mma):
            results[number] = written
            elements[number] = command.instruction.shape.m * command.instruction.shape.n
        elif isinstance(command, Store):
            (taken,) = reads
            first = gather_lines(command.instruction, command.address, command.stride)[0][0]
            sources = {writer.get(register, -1) for register in taken}
            source = sources.pop()
            kept = command.instruction.space != "shared" and first >= BASE + HOT_BYTES
            if kept and not sources and results.get(source) == taken:
                stored.add(source)
        writer.update(dict.fromkeys(written, number))
    return sum(elements[number] for number in stored)
