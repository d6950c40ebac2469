"""The matrix statements of a module: instruction and operands, checked against the tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from golden.ptx.arithmetic import ELEMENTWISE_MNEMONICS
from golden.ptx.mnemonic import parse_qualifiers
from golden.ptx.source import Source
from golden.ptx.syntax import Address, Immediate, Operand, Register, Statement, Symbol, Variable, Vector
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import (
    IllegalInstruction,
    Instruction,
    LoadInstruction,
    StoreInstruction,
    Use,
)
from golden.tables.layouts import fragment

__all__ = ["MNEMONICS", "MatrixStatement", "decode_matrix_statement", "fragment_registers"]

MNEMONICS = ("wmma", "mma")
"""First words of the opcodes that are matrix statements."""


@dataclass(frozen=True, kw_only=True)
class MatrixStatement:
    """One wmma or mma statement.

    Parameters
    ----------
    statement : Statement
    instruction : Instruction
    fragments : mapping of {"a", "b", "c", "d"} to tuple of Register
        The registers of each operand in order; a loaded fragment stands under the use it is loaded for.
    destination : {"a", "b", "c", "d"} or None
        Which of them is written; the others are read.
    base : Register, Immediate, Symbol or None
        Address of a load or store, less the offset; a symbol is a variable.
    offset : int
        Bytes to add to it.
    stride : Register, Immediate or None
        Of a load or store, where it is given.
    """

    statement: Statement
    instruction: Instruction
    fragments: Mapping[Use, tuple[Register, ...]]
    destination: Use | None
    base: Register | Immediate | Symbol | None = None
    offset: int = 0
    stride: Register | Immediate | None = None


def decode_matrix_statement(
    statement: Statement,
    source: Source,
    version: tuple[int, int],
    variables: Mapping[str, Variable],
    *,
    raw: bool = False,
) -> MatrixStatement:
    """Check a statement whose opcode is one of `MNEMONICS`.

    Parameters
    ----------
    statement : Statement
    source : Source
        For messages.
    version : (int, int)
        PTX ISA version.
    variables : mapping of str to Variable
        Those that may be an address.
    raw : bool
        Whether the entry names machine registers; see `golden.ptx.raw`.

    Raises
    ------
    PtxError
        For an illegal instruction, naming the qualifier at fault and what is allowed, and for operands of
        the wrong form, number or width.
    """
    try:
        instruction = parse_qualifiers(statement.opcode, ptx_version=None if raw else version)
    except IllegalInstruction as error:
        raise source.error(statement.location, str(error)) from error
    operands = statement.operands
    if isinstance(instruction, LoadInstruction):
        _require_count(statement, source, "a fragment, an address and optionally a stride", 2, 3)
        base, offset = _address(source, operands[1], instruction, variables)
        return MatrixStatement(
            statement=statement,
            instruction=instruction,
            fragments={
                instruction.use: _fragment(
                    source, operands[0], instruction, instruction.use, instruction.type, raw=raw
                )
            },
            destination=instruction.use,
            base=base,
            offset=offset,
            stride=_stride(source, operands[2]) if len(operands) == 3 else None,
        )
    if isinstance(instruction, StoreInstruction):
        _require_count(statement, source, "an address, a fragment and optionally a stride", 2, 3)
        base, offset = _address(source, operands[0], instruction, variables)
        return MatrixStatement(
            statement=statement,
            instruction=instruction,
            fragments={"d": _fragment(source, operands[1], instruction, "d", instruction.type, raw=raw)},
            destination=None,
            base=base,
            offset=offset,
            stride=_stride(source, operands[2]) if len(operands) == 3 else None,
        )
    _require_count(statement, source, "the fragments d, a, b and c", 4, 4)
    types: dict[Use, str] = {
        "d": instruction.d_type,
        "a": instruction.a_type,
        "b": instruction.b_type,
        "c": instruction.c_type,
    }
    return MatrixStatement(
        statement=statement,
        instruction=instruction,
        fragments={
            use: _fragment(source, operand, instruction, use, type_, raw=raw)
            for (use, type_), operand in zip(types.items(), operands, strict=True)
        },
        destination="d",
    )


def fragment_registers(
    statements: Sequence[Statement], matrix: Mapping[int, MatrixStatement]
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


def _require_count(statement: Statement, source: Source, what: str, least: int, most: int) -> None:
    if not least <= len(statement.operands) <= most:
        given = len(statement.operands)
        raise source.error(statement.location, f"{statement.name} takes {what}, not {given} operands")


def _fragment(
    source: Source, operand: Operand, instruction: Instruction, use: Use, type_: str, *, raw: bool
) -> tuple[Register, ...]:
    name = f"fragment {use} of .{type_} in .{instruction.shape}"
    if not isinstance(operand, Vector):
        raise source.error(operand.location, f"{name} must be a vector of registers in braces")
    bits = 32 if raw else max(32, FORMATS[type_].bits)
    count = fragment(use, type_, instruction.shape).registers * 32 // bits
    registers = []
    for element in operand.elements:
        if not isinstance(element, Register):
            raise source.error(element.location, f"{name} must consist of registers")
        if element.type.bits != bits:
            raise source.error(
                element.location, f"{name} needs {bits}-bit registers, but {element.name} is {element.type}"
            )
        registers.append(element)
    if len(registers) != count:
        plural = "" if count == 1 else "s"
        raise source.error(operand.location, f"{name} has {count} register{plural}, not {len(registers)}")
    return tuple(registers)


def _address(
    source: Source,
    operand: Operand,
    instruction: LoadInstruction | StoreInstruction,
    variables: Mapping[str, Variable],
) -> tuple[Register | Immediate | Symbol, int]:
    if not isinstance(operand, Address):
        raise source.error(operand.location, "the address must be in brackets, as in [%rd1]")
    base = operand.base
    if isinstance(base, Symbol):
        _require_space(source, base, variables, instruction)
    if isinstance(base, Immediate) and base.kind != "integer":
        raise source.error(base.location, "the address must be an integer")
    if isinstance(base, Register):
        widths = (32, 64) if instruction.space == "shared" else (64,)
        if base.type.bits not in widths or base.type.kind == "float":
            allowed = " or ".join(f".b{bits}, .u{bits}, .s{bits}" for bits in widths)
            raise source.error(base.location, f"the address {base.name} is {base.type}; allowed: {allowed}")
    return base, operand.offset


def _require_space(
    source: Source,
    base: Symbol,
    variables: Mapping[str, Variable],
    instruction: LoadInstruction | StoreInstruction,
) -> None:
    """Refuse a name that is no variable, or one of a state space that the instruction does not access."""
    if base.name not in variables:
        raise source.error(base.location, f"the address must be in a register, not in {base.name}")
    space = variables[base.name].space
    if space == instruction.space or (space, instruction.space) == ("global", "generic"):
        return
    accessed = "generic addresses" if instruction.space == "generic" else f".{instruction.space}"
    raise source.error(base.location, f"{base.name} is in .{space}, but the instruction accesses {accessed}")


def _stride(source: Source, operand: Operand) -> Register | Immediate:
    if isinstance(operand, Immediate) and operand.kind == "integer":
        if not 0 <= operand.value < 1 << 32:
            raise source.error(operand.location, f"the stride {operand.value} is not in 0 to {2**32 - 1}")
        return operand
    if isinstance(operand, Register) and operand.type.bits == 32 and operand.type.kind != "float":
        return operand
    raise source.error(operand.location, "the stride must be a 32-bit integer register or constant")
