"""How a matrix statement becomes commands: copies into windows, the command, copies out of a window."""

from collections.abc import Callable

from golden.ptx.allocation import words
from golden.ptx.evaluation import Action, Evaluation
from golden.ptx.lane_values import by_lane
from golden.ptx.matrix import MatrixStatement
from golden.ptx.operands import Context, Reader, UniformReader
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.syntax import Immediate, Register, Symbol
from golden.tables.commands import (
    MATRIX_ROWS,
    Command,
    Load,
    LoadMatrix,
    Mma,
    Move,
    MoveMatrix,
    Store,
    StoreMatrix,
)
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from golden.tables.matrix_moves import MoveInstruction

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
        For a written fragment that names a register twice; from the action, for an address or stride that
        differs between lanes, where it may not, and for a row address of more than 32 bits.
    """
    _require_distinct_destinations(context, matrix)
    is_move = isinstance(matrix.instruction, MoveInstruction)
    command = (_move_command if is_move else _command)(context, index, matrix)
    set_rows = _row_setter(context, matrix) if is_move and matrix.base is not None else None

    def action(evaluation: Evaluation) -> None:
        evaluation.provenance.execute(matrix)
        into, out = _copies(evaluation, index, matrix)
        evaluation.commands += into
        if set_rows is not None:
            set_rows(evaluation)
        evaluation.commands += [command(evaluation), *out]

    return action


def _command(context: Context, index: int, matrix: MatrixStatement) -> Callable[[Evaluation], Command]:
    """How to make the command of a wmma or mma statement."""
    instruction = matrix.instruction
    read_base = read_stride = None
    if matrix.base is not None:
        read_base = _base_reader(context, matrix.base)
    if matrix.stride is not None:
        read_stride = context.uniform(matrix.stride, TYPES["u32"], "the stride")

    def command(evaluation: Evaluation) -> Command:
        window = {use: evaluation.allocation.window[index, use] for use in matrix.fragments}
        if isinstance(instruction, MmaInstruction):
            return Mma(instruction, d=window["d"], a=window["a"], b=window["b"], c=window["c"])
        assert read_base is not None, "loads and stores have an address"
        address = TYPES["u64"].wrap(read_base(evaluation) + matrix.offset)
        stride = read_stride(evaluation) if read_stride is not None else None
        if isinstance(instruction, LoadInstruction):
            return Load(instruction, window[instruction.use], address, stride)
        assert isinstance(instruction, StoreInstruction), "a move of matrices has a command of its own"
        return Store(instruction, window["d"], address, stride)

    return command


def _move_command(context: Context, index: int, matrix: MatrixStatement) -> Callable[[Evaluation], Command]:
    """How to make the command of a move of matrices."""
    instruction = matrix.instruction
    assert isinstance(instruction, MoveInstruction)
    kind = LoadMatrix if instruction.mnemonic == "ldmatrix" else StoreMatrix
    key = matrix.rows.key if matrix.rows is not None else ""
    count, transposed, space = instruction.count, instruction.transposed, instruction.space

    def command(evaluation: Evaluation) -> Command:
        window = {use: evaluation.allocation.window[index, use] for use in matrix.fragments}
        if instruction.mnemonic == "movmatrix":
            return MoveMatrix(window["d"], window["a"])
        (register,) = window.values()
        return kind(register, evaluation.allocation.position[key], count, transposed, space)

    return command


def _row_setter(context: Context, matrix: MatrixStatement) -> Callable[[Evaluation], None]:
    """How to put the addresses of rows into the register that the machine reads them from."""
    base, rows, instruction = matrix.base, matrix.rows, matrix.instruction
    assert base is not None
    assert rows is not None
    assert isinstance(instruction, MoveInstruction)
    read = _reader(context, base)
    counted = MATRIX_ROWS * instruction.count

    def set_rows(evaluation: Evaluation) -> None:
        addresses = by_lane(lambda value: TYPES["u64"].wrap(value + matrix.offset), read(evaluation))
        lanes = addresses if isinstance(addresses, tuple) else (addresses,)
        for lane, address in enumerate(lanes[:counted]):
            if address >> 32:
                raise context.error(
                    base, f"the row address {address:#x} in lane {lane} exceeds 32 bits, which a core reads"
                )
        evaluation.set_lanes(evaluation.allocation.position[rows.key], by_lane(TYPES["u32"].wrap, addresses))

    return set_rows


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


def _reader(context: Context, base: Register | Immediate | Symbol) -> Reader:
    """How to find an address, which may differ between lanes."""
    if isinstance(base, Symbol):
        return context.address(base, TYPES["u64"])
    return context.reader(base, _address_type(base))


def _base_reader(context: Context, base: Register | Immediate | Symbol) -> UniformReader:
    """How to find the address of a fragment."""
    if isinstance(base, Symbol):
        return context.address(base, TYPES["u64"])
    return context.uniform(base, _address_type(base), "the address")


def _address_type(base: Register | Immediate) -> ScalarType:
    narrow = isinstance(base, Register) and base.type.bits == 32
    return TYPES["u32" if narrow else "u64"]
