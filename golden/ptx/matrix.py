"""The matrix statements of a module: instruction and operands, checked against the tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from golden.ptx.arithmetic import ELEMENTWISE_MNEMONICS
from golden.ptx.mnemonic import parse_qualifiers
from golden.ptx.move_mnemonic import parse_move
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Source
from golden.ptx.syntax import (
    Address,
    Immediate,
    Instruction,
    Operand,
    Register,
    Sink,
    Symbol,
    Variable,
    Vector,
)
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Space, Use
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import IllegalInstruction, LoadInstruction, MmaInstruction
from golden.tables.matrix_instructions import Instruction as MatrixInstruction
from golden.tables.matrix_moves import MOVES, MoveInstruction

__all__ = [
    "MNEMONICS",
    "RAW_MNEMONICS",
    "MatrixStatement",
    "decode_matrix_statement",
    "fragment_registers",
    "placed_rows",
    "register_bits",
    "require_registers",
]

MNEMONICS: Final = ("wmma", "mma", *MOVES)
"""First words of the opcodes that are matrix statements."""

RAW_MNEMONICS: Final = (*MNEMONICS, "wgmma")
"""The same where an entry names machine registers: commands of the core that PTX does not have."""


@dataclass(frozen=True, kw_only=True)
class MatrixStatement:
    """One statement of wmma or mma, or one that moves matrices.

    Parameters
    ----------
    statement : Instruction
    instruction : MatrixInstruction or MoveInstruction
    fragments : mapping of {"a", "b", "c", "d"} to tuple of Register
        The registers of each operand in order; a loaded fragment stands under the use it is loaded for. A
        move of matrices writes d and reads a.
    destination : {"a", "b", "c", "d"} or None
        Which of them is written; the others are read.
    base : Register, Immediate, Symbol or None
        Address of a load or store, less the offset; a symbol is a variable.
    offset : int
        Bytes to add to it.
    stride : Register, Immediate or None
        Of a load or store, where it is given.
    rows : Register or None
        Of `ldmatrix` and `stmatrix`, from `placed_rows`: the register with the address of a row in each lane.
        Where `base` is not None, the statement sets it to that.
    """

    statement: Instruction
    instruction: MatrixInstruction | MoveInstruction
    fragments: Mapping[Use, tuple[Register, ...]]
    destination: Use | None
    base: Register | Immediate | Symbol | None = None
    offset: int = 0
    stride: Register | Immediate | None = None
    rows: Register | None = None


def decode_matrix_statement(
    statement: Instruction,
    source: Source,
    version: tuple[int, int],
    variables: Mapping[str, Variable],
    *,
    raw: bool = False,
) -> MatrixStatement:
    """Check a statement whose opcode is one of `MNEMONICS`, or `RAW_MNEMONICS`.

    Parameters
    ----------
    statement : Instruction
    source : Source
        For messages.
    version : (int, int)
        PTX ISA version.
    variables : mapping of str to Variable
        Those that may be an address, by key.
    raw : bool
        Whether the entry names machine registers; see `golden.ptx.raw`.

    Raises
    ------
    PtxError
        For an illegal instruction, naming the qualifier at fault and what is allowed, and for operands of
        the wrong form, number or width.
    """
    if statement.opcode[0] in MOVES:
        return _move(statement, source, variables, raw=raw)
    try:
        instruction = parse_qualifiers(statement.opcode, ptx_version=None if raw else version, warp_tile=raw)
    except IllegalInstruction as error:
        raise source.error(statement.location, str(error)) from error
    operands = statement.operands
    if not isinstance(instruction, MmaInstruction):
        is_load, use = isinstance(instruction, LoadInstruction), instruction.use
        what = "a fragment, an address" if is_load else "an address, a fragment"
        _require_count(statement, source, f"{what} and optionally a stride", 2, 3)
        vector, place = operands[:2] if is_load else operands[1::-1]
        base, offset = _address(source, place, instruction.space, variables)
        return MatrixStatement(
            statement=statement,
            instruction=instruction,
            fragments={use: _fragment(source, vector, instruction, use, instruction.type, raw=raw)},
            destination=use if is_load else None,
            base=base,
            offset=offset,
            stride=_stride(source, operands[2]) if len(operands) == 3 else None,
        )
    _require_count(statement, source, "the fragments d, a, b and c", 4, 4)
    return MatrixStatement(
        statement=statement,
        instruction=instruction,
        fragments={
            use: _fragment(source, operand, instruction, use, type_, raw=raw)
            for (use, type_), operand in zip(instruction.types.items(), operands, strict=True)
        },
        destination="d",
    )


def placed_rows(
    source: Source, matrix: Mapping[int, MatrixStatement], fragments: Mapping[str, Register], *, raw: bool
) -> tuple[dict[int, MatrixStatement], dict[str, Register]]:
    """Give each `ldmatrix` and `stmatrix` the register of its row addresses.

    That is the address operand, if it is one of `fragments`; otherwise one of the statement's own.

    Parameters
    ----------
    source : Source
        For messages.
    matrix : mapping of int to MatrixStatement
        The entry's matrix statements by statement index.
    fragments : mapping of str to Register
        The registers of the entry that are registers of the machine, by key.
    raw : bool
        Whether the entry names machine registers, and has no others.

    Returns
    -------
    statements : dict of int to MatrixStatement
    registers : dict of str to Register
        `fragments` and of the statements themselves.

    Raises
    ------
    PtxError
        For an offset to an address in a machine's register, and for another address in a raw entry.
    """
    placed, registers = dict(matrix), dict(fragments)
    for index, item in matrix.items():
        if not isinstance(item.instruction, MoveInstruction) or item.base is None:
            continue
        base, location = item.base, item.base.location
        if isinstance(base, Register) and base.key in fragments:
            if item.offset:
                raise source.error(
                    location,
                    f"the address {base.name} is in a register of the machine, which is taken as it is; "
                    f"expected no offset, not {item.offset}",
                )
            placed[index] = replace(item, base=None, rows=base)
        elif raw:
            raise source.error(location, "the addresses of rows must be in a 32-bit register, a lane each")
        else:
            rows = Register("row addresses", f"rows of {index}", TYPES["b32"], location)
            placed[index] = replace(item, rows=rows)
            registers[rows.key] = rows
    return placed, registers


def fragment_registers(
    statements: Sequence[Instruction], matrix: Mapping[int, MatrixStatement]
) -> dict[str, Register]:
    """The registers that differ between lanes, by key.

    Those are all that stand in a vector of a matrix statement, and all that one of them is moved to or that
    is computed from one of them.
    """
    vectors = (registers for item in matrix.values() for registers in item.fragments.values())
    found = {register.key: register for registers in vectors for register in registers}
    copies = [
        [operand for operand in statement.operands if isinstance(operand, Register)]
        for statement in statements
        if (statement.opcode[0] == "mov" or statement.opcode[0] in ELEMENTWISE_MNEMONICS)
        and isinstance(statement.operands[0] if statement.operands else None, Register)
    ]
    spreading = True
    while spreading:
        spreading = False
        for to, *of in copies:
            if to.key not in found and any(
                register.key in found and register.type.bits == to.type.bits for register in of
            ):
                spreading = True
                found[to.key] = to
    return found


def _move(
    statement: Instruction, source: Source, variables: Mapping[str, Variable], *, raw: bool
) -> MatrixStatement:
    """`ldmatrix`, `stmatrix` or `movmatrix`."""
    try:
        instruction = parse_move(statement.opcode)
    except IllegalInstruction as error:
        raise source.error(statement.location, str(error)) from error
    is_store = instruction.mnemonic == "stmatrix"
    if instruction.mnemonic == "movmatrix":
        _require_count(statement, source, "two registers", 2, 2)
        target, value = statement.operands
        to = _matrices(source, target, instruction, written=not raw)
        of = _matrices(source, value, instruction, written=False)
        return MatrixStatement(
            statement=statement, instruction=instruction, fragments={"d": to, "a": of}, destination="d"
        )
    what = "an address and its matrices" if is_store else "its matrices and an address"
    _require_count(statement, source, what, 2, 2)
    vector, address = statement.operands[::-1] if is_store else statement.operands
    base, offset = _address(source, address, instruction.space, variables, narrow=raw)
    return MatrixStatement(
        statement=statement,
        instruction=instruction,
        fragments={
            "a" if is_store else "d": _matrices(source, vector, instruction, written=not (is_store or raw))
        },
        destination=None if is_store else "d",
        base=base,
        offset=offset,
    )


def register_bits(type_: str) -> int:
    """The width of the registers of a fragment."""
    return max(32, FORMATS[type_].bits)


def require_registers(
    source: Source, operand: Operand, name: str, bits: int, count: int, others: tuple[type[Operand], ...]
) -> tuple[Operand, ...]:
    """The elements of a vector, or a single one without braces.

    Parameters
    ----------
    source : Source
    operand : Operand
    name : str
        What is in the registers, for messages.
    bits, count : int
        Width and number of the registers.
    others : tuple of type
        What may stand in the place of a register.

    Raises
    ------
    PtxError
        For other elements, and another number of them.
    """
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    for element in elements:
        if isinstance(element, others):
            continue
        if not isinstance(element, Register):
            raise source.error(element.location, f"expected a register for {name}")
        if element.type.bits != bits:
            message = f"expected a {bits}-bit register for {name}, but {element.name} is {element.type}"
            raise source.error(element.location, message)
    if len(elements) != count:
        plural = "" if count == 1 else "s"
        message = f"expected {count} register{plural} for {name}, not {len(elements)}"
        raise source.error(operand.location, message)
    return elements


def _named(elements: tuple[Operand, ...], bits: int) -> tuple[Register, ...]:
    """The registers; of a result that is dropped, one that nothing else names."""

    def named(element: Operand) -> Register:
        if isinstance(element, Register):
            return element
        key = f"_ at {element.location.line}:{element.location.column}"
        return Register("_", key, TYPES[f"b{bits}"], element.location)

    return tuple(map(named, elements))


def _matrices(
    source: Source, operand: Operand, instruction: MoveInstruction, *, written: bool
) -> tuple[Register, ...]:
    """The registers of an operand, each with a matrix; a single one may stand without braces."""
    others = (Sink,) if written else ()
    name = f"the matrices of {instruction}"
    return _named(require_registers(source, operand, name, 32, instruction.count, others), 32)


def _require_count(statement: Instruction, source: Source, what: str, least: int, most: int) -> None:
    if not least <= len(statement.operands) <= most:
        given = len(statement.operands)
        raise source.error(statement.location, f"{statement.name} takes {what}, not {given} operands")


def _fragment(
    source: Source, operand: Operand, instruction: MatrixInstruction, use: Use, type_: str, *, raw: bool
) -> tuple[Register, ...]:
    name = f"fragment {use} of .{type_} in .{instruction.shape}"
    if not isinstance(operand, Vector):
        raise source.error(operand.location, f"{name} must be a vector of registers in braces")
    bits = 32 if raw else register_bits(type_)
    count = fragment(use, type_, instruction.shape).registers * 32 // bits
    written = isinstance(instruction, LoadInstruction) or (
        isinstance(instruction, MmaInstruction) and use == "d"
    )
    others = (Sink,) if written and not raw else ()
    return _named(require_registers(source, operand, name, bits, count, others), bits)


def _address(
    source: Source, operand: Operand, space: Space, variables: Mapping[str, Variable], *, narrow: bool = False
) -> tuple[Register | Immediate | Symbol, int]:
    if not isinstance(operand, Address):
        raise source.error(operand.location, "the address must be in brackets, as in [%rd1]")
    base = operand.base
    if isinstance(base, Symbol):
        _require_space(source, base, variables, space)
    if isinstance(base, Immediate) and base.kind != "integer":
        raise source.error(base.location, "the address must be an integer")
    if isinstance(base, Register):
        widths = (32, 64) if narrow or space == "shared" else (64,)
        if base.type.bits not in widths or base.type.kind == "float":
            allowed = " or ".join(f".b{bits}, .u{bits}, .s{bits}" for bits in widths)
            raise source.error(base.location, f"the address {base.name} is {base.type}; allowed: {allowed}")
    return base, operand.offset


def _require_space(source: Source, base: Symbol, variables: Mapping[str, Variable], accessed: Space) -> None:
    """Refuse a name that is no variable, or one of a state space that the instruction does not access."""
    if base.key not in variables:
        raise source.error(base.location, f"the address must be in a register, not in {base.name}")
    space = variables[base.key].space
    if space == accessed or (space, accessed) == ("global", "generic"):
        return
    what = "generic addresses" if accessed == "generic" else f".{accessed}"
    raise source.error(base.location, f"{base.name} is in .{space}, but the instruction accesses {what}")


def _stride(source: Source, operand: Operand) -> Register | Immediate:
    if isinstance(operand, Immediate) and operand.kind == "integer":
        if not 0 <= operand.value < 1 << 32:
            raise source.error(operand.location, f"the stride {operand.value} is not in 0 to {2**32 - 1}")
        return operand
    if isinstance(operand, Register) and operand.type.bits == 32 and operand.type.kind != "float":
        return operand
    raise source.error(operand.location, "the stride must be a 32-bit integer register or constant")
