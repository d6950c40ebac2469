"""How a matrix statement becomes commands: copies into windows, the command, copies out of a window."""

from collections.abc import Callable

from golden.ptx.allocation import words
from golden.ptx.decoding import Step
from golden.ptx.evaluation import Evaluation
from golden.ptx.lane_values import by_lane
from golden.ptx.matrix import MatrixStatement, decode_matrix_statement
from golden.ptx.operands import WarpContext
from golden.ptx.scalar_types import TYPES
from golden.ptx.syntax import Immediate, Instruction, Operand, Register
from golden.ptx.warp_statement import WarpStatement
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
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from golden.tables.matrix_moves import MoveInstruction

__all__ = ["decode_matrix"]


def decode_matrix(context: WarpContext, instruction: Instruction, index: int) -> Step:
    """Decode a matrix statement.

    Parameters
    ----------
    context : WarpContext
        It takes note of the statement, and of the registers that the statement has for itself.
    instruction : Instruction
    index : int
        The statement's number in the entry.

    Raises
    ------
    PtxError
        For a written fragment that names a register twice; when it runs, for an address or stride that
        differs between lanes, where it may not, and for a row address of more than 32 bits.
    """
    decoded = decode_matrix_statement(context, instruction, raw=context.raw)
    matrix = _placed(context, decoded, index)
    _require_distinct_destinations(context, matrix)
    context.matrix[index] = matrix
    is_move = isinstance(matrix.instruction, MoveInstruction)
    command = (_move_command if is_move else _command)(context, index, matrix)
    set_rows = _row_setter(context, matrix) if is_move and matrix.address is not None else None

    def action(evaluation: Evaluation) -> None:
        for registers in matrix.fragments.values():
            for register in registers:
                if register.key in matrix.constants:
                    evaluation.write(register, matrix.constants[register.key])
        evaluation.provenance.execute(matrix)
        into, out = _copies(evaluation, index, matrix)
        evaluation.commands += into
        if set_rows is not None:
            set_rows(evaluation)
        evaluation.commands += [command(evaluation), *out]

    scalars = [item for item in (matrix.address, matrix.stride) if item is not None]
    return context.step(
        instruction,
        index,
        (*scalars, *matrix.read),
        matrix.written,
        action,
        pure=matrix.destination is not None,
        matrix=None if is_move else matrix.instruction,
    )


def _placed(context: WarpContext, decoded: MatrixStatement, index: int) -> WarpStatement:
    """The statement with a register of the machine in the place of every operand of its fragments."""
    constants: dict[str, int] = {}
    fragments: dict[Use, tuple[Register, ...]] = {}
    for use, operands in decoded.fragments.items():
        bits = 32 if context.raw else decoded.bits(use)
        fragments[use] = tuple(
            _named(operand, f"{use}{number} of {index}", bits, constants)
            for number, operand in enumerate(operands)
        )
    rows, address = None, decoded.address
    if isinstance(decoded.instruction, MoveInstruction) and address is not None:
        base = address.base
        if isinstance(base, Register) and context.is_fragment(base):
            if address.offset:
                raise context.error(
                    base.location,
                    f"the address {base.name} is in a register of the machine, which is taken as it is; "
                    f"expected no offset, not {address.offset}",
                )
            rows, address = base, None
        elif context.raw:
            raise context.error(
                base.location, "the addresses of rows must be in a 32-bit register, a lane each"
            )
        else:
            rows = Register("row addresses", f"rows of {index}", TYPES["b32"], base.location)
    for register in (*(item for items in fragments.values() for item in items), *([rows] if rows else [])):
        context.fragments.setdefault(register.key, register)
    return WarpStatement(
        statement=decoded.statement,
        instruction=decoded.instruction,
        fragments=fragments,
        destination=decoded.destination,
        address=address,
        stride=decoded.stride,
        rows=rows,
        constants=constants,
    )


def _named(operand: Operand, key: str, bits: int, constants: dict[str, int]) -> Register:
    """A register of the fragment; one of the statement's own for a constant or a dropped result."""
    if isinstance(operand, Register):
        return operand
    if isinstance(operand, Immediate):
        constants[key] = operand.value & ((1 << bits) - 1)
    return Register("_", key, TYPES[f"b{bits}"], operand.location)


def _command(context: WarpContext, index: int, matrix: WarpStatement) -> Callable[[Evaluation], Command]:
    """How to make the command of a wmma or mma statement."""
    instruction = matrix.instruction
    read_base = read_stride = None
    if matrix.address is not None:
        context.require_address_source(matrix.address)
        base = matrix.address.base
        bits = base.type.bits if isinstance(base, Register) else 64
        read_base, offset = context.uniform(base, bits, "the address"), matrix.address.offset
    if matrix.stride is not None:
        read_stride = context.uniform(matrix.stride, 32, "the stride")

    def command(evaluation: Evaluation) -> Command:
        window = {use: evaluation.allocation.window[index, use] for use in matrix.fragments}
        if isinstance(instruction, MmaInstruction):
            return Mma(instruction, d=window["d"], a=window["a"], b=window["b"], c=window["c"])
        assert read_base is not None, "loads and stores have an address"
        address = TYPES["u64"].wrap(read_base(evaluation) + offset)
        stride = read_stride(evaluation) if read_stride is not None else None
        if isinstance(instruction, LoadInstruction):
            return Load(instruction, window[instruction.use], address, stride)
        assert isinstance(instruction, StoreInstruction), "a move of matrices has a command of its own"
        return Store(instruction, window["d"], address, stride)

    return command


def _move_command(context: WarpContext, index: int, matrix: WarpStatement) -> Callable[[Evaluation], Command]:
    """How to make the command of a move of matrices."""
    del context
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


def _row_setter(context: WarpContext, matrix: WarpStatement) -> Callable[[Evaluation], None]:
    """How to put the addresses of rows into the register that the machine reads them from."""
    address, rows, instruction = matrix.address, matrix.rows, matrix.instruction
    assert address is not None
    assert rows is not None
    assert isinstance(instruction, MoveInstruction)
    read = context.address_reader(address)
    counted = MATRIX_ROWS * instruction.count

    def set_rows(evaluation: Evaluation) -> None:
        addresses = read(evaluation)
        lanes = addresses if isinstance(addresses, tuple) else (addresses,)
        for lane, place in enumerate(lanes[:counted]):
            if place >> 32:
                raise context.error(
                    address.base.location,
                    f"the row address {place:#x} in lane {lane} exceeds 32 bits, which a core reads",
                )
        evaluation.set_lanes(evaluation.allocation.position[rows.key], by_lane(TYPES["u32"].wrap, addresses))

    return set_rows


def _copies(evaluation: Evaluation, index: int, matrix: WarpStatement) -> tuple[list[Command], list[Command]]:
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


def _require_distinct_destinations(context: WarpContext, matrix: WarpStatement) -> None:
    written = matrix.fragments[matrix.destination] if matrix.destination is not None else ()
    seen: set[str] = set()
    for register in written:
        if register.key in seen:
            raise context.error(
                register.location, f"{register.name} stands twice in the fragment that is written"
            )
        seen.add(register.key)
