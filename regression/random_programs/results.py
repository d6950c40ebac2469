"""Which results of a program are compared: those that a store brings, whole, to where they stay."""

from golden.lines import gather_lines
from golden.programs.buffers import BASE
from golden.tables.commands import Command, Mma, Store
from regression.random_programs.footprints import registers_of
from regression.random_programs.image import HOT_BYTES


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
