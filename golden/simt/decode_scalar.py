"""Code of scalar arithmetic, through `golden.scalar`, and of the moves between registers."""

from typing import Final

from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.statements import (
    check_address_conversion,
    check_computation,
    check_move,
    scalar_operation,
)
from golden.ptx.syntax import Immediate, Instruction, Register, Sink, Symbol
from golden.simt.address_map import WINDOWS
from golden.simt.code import Writer, call_step


def decode_scalar(context: Context, instruction: Instruction, index: int) -> Step:
    """Decode an instruction that computes registers from registers."""
    found = scalar_operation(context, instruction)
    targets, sources = check_computation(context, instruction, found)

    def write_code(writer: Writer) -> None:
        texts = [
            writer.broadcast(operand, bits) for operand, bits in zip(sources, found.operands, strict=True)
        ]
        if all(isinstance(operand, Immediate) for operand in sources):
            texts[0] = writer.array(sources[0], found.operands[0])
        call = f"{writer.bind(found.evaluate)}({', '.join(texts)})"
        writer.results(call, tuple(zip(targets, found.results, strict=True)), signed=found.signed)

    return context.step(instruction, index, sources, targets, write_code, pure=True)


def _move(context: Context, instruction: Instruction, index: int) -> Step:
    bits, targets, sources = check_move(context, instruction)
    (target, *others), (source, *parts) = targets, sources
    part = bits // max(len(targets), len(sources))

    def write_code(writer: Writer) -> None:
        if others:
            value = writer.name()
            writer.line(f"{value} = {writer.array(source, bits)}")
            for i, element in enumerate(targets):
                if not isinstance(element, Sink):
                    shifted = f"({value} >> {writer.constant(i * part, bits)})" if i else value
                    writer.write(element, f"{shifted}.astype('u{part // 8}')", part)
        elif parts:
            texts = []
            for i, element in enumerate(sources):
                text = f"{writer.array(element, part)}.astype('u{bits // 8}')"
                texts.append(f"({text} << {writer.constant(i * part, bits)})" if i else text)
            writer.write(target, " | ".join(texts), bits)
        elif isinstance(source, Symbol):
            writer.write(target, writer.place(context, source, 0, bits), bits)
        else:
            writer.write(target, writer.array(source, bits), bits)

    return context.step(instruction, index, sources, targets, write_code, pure=True)


def _convert_address(context: Context, instruction: Instruction, index: int) -> Step:
    """``cvta``: between an address in a state space and a generic one."""
    space, sign, bits, target, source = check_address_conversion(context, instruction)
    base = WINDOWS[space]

    def write_code(writer: Writer) -> None:
        if isinstance(source, Symbol):
            writer.write(target, writer.place(context, source, base, bits), bits)
            return
        text = writer.array(source, bits)
        if base:
            text = f"{text} {'+' if sign > 0 else '-'} {writer.constant(base, bits)}"
        writer.write(target, text, bits)

    return context.step(instruction, index, (source,), (target,), write_code, pure=True)


def _is_space(context: Context, instruction: Instruction, index: int) -> Step:
    """``isspacep``: whether a generic address lies in a window."""
    target, source = context.operands(instruction, 2)
    spaces = ("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry")
    groups = {"space": spaces}
    found = split_qualifiers(context, instruction, groups)
    if "space" not in found:
        raise context.unsupported(instruction)
    windows = {"shared": "shared::cta", "shared::cluster": "shared", "param::entry": "param"}
    space = windows.get(found["space"], found["space"])
    call = f"B.in_window({space!r}, {{0}})"
    if space == "global":  # parameters of an entry are global memory too, as on the chip
        call += " | B.in_window('param', {0})"
    bits = 32 if isinstance(source, Register) and source.type.bits == 32 else 64
    return call_step(context, instruction, index, call, [(source, bits)], [(target, 1)], pure=True)


DECODERS: Final = {"mov": _move, "cvta": _convert_address, "isspacep": _is_space}
"""By first word of the opcode; everything else that computes goes to `decode_scalar`."""
