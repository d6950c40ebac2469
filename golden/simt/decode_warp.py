"""Instructions that exchange values between the lanes of a warp."""

from collections.abc import Callable
from typing import Final

from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.syntax import Immediate, Instruction, Negated, Operand, Pair, Sink
from golden.simt.warp_operations import REDUCTIONS, active_mask, elect, match, reduce, shuffle, vote
from golden.simt.writer import Writer

__all__ = ["DECODERS"]

_SHUFFLES: Final = ("up", "down", "bfly", "idx")
_VOTES: Final = ("all", "any", "uni", "ballot")


def _shuffle(context: Context, instruction: Instruction, index: int) -> Step:
    parts = instruction.opcode[1:]
    synchronous = parts[:1] == ("sync",)
    rest = parts[1:] if synchronous else parts
    if len(rest) != 2 or rest[0] not in _SHUFFLES or rest[1] != "b32":
        raise context.unsupported(instruction)
    context.require_count(instruction, 4 + synchronous)
    target, *sources = instruction.operands
    mask = sources.pop() if synchronous else None
    for source in sources:
        context.require_source(source, 32)

    def call(writer: Writer) -> str:
        texts = ", ".join(writer.array(source, 32) for source in sources)
        return f"{writer.bind(shuffle)}({rest[0]!r}, {writer.threads}, B.total, {texts})"

    return _exchange(context, instruction, index, tuple(sources), target, call, mask)


def _vote(context: Context, instruction: Instruction, index: int) -> Step:
    groups = {"sync": ("sync",), "mode": _VOTES, "type": ("b32", "pred")}
    found = split_qualifiers(context, instruction, groups)
    mode, synchronous = found.get("mode", ""), "sync" in found
    if not mode or found.get("type") != ("b32" if mode == "ballot" else "pred"):
        raise context.unsupported(instruction)
    context.require_count(instruction, 2 + synchronous)
    target, source = instruction.operands[:2]
    bits = 32 if mode == "ballot" else 1
    context.require_destination(target, bits)
    context.require_source(source, 1)

    def emit(writer: Writer) -> None:
        call = f"{writer.bind(vote)}({mode!r}, {writer.threads}, B.warps, {writer.array(source, 1)})"
        writer.write(target, call, bits)

    mask = instruction.operands[2] if synchronous else None
    return _step(context, instruction, index, (source,), (target,), emit, mask)


def _match(context: Context, instruction: Instruction, index: int) -> Step:
    parts = instruction.opcode[1:]
    if (
        len(parts) != 3
        or parts[0] not in ("any", "all")
        or parts[1] != "sync"
        or parts[2] not in ("b32", "b64")
    ):
        raise context.unsupported(instruction)
    context.require_count(instruction, 3)
    bits = int(parts[2][1:])
    target, source, mask = instruction.operands
    context.require_source(source, bits)

    def call(writer: Writer) -> str:
        return f"{writer.bind(match)}({parts[0]!r}, {writer.threads}, {writer.array(source, bits)})"

    return _exchange(context, instruction, index, (source,), target, call, mask)


def _reduce(context: Context, instruction: Instruction, index: int) -> Step:
    parts = instruction.opcode[1:]
    if len(parts) != 3 or parts[0] != "sync" or (parts[1], parts[2]) not in REDUCTIONS:
        raise context.unsupported(instruction)
    context.require_count(instruction, 3)
    target, source, mask = instruction.operands
    context.require_destination(target, 32)
    context.require_source(source, 32)

    def emit(writer: Writer) -> None:
        arguments = f"{writer.threads}, B.warps, {writer.array(source, 32)}"
        writer.write(target, f"{writer.bind(reduce)}({parts[1]!r}, {parts[2]!r}, {arguments})", 32)

    return _step(context, instruction, index, (source,), (target,), emit, mask)


def _active_mask(context: Context, instruction: Instruction, index: int) -> Step:
    context.require_count(instruction, 1)
    if instruction.opcode[1:] != ("b32",):
        raise context.unsupported(instruction)
    (target,) = instruction.operands
    context.require_destination(target, 32)

    def emit(writer: Writer) -> None:
        writer.write(target, f"{writer.bind(active_mask)}({writer.threads}, B.warps)", 32)

    return _step(context, instruction, index, (), (target,), emit, None)


def _elect(context: Context, instruction: Instruction, index: int) -> Step:
    context.require_count(instruction, 2)
    target, mask = instruction.operands
    if instruction.opcode[1:] != ("sync",) or not isinstance(target, Pair):
        raise context.unsupported(instruction)

    def call(writer: Writer) -> str:
        return f"{writer.bind(elect)}({writer.threads}, B.warps)"

    return _exchange(context, instruction, index, (), target, call, mask)


def _exchange(
    context: Context,
    instruction: Instruction,
    index: int,
    sources: tuple[Operand, ...],
    target: Operand,
    call: Callable[[Writer], str],
    mask: Operand | None,
) -> Step:
    """An instruction with 32 bits and, where the target is a pair, a predicate as results."""
    targets = (target.first, target.second) if isinstance(target, Pair) else (target, Sink(target.location))
    for operand, bits in zip(targets, (32, 1), strict=True):
        context.require_destination(operand, bits)

    def emit(writer: Writer) -> None:
        names = writer.name(), writer.name()
        writer.line(f"{', '.join(names)} = {call(writer)}")
        for operand, name, bits in zip(targets, names, (32, 1), strict=True):
            writer.write(operand, name, bits)

    return _step(context, instruction, index, sources, targets, emit, mask)


def _step(
    context: Context,
    instruction: Instruction,
    index: int,
    sources: tuple[Operand, ...],
    targets: tuple[Operand, ...],
    emit: Callable[[Writer], None],
    mask: Operand | None,
) -> Step:
    if mask is not None:
        context.require_source(mask, 32)
        if isinstance(mask, Negated):
            raise context.error(mask.location, "the mask of lanes must be a 32-bit register or constant")
        if isinstance(mask, Immediate) and mask.value & 0xFFFFFFFF == 0:
            raise context.error(mask.location, "the mask of lanes is empty")
        sources = (*sources, mask)
    return context.step(instruction, index, sources, targets, emit, select=False, mask=mask)


DECODERS: Final = {
    "shfl": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux": _reduce,
    "activemask": _active_mask,
    "elect": _elect,
}
"""By first word of the opcode."""
