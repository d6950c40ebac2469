"""Which results of a program are compared: those that a store brings, whole, to where they stay."""

from golden.lines import gather_lines
from golden.programs.buffers import BASE
from golden.tables.commands import Command, Fill, Load, LoadMatrix, Mma, Move, MoveMatrix, Store
from regression.random_programs.image import HOT_BYTES

__all__ = ["compared_results"]


def compared_results(commands: tuple[Command, ...]) -> int:
    """How many elements of D stand in memory at the end of a program.

    Counted is what one multiply left in its registers, nothing of it overwritten, when a store took it to
    global memory beyond the hot bytes, to which no program of this package stores twice.

    Parameters
    ----------
    commands : tuple of Command

    Returns
    -------
    int
    """
    writer: dict[int, int | None] = {}
    extent: dict[int, tuple[int, int]] = {}
    elements: dict[int, int] = {}
    stored: set[int] = set()

    def write(first: int, count: int, by: int | None) -> None:
        writer.update(dict.fromkeys(range(first, first + count), by))

    for number, command in enumerate(commands):
        match command:
            case Load(instruction, register):
                write(register, instruction.fragment.registers, None)
            case Mma(instruction, d):
                count = instruction.fragments["d"].registers
                write(d, count, number)
                extent[number] = (d, count)
                elements[number] = instruction.shape.m * instruction.shape.n
            case Fill(register, count):
                write(register, count, None)
            case Move(destination, _, count):
                write(destination, count, None)
            case LoadMatrix(register, _, count):
                write(register, count, None)
            case MoveMatrix(destination):
                write(destination, 1, None)
            case Store(instruction, register, address, stride):
                count = instruction.fragment.registers
                writers = {writer.get(index) for index in range(register, register + count)}
                source = writers.pop()
                first = gather_lines(instruction, address, stride)[0][0]
                kept = instruction.space != "shared" and first >= BASE + HOT_BYTES
                if kept and not writers and source is not None and extent[source] == (register, count):
                    stored.add(source)
    return sum(elements[number] for number in stored)
