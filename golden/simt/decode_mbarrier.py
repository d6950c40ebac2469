"""``mbarrier`` and ``cp.async.mbarrier.arrive``."""

from collections.abc import Callable, Iterable
from typing import Final

from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.syntax import Address, Instruction, Operand, Sink
from golden.simt.mbarrier_access import pending_count
from golden.simt.writer import Writer

__all__ = ["DECODERS", "copies_arrive"]

_CTA: Final = ("shared", "shared::cta")
_CLUSTER: Final = (*_CTA, "shared::cluster")
"""A cluster has one block, hence ``.shared::cluster`` names the same memory as ``.shared::cta``."""


def _mbarrier(context: Context, instruction: Instruction, index: int) -> Step:
    name = instruction.opcode[1] if len(instruction.opcode) > 1 else ""
    if name not in _OPERATIONS:
        raise context.unsupported(instruction)
    return _OPERATIONS[name](context, instruction, index)


def _init(context: Context, instruction: Instruction, index: int) -> Step:
    _qualifiers(context, instruction)
    context.require_count(instruction, 2)
    place, count = instruction.operands
    address = _barrier_address(context, place)
    context.require_source(count, 32)

    def emit(writer: Writer) -> None:
        access = _access(context, writer, instruction, address)
        writer.line(f"B.init_mbarrier({access}, {writer.array(count, 32)})")

    return context.step(instruction, index, (address, count), (), emit, select=False)


def _invalidate(context: Context, instruction: Instruction, index: int) -> Step:
    _qualifiers(context, instruction)
    context.require_count(instruction, 1)
    address = _barrier_address(context, instruction.operands[0])

    def emit(writer: Writer) -> None:
        writer.line(f"B.invalidate_mbarrier({_access(context, writer, instruction, address)})")

    return context.step(instruction, index, (address,), (), emit, select=False)


def _arrive(context: Context, instruction: Instruction, index: int) -> Step:
    """``arrive`` and ``arrive_drop``, with a state as result."""
    found = _qualifiers(
        context,
        instruction,
        _CLUSTER,
        form=("expect_tx", "noComplete"),
        order=("release", "relaxed"),
        scope=("cta", "cluster"),
    )
    form = found.get("form")
    context.require_count(instruction, 3 if form else 2, 3)
    target, place, *amount = instruction.operands
    if found.get("space") == "shared::cluster" and not isinstance(target, Sink):
        raise context.error(target.location, "an arrival in .shared::cluster has no state: write _")
    mode = instruction.opcode[1]
    transactions = form == "expect_tx"
    return _signal(
        context, instruction, index, target, place, amount, mode, transactions, form != "noComplete"
    )


def _transact(context: Context, instruction: Instruction, index: int) -> Step:
    """``expect_tx`` and ``complete_tx``."""
    _qualifiers(context, instruction, _CLUSTER, order=("relaxed",), scope=("cta", "cluster"))
    context.require_count(instruction, 2)
    place, *amount = instruction.operands
    mode = instruction.opcode[1]
    return _signal(context, instruction, index, Sink(place.location), place, amount, mode, True, True)


def _signal(
    context: Context,
    instruction: Instruction,
    index: int,
    target: Operand,
    place: Operand,
    amount: list[Operand],
    mode: str,
    transactions: bool,
    completes: bool,
) -> Step:
    context.require_destination(target, 64)
    address = _barrier_address(context, place)
    for operand in amount:
        context.require_source(operand, 32)

    def emit(writer: Writer) -> None:
        access = _access(context, writer, instruction, address)
        value = writer.array(amount[0], 32) if amount else "None"
        amounts = f"None, {value}" if transactions else f"{value}, None"
        state = writer.name()
        writer.line(f"{state} = B.arrive_mbarrier({access}, {amounts}, {mode!r}, {completes})")
        writer.write(target, state, 64)

    return context.step(instruction, index, (address, *amount), (target,), emit, select=False)


