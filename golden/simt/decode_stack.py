"""Code of ``alloca``, ``stacksave`` and ``stackrestore``."""

from typing import Final

from golden.ptx.decoding import Context, Step
from golden.ptx.scalar_types import TYPES
from golden.ptx.syntax import Immediate, Instruction
from golden.simt.code import Writer
from golden.simt.stack import STACK_POINTER

_ALIGNMENT: Final = 8
"""What the chip aligns the stack to."""


def _allocate(context: Context, instruction: Instruction, index: int) -> Step:
    """``alloca``: a piece of the stack, below what is in use."""
    target, size, *others = context.operands(instruction, 2, 3)
    if instruction.opcode[1:] not in (("u32",), ("u64",)):
        raise context.unsupported(instruction)
    bits = TYPES[instruction.opcode[1]].bits
    context.require_destination(target, bits)
    context.require_source(size, bits)
    alignment = _ALIGNMENT
    if others:
        (given,) = others
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
    if instruction.opcode[1:] not in (("u32",), ("u64",)):
        raise context.unsupported(instruction)
    bits = TYPES[instruction.opcode[1]].bits
    if instruction.opcode[0] == "stacksave":
        context.require_destination(operand, bits)
        source, target = STACK_POINTER, operand
    else:
        context.require_source(operand, bits)
        source, target = operand, STACK_POINTER  # type: ignore[assignment]

    def write_code(writer: Writer) -> None:
        value = writer.array(source, 64 if source is STACK_POINTER else bits)
        writer.write(target, value, 64 if source is STACK_POINTER else bits)

    return context.step(instruction, index, (source,), (target,), write_code, select=False)


DECODERS: Final = {"alloca": _allocate, "stacksave": _move_pointer, "stackrestore": _move_pointer}
"""By first word of the opcode."""
