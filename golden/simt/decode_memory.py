"""Loads, stores and atomics, plain and those that complete transactions of an ``mbarrier``."""

from collections.abc import Iterable, Mapping
from typing import Final

from golden.ptx.accesses import (
    HINT,
    ORDERS,
    SCOPES,
    VECTORS,
    access_qualifiers,
    accessed_values,
    element_type,
    without_hint,
)
from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.scalar_types import TYPES
from golden.ptx.syntax import Address, Instruction, Symbol
from golden.simt.atomics import ATOMICS, HALVES, REDUCTIONS, atomic_function
from golden.simt.code import Writer

_SPACES: Final = {
    "global": "global",
    "const": "global",
    "shared": "shared",
    **dict.fromkeys(("shared::cta", "shared::cluster"), "shared"),
    "local": "local",
    "param": "param",
    "param::entry": "param",
    "param::func": "param",
}

_VECTORS: Final = {
    **dict.fromkeys(("f16", "bf16"), ("v2", "v4", "v8")),
    **dict.fromkeys(("f16x2", "bf16x2", "f32"), ("v2", "v4")),
}
"""Vectors of an atomic, by the type of an element."""

_CLUSTER: Final = ("shared::cluster",)
_STORED: Final = ("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64")
_TRANSACTED: Final = "mbarrier::complete_tx::bytes"


def _load(context: Context, instruction: Instruction, index: int) -> Step:
    found = access_qualifiers(context, instruction)
    operands = without_hint(context, instruction, 2)
    type_, targets = accessed_values(context, instruction, operands[0], found)
    for target in targets:
        kind = element_type(operands[0], target, type_)
        context.require_destination(target, type_.bits, kind, wider=True)
    address = context.require_address(operands[1])
    space = _accessed_space(context, instruction, found, address)
    size, count, offset = type_.size, len(targets), 0
    is_parameter = context.space_of(address) == "entry"
    if is_parameter:
        offset = _parameter_offset(context, address, size * count)

    def write_code(writer: Writer) -> None:
        if is_parameter:
            places = range(offset, offset + size * count, size)
            call = ", ".join(f"B.parameter({place}, {size}, {writer.count})" for place in places)
        else:
            call = f"B.load({space!r}, {writer.access(context, address)}, {size}, {count})"
        writer.results(call, [(target, type_.bits) for target in targets], signed=type_.kind == "signed")

    pure, loads = found.get("order", "weak") == "weak", space != "param"
    return context.step(
        instruction, index, (address,), targets, write_code, select=False, pure=pure, loads=loads
    )


def _parameter_offset(context: Context, address: Address, width: int) -> int:
    """Where an access of parameters begins; one beyond the parameter that it names is refused."""
    assert isinstance(address.base, Symbol)
    variable, start = context.symbol(address.base)
    offset = address.offset + address.base.offset
    if offset < 0 or offset + width > (variable.size or 0) or offset % width:
        message = f"{width} bytes at offset {offset} of {variable.name}, which has {variable.size}"
        raise context.error(address, message)
    return start + offset


def _accessed_space(
    context: Context, instruction: Instruction, found: dict[str, str], address: Address
) -> str:
    """The state space of an access, or of the variable it names, if it names one and no space."""
    if not isinstance(address.base, Symbol):
        space = _SPACES[found["space"]] if "space" in found else "generic"
        context.require_address(address, found.get("space", space) if space == "global" else space)
        return space
    named = context.symbol(address.base)[0].space
    if named == "function":
        raise context.error(address, f"{address.base.name} is a function, not a variable")
    have = {"entry": "param", "const": "global"}.get(named, named)
    if "space" in found and _SPACES[found["space"]] != have:
        raise context.error(address, f"{address.base.name} is in .{have}, not in .{found['space']}")
    return have


def _store(context: Context, instruction: Instruction, index: int) -> Step:
    if "async" in instruction.opcode:
        return _transacted(context, instruction, index)
    found = access_qualifiers(context, instruction)
    operands = without_hint(context, instruction, 2)
    type_, elements = accessed_values(context, instruction, operands[1], found)
    for element in elements:
        kind = element_type(operands[1], element, type_)
        context.require_source(element, type_.bits, kind, wider=True)
    address = context.require_address(operands[0])
    space = _accessed_space(context, instruction, found, address)
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
        return _transacted(context, instruction, index)
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
    space = _accessed_space(context, instruction, found, address)
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


def _transacted(context: Context, instruction: Instruction, index: int) -> Step:
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


DECODERS: Final = {
    **dict.fromkeys(("ld", "ldu"), _load),
    "st": _store,
    **dict.fromkeys(("atom", "red"), _atomic),
}
