"""In which statements each fragment register holds a value that is still wanted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from golden.ptx.matrix import MatrixStatement
from golden.ptx.syntax import Body, Instruction, Register, Symbol

__all__ = ["Access", "accesses", "live_statements", "successors"]


@dataclass(frozen=True)
class Access:
    """The fragment registers, by key, that one statement reads and writes.

    Parameters
    ----------
    reads, writes : frozenset of str
    always : bool
        Whether the statement is executed whenever it is reached, so that what it writes is new.
    """

    reads: frozenset[str]
    writes: frozenset[str]
    always: bool


def accesses(
    statements: Sequence[Instruction],
    matrix: Mapping[int, MatrixStatement],
    fragments: Mapping[str, Register],
) -> list[Access]:
    """What each statement does with the registers in `fragments`; `matrix` is by statement index."""
    result = []
    for index, statement in enumerate(statements):
        always = statement.guard is None
        if index in matrix:
            operands = matrix[index].fragments
            destination = matrix[index].destination
            written = operands[destination] if destination is not None else ()
            read = [register for use in operands if use != destination for register in operands[use]]
            rows = matrix[index].rows
            if rows is not None and matrix[index].base is None:
                read.append(rows)
            elif rows is not None:
                written = (*written, rows)
        else:
            registers = [item for item in statement.operands if isinstance(item, Register)]
            leads = bool(statement.operands) and statement.operands[:1] == tuple(registers[:1])
            written, read = (tuple(registers[:1]), registers[1:]) if leads else ((), registers)
        result.append(
            Access(
                frozenset(register.key for register in read if register.key in fragments),
                frozenset(register.key for register in written if register.key in fragments),
                always,
            )
        )
    return result


def successors(body: Body) -> list[tuple[int, ...]]:
    """The statements that may follow each statement; one past the last is the end."""
    result: list[tuple[int, ...]] = []
    for index, statement in enumerate(body.instructions):
        following: tuple[int, ...] = (index + 1,)
        if statement.opcode[0] in ("bra", "ret", "exit"):
            following = () if statement.guard is None else (index + 1,)
            following += tuple(
                body.labels[operand.key]
                for operand in statement.operands
                if isinstance(operand, Symbol) and operand.key in body.labels
            )
        result.append(following)
    return result


def live_statements(access: Sequence[Access], following: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The statements that each register must be kept through, as a mask with bit i for statement i.

    A register is kept through a statement that reads or writes it, and through every statement between a
    write and a read that may follow. This is the backward data-flow equation of live variables, repeated
    until nothing changes; the sets are masks with one bit a register.
    """
    keys = sorted({key for item in access for key in item.reads | item.writes})
    bit = {key: 1 << position for position, key in enumerate(keys)}
    reads = [sum(bit[key] for key in item.reads) for item in access]
    writes = [sum(bit[key] for key in item.writes) for item in access]
    count = len(access)
    live_in = [0] * (count + 1)
    live_out = [0] * count
    changed = True
    while changed:
        changed = False
        for index in reversed(range(count)):
            out = 0
            for successor in following[index]:
                out |= live_in[successor]
            killed = writes[index] if access[index].always else 0
            before = reads[index] | (out & ~killed)
            changed = changed or before != live_in[index] or out != live_out[index]
            live_in[index], live_out[index] = before, out
    result = dict.fromkeys(keys, 0)
    for index in range(count):
        held = reads[index] | writes[index] | live_out[index] | live_in[index]
        while held:
            lowest = held & -held
            result[keys[lowest.bit_length() - 1]] |= 1 << index
            held ^= lowest
    return result
