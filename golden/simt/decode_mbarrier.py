"""``mbarrier`` and ``cp.async.mbarrier.arrive``."""

from collections.abc import Callable, Iterable
from typing import Final

from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.syntax import Instruction, Operand, Sink
from golden.simt.code import Widths, call_step

_CTA: Final = ("shared", "shared::cta")
_CLUSTER: Final = (*_CTA, "shared::cluster")


def _mbarrier(context: Context, instruction: Instruction, index: int) -> Step:
    name = instruction.opcode[1] if len(instruction.opcode) > 1 else ""
    if name not in _OPERATIONS:
        raise context.unsupported(instruction)
    return _OPERATIONS[name](context, instruction, index)


def _init(context: Context, instruction: Instruction, index: int) -> Step:
    """``init`` and ``inval``."""
    _qualifiers(context, instruction)
    place, *count = context.operands(instruction, 2 if instruction.opcode[1] == "init" else 1)
    call = "init_mbarrier({access}, {})" if count else "invalidate_mbarrier({access})"
    return _step(context, instruction, index, place, [(operand, 32) for operand in count], call)


def _arrive(context: Context, instruction: Instruction, index: int) -> Step:
    """``arrive`` and ``arrive_drop``, which give a state, ``expect_tx`` and ``complete_tx``."""
    mode = instruction.opcode[1]
    if mode.startswith("arrive"):
        groups = {"form": ("expect_tx", "noComplete"), "order": ("release", "relaxed")}
        found = _qualifiers(context, instruction, _CLUSTER, **groups, scope=("cta", "cluster"))
        form = found.get("form")
        if form == "noComplete":
            for part, name in (("relaxed", "order"), ("cluster", "scope"), ("shared::cluster", "space")):
                if found.get(name) == part:
                    raise context.unsupported(instruction, f".noComplete cannot be combined with .{part}")
        target, place, *amount = context.operands(instruction, 3 if form else 2, 3)
        if found.get("space") == "shared::cluster" and not isinstance(target, Sink):
            raise context.error(target, "an arrival in .shared::cluster has no state: write _")
    else:
        _qualifiers(context, instruction, _CLUSTER, order=("relaxed",), scope=("cta", "cluster"))
        form = "expect_tx"
        place, *amount = context.operands(instruction, 2)
        target = Sink(place.location)
    value = "{}" if amount else "None"
    amounts = f"None, {value}" if form == "expect_tx" else f"{value}, None"
    call = f"arrive_mbarrier({{access}}, {amounts}, {mode!r}, {form != 'noComplete'})"
    sources = [(operand, 32) for operand in amount]
    return _step(context, instruction, index, place, sources, call, [(target, 64)])


def _wait(context: Context, instruction: Instruction, index: int) -> Step:
    """``test_wait`` and ``try_wait``, of the phase of a state or of a parity."""
    groups = {"form": ("parity",), "order": ("acquire", "relaxed"), "scope": ("cta", "cluster")}
    found = _qualifiers(context, instruction, **groups)
    most = 4 if instruction.opcode[1] == "try_wait" else 3
    target, place, *sources = context.operands(instruction, 3, most)
    bits, phase = (32, "{} & 1") if "form" in found else (64, "{} >> 63")
    widths = list(zip(sources, (bits, 32), strict=False))
    call = f"wait_mbarrier({{access}}, {phase})"
    return _step(context, instruction, index, place, widths, call, [(target, 1)])


def _pending(context: Context, instruction: Instruction, index: int) -> Step:
    split_qualifiers(context, instruction, {"operation": ("pending_count",), "type": ("b64",)})
    target, state = context.operands(instruction, 2)
    call = "pending_count({})"
    return call_step(context, instruction, index, call, [(state, 64)], [(target, 32)], pure=True)


def copies_arrive(context: Context, instruction: Instruction, index: int) -> Step:
    """``cp.async.mbarrier.arrive``."""
    words = {"async": ("async",), "object": ("mbarrier",), "operation": ("arrive",), "form": ("noinc",)}
    found = split_qualifiers(context, instruction, {**words, "space": _CTA, "type": ("b64",)})
    if "type" not in found:
        raise context.unsupported(instruction, "it lacks .b64")
    (place,) = context.operands(instruction, 1)
    call = f"arrive_copies({{access}}, {'form' not in found})"
    return _step(context, instruction, index, place, [], call)


def _step(
    context: Context,
    instruction: Instruction,
    index: int,
    place: Operand,
    sources: Widths,
    call: str,
    targets: Widths = (),
) -> Step:
    """A call as for `call_step`, of a method of `golden.simt.mbarrier_access.MbarrierAccess`.

    ``{access}`` stands for the access.
    """
    for operand, bits in targets:  # a wrong one is named before a wrong address
        context.require_destination(operand, bits)
    spaces = (part for part in instruction.opcode if part in (*_CTA, *_CLUSTER))
    address = context.require_address(place, next(spaces, "generic"))
    named = context.space_of(address)
    if named not in (None, "shared"):
        space = "param" if named == "entry" else named
        raise context.error(address, f"an mbarrier lies in .shared, not in .{space}")
    if named is None and not any(part in _CLUSTER for part in instruction.opcode):
        call = call.replace("{access}", "B.to_shared({access})")
    return call_step(context, instruction, index, f"B.{call}", sources, targets, places={"access": address})


def _qualifiers(
    context: Context, instruction: Instruction, spaces: Iterable[str] = _CTA, **groups: Iterable[str]
) -> dict[str, str]:
    given = {"operation": instruction.opcode[1:2], "space": spaces, "type": ("b64",), **groups}
    found = split_qualifiers(context, instruction, given)
    if "type" not in found:
        raise context.unsupported(instruction, "it has no type")
    if ("order" in found) != ("scope" in found):
        present, missing = ("order", "scope") if "order" in found else ("scope", "order")
        choices = " or ".join(f".{item}" for item in groups[missing])
        raise context.unsupported(instruction, f".{found[present]} needs {choices}")
    return found


_OPERATIONS: Final[dict[str, Callable[[Context, Instruction, int], Step]]] = {
    **{"init": _init, "inval": _init, "pending_count": _pending},
    **dict.fromkeys(("arrive", "arrive_drop", "expect_tx", "complete_tx"), _arrive),
    **dict.fromkeys(("test_wait", "try_wait"), _wait),
}

DECODERS: Final = {"mbarrier": _mbarrier}
