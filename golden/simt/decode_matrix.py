"""Matrix instructions: wmma, mma.sync, ldmatrix, stmatrix, movmatrix."""

from collections.abc import Callable
from typing import Any, Final

from golden.ptx.matrix import register_bits, require_registers
from golden.ptx.mnemonic import parse_qualifiers
from golden.ptx.move_mnemonic import parse_move
from golden.ptx.syntax import Immediate, Instruction, Operand, Sink, Vector
from golden.simt.address_map import SHARED
from golden.simt.decoding import Context
from golden.simt.writer import Step, Writer
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import ROUNDINGS, Use
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import (
    IllegalInstruction,
    LoadInstruction,
    MmaInstruction,
    StoreInstruction,
)
from golden.tables.matrix_moves import MoveInstruction

__all__ = ["DECODERS"]


def _matrix(context: Context, instruction: Instruction, index: int) -> Step:
    try:
        parsed = parse_qualifiers(_in_order(instruction.opcode), ptx_version=context.version)
    except IllegalInstruction as error:
        raise context.error(instruction.location, str(error)) from error
    operands = instruction.operands
    if not isinstance(parsed, MmaInstruction):
        context.require_count(instruction, 2, 3)
        vector, place = operands[:2] if isinstance(parsed, LoadInstruction) else operands[1::-1]
        registers = _fragment(context, vector, parsed, parsed.use, parsed.type)
        return _access(context, instruction, index, parsed, registers, place, operands[2:])
    context.require_count(instruction, 4)
    fragments = {
        use: _fragment(context, operand, parsed, use, type_)
        for (use, type_), operand in zip(parsed.types.items(), operands, strict=True)
    }

    def emit(writer: Writer) -> None:
        texts = [_tuple(writer, fragments[use], register_bits(parsed.types[use])) for use in ("a", "b", "c")]
        call = f"B.multiply({writer.bind(parsed)}, {writer.threads}, {', '.join(texts)}, {index})"
        _assign(writer, fragments["d"], call, register_bits(parsed.d_type))

    reads = (*fragments["a"], *fragments["b"], *fragments["c"])
    kind = {"select": False, "mask": "all", "matrix": parsed}
    return context.step(instruction, index, reads, fragments["d"], emit, **kind)


