"""A program as PTX, which brings the same commands to the same registers and addresses."""

from collections.abc import Iterator

from golden.ptx.raw import RAW_REGISTERS
from golden.tables.commands import Command, Fill, Load, LoadMatrix, Mma, Move, MoveMatrix, Store, StoreMatrix
from golden.tables.matrix_moves import instruction_of
from regression.random_programs.program import Program

ENTRY = "program"
"""The name of the kernel; its one parameter is the array that becomes global memory."""


def ptx_text(program: Program, remarks: str = "") -> str:
    """Write a program as a PTX module; the lines of `remarks` become comments at the top.

    Every command becomes what gives it back: a matrix statement, or a ``mov`` for each register of a fill or
    move. Those of no registers have no statement.
    """
    comments = "".join(f"// {line}\n" for line in remarks.splitlines())
    body = "".join(f"    {line};\n" for command in program.commands for line in _statements(command))
    return (
        f"{comments}.version 8.0\n.target sm_90\n.address_size 64\n\n"
        f".visible .entry {ENTRY}(.param .u64 memory)\n"
        f'.pragma "{RAW_REGISTERS}";\n'
        f"{{\n    .reg .b32 %r<{program.config.registers}>;\n\n{body}    ret;\n}}\n"
    )


def _statements(command: Command) -> Iterator[str]:
    match command:
        case Load(instruction, register, address, stride) | Store(instruction, register, address, stride):
            operands = [_registers(register, instruction.fragment.registers), f"[{address:#x}]"]
            if isinstance(command, Store):
                operands.reverse()
            if stride is not None:
                operands.append(str(stride))
            yield f"{instruction} {', '.join(operands)}"
        case Mma(instruction):
            operands = [
                _registers(getattr(command, use), layout.registers)
                for use, layout in instruction.fragments.items()
            ]
            yield f"{instruction} {', '.join(operands)}"
        case LoadMatrix(register, addresses, count):
            yield f"{instruction_of(command)} {_registers(register, count)}, [%r{addresses}]"
        case StoreMatrix(register, addresses, count):
            yield f"{instruction_of(command)} [%r{addresses}], {_registers(register, count)}"
        case MoveMatrix(destination, source):
            yield f"{instruction_of(command)} %r{destination}, %r{source}"
        case Fill(register, count, value):
            for index in range(register, register + count):
                yield f"mov.b32 %r{index}, {value:#010x}"
        case Move(destination, source, count):
            for offset in range(count):
                yield f"mov.b32 %r{destination + offset}, %r{source + offset}"


def _registers(first: int, count: int) -> str:
    return "{" + ", ".join(f"%r{first + index}" for index in range(count)) + "}"
