"""Fragments in programs of one warp: what may read their registers, and what matrix statements become.

A matrix statement becomes copies into windows, the command, and copies out of a window.
"""

from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TypeGuard

from golden.ptx.decoding import Context, Step
from golden.ptx.evaluation import Evaluation, LaneValue, by_lane
from golden.ptx.matrix import MatrixStatement, WarpStatement, decode_matrix_statement
from golden.ptx.scalar_types import TYPES
from golden.ptx.special_registers import SPECIAL
from golden.ptx.syntax import (
    Address,
    Immediate,
    Instruction,
    Operand,
    Register,
    SpecialRegister,
    Symbol,
    Variable,
)
from golden.tables.commands import (
    MATRIX_ROWS,
    OPERAND_COUNTS,
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
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, MoveInstruction

_SUPPORTED: Final = ("shared", "global")
_ON_FRAGMENTS: Final = (
    "only mov to a register of the same width and arithmetic on whole elements may read it: "
    f"{', '.join(OPERAND_COUNTS)} and neg in f16x2, f32 and f64, "
    "add, sub, mul.lo, mad.lo, min and max in s32 and u32"
)
_ELEMENTWISE: Final = frozenset({*OPERAND_COUNTS, "mad", "neg"})
"""First words of the opcodes that may read fragment registers, and then write one."""


@dataclass(kw_only=True)
class WarpContext(Context):
    """As `Context`, for one warp whose fragments are in the registers of a machine."""

    raw: bool
    """Whether the entry names machine registers; see `golden.ptx.allocation`."""
    fragments: dict[str, Register] = field(default_factory=dict)
    """The registers that are registers of the machine, by key."""
    matrix: dict[int, WarpStatement] = field(default_factory=dict)
    """The matrix statements, by the number of the statement."""

    def is_fragment(self, operand: Operand) -> TypeGuard[Register]:
        """Whether an operand is a register of the machine."""
        return isinstance(operand, Register) and operand.key in self.fragments

    def spread(self, instruction: Instruction) -> bool:
        """Note that the destination of a copy of a fragment register, or of arithmetic on one, is one too.

        Whether it is a new one.
        """
        if instruction.opcode[0] not in ("mov", *_ELEMENTWISE):
            return False
        target, *sources = instruction.operands or (None,)
        if not isinstance(target, Register) or target.key in self.fragments:
            return False
        spreads = any(self.is_fragment(item) and item.type.bits == target.type.bits for item in sources)
        if spreads:
            self.fragments[target.key] = target
        return spreads

    def symbol(self, symbol: Symbol) -> tuple[Variable, int]:
        """As `Context.symbol`, of parameters and of variables that the machine has memory for."""
        variable, address = super().symbol(symbol)
        if variable.space not in (*_SUPPORTED, "entry"):
            message = f"{symbol.name} is in .{variable.space}; supported: variables in .shared and .global"
            raise self.error(symbol, message)
        if variable.initialiser is not None:
            raise self.error(symbol, f"{symbol.name} has values at the start, which is not supported")
        return variable, address

    def require_source(
        self, operand: Operand, bits: int, kind: str = "integer", *, wider: bool = False
    ) -> None:
        """As `Context.require_source`, without fragment registers and clocks."""
        super().require_source(operand, bits, kind, wider=wider)
        if self.is_fragment(operand):
            message = f"{operand.name} belongs to a fragment and differs between lanes; {_ON_FRAGMENTS}"
            raise self.error(operand, message)
        if isinstance(operand, SpecialRegister) and SPECIAL[operand.name].varies:
            raise self.error(operand, f"{operand.name} is not supported: a program of one warp has no clock")


def decode_matrix(context: WarpContext, instruction: Instruction, index: int) -> Step:
    """Decode a matrix statement, by its number in the entry.

    The context takes note of the statement, and of the registers that the statement has for itself. PtxError
    when it runs, for an address or stride that differs between lanes, where it may not, and for a row address
    of more than 32 bits.
    """
    decoded = decode_matrix_statement(context, instruction, raw=context.raw)
    matrix, constants = _placed(context, decoded, index)
    results = matrix.fragments[matrix.destination] if matrix.destination is not None else ()
    for number, register in enumerate(results):
        if any(register.key == other.key for other in results[:number]):
            raise context.error(register, f"{register.name} stands twice in the fragment that is written")
    context.matrix[index] = matrix
    if matrix.address is not None and isinstance(matrix.address.base, Register):
        context.require_source(matrix.address.base, matrix.address.base.type.bits)

    def action(evaluation: Evaluation) -> None:
        for register, value in constants.items():
            evaluation.write(register, value)
        evaluation.provenance.execute(matrix)
        into, out = _copies(evaluation, index, matrix)
        evaluation.commands += into
        made = _command(evaluation, index, matrix)
        evaluation.commands += [made, *out]

    rows = [matrix.rows] if matrix.rows is not None else []
    used = [item for use, items in matrix.fragments.items() if use != matrix.destination for item in items]
    reads: list[Operand] = [item for item in (matrix.address, matrix.stride) if item is not None]
    reads += [item for item in used if item not in constants]
    return context.step(
        instruction,
        index,
        [*reads, *(rows if matrix.address is None else [])],
        [*constants, *(rows if matrix.address is not None else []), *results],
        action,
        pure=matrix.destination is not None,
        matrix=None if isinstance(matrix.instruction, MoveInstruction) else matrix.instruction,
    )


def _placed(
    context: WarpContext, decoded: MatrixStatement, index: int
) -> tuple[WarpStatement, dict[Register, int]]:
    """The statement with a register of the machine in the place of every operand of its fragments.

    A constant and a dropped result have registers of the statement's own; the constants are returned with
    what the statement sets these to.
    """
    constants: dict[Register, int] = {}
    fragments: dict[Use, tuple[Register, ...]] = {}
    for use, operands in decoded.fragments.items():
        type_ = TYPES["b32"] if context.raw else TYPES[f"b{decoded.bits(use)}"]
        registers = []
        for number, operand in enumerate(operands):
            if isinstance(operand, Register):
                registers.append(operand)
                continue
            registers.append(Register("_", f"{use}{number} of {index}", type_, operand.location))
            if isinstance(operand, Immediate):
                constants[registers[-1]] = type_.wrap(operand.value)
        fragments[use] = tuple(registers)
    rows, address = None, decoded.address
    if isinstance(decoded.instruction, MoveInstruction) and address is not None:
        base = address.base
        if context.is_fragment(base):
            if address.offset:
                what = f"the address {base.name} is in a register of the machine, which is taken as it is"
                raise context.error(base, f"{what}; expected no offset, not {address.offset}")
            rows, address = base, None
        elif context.raw:
            raise context.error(base, "the addresses of rows must be in a 32-bit register, a lane each")
        else:
            rows = Register("row addresses", f"rows of {index}", TYPES["b32"], base.location)
    for register in chain(*fragments.values(), [rows] if rows else []):
        context.fragments.setdefault(register.key, register)
    changed = {**vars(decoded), "fragments": fragments, "address": address}
    return WarpStatement(**changed, rows=rows), constants


def _command(evaluation: Evaluation, index: int, matrix: WarpStatement) -> Command:
    """The command of a statement; it sets the addresses of rows before."""
    instruction, address, rows = matrix.instruction, matrix.address, matrix.rows
    window = {use: evaluation.allocation.window[index, use] for use in matrix.fragments}
    if isinstance(instruction, MmaInstruction):
        return Mma(instruction, **window)
    if isinstance(instruction, MoveInstruction):
        if rows is None:
            return MoveMatrix(window["d"], window["a"])
        if address is not None:
            evaluation.write(rows, _row_addresses(evaluation, address, instruction.count))
        kind = LoadMatrix if matrix.destination is not None else StoreMatrix
        (register,), place = window.values(), evaluation.allocation.position[rows.key]
        return kind(register, place, instruction.count, instruction.transposed, instruction.space)
    assert address is not None
    base, stride = evaluation.uniform(address.base, _base_bits(address), "the address"), None
    place = TYPES["u64"].wrap(base + address.offset)
    if matrix.stride is not None:
        stride = evaluation.uniform(matrix.stride, 32, "the stride")
    if isinstance(instruction, LoadInstruction):
        return Load(instruction, window[instruction.use], place, stride)
    return Store(instruction, window["d"], place, stride)


def _base_bits(address: Address) -> int:
    return address.base.type.bits if isinstance(address.base, Register) else 64


def _row_addresses(evaluation: Evaluation, address: Address, matrices: int) -> LaneValue:
    """The addresses of rows, which must have 32 bits."""
    mask, base = (1 << 64) - 1, evaluation.value(address.base, _base_bits(address))
    addresses = by_lane(lambda value: value + address.offset & mask, base)
    lanes = addresses if isinstance(addresses, tuple) else (addresses,)
    for lane, place in enumerate(lanes[: MATRIX_ROWS * matrices]):
        if place >> 32:
            message = f"the row address {place:#x} in lane {lane} exceeds 32 bits, which a core reads"
            raise evaluation.source.error(address.base.location, message)
    return addresses


def _copies(evaluation: Evaluation, index: int, matrix: WarpStatement) -> tuple[list[Command], list[Command]]:
    """The moves into the windows of copied sources, and those out of the window of a copied destination."""
    allocation = evaluation.allocation
    into: list[Command] = []
    out: list[Command] = []
    for use, registers in matrix.fragments.items():
        place = allocation.window[index, use]
        if place == allocation.position[registers[0].key]:
            continue
        for register in registers:
            home, count = allocation.position[register.key], register.type.bits // 32
            if use == matrix.destination:
                out.append(Move(destination=home, source=place, count=count))
            else:
                into.append(Move(destination=place, source=home, count=count))
            place += count
    return into, out
