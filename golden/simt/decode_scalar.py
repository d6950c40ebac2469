"""Arithmetic, through `golden.scalar`, moves between registers, conversions of addresses, and the stack."""

import re
from typing import Final

from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.source import Location
from golden.ptx.special_registers import SPECIAL
from golden.ptx.syntax import (
    Immediate,
    Instruction,
    Operand,
    Pair,
    Register,
    Selected,
    Sink,
    SpecialRegister,
    Symbol,
    Vector,
)
from golden.scalar import Operation, UnsupportedInstruction, operation
from golden.simt.address_map import WINDOWS
from golden.simt.code import Writer
from golden.simt.instruction_lines import SPACES
from golden.simt.stack import STACK_POINTER

_CARRY: Final = Register("%cc", "%cc", TYPES["pred"], Location(1, 1))
"""The carry flag."""

_TYPE: Final = re.compile(r"pred|[busft]+\d+|[usb]?f?16x2|u?e\dm\dx2")
"""A qualifier that is a type."""
_EXACT: Final = re.compile(r"bf16|bf16x2|tf32|u?e\dm\dx2")
"""Types whose conversions take no wider registers."""
_COUNTS: Final = {"shl": 1, "shr": 1, "shf": 2, "bfi": 2, "bmsk": 0}
"""The number of the first source that is a count or a position."""
_COUNTING: Final = ("popc", "clz", "bfind", "bmsk")
"""Instructions with a count or a position as the result."""
_MOVED: Final = tuple(
    name for name in TYPES if name not in ("b8", "u8", "s8", "f16", "bf16", "f16x2", "bf16x2")
)
_STACK_ALIGNMENT: Final = 8
"""What the chip aligns the stack to."""


def decode_scalar(context: Context, instruction: Instruction, index: int) -> Step:
    """Decode an instruction that computes registers from registers."""
    found = _operation(context, instruction)
    if not instruction.operands:
        raise context.error(instruction, f"{instruction.name} takes operands")
    first, *others = (
        operand.register if isinstance(operand, Selected) else operand for operand in instruction.operands
    )
    results = (first.first, first.second) if isinstance(first, Pair) else (first,)
    carries_out = len(found.results) > 1 and ".cc" in instruction.name
    explicit = len(found.results) - carries_out
    if len(results) != explicit:
        message = f"results of {instruction.name} must be {explicit}, not {len(results)}"
        raise context.error(instruction, message)
    carries_in = instruction.opcode[0] in ("addc", "subc", "madc")
    expected = len(found.operands) - carries_in
    if len(others) != expected:
        raise context.error(instruction, f"{instruction.name} takes {expected} sources, not {len(others)}")
    wider = instruction.opcode[0] == "cvt" and not any(map(_EXACT.fullmatch, instruction.opcode))
    type_, kinds = _operand_types(instruction, len(others))
    for operand, bits, kind in zip(others, found.operands, kinds, strict=False):
        context.require_source(operand, bits, "pred" if bits == 1 else kind, wider=wider)
    for operand, bits in zip(results, found.results, strict=False):
        context.require_destination(operand, bits, type_, wider=wider)
    targets, sources = (*results, *(_CARRY,) * carries_out), (*others, *(_CARRY,) * carries_in)

    def write_code(writer: Writer) -> None:
        texts = [
            writer.broadcast(operand, bits) for operand, bits in zip(sources, found.operands, strict=True)
        ]
        if all(isinstance(operand, Immediate) for operand in sources):
            texts[0] = writer.array(sources[0], found.operands[0])
        call = f"{writer.bind(found.evaluate)}({', '.join(texts)})"
        writer.results(call, tuple(zip(targets, found.results, strict=True)), signed=found.signed)

    return context.step(instruction, index, sources, targets, write_code, pure=True)


