"""How a matrix statement becomes commands: copies into windows, the command, copies out of a window."""

from golden.ptx.allocation import words
from golden.ptx.evaluation import Action, Evaluation
from golden.ptx.matrix import MatrixStatement
from golden.ptx.operands import Context, Reader
from golden.ptx.scalar_types import TYPES
from golden.ptx.syntax import Immediate, Register, Symbol
from golden.tables.commands import Command, Load, Mma, Move, Store
from golden.tables.instruction_set import LoadInstruction, MmaInstruction

__all__ = ["matrix_action"]


def matrix_action(context: Context, index: int, matrix: MatrixStatement) -> Action:
    """Make a matrix statement an action.

    Parameters
    ----------
    context : Context
        Of the entry that the statement is in.
    index : int
        The statement's index in the entry.
    matrix : MatrixStatement
        The statement.

    Raises
    ------
    PtxError
        For a written fragment that names a register twice, and for an address or stride that differs
        between lanes.
    """
    _require_distinct_destinations(context, matrix)
    read_base = _base_reader(context, matrix.base) if matrix.base is not None else None
    read_stride = context.reader(matrix.stride, TYPES["u32"]) if matrix.stride is not None else None

    def command(evaluation: Evaluation) -> Command:
        instruction = matrix.instruction
        window = {use: evaluation.allocation.window[index, use] for use in matrix.fragments}
        if isinstance(instruction, MmaInstruction):
            return Mma(instruction, d=window["d"], a=window["a"], b=window["b"], c=window["c"])
        assert read_base is not None, "loads and stores have an address"
        address = TYPES["u64"].wrap(read_base(evaluation) + matrix.offset)
        stride = read_stride(evaluation) if read_stride is not None else None
        if isinstance(instruction, LoadInstruction):
            return Load(instruction, window[instruction.use], address, stride)
        return Store(instruction, window["d"], address, stride)

    def action(evaluation: Evaluation) -> None:
        evaluation.provenance.execute(matrix)
        into, out = _copies(evaluation, index, matrix)
        evaluation.commands += [*into, command(evaluation), *out]

    return action


def _copies(
    evaluation: Evaluation, index: int, matrix: MatrixStatement
) -> tuple[list[Command], list[Command]]:
    """The moves into the windows of copied sources, and those out of the window of a copied destination."""
    allocation = evaluation.allocation
    into: list[Command] = []
    out: list[Command] = []
    for use, registers in matrix.fragments.items():
        if (index, use) not in allocation.copied:
            continue
        place = allocation.window[index, use]
        for register in registers:
            home, count = allocation.position[register.key], words(register)
            if use == matrix.destination:
                out.append(Move(destination=home, source=place, count=count))
            else:
                into.append(Move(destination=place, source=home, count=count))
            place += count
    return into, out


def _require_distinct_destinations(context: Context, matrix: MatrixStatement) -> None:
    written = matrix.fragments[matrix.destination] if matrix.destination is not None else ()
    seen: set[str] = set()
    for register in written:
        if register.key in seen:
            raise context.error(register, f"{register.name} stands twice in the fragment that is written")
        seen.add(register.key)


def _base_reader(context: Context, base: Register | Immediate | Symbol) -> Reader:
    if isinstance(base, Symbol):
        return context.address(base, TYPES["u64"])
    narrow = isinstance(base, Register) and base.type.bits == 32
    return context.reader(base, TYPES["u32" if narrow else "u64"])
