"""Instructions that the lanes of a warp execute together: exchanges of values, matrix instructions."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from golden.ptx.blocks import collective_details
from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.matrix import MNEMONICS, MatrixStatement, decode_matrix_statement
from golden.ptx.scalar_types import TYPES
from golden.ptx.syntax import Immediate, Instruction, Operand, Pair, Sink
from golden.simt.address_map import SHARED
from golden.simt.code import Widths, Writer, call_step
from golden.simt.warp_operations import REDUCTIONS, elect, match, reduce, shuffle, vote
from golden.tables.instruction_set import Use
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction, MoveInstruction

_SYNCHRONOUS: Final = (6, 4)
"""The PTX ISA version from which exchanges need ``.sync``."""


def _shuffle(context: Context, instruction: Instruction, index: int) -> Step:
    groups = {"sync": ("sync",), "mode": ("up", "down", "bfly", "idx"), "type": ("b32",)}
    found = split_qualifiers(context, instruction, groups)
    synchronous = "sync" in found
    _require_sync(context, instruction, synchronous)
    if not {"mode", "type"} <= found.keys():
        raise context.unsupported(instruction)
    mode = found["mode"]
    target, *operands = context.operands(instruction, 4 + synchronous)
    sources = [(operand, 32) for operand in operands[:3]]
    targets = _with_predicate(target)
    if synchronous:
        compute = partial(shuffle, mode)
        return _collective(context, instruction, index, compute, sources, targets, operands[3])
    call = f"shuffle({mode!r}, {{threads}}, every_lane, {{}}, {{}}, {{}})"
    return call_step(context, instruction, index, call, sources, targets, type_="b32")


def _require_sync(context: Context, instruction: Instruction, synchronous: bool) -> None:
    if not synchronous and context.version >= _SYNCHRONOUS:
        message = f"it lacks .sync, without which it ended with PTX ISA {'.'.join(map(str, _SYNCHRONOUS))}"
        raise context.unsupported(instruction, message)


def _vote(context: Context, instruction: Instruction, index: int) -> Step:
    groups = {"sync": ("sync",), "mode": ("all", "any", "uni", "ballot"), "type": ("b32", "pred")}
    found = split_qualifiers(context, instruction, groups)
    mode = found.get("mode", "")
    _require_sync(context, instruction, "sync" in found)
    type_, bits = ("b32", 32) if mode == "ballot" else ("pred", 1)
    if not mode or found.get("type") != type_:
        raise context.unsupported(instruction)
    target, source, *masks = context.operands(instruction, 2 + ("sync" in found))
    sources, targets = [(source, 1)], [(target, bits)]
    if masks:
        return _collective(context, instruction, index, partial(vote, mode), sources, targets, masks[0])
    call = f"vote({mode!r}, {{threads}}, every_lane, {{}})[0]"
    return call_step(context, instruction, index, call, sources, targets, type_="b32")


def _match(context: Context, instruction: Instruction, index: int) -> Step:
    groups = {"mode": ("any", "all"), "sync": ("sync",), "type": ("b32", "b64")}
    found = split_qualifiers(context, instruction, groups)
    if found.keys() != groups.keys():
        raise context.unsupported(instruction)
    mode, type_ = found["mode"], found["type"]
    target, source, mask = context.operands(instruction, 3)
    if mode == "any" and isinstance(target, Pair):
        raise context.error(target, "match.any has no predicate as a destination")
    sources, targets = [(source, int(type_[1:]))], _with_predicate(target)
    return _collective(context, instruction, index, partial(match, mode), sources, targets, mask)


def _reduce(context: Context, instruction: Instruction, index: int) -> Step:
    names, types = ({pair[i] for pair in REDUCTIONS} for i in (0, 1))
    groups = {"sync": ("sync",), "operation": sorted(names), "type": sorted(types)}
    found = split_qualifiers(context, instruction, groups)
    name, type_ = found.get("operation", ""), found.get("type", "")
    if "sync" not in found or (name, type_) not in REDUCTIONS:
        raise context.unsupported(instruction)
    target, source, mask = context.operands(instruction, 3)
    compute = partial(reduce, name, type_)
    return _collective(context, instruction, index, compute, [(source, 32)], [(target, 32)], mask)


def _active_mask(context: Context, instruction: Instruction, index: int) -> Step:
    (target,) = context.operands(instruction, 1)
    if instruction.opcode[1:] != ("b32",):
        raise context.unsupported(instruction)
    return call_step(context, instruction, index, "active_mask({threads})", [], [(target, 32)], type_="b32")


def _elect(context: Context, instruction: Instruction, index: int) -> Step:
    target, mask = context.operands(instruction, 2)
    if instruction.opcode[1:] != ("sync",) or not isinstance(target, Pair):
        raise context.unsupported(instruction)
    return _collective(context, instruction, index, elect, [], _with_predicate(target), mask)


def _collective(
    context: Context,
    instruction: Instruction,
    index: int,
    compute: Callable[..., Any],
    sources: Widths,
    targets: Widths,
    mask: Operand,
) -> Step:
    """What the lanes of a mask execute together; `compute` is a function of `golden.simt.warp_operations`."""
    kind = next((part for part in instruction.opcode if part in TYPES), "integer")
    kinds = "integer" if instruction.opcode[0] == "match" else kind, kind
    details = collective_details(context, mask, sources, targets, compute, kinds)
    reads, writes = [mask, *(source for source, _ in sources)], [target for target, _ in targets]
    return context.step(instruction, index, reads, writes, _no_code, collective=details)


def _no_code(writer: Writer) -> None:
    """The block ends with the collective, which the running block executes."""


def _with_predicate(target: Operand) -> list[tuple[Operand, int]]:
    """The destinations of 32 bits and, where the target is a pair, a predicate."""
    if isinstance(target, Pair):
        return [(target.first, 32), (target.second, 1)]
    return [(target, 32), (Sink(target.location), 1)]


def _matrix(context: Context, instruction: Instruction, index: int) -> Step:
    found = decode_matrix_statement(context, instruction)
    to = found.destination
    targets = found.fragments[to] if to is not None else ()
    sources = [item for use, items in found.fragments.items() if use != to for item in items]
    loads = found.address is not None and to is not None

    def write_code(writer: Writer) -> None:
        call = _call(context, writer, found, index)
        bits = 0 if to is None else found.bits(to)
        writer.results(f"{call}[0]" if len(targets) == 1 else call, [(target, bits) for target in targets])

    others = (found.address, found.stride, *(operand for operand, _ in found.extra))
    places = tuple(operand for operand in others if operand is not None)
    matrix = None if isinstance(found.instruction, MoveInstruction) else found.instruction
    kind = {"select": False, "pure": loads, "loads": loads, "whole": LANES, "matrix": matrix}
    return context.step(instruction, index, (*places, *sources), targets, write_code, **kind)


def _call(context: Context, writer: Writer, found: MatrixStatement, index: int) -> str:
    """The call of the block that executes a statement."""
    parsed, threads = found.instruction, writer.threads
    if isinstance(parsed, MmaInstruction):
        values = ", ".join(_tuple(writer, found, use) for use in ("a", "b", "c"))
        extra = "".join(f", {_value(writer, *operand)}" for operand in found.extra)
        return f"B.multiply({writer.bind(parsed)}, {threads}, {values}, {index}{extra})"
    if found.address is None:
        return f"B.transpose_matrix({threads}, {_tuple(writer, found, 'a')}, {index})"
    access = writer.access(context, found.address, SHARED if parsed.space == "shared" else 0)
    if isinstance(parsed, MoveInstruction):
        what, head = "matrices", f"{access}, {parsed.count}, {parsed.transposed}"
    else:
        step = "None" if found.stride is None else writer.array(found.stride, 32)
        what, head = "fragment", f"{writer.bind(parsed)}, {access}, {step}"
    if found.destination is not None:
        return f"B.load_{what}({head})"
    (use,) = found.fragments
    return f"B.store_{what}({head}, {_tuple(writer, found, use)})"


def _tuple(writer: Writer, found: MatrixStatement, use: Use) -> str:
    """The registers of a fragment; of a constant in it the assembler takes the low bits, even of a double."""
    bits = found.bits(use)
    return f"({', '.join(_value(writer, item, bits) for item in found.fragments[use])},)"


def _value(writer: Writer, item: Operand, bits: int) -> str:
    return writer.uniform(item.value, bits) if isinstance(item, Immediate) else writer.array(item, bits)


DECODERS: Final = {
    "shfl": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux": _reduce,
    "activemask": _active_mask,
    "elect": _elect,
    **dict.fromkeys(MNEMONICS, _matrix),
}
