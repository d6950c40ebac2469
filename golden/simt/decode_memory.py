"""Loads, stores and atomics, plain and those that complete transactions of an ``mbarrier``.

Which qualifiers may stand together is as the assembler takes them for sm_90.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from golden.ptx.contraction.forms import FUSED
from golden.ptx.decoding import Context, Step, split_qualifiers
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.syntax import Address, Instruction, Operand, Register, Sink, Symbol, Vector
from golden.simt.atomics import ATOMICS, HALVES, REDUCTIONS, atomic_function, paired
from golden.simt.code import Writer
from golden.simt.instruction_lines import HINT, PREFETCHES

_ORDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "ld": ("weak", "volatile", "relaxed", "acquire"),
    "ldu": (),
    "st": ("weak", "volatile", "relaxed", "release"),
    "atom": ("relaxed", "acquire", "release", "acq_rel"),
    "red": ("relaxed", "release"),
}
"""Memory orders by opcode."""
_SCOPES: Final = ("cta", "cluster", "gpu", "sys")
_VECTORS: Final = {"v2": 2, "v4": 4, "v8": 8}
_TYPES: Final = (*(name for name in TYPES if name[1:].isdecimal() and name[0] != "f"), "f32", "f64")
_EVICTIONS: Final = tuple(
    f"L1::{kind}" for kind in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")
)
_CACHES: Final = {"ld": ("ca", "cg", "cs", "lu", "cv"), "st": ("wb", "cg", "cs", "wt"), "ldu": ()}
_READ_ONLY_CACHES: Final = ("ca", "cg", "cs")
_SHARED: Final = ("shared", "shared::cta", "shared::cluster")
_ACCESSED: Final = {
    "ld": ("global", "const", *_SHARED, "local", "param", "param::entry", "param::func"),
    "st": ("global", "const", *_SHARED, "local", "param", "param::func"),
    "ldu": ("global",),
}
_IN_SPACES: Final[Mapping[str, Iterable[str]]] = {
    **dict.fromkeys(("volatile", "relaxed", "acquire", "release"), ("global", *_SHARED)),
    **dict.fromkeys((HINT, *PREFETCHES, *_EVICTIONS, "nc"), ("global",)),
}
"""Qualifiers that need a state space, and which; generic addresses take all but ``.nc``."""
_EXCLUSIVE: Final = ("volatile", "relaxed", "acquire", "release")
_LARGEST: Final = 128
"""Bits of an access; 256 need sm_100."""

_MEMORIES: Final = {"entry": "param", "const": "global"}
"""Where state spaces lie that have no memory of their own."""

_ATOMIC_VECTORS: Final = {
    **dict.fromkeys(("f16", "bf16"), ("v2", "v4", "v8")),
    **dict.fromkeys(("f16x2", "bf16x2", "f32"), ("v2", "v4")),
}
"""Vectors of an atomic, by the type of an element."""

_CLUSTER: Final = ("shared::cluster",)
_STORED: Final = ("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64")
_TRANSACTED: Final = "mbarrier::complete_tx::bytes"


def _qualifiers(context: Context, instruction: Instruction) -> dict[str, str]:
    """The qualifiers of a load or store, by what they say; PtxError for those that do not go together."""
    opcode = instruction.opcode[0]
    groups: dict[str, Iterable[str]] = {
        "mmio": () if opcode == "ldu" else ("mmio",),
        "space": _ACCESSED[opcode],
        "vector": ("v2", "v4"),
        "order": _ORDERS[opcode],
        "scope": _SCOPES,
        "cache": _CACHES[opcode],
        "read-only": ("nc",) if opcode == "ld" else (),
        "eviction": () if opcode == "ldu" else _EVICTIONS,
        "hint": () if opcode == "ldu" else (HINT,),
        "prefetch": PREFETCHES if opcode == "ld" else (),
        "type": _TYPES,
    }
    found = split_qualifiers(context, instruction, groups)
    order, space, cache = found.get("order", "weak"), found.get("space"), found.get("cache")
    if "mmio" in found:
        fits = (order, found.get("scope"), found.get("space", "global"), found.get("vector"))
        if fits != ("relaxed", "sys", "global", None):
            message = ".mmio takes .relaxed.sys and one value in .global, and nothing else"
            raise context.unsupported(instruction, message)
    _require_scope(context, instruction, found)
    for qualifier in found.values():
        spaces = _IN_SPACES.get(qualifier, ())
        if spaces and (space or qualifier == "nc") and (space or "generic") not in spaces:
            choices = ", ".join(f".{item}" for item in spaces)
            raise context.unsupported(
                instruction, f".{qualifier} is for {choices}, not .{space or 'generic'}"
            )
    read_only, eviction = found.get("read-only"), found.get("eviction")
    together: tuple[tuple[str | None, object], ...] = (
        (order, order in _EXCLUSIVE and (cache or read_only)),
        (order, (order == "volatile" and eviction) or ("order" in found and read_only)),
        (cache, eviction),
        (cache, cache not in _READ_ONLY_CACHES and read_only),
    )
    for first, second in together:
        if first and second:
            raise context.unsupported(instruction, f".{first} cannot be combined with .{second}")
    return found


def _require_scope(context: Context, instruction: Instruction, found: Mapping[str, str]) -> None:
    """Refuse a memory order without its scope, or a scope without an order that has one."""
    order, scope = found.get("order", "weak"), found.get("scope")
    if scope is None and order not in ("weak", "volatile"):
        choices = ", ".join(f".{item}" for item in _SCOPES)
        raise context.unsupported(instruction, f".{order} lacks its scope; allowed: {choices}")
    if scope is not None and order in ("weak", "volatile"):
        raise context.unsupported(instruction, f".{scope} needs a memory order, such as .relaxed")


def _values(
    context: Context,
    instruction: Instruction,
    operand: Operand,
    found: Mapping[str, str],
    *,
    written: bool = False,
    wider: bool = False,
) -> tuple[ScalarType, tuple[Operand, ...]]:
    """The type of an access, and the registers of its vector, which are bits in it but for ``st.async``."""
    if "type" not in found:
        raise context.unsupported(instruction, "it has no type")
    type_ = TYPES[found["type"]]
    count = _VECTORS[found["vector"]] if "vector" in found else 1
    if count * type_.bits > _LARGEST and instruction.opcode[0] in _ACCESSED:
        raise context.unsupported(instruction, f"it accesses more than {_LARGEST} bits")
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    if len(elements) != count:
        raise context.error(instruction, f"{instruction.name} moves {count} values, not {len(elements)}")
    require = context.require_destination if written else context.require_source
    are_bits = isinstance(operand, Vector) and "async" not in instruction.opcode
    for element in elements:
        same = isinstance(element, Register) and element.type.bits == type_.bits
        kind = f"b{type_.bits}" if same and are_bits else type_.name
        require(element, type_.bits, kind, wider=wider)
    return type_, elements


def _without_hint(context: Context, instruction: Instruction, count: int) -> tuple[Operand, ...]:
    """The operands, their number checked, without the policy of a ``.L2::cache_hint``."""
    hinted = HINT in instruction.opcode
    operands = instruction.operands[:-1] if hinted else instruction.operands
    operands = context.operands(instruction, count, operands=operands)
    if hinted:
        context.require_source(instruction.operands[-1], 64)
    return operands


def _load(context: Context, instruction: Instruction, index: int) -> Step:
    found = _qualifiers(context, instruction)
    operands = _without_hint(context, instruction, 2)
    type_, targets = _values(context, instruction, operands[0], found, written=True, wider=True)
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
    written = found.get("space", "generic")
    space = written.partition("::")[0]
    space = _MEMORIES.get(space, space)
    if not isinstance(address.base, Symbol):
        context.require_address(address, written if space == "global" else space)
        return space
    named = context.symbol(address.base)[0].space
    if named == "function":
        raise context.error(address, f"{address.base.name} is a function, not a variable")
    have = _MEMORIES.get(named, named)
    if "space" in found and space != have:
        raise context.error(address, f"{address.base.name} is in .{have}, not in .{written}")
    return have


def _store(context: Context, instruction: Instruction, index: int) -> Step:
    if "async" in instruction.opcode:
        return _transacted(context, instruction, index)
    found = _qualifiers(context, instruction)
    operands = _without_hint(context, instruction, 2)
    type_, elements = _values(context, instruction, operands[1], found, wider=True)
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
    elif found["vector"] not in _ATOMIC_VECTORS.get(type_, ()) or (name != "add" and type_ == "f32"):
        choices = ", ".join(f".{item}" for item in _ATOMIC_VECTORS.get(type_, ())) or "none"
        raise context.unsupported(instruction, f"vectors of .{type_}: {choices}")
    if space not in (None, "global") and {"vector", "hint"} & found.keys():
        raise context.unsupported(instruction, f"vectors and hints are for .global, not .{space}")


def _atomic(context: Context, instruction: Instruction, index: int) -> Step:
    if "async" in instruction.opcode:
        return _transacted(context, instruction, index)
    returns = instruction.opcode[0] == "atom"
    groups: Mapping[str, Iterable[str]] = {
        "space": ("global", "shared", "shared::cta", "shared::cluster"),
        "order": _ORDERS[instruction.opcode[0]],
        "scope": _SCOPES,
        "operation": ATOMICS,
        "flush": ("noftz",),
        "vector": _VECTORS,
        "hint": (HINT,),
        "type": dict.fromkeys(type_ for types, _ in ATOMICS.values() for type_ in types),
    }
    found = split_qualifiers(context, instruction, groups)
    name, type_name = found.get("operation", ""), found.get("type", "")
    wide = any(isinstance(item, Vector) and item.wide for item in instruction.operands)
    _check_atomic(context, instruction, {key: found[key] for key in found if not wide or key != "vector"})
    operands = _without_hint(context, instruction, 2 + (name in ("cas", FUSED)) + returns)
    count = _VECTORS[found["vector"]] if "vector" in found else 1
    bits = TYPES[type_name].bits
    address = context.require_address(operands[int(returns)])
    sources = [_values(context, instruction, item, found)[1] for item in operands[1 + returns :]]
    drops = not returns or (wide and isinstance(operands[0], Sink))
    targets = () if drops else _values(context, instruction, operands[0], found, written=True)[1]
    space = _accessed_space(context, instruction, found, address)
    named = context.space_of(address)
    if space not in ("global", "shared", "generic") or named == "const":
        wrong = "const" if named == "const" else space
        raise context.error(address, f"atomics act on .global and .shared, not on .{wrong}")
    # On global memory, additions of f32 flush subnormals.
    flushes = (type_name == "f32", False)
    by_memory = tuple(atomic_function(name, type_name, flush=flush) for flush in flushes)

    def write_code(writer: Writer) -> None:
        functions, calls = ", ".join(map(writer.bind, by_memory)), []
        values = [[writer.array(element, bits) for element in source] for source in sources]
        if wide:
            values = [[f"{writer.bind(paired)}({', '.join(both)})"] for both in values]
        for i in range(1 if wide else count):
            access = writer.access(context, address, i * bits // 8)
            arguments = ", ".join(each[i] for each in values)
            size = bits // 8 * (1 + wide)
            calls.append(f"B.atomic({space!r}, {access}, ({functions}), ({arguments},), {size})")
        if wide:
            calls[0] += ".view('u8').reshape(-1, 2).T"
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
    type_, elements = _values(context, instruction, source, found)
    space = "shared" if "space" in found else "generic"
    places = {name: context.require_address(item, space) for name, item in (("to", place), ("bar", barrier))}

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
