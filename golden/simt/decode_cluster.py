"""Instructions of clusters: addresses in other blocks, arrivals, stores that complete transactions."""

from typing import Final

from golden.ptx.accesses import accessed_values
from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.syntax import Instruction, Symbol
from golden.simt.atomics import REDUCTIONS, atomic_function
from golden.simt.code import Writer, call_step

_CLUSTER: Final = ("shared::cluster",)
_STORED: Final = ("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64")
_TRANSACTED: Final = "mbarrier::complete_tx::bytes"


def _map(context: Context, instruction: Instruction, index: int) -> Step:
    """``mapa`` and ``getctarank``."""
    found = split_qualifiers(context, instruction, {"space": _CLUSTER, "type": ("u32", "u64")})
    if "type" not in found:
        raise context.unsupported(instruction, "it has no type")
    maps, bits = instruction.opcode[0] == "mapa", int(found["type"][1:])
    target, place, *rank = context.operands(instruction, 2 + maps)
    space = "shared" if "space" in found else "generic"
    context.require_destination(target, bits if maps else 32)
    if isinstance(place, Symbol):
        if context.symbol(place)[0].space != "shared" or space == "generic":
            raise context.error(place, f"{instruction.name} needs an address of .shared::cluster")
    else:
        context.require_source(place, bits)
    for operand in rank:
        context.require_source(operand, 32)

    def write_code(writer: Writer) -> None:
        if isinstance(place, Symbol):
            address = writer.place(context, place, 0, 64)
        else:
            address = writer.resize(writer.array(place, bits), bits, 64)
        arguments = ", ".join((repr(space), address, *(writer.array(operand, 32) for operand in rank)))
        call = f"B.{'map_shared' if maps else 'rank_of'}({arguments})"
        writer.write(target, writer.resize(call, 64, bits) if maps else call, bits if maps else 32)

    return context.step(instruction, index, (place, *rank), (target,), write_code, select=False, pure=True)


def _arrive(context: Context, instruction: Instruction, index: int) -> Step:
    """``barrier.cluster.arrive``; the wait ends a block of code."""
    groups = {"name": ("cluster",), "mode": ("arrive",), "order": ("release", "relaxed"), "all": ("aligned",)}
    split_qualifiers(context, instruction, groups)
    context.operands(instruction, 0)
    return call_step(context, instruction, index, f"B.arrive_cluster({{threads}}, {index})", (), ())


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


DECODERS: Final = {"mapa": _map, "getctarank": _map, "barrier": _arrive}
