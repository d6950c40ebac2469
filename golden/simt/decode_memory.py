"""Loads, stores, atomics, asynchronous copies, and the instructions about memory that move no value."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.scalar_types import TYPES
from golden.ptx.statements import (
    ORDERS,
    SCOPES,
    VALUES,
    VECTORS,
    access_qualifiers,
    accessed_space,
    accessed_values,
    check_load,
    without_hint,
)
from golden.ptx.syntax import Immediate, Instruction, Sink
from golden.scalar import operation
from golden.simt.code import Writer, call_step
from golden.simt.decode_mbarrier import copies_arrive

_NUMBERS: Final = ("u32", "s32", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2")
_WORDS: Final = ("b32", "b64")
_ATOMICS: Final[Mapping[str, tuple[tuple[str, ...], Callable[..., Any] | None]]] = {
    "add": ((*_NUMBERS, "f32", "f64"), None),
    "min": (_NUMBERS, None),
    "max": (_NUMBERS, None),
    "and": (_WORDS, np.bitwise_and),
    "or": (_WORDS, np.bitwise_or),
    "xor": (_WORDS, np.bitwise_xor),
    "exch": (_WORDS, lambda old, new: new),
    "cas": (("b16", *_WORDS), lambda old, expected, new: np.where(old == expected, new, old)),
    "inc": (("u32",), lambda old, limit: np.where(old >= limit, np.uint32(0), old + np.uint32(1))),
    "dec": (("u32",), lambda old, limit: np.where((old == 0) | (old > limit), limit, old - np.uint32(1))),
}
"""Types of each atomic, and its function from the old bits of a cell and the sources to the new bits.

