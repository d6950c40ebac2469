"""Bulk copies of boxes of tensors and of bytes, ``tensormap``, and the groups of all asynchronous copies."""

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


DECODERS: Final = {"tensormap": decode_bulk}
