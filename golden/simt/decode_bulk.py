"""Bulk copies of boxes of tensors and of bytes, ``tensormap``, groups of copies, and ``mbarrier``.

Barriers are executed by `golden.simt.mbarrier_access.MbarrierAccess`, copies by
`golden.simt.tensor_copy.TensorCopies`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from golden.ptx.accesses import HINT
from golden.ptx.decoding import Context, Step
from golden.ptx.syntax import Instruction
from golden.simt.atomics import REDUCTIONS
from golden.simt.decode_lines import RANKS, Line, decode_line

_BYTES: Final = ".mbarrier::complete_tx::bytes"
_LOADED: Final = (
    f".shared::cluster .global {_BYTES} .multicast::cluster? .{HINT}?",
    f".shared::cta .global {_BYTES} .{HINT}?",
)
_SENT: Final = f".shared::cluster .shared::cta {_BYTES}"
_STORED: Final = f".global .shared::cta .bulk_group .{HINT}?"
_TENSOR: Final = f".tensor {'|'.join(f'.{rank}' for rank in RANKS)} .tile?"
_CTA: Final = ".shared|.shared::cta?"
_GROUPS: Final = range(1 << 31)

_SENT_TYPES: Final = ("u32", "s32", "b32")
"""Of a reduction in shared memory, which adds u64 too."""

_FIELDS: Final[Mapping[str, tuple[range | str, ...]]] = {
    **{"global_address": ("u64",), "rank": ("u32",), "global_stride": (range(4), "u64")},
    **dict.fromkeys(("box_dim", "global_dim", "element_stride"), (range(5), "u32")),
    **{"elemtype": (range(13),), "interleave_layout": (range(3),), "swizzle_mode": (range(4),)},
    "fill_mode": (range(2),),
}
"""What follows the address of a ``tensormap.replace``: the number of the dimension, and the value."""


def _reductions() -> Iterator[Line]:
    for name, types in REDUCTIONS.items():
        keywords: dict[str, Any] = {"operation": name}
        line = f"cp .reduce .async .bulk {_TENSOR} {_STORED} .{name}"
        yield Line(line, ("tensor", "shared"), "store_tensor", keywords)
        for type_ in types:
            flush = ".noftz " if name == "add" and type_.endswith("f16") else ""
            end, keywords = f".{name} {flush}.{type_}", {"reduction": (name, type_)}
            line = f"cp .reduce .async .bulk {_STORED} {end}"
            yield Line(line, ("global", "shared", "size"), "copy_bulk", keywords)
            if type_ in _SENT_TYPES or (name, type_) == ("add", "u64"):
                line = f"cp .reduce .async .bulk {_SENT} {end}"
                yield Line(line, ("shared", "shared", "size", "shared"), "copy_bulk", keywords)


def _fields() -> Iterator[Line]:
    for name, kinds in _FIELDS.items():
        bits = 64 if "u64" in kinds else 32
        line = f"tensormap .replace .tile .{name} .global|.shared::cta? .b1024 .b{bits}"
        yield Line(line, ("map", *kinds), "replace_field", {"name": name})


_LINES: Final = (
    Line("cp .async .commit_group", (), "commit_copies"),
    Line("cp .async .wait_group", (_GROUPS,), "await_copies"),
    Line("cp .async .wait_all", (), "await_copies", {"remaining": None}),
    *(
        Line(
            f"cp .async .mbarrier .arrive {form}{_CTA} .b64",
            ("mbarrier",),
            f"B.arrive_copies({{0}}, {not form})",
        )
        for form in ("", ".noinc ")
    ),
    Line("cp .async .bulk .commit_group", (), "commit_bulk"),
    Line("cp .async .bulk .wait_group", (_GROUPS,), "await_bulk"),
    Line("cp .async .bulk .wait_group .read", (_GROUPS,), "await_bulk", {"reads": True}),
    *(
        Line(f"cp .async .bulk {_TENSOR} {end}", ("shared", "tensor", "shared", "mask"), "load_tensor")
        for end in _LOADED
    ),
    Line(f"cp .async .bulk {_TENSOR} {_STORED}", ("tensor", "shared"), "store_tensor"),
    Line(f"cp .async .bulk .prefetch {_TENSOR} .L2 .global .{HINT}?", ("tensor",)),
    *(
        Line(f"cp .async .bulk {end}", ("shared", "global", "size", "shared", "mask"), "copy_bulk")
        for end in _LOADED
    ),
    Line(f"cp .async .bulk {_SENT}", ("shared", "shared", "size", "shared"), "copy_bulk"),
    Line(f"cp .async .bulk {_STORED}", ("global", "shared", "size"), "copy_bulk"),
    Line(f"cp .async .bulk .prefetch .L2 .global .{HINT}?", ("global", "size")),
    *_reductions(),
    *_fields(),
    Line(
        "tensormap .cp_fenceproxy .global .shared::cta .tensormap::generic .release "
        ".cta|.cluster|.gpu|.sys .sync .aligned",
        ("global", "shared", range(128, 129)),
        "copy_map",
    ),
)
_ABSENT: Final = ("im2col", "gather4", "scatter4", "cp_mask")
"""Beginnings of words of copies that are not run."""


def decode_bulk(context: Context, instruction: Instruction, index: int) -> Step:
    """Decode an instruction of one of the lines."""
    for word in instruction.opcode[1:]:
        if word.removeprefix("tile::").startswith(_ABSENT):
            raise context.unsupported(instruction, f"copies with .{word} are not run")
    return decode_line(_LINES, context, instruction, index)


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


_BARRIERS: Final = (
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

_OPERATIONS: Final = {line.syntax.split()[1].lstrip(".") for line in _BARRIERS}


def _decode_mbarrier(context: Context, instruction: Instruction, index: int) -> Step:
    if _OPERATIONS.isdisjoint(instruction.opcode[1:2]):  # the operation stands first
        raise context.unsupported(instruction)
    return decode_line(_BARRIERS, context, instruction, index)


DECODERS: Final = {"tensormap": decode_bulk, "mbarrier": _decode_mbarrier}