Without one it is the function of the scalar instruction.
"""


def _load(context: Context, instruction: Instruction, index: int) -> Step:
    type_, targets, address, space, offset, volatile = check_load(context, instruction)
    size, count = type_.size, len(targets)

    def emit(writer: Writer) -> None:
        if offset is None:
            call = f"B.load({space!r}, {writer.access(context, address)}, {size}, {count})"
        else:
            places = range(offset, offset + size * count, size)
            call = ", ".join(f"B.parameter({place}, {size}, {writer.count})" for place in places)
        writer.results(call, [(target, type_.bits) for target in targets], signed=type_.kind == "signed")

    loads = space != "param"
    return context.step(
        instruction, index, (address,), targets, emit, select=False, pure=not volatile, loads=loads
    )


def _store(context: Context, instruction: Instruction, index: int) -> Step:
    found = access_qualifiers(context, instruction)
    operands = without_hint(context, instruction, 2)
    type_, elements = accessed_values(context, instruction, operands[1], found)
    for element in elements:
        context.require_source(element, type_.bits, wider=True)
    address = context.require_address(operands[0])
    space = accessed_space(context, instruction, found, address)
    if context.space_of(address) in ("entry", "const") or found.get("space") == "const":
        raise context.error(address, "parameters of an entry and constants cannot be stored to")
    size = type_.bits // 8

    def emit(writer: Writer) -> None:
        access = writer.access(context, address)
        values = ", ".join(writer.array(element, type_.bits) for element in elements)
        writer.line(f"B.store({space!r}, {access}, ({values},), {size})")

    return context.step(instruction, index, (address, *elements), (), emit, select=False)


def _atomic(context: Context, instruction: Instruction, index: int) -> Step:
    returns = instruction.opcode[0] == "atom"
    groups: Mapping[str, Iterable[str]] = {
        "space": ("global", "shared", "shared::cta"),
        "order": ORDERS,
        "scope": SCOPES,
        "operation": _ATOMICS,
        "vector": VECTORS,
        "type": VALUES,
    }
    found = split_qualifiers(context, instruction, groups, ("noftz",))
    name, type_name = found.get("operation", ""), found.get("type", "")
    if type_name not in _ATOMICS.get(name, ((),))[0] or (name == "cas" and not returns):
        raise context.unsupported(instruction)
    operands = without_hint(context, instruction, 2 + (name == "cas") + returns)
    count = VECTORS[found["vector"]] if "vector" in found else 1
    bits = TYPES[type_name].bits
    address = context.require_address(operands[int(returns)])
    sources = [
        accessed_values(context, instruction, operand, found)[1] for operand in operands[1 + returns :]
    ]
    targets = accessed_values(context, instruction, operands[0], found)[1] if returns else ()
    for source in sources:
        for element in source:
            context.require_source(element, bits)
    for element in targets:
        context.require_destination(element, bits)
    space = accessed_space(context, instruction, found, address)
    named = context.space_of(address)
    if space not in ("global", "shared", "generic") or named == "const":
        wrong = "const" if named == "const" else space
        raise context.error(address, f"atomics act on .global and .shared, not on .{wrong}")
    evaluate = _ATOMICS[name][1]
    if evaluate is None:
        rounding = ".rn" if name == "add" and type_name[0] in "fb" else ""
        # On global memory, additions of f32 flush subnormals.
        flush = ".ftz" if type_name == "f32" and space != "shared" else ""
        evaluate = operation(f"{name}{rounding}{flush}.{type_name}").evaluate

    def emit(writer: Writer) -> None:
        function, calls = writer.bind(evaluate), []
        for i in range(count):
            access = writer.access(context, address, i * bits // 8)
            arguments = ", ".join(writer.array(source[i], bits) for source in sources)
            calls.append(f"B.atomic({space!r}, {access}, {function}, ({arguments},), {bits // 8})")
        writer.results(", ".join(calls), [(element, bits) for element in targets])

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
    operands = without_hint(context, instruction, 3, 4)
    to, source = context.require_address(operands[0]), context.require_address(operands[1])
    for address, space in ((to, "shared"), (source, "global")):
        named = context.space_of(address)
        if named not in (None, space):
            raise context.error(address, f"cp.async copies from .global to .shared, not .{named}")
    size = operands[2]
    allowed = (16,) if "cg" in parts else (4, 8, 16)
    if not isinstance(size, Immediate) or size.value not in allowed:
        sizes = " or ".join(str(value) for value in allowed)
        raise context.error(size, f"{instruction.name} copies {sizes} bytes")
    valid, counts = "None", []
    if len(operands) == 4:  # the bytes to copy, or a predicate that the source is ignored
        ignores = getattr(getattr(operands[3], "type", None), "kind", "") == "predicate"
        counts = [(operands[3], 1 if ignores else 32)]
        valid = f"where({{}}, 0, {size.value})" if ignores else "{}"
    call = f"B.copy_async({{to}}, {{source}}, {size.value}, {valid})"
    return call_step(context, instruction, index, call, counts, (), places={"to": to, "source": source})


def _copy_group(context: Context, instruction: Instruction, index: int, kind: str) -> Step:
    remaining = 0
    for operand in context.operands(instruction, int(kind == "wait_group")):
        if not isinstance(operand, Immediate) or operand.kind != "integer" or operand.value < 0:
            raise context.error(operand, "cp.async.wait_group takes a constant number of groups")
        remaining = operand.value
    call = f"B.await_copies({{threads}}, {remaining}, {kind == 'wait_all'})"
    if kind == "commit_group":
        call = "B.commit_copies({threads})"
    return call_step(context, instruction, index, call, (), ())


def _nothing(context: Context, instruction: Instruction, index: int) -> Step:
    return context.step(instruction, index, (), (), lambda writer: None, select=False)


def _policy(context: Context, instruction: Instruction, index: int) -> Step:
    target = instruction.operands[0] if instruction.operands else Sink(instruction.location)
    call = "full({threads}.size, 0, 'u8')"
    return call_step(context, instruction, index, call, (), [(target, 64)], pure=True)


DECODERS: Final = {
    **{"ld": _load, "ldu": _load, "st": _store, "atom": _atomic, "red": _atomic, "cp": _copy_async},
    **{"createpolicy": _policy, "prefetch": _nothing},
    **dict.fromkeys(("fence", "membar", "prefetchu", "applypriority", "discard"), _nothing),
    **dict.fromkeys(("nanosleep", "pmevent", "setmaxnreg", "griddepcontrol"), _nothing),
}
