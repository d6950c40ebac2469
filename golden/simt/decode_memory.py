"""Loads, stores, atomics, asynchronous copies, and the instructions about memory that move no value."""

from collections.abc import Iterable, Mapping
from typing import Final

from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.syntax import Address, Immediate, Instruction, Operand, Sink, Symbol, Vector
from golden.simt.atomic_operations import ATOMICS, atomic_operation
from golden.simt.decode_mbarrier import copies_arrive
from golden.simt.decoding import Context, split_qualifiers
from golden.simt.writer import Step, Writer

__all__ = ["DECODERS"]

_SPACES: Final = {
    "global": "global",
    "const": "global",
    "shared": "shared",
    "shared::cta": "shared",
    "local": "local",
    "param": "param",
    "param::entry": "param",
    "param::func": "param",
}
_TYPES: Final = tuple(name for name, type_ in TYPES.items() if type_.kind != "predicate")
_ORDERS: Final = ("weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "sc")
_SCOPES: Final = ("cta", "cluster", "gpu", "sys", "gl")
_CACHES: Final = ("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "unified")
_VECTORS: Final = {"v2": 2, "v4": 4, "v8": 8}
_GROUPS: Final[Mapping[str, Iterable[str]]] = {
    "mmio": ("mmio",),
    "space": _SPACES,
    "vector": _VECTORS,
    "order": _ORDERS,
    "scope": _SCOPES,
    "type": _TYPES,
}


def _without_hint(
    context: Context, instruction: Instruction, least: int, most: int | None = None
) -> tuple[Operand, ...]:
    """The operands, their number checked, without the policy of a ``.L2::cache_hint``."""
    hinted = any(part.startswith("L2::cache_hint") for part in instruction.opcode)
    operands = instruction.operands[:-1] if hinted else instruction.operands
    context.require_count(instruction, least, most, operands)
    return operands


def _access(context: Context, instruction: Instruction) -> dict[str, str]:
    """The qualifiers of a load or store; ``.mmio`` is checked against the others."""
    found = split_qualifiers(context, instruction, _GROUPS, _CACHES)
    if "mmio" in found:
        fits = (found.get("order"), found.get("scope"), found.get("space", "global"), found.get("vector"))
        if fits != ("relaxed", "sys", "global", None):
            raise context.unsupported(
                instruction, ".mmio takes .relaxed.sys and one value in .global, and nothing else"
            )
    return found


def _elements(
    context: Context, instruction: Instruction, operand: Operand, found: dict[str, str]
) -> tuple[ScalarType, tuple[Operand, ...]]:
    """The type of an access, and the registers of its vector."""
    if "type" not in found:
        raise context.unsupported(instruction, "it has no type")
    type_ = TYPES[found["type"]]
    count = _VECTORS[found["vector"]] if "vector" in found else 1
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    if len(elements) != count:
        raise context.error(
            instruction.location, f"{instruction.name} moves {count} values, not {len(elements)}"
        )
    return type_, elements


def _load(context: Context, instruction: Instruction, index: int) -> Step:
    found = _access(context, instruction)
    operands = _without_hint(context, instruction, 2)
    type_, elements = _elements(context, instruction, operands[0], found)
    for element in elements:
        context.require_destination(element, type_.bits, wider=True)
    address = context.require_address(operands[1])
    space = _space(context, instruction, found, address)
    size, signed = type_.bits // 8, type_.kind == "signed"
    named = context.space_of(address)
    if named == "entry":
        _require_inside(context, address, size * len(elements))

    def emit(writer: Writer) -> None:
        where = context.address(writer, address)
        if space == "param" and named == "entry":
            assert isinstance(address.base, Symbol)
            offset = address.offset + context.symbol(address.base)[1] + address.base.offset
            values = [
                f"B.parameter({offset + size * i}, {size}, {writer.count})" for i in range(len(elements))
            ]
        else:
            call = f"B.load_{space}({writer.threads}, {where}, {size}, {len(elements)}, {index})"
            if len(elements) == 1:
                values = [call]
            else:
                values = [writer.name() for _ in elements]
                writer.line(f"{', '.join(values)} = {call}")
        for element, value in zip(elements, values, strict=True):
            writer.write(element, value, type_.bits, signed=signed)

    volatile = found.get("order", "weak") != "weak"
    kind = {"select": False, "pure": not volatile, "loads": space != "param"}
    return context.step(instruction, index, (address,), elements, emit, **kind)


def _require_inside(context: Context, address: Address, width: int) -> None:
    """Refuse an access beyond the parameter that it names."""
    assert isinstance(address.base, Symbol)
    variable = context.symbol(address.base)[0]
    offset = address.offset + address.base.offset
    if offset < 0 or offset + width > (variable.size or 0) or offset % width:
        raise context.error(
            address.location,
            f"{width} bytes at offset {offset} of {variable.name}, which has {variable.size}",
        )


def _space(context: Context, instruction: Instruction, found: dict[str, str], address: Address) -> str:
    """The state space of an access, or of the variable it names, if it names one and no space."""
    if not isinstance(address.base, Symbol):
        return _SPACES[found["space"]] if "space" in found else "generic"
    named = context.symbol(address.base)[0].space
    if named == "function":
        raise context.error(address.location, f"{address.base.name} is a function, not a variable")
    have = {"entry": "param", "const": "global"}.get(named, named)
    if "space" in found and _SPACES[found["space"]] != have:
        raise context.error(address.location, f"{address.base.name} is in .{have}, not in .{found['space']}")
    return have


def _store(context: Context, instruction: Instruction, index: int) -> Step:
    found = _access(context, instruction)
    operands = _without_hint(context, instruction, 2)
    type_, elements = _elements(context, instruction, operands[1], found)
    for element in elements:
        context.require_source(element, type_.bits, wider=True)
    address = context.require_address(operands[0])
    space = _space(context, instruction, found, address)
    if context.space_of(address) in ("entry", "const") or found.get("space") == "const":
        raise context.error(address.location, "parameters of an entry and constants cannot be stored to")
    size = type_.bits // 8

    def emit(writer: Writer) -> None:
        where = context.address(writer, address)
        values = ", ".join(writer.array(element, type_.bits) for element in elements)
        writer.line(f"B.store_{space}({writer.threads}, {where}, ({values},), {size}, {index})")

    return context.step(instruction, index, (address, *elements), (), emit, select=False)


def _atomic(context: Context, instruction: Instruction, index: int) -> Step:
    returns = instruction.opcode[0] == "atom"
    groups: Mapping[str, Iterable[str]] = {
        "space": ("global", "shared", "shared::cta"),
        "order": _ORDERS,
        "scope": _SCOPES,
        "operation": ATOMICS,
        "vector": _VECTORS,
        "type": _TYPES,
    }
    found = split_qualifiers(context, instruction, groups, ("noftz",))
    name, type_name = found.get("operation", ""), found.get("type", "")
    operation = atomic_operation(name, type_name)
    if operation is None or (name == "cas" and not returns):
        raise context.unsupported(instruction)
    operands = _without_hint(context, instruction, operation.sources + 1 + returns)
    count = _VECTORS[found["vector"]] if "vector" in found else 1
    bits = TYPES[type_name].bits
    address = context.require_address(operands[int(returns)])
    sources = [_elements(context, instruction, operand, found)[1] for operand in operands[1 + returns :]]
    targets = _elements(context, instruction, operands[0], found)[1] if returns else ()
    for source in sources:
        for element in source:
            context.require_source(element, bits)
    for element in targets:
        context.require_destination(element, bits)
    space = _space(context, instruction, found, address)
    named = context.space_of(address)
    if space not in ("global", "shared", "generic") or named == "const":
        wrong = "const" if named == "const" else space
        raise context.error(address.location, f"atomics act on .global and .shared, not on .{wrong}")
    flush = type_name == "f32" and space != "shared"

    def emit(writer: Writer) -> None:
        where = context.address(writer, address)
        base = writer.name()
        writer.line(f"{base} = {where}")
        function = writer.bind(operation.flushed if flush else operation.evaluate)
        values = []
        for i in range(count):
            at = base if not i else f"{base} + {writer.constant(i * bits // 8, 64)}"
            arguments = ", ".join(writer.array(source[i], bits) for source in sources)
            value = writer.name()
            writer.line(
                f"{value} = B.atomic_{space}({writer.threads}, {at}, {function}, "
                f"({arguments},), {bits // 8}, {index})"
            )
            values.append(value)
        for element, value in zip(targets, values if targets else (), strict=True):
            writer.write(element, value, bits)

    reads = (address, *(element for source in sources for element in source))
    return context.step(instruction, index, reads, targets, emit, select=False)


def _copy_async(context: Context, instruction: Instruction, index: int) -> Step:
    parts = instruction.opcode
    if "bulk" in parts or len(parts) < 3:
        raise context.unsupported(instruction)
    if parts[2] == "mbarrier":
        return copies_arrive(context, instruction, index)
    if parts[2] in ("commit_group", "wait_group", "wait_all"):
        return _copy_group(context, instruction, index, parts[2])
    split_qualifiers(
        context,
        instruction,
        {"async": ("async",), "to": ("shared", "shared::cta"), "from": ("global",), "cache": ("ca", "cg")},
    )
    operands = _without_hint(context, instruction, 3, 4)
    to, source = context.require_address(operands[0]), context.require_address(operands[1])
    for address, space in ((to, "shared"), (source, "global")):
        named = context.space_of(address)
        if named not in (None, space):
            raise context.error(address.location, f"cp.async copies from .global to .shared, not .{named}")
    size = operands[2]
    allowed = (16,) if "cg" in parts else (4, 8, 16)
    if not isinstance(size, Immediate) or size.value not in allowed:
        sizes = " or ".join(str(value) for value in allowed)
        raise context.error(size.location, f"{instruction.name} copies {sizes} bytes")
    count = operands[3] if len(operands) == 4 else None
    ignore = count is not None and getattr(getattr(count, "type", None), "kind", "") == "predicate"
    if count is not None:
        context.require_source(count, 1 if ignore else 32)
    bytes_copied = size.value

    def emit(writer: Writer) -> None:
        target, origin = context.address(writer, to), context.address(writer, source)
        valid = "None"
        if count is not None and ignore:
            none, everything = writer.constant(0, 32), writer.constant(bytes_copied, 32)
            valid = f"where({writer.array(count, 1)}, {none}, {everything})"
        elif count is not None:
            valid = writer.array(count, 32)
        writer.line(f"B.copy_async({writer.threads}, {target}, {origin}, {bytes_copied}, {valid}, {index})")

    return context.step(instruction, index, (to, source, *operands[3:]), (), emit, select=False)


def _copy_group(context: Context, instruction: Instruction, index: int, kind: str) -> Step:
    remaining = 0
    context.require_count(instruction, 1 if kind == "wait_group" else 0)
    if kind == "wait_group":
        (operand,) = instruction.operands
        if not isinstance(operand, Immediate) or operand.kind != "integer" or operand.value < 0:
            raise context.error(operand.location, "cp.async.wait_group takes a constant number of groups")
        remaining = operand.value

    def emit(writer: Writer) -> None:
        if kind == "commit_group":
            writer.line(f"B.commit_copies({writer.threads})")
        else:
            everything = kind == "wait_all"
            writer.line(f"B.await_copies({writer.threads}, {remaining}, {everything})")

    return context.step(instruction, index, (), (), emit, select=False)


def _nothing(context: Context, instruction: Instruction, index: int) -> Step:
    return context.step(instruction, index, (), (), lambda writer: None, select=False)


def _policy(context: Context, instruction: Instruction, index: int) -> Step:
    target = instruction.operands[0] if instruction.operands else Sink(instruction.location)
    context.require_destination(target, 64)

    def emit(writer: Writer) -> None:
        writer.write(target, writer.uniform(0, 64), 64)

    return context.step(instruction, index, (), (target,), emit, pure=True)


def _prefetch(context: Context, instruction: Instruction, index: int) -> Step:
    if "tensormap" in instruction.opcode:
        raise context.unsupported(instruction)
    return _nothing(context, instruction, index)


DECODERS: Final = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "atom": _atomic,
    "red": _atomic,
    "cp": _copy_async,
    "fence": _nothing,
    "membar": _nothing,
    "prefetch": _prefetch,
    "prefetchu": _nothing,
    "applypriority": _nothing,
    "discard": _nothing,
    "createpolicy": _policy,
    "nanosleep": _nothing,
    "pmevent": _nothing,
    "setmaxnreg": _nothing,
    "griddepcontrol": _nothing,
}
"""By first word of the opcode."""