def _wait(context: Context, instruction: Instruction, index: int) -> Step:
    """``test_wait`` and ``try_wait``, of the phase of a state or of a parity."""
    found = _qualifiers(
        context,
        instruction,
        form=("parity",),
        order=("acquire", "relaxed"),
        scope=("cta", "cluster"),
    )
    context.require_count(instruction, 3, 4 if instruction.opcode[1] == "try_wait" else 3)
    target, place, phase, *hint = instruction.operands
    context.require_destination(target, 1)
    address = _barrier_address(context, place)
    bits = 32 if "form" in found else 64
    context.require_source(phase, bits)
    for operand in hint:
        context.require_source(operand, 32)

    def emit(writer: Writer) -> None:
        access = _access(context, writer, instruction, address)
        value = writer.array(phase, bits)
        one = writer.constant(1, bits)
        parity = f"{value} & {one}" if bits == 32 else f"{value} >> {writer.constant(63, 64)}"
        writer.write(target, f"B.wait_mbarrier({access}, {parity})", 1)

    return context.step(instruction, index, (address, phase, *hint), (target,), emit, select=False)


def _pending(context: Context, instruction: Instruction, index: int) -> Step:
    split_qualifiers(context, instruction, {"operation": ("pending_count",), "type": ("b64",)})
    context.require_count(instruction, 2)
    target, state = instruction.operands
    context.require_destination(target, 32)
    context.require_source(state, 64)

    def emit(writer: Writer) -> None:
        writer.write(target, f"{writer.bind(pending_count)}({writer.array(state, 64)})", 32)

    return context.step(instruction, index, (state,), (target,), emit, pure=True)


def copies_arrive(context: Context, instruction: Instruction, index: int) -> Step:
    """``cp.async.mbarrier.arrive``."""
    found = split_qualifiers(
        context,
        instruction,
        {
            "async": ("async",),
            "object": ("mbarrier",),
            "operation": ("arrive",),
            "form": ("noinc",),
            "space": _CTA,
            "type": ("b64",),
        },
    )
    context.require_count(instruction, 1)
    address = _barrier_address(context, instruction.operands[0])
    increment = "form" not in found

    def emit(writer: Writer) -> None:
        access = _access(context, writer, instruction, address)
        writer.line(f"B.arrive_copies({access}, {increment})")

    return context.step(instruction, index, (address,), (), emit, select=False)


def _qualifiers(
    context: Context, instruction: Instruction, spaces: Iterable[str] = _CTA, **groups: Iterable[str]
) -> dict[str, str]:
    given = {"operation": instruction.opcode[1:2], "space": spaces, "type": ("b64",), **groups}
    found = split_qualifiers(context, instruction, given)
    if "type" not in found:
        raise context.unsupported(instruction, "it has no type")
    return found


def _barrier_address(context: Context, operand: Operand) -> Address:
    address = context.require_address(operand)
    named = context.space_of(address)
    if named not in (None, "shared"):
        space = "param" if named == "entry" else named
        raise context.error(address.location, f"an mbarrier lies in .shared, not in .{space}")
    return address


def _access(context: Context, writer: Writer, instruction: Instruction, address: Address) -> str:
    """The first argument of all operations: the threads, and their addresses in shared memory."""
    access = writer.access(context, address)
    is_generic = context.space_of(address) is None and not any(
        part in _CLUSTER for part in instruction.opcode
    )
    return f"B.to_shared({access})" if is_generic else access


_OPERATIONS: Final[dict[str, Callable[[Context, Instruction, int], Step]]] = {
    "init": _init,
    "inval": _invalidate,
    "arrive": _arrive,
    "arrive_drop": _arrive,
    "expect_tx": _transact,
    "complete_tx": _transact,
    "test_wait": _wait,
    "try_wait": _wait,
    "pending_count": _pending,
}

DECODERS: Final = {"mbarrier": _mbarrier}
"""By first word of the opcode."""