def _operation(context: Context, instruction: Instruction) -> Operation:
    """The operation of `golden.scalar` for an instruction; PtxError if there is none."""
    parts = tuple(
        f"{'-' if operand.negative else ''}{operand.selector}" if isinstance(operand, Selected) else ""
        for operand in instruction.operands
    )
    paired = any(isinstance(operand, Pair) for operand in instruction.operands[:1])
    try:
        return operation(instruction.name, pair=paired and instruction.opcode[0] == "setp", parts=parts)
    except UnsupportedInstruction as error:
        raise context.unsupported(instruction, str(error).partition(": ")[2] if any(parts) else "") from error


def _operand_types(instruction: Instruction, count: int) -> tuple[str, list[str]]:
    """The type of the result of an operation, and the types of its sources, of any width."""
    name = instruction.opcode[0]
    first, *others = filter(_TYPE.fullmatch, instruction.opcode[1:])
    last = others[-1] if others else first
    kinds = [first if name == "slct" else others[0] if len(others) > 1 else last] * count
    if len(others) > 1 or name == "slct":
        kinds[-1] = last
    counts = _COUNTS.get(name, count)
    kinds[counts:] = ["integer"] * len(kinds[counts:])
    return "integer" if name in _COUNTING else first, kinds


def _move(context: Context, instruction: Instruction, index: int) -> Step:
    """``mov``: one operand to one, to the elements of a vector, or from these; the lowest part first."""
    target, source = context.operands(instruction, 2)
    found = split_qualifiers(context, instruction, {"type": _MOVED})
    if "type" not in found:
        raise context.unsupported(instruction, "it has no type")
    type_ = TYPES[found["type"]]
    bits = type_.bits
    if isinstance(target, Vector) and isinstance(source, Vector):
        raise context.error(instruction, "mov packs or unpacks one vector, not two")
    if (isinstance(target, Vector) or isinstance(source, Vector)) and type_.kind != "bits":
        raise context.unsupported(instruction, f"vectors are packed and unpacked as .b{bits}")
    if isinstance(target, Pair):
        raise context.error(target, "mov has one destination")
    targets, sources = (
        operand.elements if isinstance(operand, Vector) else (operand,) for operand in (target, source)
    )
    for vector in (target, source):
        if isinstance(vector, Vector) and bits / len(vector.elements) not in (8, 16, 32):
            raise context.error(vector, f"{type_} does not split into {len(vector.elements)} registers")
    kinds = ["b32" if isinstance(operand, Vector) else type_.name for operand in (target, source)]
    for item in targets:
        context.require_destination(item, bits // len(targets), kinds[0])
    if isinstance(source, Symbol):
        space = context.symbol(source)[0].space
        widths = "32 or 64" if space in ("shared", "local", "param", "entry", "function") else "64"
        if type_.kind == "float" or str(bits) not in widths:
            message = f"the address of {source.name} has {widths} bits, the instruction needs {type_}"
            raise context.error(source, message)
    else:
        for item in sources:
            if isinstance(item, SpecialRegister):
                _check_special(context, item, type_)
            context.require_source(item, bits // len(sources), kinds[1])
    part = bits // max(len(targets), len(sources))

    def write_code(writer: Writer) -> None:
        if isinstance(source, Symbol):
            value = writer.place(context, source, 0, bits)
        elif not isinstance(source, Vector):
            value = writer.array(source, bits)
        else:
            texts = [f"{writer.array(element, part)}.astype('u{bits // 8}')" for element in sources]
            shifts = ["", *(f" << {writer.constant(i * part, bits)}" for i in range(1, len(texts)))]
            value = " | ".join(f"({text}{shift})" for text, shift in zip(texts, shifts, strict=True))
        if not isinstance(target, Vector):
            writer.write(target, value, bits)
            return
        whole = writer.name()
        writer.line(f"{whole} = {value}")
        for i, element in enumerate(targets):
            if not isinstance(element, Sink):
                shifted = f"({whole} >> {writer.constant(i * part, bits)})" if i else whole
                writer.write(element, f"{shifted}.astype('u{part // 8}')", part)

    return context.step(instruction, index, sources, targets, write_code, pure=True)


def _check_special(context: Context, register: SpecialRegister, type_: ScalarType) -> None:
    """Refuse a move of a predefined register to a type that it does not have."""
    bits = SPECIAL[register.name].bits
    narrow = register.name.startswith(("%tid", "%ntid", "%ctaid", "%nctaid")) and type_.bits == 16
    if type_.kind == "float" or (bits > type_.bits and not narrow):
        message = f"{register.name} has {bits} bits and is an integer, the instruction needs {type_}"
        raise context.error(register, message)


def _convert_address(context: Context, instruction: Instruction, index: int) -> Step:
    """``cvta``: between an address in a state space and a generic one."""
    target, source = context.operands(instruction, 2)
    groups = {"to": ("to",), "space": ("global", *SPACES), "type": ("u64",)}
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
            message = f"{source.name} is in .{declared}; {instruction.name} cannot convert that"
            raise context.error(source, message)
    base = WINDOWS[space]

    def write_code(writer: Writer) -> None:
        if isinstance(source, Symbol):
            writer.write(target, writer.place(context, source, base, bits), bits)
            return
        text = writer.array(source, bits)
        if base:
            text = f"{text} {'-' if 'to' in found else '+'} {writer.constant(base, bits)}"
        writer.write(target, text, bits)

    return context.step(instruction, index, (source,), (target,), write_code, pure=True)


def _allocate(context: Context, instruction: Instruction, index: int) -> Step:
    """``alloca``: a piece of the stack, below what is in use."""
    target, size, *others = context.operands(instruction, 2, 3)
    bits = _stack_bits(context, instruction)
    context.require_destination(target, bits)
    context.require_source(size, bits)
    alignment = _STACK_ALIGNMENT
    for given in others:
        if not isinstance(given, Immediate) or given.value < 1 or given.value & (given.value - 1):
            raise context.error(given, "the alignment of alloca must be a constant power of two")
        alignment = max(alignment, given.value)

    def write_code(writer: Writer) -> None:
        pointer, amount = writer.read(STACK_POINTER, 64), writer.array(size, bits)
        call = f"B.stack.allocate({writer.threads}, {pointer}, {amount}, {alignment}, {index})"
        value = writer.name()
        writer.line(f"{value} = {call}")
        writer.write(STACK_POINTER, value, 64)
        writer.write(target, writer.resize(value, 64, bits), bits)

    reads, writes = (STACK_POINTER, size), (STACK_POINTER, target)
    return context.step(instruction, index, reads, writes, write_code, select=False)


def _move_pointer(context: Context, instruction: Instruction, index: int) -> Step:
    """``stacksave`` and ``stackrestore``."""
    (operand,) = context.operands(instruction, 1)
    bits = _stack_bits(context, instruction)
    source: Operand = operand
    target: Operand = STACK_POINTER
    if instruction.opcode[0] == "stacksave":
        context.require_destination(operand, bits)
        source, target = target, source
    else:
        context.require_source(operand, bits)

    def write_code(writer: Writer) -> None:
        width = 64 if source is STACK_POINTER else bits
        writer.write(target, writer.array(source, width), width)

    return context.step(instruction, index, (source,), (target,), write_code, select=False)


def _stack_bits(context: Context, instruction: Instruction) -> int:
    """The width of an address of the stack."""
    if instruction.opcode[1:] not in (("u32",), ("u64",)):
        raise context.unsupported(instruction)
    return TYPES[instruction.opcode[1]].bits


DECODERS: Final = {
    **{"mov": _move, "cvta": _convert_address, "alloca": _allocate},
    **dict.fromkeys(("stacksave", "stackrestore"), _move_pointer),
}
"""By first word of the opcode; everything else that computes goes to `decode_scalar`."""