def _in_order(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The qualifiers of a multiply, with a rounding before its types and ``.satfinite`` behind them.

    Assemblers take both in either place.
    """
    if parts[:2] in (("wmma", "load"), ("wmma", "store")):
        return parts
    moved = [part for part in parts if part in ROUNDINGS]
    rest = [part for part in parts if part not in ROUNDINGS and part != "satfinite"]
    first = next((place for place, part in enumerate(rest) if part in FORMATS), len(rest))
    saturated = [part for part in parts if part == "satfinite"]
    return (*rest[:first], *moved, *rest[first:], *saturated)


def _access(
    context: Context,
    instruction: Instruction,
    index: int,
    parsed: LoadInstruction | StoreInstruction,
    registers: tuple[Operand, ...],
    place: Operand,
    stride: tuple[Operand, ...],
) -> Step:
    address = context.require_address(place)
    for operand in stride:
        context.require_source(operand, 32)
    in_shared = "shared" in (parsed.space, context.space_of(address))
    is_load = isinstance(parsed, LoadInstruction)

    def emit(writer: Writer) -> None:
        where = context.address(writer, address)
        if in_shared:
            where = f"({where} + {writer.constant(SHARED, 64)})"
        step = writer.array(stride[0], 32) if stride else "None"
        bound = writer.bind(parsed)
        if is_load:
            call = f"B.load_fragment({bound}, {writer.threads}, {where}, {step}, {index})"
            _assign(writer, registers, call, register_bits(parsed.type))
        else:
            values = _tuple(writer, registers, register_bits(parsed.type))
            writer.line(f"B.store_fragment({bound}, {writer.threads}, {where}, {step}, {values}, {index})")

    sources = (address, *stride)
    return _transfer(context, instruction, index, sources, registers, emit, is_load=is_load, matrix=parsed)


def _move_matrices(context: Context, instruction: Instruction, index: int) -> Step:
    """``ldmatrix`` and ``stmatrix``."""
    parsed = _parse_move(context, instruction)
    context.require_count(instruction, 2)
    is_load = parsed.mnemonic == "ldmatrix"
    vector, place = instruction.operands if is_load else instruction.operands[::-1]
    elements = vector.elements if isinstance(vector, Vector) else (vector,)
    if len(elements) != parsed.count:
        raise context.error(
            vector.location, f"{instruction.name} takes {parsed.count} registers, not {len(elements)}"
        )
    for element in elements:
        context.require_destination(element, 32)
    address = context.require_address(place)
    in_shared = "shared" in (parsed.space, context.space_of(address))

    def emit(writer: Writer) -> None:
        where = context.address(writer, address)
        if in_shared:
            where = f"({where} + {writer.constant(SHARED, 64)})"
        head = f"{writer.threads}, {where}, {parsed.count}, {parsed.transposed}"
        if is_load:
            _assign(writer, elements, f"B.load_matrices({head}, {index})", 32)
        else:
            writer.line(f"B.store_matrices({head}, {_tuple(writer, elements, 32)}, {index})")

    return _transfer(context, instruction, index, (address,), elements, emit, is_load=is_load)


def _transfer(
    context: Context,
    instruction: Instruction,
    index: int,
    sources: tuple[Operand, ...],
    registers: tuple[Operand, ...],
    emit: Callable[[Writer], None],
    *,
    is_load: bool,
    **kind: Any,
) -> Step:
    """The step of a load or store of registers."""
    reads, writes = (sources, registers) if is_load else ((*sources, *registers), ())
    kind |= {"select": False, "pure": is_load, "loads": is_load, "mask": "all"}
    return context.step(instruction, index, reads, writes, emit, **kind)


def _parse_move(context: Context, instruction: Instruction) -> MoveInstruction:
    try:
        return parse_move(instruction.opcode)
    except IllegalInstruction as error:
        raise context.error(instruction.location, str(error)) from error


def _transpose(context: Context, instruction: Instruction, index: int) -> Step:
    """``movmatrix``."""
    _parse_move(context, instruction)
    context.require_count(instruction, 2)
    target, source = instruction.operands
    context.require_destination(target, 32)
    context.require_source(source, 32)

    def emit(writer: Writer) -> None:
        writer.write(target, f"B.transpose_matrix({writer.threads}, {writer.array(source, 32)})", 32)

    return context.step(instruction, index, (source,), (target,), emit, select=False, mask="all")


def _tuple(writer: Writer, registers: tuple[Operand, ...], bits: int) -> str:
    """The registers of a fragment; of a constant in it the assembler takes the low bits, even of a double."""
    values = [
        writer.uniform(item.value, bits) if isinstance(item, Immediate) else writer.array(item, bits)
        for item in registers
    ]
    return f"({', '.join(values)},)"


def _assign(writer: Writer, registers: tuple[Operand, ...], call: str, bits: int) -> None:
    names = [writer.name() for _ in registers]
    writer.line(f"({', '.join(names)},) = {call}")
    for register, name in zip(registers, names, strict=True):
        writer.write(register, name, bits)


def _fragment(context: Context, operand: Operand, parsed: Any, use: Use, type_: str) -> tuple[Operand, ...]:
    name = f"fragment {use} of .{type_} in .{parsed.shape}"
    bits = register_bits(type_)
    count = fragment(use, type_, parsed.shape).registers * 32 // bits
    if not isinstance(operand, Vector) and count != 1:
        raise context.error(operand.location, f"{name} must be a vector of registers in braces")
    written = use == "d" or isinstance(parsed, LoadInstruction)
    others: tuple[type[Operand], ...] = (Sink,) if written else (Immediate,)
    if isinstance(parsed, StoreInstruction) and written:
        others = ()
    elements = require_registers(context.source, operand, name, bits, count, others)
    for element in elements:
        if isinstance(element, Immediate):
            _require_literal(context, element, name, type_, bits)
    return elements


def _require_literal(context: Context, literal: Immediate, name: str, type_: str, bits: int) -> None:
    """Refuse a constant that is no element of a fragment."""
    context.require_source(literal, bits)
    is_float = isinstance(FORMATS[type_], FloatFormat)
    same = (literal.kind == "integer") != is_float or FORMATS[type_].bits != bits
    if literal.value and not same:
        kind = "floats" if is_float else "integers"
        raise context.error(literal.location, f"{name} consists of {kind}, unlike this constant")


DECODERS: Final = {
    "wmma": _matrix,
    "mma": _matrix,
    "ldmatrix": _move_matrices,
    "stmatrix": _move_matrices,
    "movmatrix": _transpose,
}
"""By first word of the opcode."""
