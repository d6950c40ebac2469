"""``mbarrier`` and ``cp.async.mbarrier.arrive``: calls of `golden.simt.mbarrier_access.MbarrierAccess`."""

from collections.abc import Iterator
from typing import Final

from golden.ptx.decoding import Context, Step
from golden.ptx.syntax import Instruction
from golden.simt.decode_lines import Line, decode_line

_CTA: Final = ".shared|.shared::cta?"


def _arrivals(mode: str) -> Iterator[Line]:
    """``arrive`` and ``arrive_drop``, which give a state, but not of a barrier in another block."""
    for order in ("", ".release|.relaxed .cta|.cluster "):
        for space, state in ((_CTA, ">u64"), (".shared::cluster", "_")):
            line, end = f"mbarrier .{mode} ", f"{order}{space} .b64"
            kinds = state, "mbarrier"
            yield Line(line + end, kinds, f"B.arrive_mbarrier({{0}}, None, None, {mode!r}, True)")
            yield Line(line + end, (*kinds, "u32"), f"B.arrive_mbarrier({{0}}, {{1}}, None, {mode!r}, True)")
            call = f"B.arrive_mbarrier({{0}}, None, {{1}}, {mode!r}, True)"
            yield Line(f"{line}.expect_tx {end}", (*kinds, "u32"), call)
    for order in ("", ".release .cta "):
        call = f"B.arrive_mbarrier({{0}}, {{1}}, None, {mode!r}, False)"
        yield Line(f"mbarrier .{mode} .noComplete {order}{_CTA} .b64", (">u64", "mbarrier", "u32"), call)


def _waits(mode: str) -> Iterator[Line]:
    """``test_wait`` and ``try_wait``, of the phase of a state or of a parity; a time has no effect."""
    for order in ("", ".acquire|.relaxed .cta|.cluster "):
        for form, type_, phase in (("", "b64", "{1} >> 63"), (".parity ", "u32", "{1} & 1")):
            line, call = f"mbarrier .{mode} {form}{order}{_CTA} .b64", f"B.wait_mbarrier({{0}}, {phase})"
            for time in ((), ("u32",))[: 1 + (mode == "try_wait")]:
                yield Line(line, (">pred", "mbarrier", type_, *time), call)


_LINES: Final = (
    Line(f"mbarrier .init {_CTA} .b64", ("mbarrier", "u32"), "B.init_mbarrier({0}, {1})"),
    Line(f"mbarrier .inval {_CTA} .b64", ("mbarrier",), "B.invalidate_mbarrier({0})"),
    *_arrivals("arrive"),
    *_arrivals("arrive_drop"),
    *(
        Line(
            f"mbarrier .{mode} {order}.shared|.shared::cta|.shared::cluster? .b64",
            ("mbarrier", "u32"),
            f"B.arrive_mbarrier({{0}}, None, {{1}}, {mode!r}, True)",
        )
        for mode in ("expect_tx", "complete_tx")
        for order in ("", ".relaxed .cta|.cluster ")
    ),
    *_waits("test_wait"),
    *_waits("try_wait"),
    Line("mbarrier .pending_count .b64", (">u32", "u64"), "pending_count({0})", pure=True),
)

COPIES: Final = tuple(
    Line(
        f"cp .async .mbarrier .arrive {form}{_CTA} .b64", ("mbarrier",), f"B.arrive_copies({{0}}, {not form})"
    )
    for form in ("", ".noinc ")
)

_OPERATIONS: Final = {line.syntax.split()[1].lstrip(".") for line in _LINES}


def _decode(context: Context, instruction: Instruction, index: int) -> Step:
    if _OPERATIONS.isdisjoint(instruction.opcode[1:2]):  # the operation stands first
        raise context.unsupported(instruction)
    return decode_line(_LINES, context, instruction, index)


DECODERS: Final = {"mbarrier": _decode}
