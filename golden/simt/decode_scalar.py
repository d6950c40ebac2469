"""Scalar arithmetic, through `golden.scalar`, and the moves between registers."""

from dataclasses import replace
from typing import Final

from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.syntax import (
    Immediate,
    Instruction,
    Operand,
    Pair,
    Selected,
    Sink,
    SpecialRegister,
    Symbol,
    Vector,
)
from golden.scalar import Operation, UnsupportedInstruction, operation
from golden.simt.address_map import WINDOWS
from golden.simt.decoding import Context, split_qualifiers
from golden.simt.writer import Step, Writer

__all__ = ["DECODERS", "decode_scalar"]


def decode_scalar(context: Context, instruction: Instruction, index: int) -> Step:
    """Decode an instruction that computes registers from registers.

    Raises
    ------
    PtxError
        For an instruction that `golden.scalar` does not know, and for operands that do not fit it.
    """
    try:
        parts = tuple(_part(operand) for operand in instruction.operands)
        paired = any(isinstance(operand, Pair) for operand in instruction.operands[:1])
        pair = paired and instruction.opcode[0] == "setp"
        found = operation(instruction.name, pair=pair, parts=parts)
    except UnsupportedInstruction as error:
        raise context.unsupported(instruction, str(error).partition(": ")[2] if any(parts) else "") from error
    targets, sources = _operands(context, instruction, found)
    carries_in = len(sources) + 1 == len(found.operands) and found.operands[-1] == 1
    carries_out = len(found.results) > 1 and ".cc" in instruction.name
    wider = instruction.opcode[0] == "cvt"
    for operand, bits in zip(sources, found.operands, strict=False):
        context.require_source(operand, bits, wider=wider)
    for operand, bits in zip(targets, found.results, strict=False):
        context.require_destination(operand, bits, wider=wider)
    carry = context.carry() if carries_in or carries_out else -1

    def emit(writer: Writer) -> None:
        texts = [
            writer.broadcast(operand, bits) for operand, bits in zip(sources, found.operands, strict=False)
        ]
        if carries_in:
            texts.append(writer.slot(carry))
        elif all(isinstance(operand, Immediate) for operand in sources):
            texts[0] = writer.array(sources[0], found.operands[0])
        call = f"{writer.bind(found.evaluate)}({', '.join(texts)})"
        if len(found.results) == 1:
            writer.write(targets[0], call, found.results[0], signed=found.signed)
            return
        values = [writer.name() for _ in found.results]
        writer.line(f"{', '.join(values)} = {call}")
        for target, value, bits in zip(targets, values, found.results, strict=False):
            writer.write(target, value, bits, signed=found.signed)
        if carries_out:
            writer.assign(carry, values[-1])

    step = context.step(instruction, index, sources, targets, emit, pure=True)
    reads = (*step.reads, carry) if carries_in else step.reads
    writes = (*step.writes, carry) if carries_out else step.writes
    return replace(step, reads=reads, writes=writes)


def _part(operand: Operand) -> str:
    """The part of an operand that a video instruction takes."""
    if not isinstance(operand, Selected):
        return ""
    return f"-{operand.selector}" if operand.negative else operand.selector


def _operands(
    context: Context, instruction: Instruction, found: Operation
) -> tuple[list[Operand], list[Operand]]:
    """Destinations and sources as written, their number checked."""
    if not instruction.operands:
        raise context.error(instruction.location, f"{instruction.name} takes operands")
    first, *sources = (
        operand.register if isinstance(operand, Selected) else operand for operand in instruction.operands
    )
    targets: list[Operand] = [first.first, first.second] if isinstance(first, Pair) else [first]
    explicit = len(found.results) - (".cc" in instruction.name and len(found.results) > 1)
    if len(targets) != explicit:
        raise context.error(
            instruction.location, f"{instruction.name} has {explicit} results, not {len(targets)}"
        )
    reads_carry = instruction.opcode[0] in ("addc", "subc", "madc")
    expected = len(found.operands) - reads_carry
    if len(sources) != expected:
        raise context.error(
            instruction.location, f"{instruction.name} takes {expected} sources, not {len(sources)}"
        )
    return targets, list(sources)


