"""Statements that compute registers from registers, checked: arithmetic, moves, conversions of addresses."""

from typing import TYPE_CHECKING, Final, NamedTuple

from golden.ptx.arithmetic import IntegerOperation
from golden.ptx.decoding import Context, split_qualifiers
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Location
from golden.ptx.syntax import Instruction, Operand, Pair, Register, Selected, SpecialRegister, Symbol, Vector

if TYPE_CHECKING:
    from golden.scalar import Operation  # needs numpy


CARRY: Final = Register("%cc", "%cc", TYPES["pred"], Location(1, 1))
"""The carry flag."""


def scalar_operation(context: Context, instruction: Instruction) -> "Operation":
    """The operation of `golden.scalar` for an instruction, which loads numpy; PtxError if there is none."""
    from golden.scalar import UnsupportedInstruction, operation  # noqa: PLC0415  needs numpy

    parts = tuple(_part(operand) for operand in instruction.operands)
    paired = any(isinstance(operand, Pair) for operand in instruction.operands[:1])
    try:
        return operation(instruction.name, pair=paired and instruction.opcode[0] == "setp", parts=parts)
    except UnsupportedInstruction as error:
        raise context.unsupported(instruction, str(error).partition(": ")[2] if any(parts) else "") from error


def _part(operand: Operand) -> str:
    """The part of an operand that a video instruction takes."""
    if not isinstance(operand, Selected):
        return ""
    return f"-{operand.selector}" if operand.negative else operand.selector


def check_computation(
    context: Context, instruction: Instruction, found: "IntegerOperation | Operation"
) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """The destinations and sources of an operation, with `CARRY` where it reads or writes the flag.

    PtxError for operands whose number or width does not fit.
    """
    if not instruction.operands:
        raise context.error(instruction, f"{instruction.name} takes operands")
    first, *sources = (
        operand.register if isinstance(operand, Selected) else operand for operand in instruction.operands
    )
    targets = (first.first, first.second) if isinstance(first, Pair) else (first,)
    carries_out = len(found.results) > 1 and ".cc" in instruction.name
    explicit = len(found.results) - carries_out
    if len(targets) != explicit:
        raise context.error(
            instruction, f"results of {instruction.name} must be {explicit}, not {len(targets)}"
        )
    carries_in = instruction.opcode[0] in ("addc", "subc", "madc")
    expected = len(found.operands) - carries_in
    if len(sources) != expected:
        raise context.error(instruction, f"{instruction.name} takes {expected} sources, not {len(sources)}")
    wider = instruction.opcode[0] == "cvt"
    for operand, bits in zip(sources, found.operands, strict=False):
        context.require_source(operand, bits, wider=wider)
    for operand, bits in zip(targets, found.results, strict=False):
        context.require_destination(operand, bits, wider=wider)
    return (*targets, *(CARRY,) * carries_out), (*sources, *(CARRY,) * carries_in)


class MoveStatement(NamedTuple):
    """A ``mov``: of one operand to one, of one to the elements of a vector, or of those to one."""

    bits: int
    """Width of what is moved as a whole."""
    targets: tuple[Operand, ...]
    sources: tuple[Operand, ...]
    """One or several; the first one is the lowest part."""


def check_move(context: Context, instruction: Instruction) -> MoveStatement:
    """Check a ``mov``; PtxError for one that is not legal."""
    target, source = context.operands(instruction, 2)
    found = split_qualifiers(context, instruction, {"type": tuple(TYPES)})
    if "type" not in found:
        raise context.unsupported(instruction, "it has no type")
    type_ = TYPES[found["type"]]
    if isinstance(target, Vector) and isinstance(source, Vector):
        raise context.error(instruction, "mov packs or unpacks one vector, not two")
    if isinstance(target, Pair):
        raise context.error(target, "mov has one destination")
    targets, sources = (
        operand.elements if isinstance(operand, Vector) else (operand,) for operand in (target, source)
    )
    for vector in (target, source):
        if isinstance(vector, Vector) and type_.bits / len(vector.elements) not in (8, 16, 32):
            raise context.error(vector, f"{type_} does not split into {len(vector.elements)} registers")
    for item in targets:
        context.require_destination(item, type_.bits // len(targets))
    if isinstance(source, Symbol):
        space = context.symbol(source)[0].space
        widths = "32 or 64" if space in ("shared", "local", "param") else "64"
        if type_.kind == "float" or str(type_.bits) not in widths:
            raise context.error(
                source,
                f"the address of {source.name} has {widths} bits, the instruction needs {type_}",
            )
    else:
        for item in sources:
            wider = isinstance(item, SpecialRegister)
            context.require_source(item, type_.bits // len(sources), wider=wider)
    return MoveStatement(type_.bits, targets, sources)


class AddressConversion(NamedTuple):
    """A ``cvta``."""

    space: str
    """Without its block or function."""
    sign: int
    """1 where the result is a generic address, -1 where the source is one."""
    bits: int
    target: Operand
    source: Operand


def check_address_conversion(context: Context, instruction: Instruction) -> AddressConversion:
    """Check a ``cvta``; PtxError for one that is not legal."""
    target, source = context.operands(instruction, 2)
    groups = {
        "to": ("to",),
        "space": ("global", "shared", "shared::cta", "local", "const", "param", "param::entry"),
        "type": ("u32", "u64"),
    }
    found = split_qualifiers(context, instruction, groups)
    if "space" not in found or "type" not in found:
        raise context.unsupported(instruction)
    bits, space = TYPES[found["type"]].bits, found["space"].partition("::")[0]
    context.require_destination(target, bits)
    if not isinstance(source, Symbol):
        context.require_source(source, bits)
    else:
        declared = context.symbol(source)[0].space
        declared = "param" if declared == "entry" else declared
        if "to" in found or declared != space:
            raise context.error(
                source, f"{source.name} is in .{declared}; {instruction.name} cannot convert that"
            )
    return AddressConversion(space, -1 if "to" in found else 1, bits, target, source)
