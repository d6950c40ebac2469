"""Loads, stores, atomics and asynchronous copies."""

from collections.abc import Iterable, Mapping
from typing import Final

from golden.ptx.accesses import (
    HINT,
    ORDERS,
    PREFETCHES,
    SCOPES,
    VECTORS,
    access_qualifiers,
    accessed_values,
    element_type,
    without_hint,
)
from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.scalar_types import TYPES
from golden.ptx.statements import accessed_space, check_load
from golden.ptx.syntax import Immediate, Instruction
from golden.simt.atomics import ATOMICS, HALVES, atomic_function
from golden.simt.code import Writer, call_step
from golden.simt.decode_bulk import decode_bulk
from golden.simt.decode_cluster import decode_transacted

_VECTORS: Final = {
    **dict.fromkeys(("f16", "bf16"), ("v2", "v4", "v8")),
    **dict.fromkeys(("f16x2", "bf16x2", "f32"), ("v2", "v4")),
}
"""Vectors of an atomic, by the type of an element."""


def _load(context: Context, instruction: Instruction, index: int) -> Step:
    type_, targets, address, space, offset, volatile = check_load(context, instruction)
    size, count = type_.size, len(targets)

    def write_code(writer: Writer) -> None:
        if offset is None:
            call = f"B.load({space!r}, {writer.access(context, address)}, {size}, {count})"
        else:
            places = range(offset, offset + size * count, size)
            call = ", ".join(f"B.parameter({place}, {size}, {writer.count})" for place in places)
        writer.results(call, [(target, type_.bits) for target in targets], signed=type_.kind == "signed")

    loads = space != "param"
    return context.step(
        instruction, index, (address,), targets, write_code, select=False, pure=not volatile, loads=loads
    )


def _store(context: Context, instruction: Instruction, index: int) -> Step:
    if "async" in instruction.opcode:
        return decode_transacted(context, instruction, index)
    found = access_qualifiers(context, instruction)
    operands = without_hint(context, instruction, 2)
    type_, elements = accessed_values(context, instruction, operands[1], found)
    for element in elements:
        kind = element_type(operands[1], element, type_)
        context.require_source(element, type_.bits, kind, wider=True)
    address = context.require_address(operands[0])
    space = accessed_space(context, instruction, found, address)
    if context.space_of(address) in ("entry", "const") or found.get("space") == "const":
        raise context.error(address, "parameters of an entry and constants cannot be stored to")
    size = type_.bits // 8

    def write_code(writer: Writer) -> None:
        access = writer.access(context, address)
        values = ", ".join(writer.array(element, type_.bits) for element in elements)
        writer.line(f"B.store({space!r}, {access}, ({values},), {size})")

    return context.step(instruction, index, (address, *elements), (), write_code, select=False)


def _check_atomic(context: Context, instruction: Instruction, found: Mapping[str, str]) -> None:
    """Refuse an operation without its type, and what vectors and elements of 16 bits do not have."""
    name, type_, space = found.get("operation", ""), found.get("type", ""), found.get("space")
    types = ATOMICS.get(name, ((),))[0]
    if type_ not in types or (name in ("cas", "exch") and instruction.opcode[0] == "red"):
        choices = ", ".join(f".{item}" for item in types) or "no such operation"
        raise context.unsupported(instruction, f"types of .{name}: {choices}" if name else "")
    if ("flush" in found) != (type_ in HALVES):
        wanted = "lacks" if type_ in HALVES else "does not take"
        raise context.unsupported(instruction, f".{type_} {wanted} .noftz")
    if "vector" not in found:
        if name != "add" and type_ in HALVES:
            raise context.unsupported(instruction, f".{name} of .{type_} needs a vector, such as .v2")
    elif found["vector"] not in _VECTORS.get(type_, ()) or (name != "add" and type_ == "f32"):
        choices = ", ".join(f".{item}" for item in _VECTORS.get(type_, ())) or "none"
        raise context.unsupported(instruction, f"vectors of .{type_}: {choices}")
    if space not in (None, "global") and {"vector", "hint"} & found.keys():
        raise context.unsupported(instruction, f"vectors and hints are for .global, not .{space}")


