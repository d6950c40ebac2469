"""Which registers a command reads and writes."""

from golden.tables.commands import Command, Fill, Load, LoadMatrix, Mma, Move, MoveMatrix, Store, StoreMatrix

__all__ = ["registers_of"]


def registers_of(command: Command) -> tuple[list[range], range]:
    """What a command reads, and what it writes."""
    match command:
        case Load(instruction, register):
            return [], range(register, register + instruction.fragment.registers)
        case Store(instruction, register):
            return [range(register, register + instruction.fragment.registers)], range(0)
        case Mma(instruction, d, a, b, c):
            layouts = instruction.fragments.values()
            write, *reads = (
                range(first, first + layout.registers)
                for first, layout in zip((d, a, b, c), layouts, strict=True)
            )
            return reads, write
        case Fill(register, count):
            return [], range(register, register + count)
        case Move(destination, source, count):
            return [range(source, source + count)], range(destination, destination + count)
        case LoadMatrix(register, addresses, count):
            return [range(addresses, addresses + 1)], range(register, register + count)
        case StoreMatrix(register, addresses, count):
            return [range(register, register + count), range(addresses, addresses + 1)], range(0)
        case MoveMatrix(destination, source):
            return [range(source, source + 1)], range(destination, destination + 1)
