"""Instructions of clusters: addresses in other blocks, arrivals, stores that complete transactions."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from golden.ptx.accesses import accessed_values
from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.syntax import Instruction
from golden.simt.atomics import REDUCTIONS, atomic_function
from golden.simt.code import Writer
from golden.simt.decode_lines import Line, decode_line

_CLUSTER: Final = ("shared::cluster",)
_STORED: Final = ("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64")
_TRANSACTED: Final = "mbarrier::complete_tx::bytes"


def decode_transacted(context: Context, instruction: Instruction, index: int) -> Step:
    """``st.async`` and ``red.async``."""
    reduces = instruction.opcode[0] == "red"
    groups = {
        "async": ("async",),
        "order": ("relaxed",) if reduces else ("weak",),
        "scope": ("cluster",) if reduces else (),
        "space": _CLUSTER,
        "completion": (_TRANSACTED,),
        "operation": REDUCTIONS if reduces else (),
        "vector": () if reduces else ("v2", "v4"),
        "type": dict.fromkeys(type_ for types in REDUCTIONS.values() for type_ in types)
        if reduces
        else _STORED,
    }
    found = split_qualifiers(context, instruction, groups)
    needed = {"completion", "type"} | ({"order", "scope", "operation"} if reduces else set())
    operation, name = found.get("operation", ""), found.get("type", "")
    if (operation, name) == ("add", "s64"):
        name = "u64"  # which has the same sums
    sent = name in ("u32", "s32", "b32") or (operation, name) == ("add", "u64")
    if not needed <= found.keys() or (reduces and (name not in REDUCTIONS[operation] or not sent)):
        raise context.unsupported(instruction)
    place, source, barrier = context.operands(instruction, 3)
    type_, elements = accessed_values(context, instruction, source, found)
    space = "shared" if "space" in found else "generic"
    places = {name: context.require_address(item, space) for name, item in (("to", place), ("bar", barrier))}
    for element in elements:
        context.require_source(element, type_.bits, type_.name)

    def write_code(writer: Writer) -> None:
        to, bar = (f"({space!r}, {writer.access(context, address)})" for address in places.values())
        values = ", ".join(writer.array(element, type_.bits) for element in elements)
        function = f", {writer.bind(atomic_function(operation, name))}" if reduces else ""
        writer.line(f"B.store_transacted({to}, {bar}, {type_.size}, ({values},){function})")

    return context.step(instruction, index, (*places.values(), *elements), (), write_code, select=False)


def _ranks() -> Iterator[Line]:
    """``mapa`` and ``getctarank``."""
    for space, word in (("generic", ""), ("shared", ".shared::cluster ")):
        for type_ in ("u32", "u64"):
            call = f"B.map_shared({space!r}, {{0}}, {{1}}).astype('u{int(type_[1:]) // 8}')"
            yield Line(f"mapa {word}.{type_}", (f">{type_}", f"&{type_}", "u32"), call, pure=True)
            call = f"B.rank_of({space!r}, {{0}})"
            yield Line(f"getctarank {word}.{type_}", (">u32", f"&{type_}"), call, pure=True)


_ARRIVAL: Final = Line(
    "barrier .cluster .arrive .release|.relaxed? .aligned?", (), "B.arrive_cluster({threads}, {index})"
)
"""The wait ends a block of code."""

_LINES: Final = (*_ranks(), _ARRIVAL)

DECODERS: Final = dict.fromkeys(("mapa", "getctarank", "barrier"), partial(decode_line, _LINES))