def _move(context: Context, instruction: Instruction, index: int) -> Step:
    context.require_count(instruction, 2)
    target, source = instruction.operands
    found = split_qualifiers(context, instruction, {"type": tuple(TYPES)})
    if "type" not in found:
        raise context.unsupported(instruction, "it has no type")
    type_ = TYPES[found["type"]]
    if isinstance(target, Vector) or isinstance(source, Vector):
        return _move_vector(context, instruction, index, type_)
    if isinstance(target, Pair):
        raise context.error(target.location, "mov has one destination")
    context.require_destination(target, type_.bits)
    if isinstance(source, Symbol):
        variable, address = context.symbol(source)
        if type_.bits < 32 or type_.kind == "float":
            raise context.error(source.location, f"the address of {variable.name} does not fit {type_}")
        value = address + source.offset

        def emit_address(writer: Writer) -> None:
            writer.write(target, writer.uniform(value, type_.bits), type_.bits)

        return context.step(instruction, index, (), (target,), emit_address, pure=True)
    context.require_source(source, type_.bits, wider=isinstance(source, SpecialRegister))

    def emit(writer: Writer) -> None:
        writer.write(target, writer.array(source, type_.bits), type_.bits)

    return context.step(instruction, index, (source,), (target,), emit, pure=True)


def _move_vector(context: Context, instruction: Instruction, index: int, type_: ScalarType) -> Step:
    """``mov.b32 {lo, hi}, r`` and ``mov.b32 r, {lo, hi}``."""
    target, source = instruction.operands
    if isinstance(target, Vector) and isinstance(source, Vector):
        raise context.error(instruction.location, "mov packs or unpacks one vector, not two")
    vector = target if isinstance(target, Vector) else source
    assert isinstance(vector, Vector)
    count = len(vector.elements)
    bits = type_.bits // count if count else 0
    if bits * count != type_.bits or bits not in (8, 16, 32):
        raise context.error(vector.location, f"{type_} does not split into {count} registers")
    if isinstance(target, Vector):
        for element in target.elements:
            context.require_destination(element, bits)
        context.require_source(source, type_.bits)

        def unpack(writer: Writer) -> None:
            value = writer.name()
            writer.line(f"{value} = {writer.array(source, type_.bits)}")
            for i, element in enumerate(target.elements):
                if isinstance(element, Sink):
                    continue
                shifted = f"({value} >> {writer.constant(i * bits, type_.bits)})" if i else value
                writer.write(element, f"{shifted}.astype('u{bits // 8}')", bits)

        return context.step(instruction, index, (source,), target.elements, unpack, pure=True)
    for element in vector.elements:
        context.require_source(element, bits)
    context.require_destination(target, type_.bits)

    def pack(writer: Writer) -> None:
        parts = []
        for i, element in enumerate(vector.elements):
            part = f"{writer.array(element, bits)}.astype('u{type_.bits // 8}')"
            parts.append(f"({part} << {writer.constant(i * bits, type_.bits)})" if i else part)
        writer.write(target, " | ".join(parts), type_.bits)

    return context.step(instruction, index, vector.elements, (target,), pack, pure=True)


def _convert_address(context: Context, instruction: Instruction, index: int) -> Step:
    """``cvta``: between an address in a state space and a generic one."""
    context.require_count(instruction, 2)
    groups = {
        "to": ("to",),
        "space": ("global", "shared", "shared::cta", "local", "const", "param", "param::entry"),
        "type": ("u32", "u64"),
    }
    found = split_qualifiers(context, instruction, groups)
    if "space" not in found or "type" not in found:
        raise context.unsupported(instruction)
    bits = TYPES[found["type"]].bits
    target, source = instruction.operands
    context.require_destination(target, bits)
    base = WINDOWS[found["space"].partition("::")[0]]
    symbol = source if isinstance(source, Symbol) else None
    if symbol is None:
        context.require_source(source, bits)
    else:
        context.symbol(symbol)

    def emit(writer: Writer) -> None:
        if symbol is not None:
            value = context.symbol(symbol)[1] + symbol.offset + base
            writer.write(target, writer.uniform(value, bits), bits)
            return
        text = writer.array(source, bits)
        if base:
            text = f"{text} {'-' if 'to' in found else '+'} {writer.constant(base, bits)}"
        writer.write(target, text, bits)

    return context.step(instruction, index, (source,), (target,), emit, pure=True)


def _is_space(context: Context, instruction: Instruction, index: int) -> Step:
    """``isspacep``: whether a generic address lies in a window."""
    context.require_count(instruction, 2)
    groups = {"space": ("global", "shared", "shared::cta", "local", "const", "param", "param::entry")}
    found = split_qualifiers(context, instruction, groups)
    if "space" not in found:
        raise context.unsupported(instruction)
    target, source = instruction.operands
    context.require_destination(target, 1)
    context.require_source(source, 64)
    space = found["space"].partition("::")[0]

    def emit(writer: Writer) -> None:
        writer.write(target, f"B.in_window({space!r}, {writer.array(source, 64)})", 1)

    return context.step(instruction, index, (source,), (target,), emit, pure=True)


DECODERS: Final = {"mov": _move, "cvta": _convert_address, "isspacep": _is_space}
"""By first word of the opcode; everything else that computes goes to `decode_scalar`."""
