"""Loads, checked: what they read, and where."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from golden.ptx.decoding import Context, split_qualifiers
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.syntax import Address, Instruction, Operand, Symbol, Vector

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
VALUES: Final = tuple(name for name, type_ in TYPES.items() if type_.kind != "predicate")
ORDERS: Final = ("weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "sc")
SCOPES: Final = ("cta", "cluster", "gpu", "sys", "gl")
_CACHES: Final = ("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "unified")
VECTORS: Final = {"v2": 2, "v4": 4, "v8": 8}
_GROUPS: Final[Mapping[str, Iterable[str]]] = {
    "mmio": ("mmio",),
    "space": _SPACES,
    "vector": VECTORS,
    "order": ORDERS,
    "scope": SCOPES,
    "type": VALUES,
}


def without_hint(
    context: Context, instruction: Instruction, least: int, most: int | None = None
) -> tuple[Operand, ...]:
    """The operands, their number checked, without the policy of a ``.L2::cache_hint``."""
    hinted = any(part.startswith("L2::cache_hint") for part in instruction.opcode)
    operands = instruction.operands[:-1] if hinted else instruction.operands
    return context.operands(instruction, least, most, operands)


def access_qualifiers(context: Context, instruction: Instruction) -> dict[str, str]:
    """The qualifiers of a load or store; ``.mmio`` is checked against the others."""
    found = split_qualifiers(context, instruction, _GROUPS, _CACHES)
    if "mmio" in found:
        fits = (found.get("order"), found.get("scope"), found.get("space", "global"), found.get("vector"))
        if fits != ("relaxed", "sys", "global", None):
            raise context.unsupported(
                instruction, ".mmio takes .relaxed.sys and one value in .global, and nothing else"
            )
    return found


def accessed_values(
    context: Context, instruction: Instruction, operand: Operand, found: dict[str, str]
) -> tuple[ScalarType, tuple[Operand, ...]]:
    """The type of an access, and the registers of its vector."""
    if "type" not in found:
        raise context.unsupported(instruction, "it has no type")
    type_ = TYPES[found["type"]]
    count = VECTORS[found["vector"]] if "vector" in found else 1
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    if len(elements) != count:
        raise context.error(instruction, f"{instruction.name} moves {count} values, not {len(elements)}")
    return type_, elements


class LoadStatement(NamedTuple):
    """A load of registers."""

    type: ScalarType
    targets: tuple[Operand, ...]
    """One for each element."""
    address: Address
    space: str
    """State space, or ``"generic"``."""
    offset: int | None
    """Of a load from a parameter of the entry, by its name: where it is among all parameters."""
    volatile: bool
    """Whether it must be executed."""


def check_load(context: Context, instruction: Instruction) -> LoadStatement:
    """Check an ``ld``; PtxError for one that is not legal."""
    found = access_qualifiers(context, instruction)
    operands = without_hint(context, instruction, 2)
    type_, targets = accessed_values(context, instruction, operands[0], found)
    for target in targets:
        context.require_destination(target, type_.bits, wider=True)
    address = context.require_address(operands[1])
    space = accessed_space(context, instruction, found, address)
    offset = None
    if context.space_of(address) == "entry":
        offset = _parameter_offset(context, address, type_.size * len(targets))
    return LoadStatement(type_, targets, address, space, offset, found.get("order", "weak") != "weak")


def _parameter_offset(context: Context, address: Address, width: int) -> int:
    """Where an access of parameters begins; one beyond the parameter that it names is refused."""
    assert isinstance(address.base, Symbol)
    variable, start = context.symbol(address.base)
    offset = address.offset + address.base.offset
    if offset < 0 or offset + width > (variable.size or 0) or offset % width:
        raise context.error(
            address,
            f"{width} bytes at offset {offset} of {variable.name}, which has {variable.size}",
        )
    return start + offset


def accessed_space(
    context: Context, instruction: Instruction, found: dict[str, str], address: Address
) -> str:
    """The state space of an access, or of the variable it names, if it names one and no space."""
    if not isinstance(address.base, Symbol):
        return _SPACES[found["space"]] if "space" in found else "generic"
    named = context.symbol(address.base)[0].space
    if named == "function":
        raise context.error(address, f"{address.base.name} is a function, not a variable")
    have = {"entry": "param", "const": "global"}.get(named, named)
    if "space" in found and _SPACES[found["space"]] != have:
        raise context.error(address, f"{address.base.name} is in .{have}, not in .{found['space']}")
    return have
