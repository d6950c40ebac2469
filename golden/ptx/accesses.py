"""Which qualifiers a load, a store or an atomic may have together, as the assembler takes them for sm_90."""

from collections.abc import Iterable, Mapping
from typing import Final

from golden.ptx.decoding import Context, split_qualifiers
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.syntax import Instruction, Operand, Register, Vector

ORDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "ld": ("weak", "volatile", "relaxed", "acquire"),
    "ldu": (),
    "st": ("weak", "volatile", "relaxed", "release"),
    "atom": ("relaxed", "acquire", "release", "acq_rel"),
    "red": ("relaxed", "release"),
}
"""Memory orders by opcode."""
SCOPES: Final = ("cta", "cluster", "gpu", "sys")
HINT: Final = "L2::cache_hint"
PREFETCHES: Final = ("L2::64B", "L2::128B", "L2::256B")
VECTORS: Final = {"v2": 2, "v4": 4, "v8": 8}
_TYPES: Final = (*(name for name in TYPES if name[1:].isdecimal() and name[0] != "f"), "f32", "f64")
_EVICTIONS: Final = tuple(
    f"L1::{kind}" for kind in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")
)
_CACHES: Final = {"ld": ("ca", "cg", "cs", "lu", "cv"), "st": ("wb", "cg", "cs", "wt"), "ldu": ()}
_READ_ONLY_CACHES: Final = ("ca", "cg", "cs")
_SHARED: Final = ("shared", "shared::cta", "shared::cluster")
_SPACES: Final = {
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


def access_qualifiers(context: Context, instruction: Instruction) -> dict[str, str]:
    """The qualifiers of a load or store, by what they say; PtxError for those that do not go together."""
    opcode = instruction.opcode[0]
    groups: dict[str, Iterable[str]] = {
        "mmio": () if opcode == "ldu" else ("mmio",),
        "space": _SPACES[opcode],
        "vector": ("v2", "v4"),
        "order": ORDERS[opcode],
        "scope": SCOPES,
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
    require_scope(context, instruction, found)
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


def require_scope(context: Context, instruction: Instruction, found: Mapping[str, str]) -> None:
    """Refuse a memory order without its scope, or a scope without an order that has one."""
    order, scope = found.get("order", "weak"), found.get("scope")
    if scope is None and order not in ("weak", "volatile"):
        choices = ", ".join(f".{item}" for item in SCOPES)
        raise context.unsupported(instruction, f".{order} lacks its scope; allowed: {choices}")
    if scope is not None and order in ("weak", "volatile"):
        raise context.unsupported(instruction, f".{scope} needs a memory order, such as .relaxed")


def accessed_values(
    context: Context, instruction: Instruction, operand: Operand, found: dict[str, str]
) -> tuple[ScalarType, tuple[Operand, ...]]:
    """The type of an access, and the registers of its vector."""
    if "type" not in found:
        raise context.unsupported(instruction, "it has no type")
    type_ = TYPES[found["type"]]
    count = VECTORS[found["vector"]] if "vector" in found else 1
    if count * type_.bits > _LARGEST and instruction.opcode[0] in _SPACES:
        raise context.unsupported(instruction, f"it accesses more than {_LARGEST} bits")
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    if len(elements) != count:
        raise context.error(instruction, f"{instruction.name} moves {count} values, not {len(elements)}")
    return type_, elements


def element_type(operand: Operand, element: Operand, type_: ScalarType) -> str:
    """The type that an element of an operand must have; in a vector, registers are bits."""
    same = isinstance(element, Register) and element.type.bits == type_.bits
    return f"b{type_.bits}" if same and isinstance(operand, Vector) else type_.name


def without_hint(
    context: Context, instruction: Instruction, least: int, most: int | None = None
) -> tuple[Operand, ...]:
    """The operands, their number checked, without the policy of a ``.L2::cache_hint``."""
    hinted = HINT in instruction.opcode
    operands = instruction.operands[:-1] if hinted else instruction.operands
    operands = context.operands(instruction, least, most, operands)
    if hinted:
        context.require_source(instruction.operands[-1], 64)
    return operands