def _atomic(context: Context, instruction: Instruction, index: int) -> Step:
    if "async" in instruction.opcode:
        return decode_transacted(context, instruction, index)
    returns = instruction.opcode[0] == "atom"
    groups: Mapping[str, Iterable[str]] = {
        "space": ("global", "shared", "shared::cta", "shared::cluster"),
        "order": ORDERS[instruction.opcode[0]],
        "scope": SCOPES,
        "operation": ATOMICS,
        "flush": ("noftz",),
        "vector": VECTORS,
        "hint": (HINT,),
        "type": dict.fromkeys(type_ for types, _ in ATOMICS.values() for type_ in types),
    }
    found = split_qualifiers(context, instruction, groups)
    name, type_name = found.get("operation", ""), found.get("type", "")
    _check_atomic(context, instruction, found)
    operands = without_hint(context, instruction, 2 + (name == "cas") + returns)
    count = VECTORS[found["vector"]] if "vector" in found else 1
    type_, bits = TYPES[type_name], TYPES[type_name].bits
    address = context.require_address(operands[int(returns)])
    sources = [
        accessed_values(context, instruction, operand, found)[1] for operand in operands[1 + returns :]
    ]
    targets = accessed_values(context, instruction, operands[0], found)[1] if returns else ()
    for operand, source in zip(operands[1 + returns :], sources, strict=True):
        for element in source:
            context.require_source(element, bits, element_type(operand, element, type_))
    for element in targets:
        context.require_destination(element, bits, element_type(operands[0], element, type_))
    space = accessed_space(context, instruction, found, address)
    named = context.space_of(address)
    if space not in ("global", "shared", "generic") or named == "const":
        wrong = "const" if named == "const" else space
        raise context.error(address, f"atomics act on .global and .shared, not on .{wrong}")
    # On global memory, additions of f32 flush subnormals.
    evaluate = atomic_function(name, type_name, flush=type_name == "f32" and space != "shared")

    def write_code(writer: Writer) -> None:
        function, calls = writer.bind(evaluate), []
        for i in range(count):
            access = writer.access(context, address, i * bits // 8)
            arguments = ", ".join(writer.array(source[i], bits) for source in sources)
            calls.append(f"B.atomic({space!r}, {access}, {function}, ({arguments},), {bits // 8})")
        writer.results(", ".join(calls), [(element, bits) for element in targets])

    reads = (address, *(element for source in sources for element in source))
    return context.step(instruction, index, reads, targets, write_code, select=False)


def _copy_async(context: Context, instruction: Instruction, index: int) -> Step:
    parts = instruction.opcode
    if "bulk" in parts or parts[2:3] in (("commit_group",), ("wait_group",), ("wait_all",), ("mbarrier",)):
        return decode_bulk(context, instruction, index)
    if len(parts) < 3:
        raise context.unsupported(instruction)
    groups = {
        "async": ("async",),
        "cache": ("ca", "cg"),
        "to": ("shared", "shared::cta"),
        "from": ("global",),
    }
    found = split_qualifiers(context, instruction, {**groups, "hint": (HINT,), "prefetch": PREFETCHES})
    for name, allowed in groups.items():
        if name not in found:
            choices = " or ".join(f".{item}" for item in allowed)
            raise context.unsupported(instruction, f"it lacks {choices}")
    if parts.index(found["to"]) > parts.index("global"):
        raise context.unsupported(instruction, "it copies from .global to .shared")
    operands = without_hint(context, instruction, 3, 4)
    to, source = context.require_address(operands[0], "shared"), context.require_address(operands[1])
    for address, space in ((to, "shared"), (source, "global")):
        named = context.space_of(address)
        if named not in (None, space):
            raise context.error(address, f"cp.async copies from .global to .shared, not .{named}")
    size = operands[2]
    sizes = (16,) if "cg" in parts else (4, 8, 16)
    if not isinstance(size, Immediate) or size.value not in sizes:
        told = " or ".join(map(str, sizes))
        raise context.error(size, f"{instruction.name} copies {told} bytes")
    valid, counts = "None", []
    if len(operands) == 4:  # the bytes to copy, or a predicate that the source is ignored
        ignores = getattr(getattr(operands[3], "type", None), "kind", "") == "predicate"
        if isinstance(operands[3], Immediate) and not 0 <= operands[3].value <= size.value:
            raise context.error(operands[3], f"of {size.value} bytes, 0 to {size.value} are copied")
        counts = [(operands[3], 1 if ignores else 32)]
        valid = f"where({{}}, 0, {size.value})" if ignores else "{}"
    call = f"B.copy_async({{to}}, {{source}}, {size.value}, {valid})"
    return call_step(context, instruction, index, call, counts, (), places={"to": to, "source": source})


DECODERS: Final = {
    **dict.fromkeys(("ld", "ldu"), _load),
    **{"st": _store, "cp": _copy_async},
    **dict.fromkeys(("atom", "red"), _atomic),
}
