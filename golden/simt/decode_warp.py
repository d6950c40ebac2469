"""Instructions that exchange values between the lanes of a warp."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.syntax import Immediate, Instruction, Negated, Operand, Pair, Sink
from golden.simt.code import Writer
from golden.simt.warp_operations import REDUCTIONS, active_mask, elect, match, reduce, shuffle, vote

_SHUFFLES: Final = ("up", "down", "bfly", "idx")
_VOTES: Final = ("all", "any", "uni", "ballot")


def _shuffle(context: Context, instruction: Instruction, index: int) -> Step:
    parts = instruction.opcode[1:]
    synchronous = parts[:1] == ("sync",)
    rest = parts[1:] if synchronous else parts
    if len(rest) != 2 or rest[0] not in _SHUFFLES or rest[1] != "b32":
        raise context.unsupported(instruction)
    target, *sources = context.operands(instruction, 4 + synchronous)
    mask = sources.pop() if synchronous else None
    widths = [(source, 32) for source in sources]
    call = _Call(shuffle, (repr(rest[0]),), ("B.total",))
    return _step(context, instruction, index, call, widths, _with_predicate(target), mask)


def _vote(context: Context, instruction: Instruction, index: int) -> Step:
    groups = {"sync": ("sync",), "mode": _VOTES, "type": ("b32", "pred")}
    found = split_qualifiers(context, instruction, groups)
    mode, synchronous = found.get("mode", ""), "sync" in found
    if not mode or found.get("type") != ("b32" if mode == "ballot" else "pred"):
        raise context.unsupported(instruction)
    target, source, *masks = context.operands(instruction, 2 + synchronous)
    targets = [(target, 32 if mode == "ballot" else 1)]
    call = _Call(vote, (repr(mode),), ("B.warps",))
    return _step(context, instruction, index, call, [(source, 1)], targets, *masks)


def _match(context: Context, instruction: Instruction, index: int) -> Step:
    parts = instruction.opcode[1:]
    if (
        len(parts) != 3
        or parts[0] not in ("any", "all")
        or parts[1] != "sync"
        or parts[2] not in ("b32", "b64")
    ):
        raise context.unsupported(instruction)
    target, source, mask = context.operands(instruction, 3)
    sources = [(source, int(parts[2][1:]))]
    call = _Call(match, (repr(parts[0]),))
    return _step(context, instruction, index, call, sources, _with_predicate(target), mask)


def _reduce(context: Context, instruction: Instruction, index: int) -> Step:
    parts = instruction.opcode[1:]
    if len(parts) != 3 or parts[0] != "sync" or (parts[1], parts[2]) not in REDUCTIONS:
        raise context.unsupported(instruction)
    target, source, mask = context.operands(instruction, 3)
    call = _Call(reduce, (repr(parts[1]), repr(parts[2])), ("B.warps",))
    return _step(context, instruction, index, call, [(source, 32)], [(target, 32)], mask)


def _active_mask(context: Context, instruction: Instruction, index: int) -> Step:
    (target,) = context.operands(instruction, 1)
    if instruction.opcode[1:] != ("b32",):
        raise context.unsupported(instruction)
    call = _Call(active_mask, (), ("B.warps",))
    return _step(context, instruction, index, call, [], [(target, 32)])


def _elect(context: Context, instruction: Instruction, index: int) -> Step:
    target, mask = context.operands(instruction, 2)
    if instruction.opcode[1:] != ("sync",) or not isinstance(target, Pair):
        raise context.unsupported(instruction)
    call = _Call(elect, (), ("B.warps",))
    return _step(context, instruction, index, call, [], _with_predicate(target), mask)


class _Call(NamedTuple):
    """A function of `golden.simt.warp_operations`, and the code of its arguments around the threads."""

    function: Callable[..., Any]
    before: tuple[str, ...]
    behind: tuple[str, ...] = ()


def _with_predicate(target: Operand) -> list[tuple[Operand, int]]:
    """The destinations of 32 bits and, where the target is a pair, a predicate."""
    if isinstance(target, Pair):
        return [(target.first, 32), (target.second, 1)]
    return [(target, 32), (Sink(target.location), 1)]


def _step(
    context: Context,
    instruction: Instruction,
    index: int,
    call: _Call,
    sources: Sequence[tuple[Operand, int]],
    targets: Sequence[tuple[Operand, int]],
    mask: Operand | None = None,
) -> Step:
    """A call with sources behind the other arguments, each of some bits, and as many results as targets."""
    for operand, bits in targets:
        context.require_destination(operand, bits)
    for operand, bits in sources:
        context.require_source(operand, bits)
    reads = [source for source, _ in sources]
    if mask is not None:
        context.require_source(mask, 32)
        if isinstance(mask, Negated):
            raise context.error(mask, "the mask of lanes must be a 32-bit register or constant")
        if isinstance(mask, Immediate) and mask.value & 0xFFFFFFFF == 0:
            raise context.error(mask, "the mask of lanes is empty")
        reads.append(mask)

    def emit(writer: Writer) -> None:
        values = [writer.array(operand, bits) for operand, bits in sources]
        arguments = ", ".join((*call.before, writer.threads, *call.behind, *values))
        writer.results(f"{writer.bind(call.function)}({arguments})", targets)

    writes = [target for target, _ in targets]
    return context.step(instruction, index, reads, writes, emit, select=False, mask=mask)


DECODERS: Final = {
    "shfl": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux": _reduce,
    "activemask": _active_mask,
    "elect": _elect,
}
"""By first word of the opcode."""
