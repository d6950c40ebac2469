"""Statements, checked: arithmetic, moves, addresses, loads."""

import re
from typing import Final

from golden.ptx.accesses import access_qualifiers, accessed_values, element_type, without_hint
from golden.ptx.decoding import Context, split_qualifiers
from golden.ptx.scalar_types import TYPES, ScalarType
from golden.ptx.source import Location
from golden.ptx.special_registers import SPECIAL
from golden.ptx.syntax import (
    Address,
    Instruction,
    Operand,
    Pair,
    Register,
    Selected,
    SpecialRegister,
    Symbol,
    Vector,
)
from golden.scalar import Operation, UnsupportedInstruction, operation

CARRY: Final = Register("%cc", "%cc", TYPES["pred"], Location(1, 1))
"""The carry flag."""

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


_TYPE: Final = re.compile(r"pred|[busft]+\d+|[usb]?f?16x2|u?e\dm\dx2")
"""A qualifier that is a type."""
_EXACT: Final = re.compile(r"bf16|bf16x2|tf32|u?e\dm\dx2")
"""Types whose conversions take no wider registers."""
_COUNTS: Final = {"shl": 1, "shr": 1, "shf": 2, "bfi": 2, "bmsk": 0}
"""The number of the first source that is a count or a position."""
_COUNTING: Final = ("popc", "clz", "bfind", "bmsk")
"""Instructions with a count or a position as the result."""


def scalar_operation(context: Context, instruction: Instruction) -> Operation:
    """The operation of `golden.scalar` for an instruction; PtxError if there is none."""
    parts = tuple(
        f"{'-' if operand.negative else ''}{operand.selector}" if isinstance(operand, Selected) else ""
        for operand in instruction.operands
    )
    paired = any(isinstance(operand, Pair) for operand in instruction.operands[:1])
    try:
        return operation(instruction.name, pair=paired and instruction.opcode[0] == "setp", parts=parts)
    except UnsupportedInstruction as error:
        raise context.unsupported(instruction, str(error).partition(": ")[2] if any(parts) else "") from error


def check_computation(
    context: Context, instruction: Instruction, found: Operation
) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """The destinations and sources of an operation, with `CARRY` where it reads or writes the flag.

    PtxError for operands whose number or width does not fit.
    """
    if not instruction.operands:
        raise context.error(instruction, f"{instruction.name} takes operands")
    first, *sources = (
        operand.register if isinstance(operand, Selected) else operand for operand in instruction.operands
    )
    targets = (first.first, first.second) if isinstance(first, Pair) else (first,)
    carries_out = len(found.results) > 1 and ".cc" in instruction.name
    explicit = len(found.results) - carries_out
    if len(targets) != explicit:
        message = f"results of {instruction.name} must be {explicit}, not {len(targets)}"
        raise context.error(instruction, message)
    carries_in = instruction.opcode[0] in ("addc", "subc", "madc")
    expected = len(found.operands) - carries_in
    if len(sources) != expected:
        raise context.error(instruction, f"{instruction.name} takes {expected} sources, not {len(sources)}")
    wider = instruction.opcode[0] == "cvt" and not any(map(_EXACT.fullmatch, instruction.opcode))
    result, kinds = _operand_types(instruction, len(sources))
    for operand, bits, kind in zip(sources, found.operands, kinds, strict=False):
        context.require_source(operand, bits, kind, wider=wider)
    for operand, bits in zip(targets, found.results, strict=False):
        context.require_destination(operand, bits, result, wider=wider)
    return (*targets, *(CARRY,) * carries_out), (*sources, *(CARRY,) * carries_in)


def _operand_types(instruction: Instruction, count: int) -> tuple[str, list[str]]:
    """The type of the result of an operation, and the types of its sources, of any width."""
    name = instruction.opcode[0]
    first, *others = filter(_TYPE.fullmatch, instruction.opcode[1:])
    last = others[-1] if others else first
    kinds = [first if name == "slct" else others[0] if len(others) > 1 else last] * count
    if len(others) > 1 or name == "slct":
        kinds[-1] = last
    counts = _COUNTS.get(name, count)
    kinds[counts:] = ["integer"] * len(kinds[counts:])
    return "integer" if name in _COUNTING else first, kinds


def check_move(
    context: Context, instruction: Instruction
) -> tuple[int, tuple[Operand, ...], tuple[Operand, ...]]:
    """Check a ``mov``; PtxError for one that is not legal.

    It moves one operand to one, one to the elements of a vector, or those to one: the width of the whole, the
    destinations and the sources, the lowest part first.
    """
    target, source = context.operands(instruction, 2)
    types = (name for name in TYPES if name not in ("b8", "u8", "s8", "f16", "bf16", "f16x2", "bf16x2"))
    found = split_qualifiers(context, instruction, {"type": tuple(types)})
    if "type" not in found:
        raise context.unsupported(instruction, "it has no type")
    type_ = TYPES[found["type"]]
    if isinstance(target, Vector) and isinstance(source, Vector):
        raise context.error(instruction, "mov packs or unpacks one vector, not two")
    if (isinstance(target, Vector) or isinstance(source, Vector)) and type_.kind != "bits":
        raise context.unsupported(instruction, f"vectors are packed and unpacked as .b{type_.bits}")
    if isinstance(target, Pair):
        raise context.error(target, "mov has one destination")
    targets, sources = (
        operand.elements if isinstance(operand, Vector) else (operand,) for operand in (target, source)
    )
    for vector in (target, source):
        if isinstance(vector, Vector) and type_.bits / len(vector.elements) not in (8, 16, 32):
            raise context.error(vector, f"{type_} does not split into {len(vector.elements)} registers")
    kinds = ["b32" if isinstance(operand, Vector) else type_.name for operand in (target, source)]
    for item in targets:
        context.require_destination(item, type_.bits // len(targets), kinds[0])
    if isinstance(source, Symbol):
        space = context.symbol(source)[0].space
        widths = "32 or 64" if space in ("shared", "local", "param", "entry", "function") else "64"
        if type_.kind == "float" or str(type_.bits) not in widths:
            message = f"the address of {source.name} has {widths} bits, the instruction needs {type_}"
            raise context.error(source, message)
    else:
        for item in sources:
            if isinstance(item, SpecialRegister):
                _check_special(context, item, type_)
            context.require_source(item, type_.bits // len(sources), kinds[1])
    return type_.bits, targets, sources


def _check_special(context: Context, register: SpecialRegister, type_: ScalarType) -> None:
    """Refuse a move of a predefined register to a type that it does not have."""
    bits = SPECIAL[register.name].bits
    narrow = register.name.startswith(("%tid", "%ntid", "%ctaid", "%nctaid")) and type_.bits == 16
    if type_.kind == "float" or (bits > type_.bits and not narrow):
        message = f"{register.name} has {bits} bits and is an integer, the instruction needs {type_}"
        raise context.error(register, message)


def check_address_conversion(
    context: Context, instruction: Instruction
) -> tuple[str, int, int, Operand, Operand]:
    """Check a ``cvta``; PtxError for one that is not legal.

    The state space without its block or function, 1 where the result is a generic address or -1 where the
    source is one, the width, the destination and the source.
    """
    target, source = context.operands(instruction, 2)
    groups = {
        "to": ("to",),
        "space": (
            "global",
            "shared",
            "shared::cta",
            "shared::cluster",
            "local",
            "const",
            "param",
            "param::entry",
        ),
        "type": ("u64",),
    }
    found = split_qualifiers(context, instruction, groups)
    if "space" not in found or "type" not in found:
        raise context.unsupported(instruction)
    bits, space = TYPES[found["type"]].bits, found["space"].partition("::")[0]
    context.require_destination(target, bits)
    if not isinstance(source, Symbol):
        context.require_source(source, bits)
    else:
        declared = context.symbol(source)[0].space
        declared = "param" if declared == "entry" else declared
        if "to" in found or declared != space:
            message = f"{source.name} is in .{declared}; {instruction.name} cannot convert that"
            raise context.error(source, message)
    return space, -1 if "to" in found else 1, bits, target, source


def check_load(
    context: Context, instruction: Instruction
) -> tuple[ScalarType, tuple[Operand, ...], Address, str, int | None, bool]:
    """Check an ``ld``; PtxError for one that is not legal.

    The type, the destination of each element, the address, the state space or ``"generic"``; of a load from a
    parameter of the entry by its name, where it is among all parameters; whether it must be executed.
    """
    found = access_qualifiers(context, instruction)
    operands = without_hint(context, instruction, 2)
    type_, targets = accessed_values(context, instruction, operands[0], found)
    for target in targets:
        kind = element_type(operands[0], target, type_)
        context.require_destination(target, type_.bits, kind, wider=True)
    address = context.require_address(operands[1])
    space = accessed_space(context, instruction, found, address)
    offset = None
    if context.space_of(address) == "entry":
        offset = _parameter_offset(context, address, type_.size * len(targets))
    return type_, targets, address, space, offset, found.get("order", "weak") != "weak"


def _parameter_offset(context: Context, address: Address, width: int) -> int:
    """Where an access of parameters begins; one beyond the parameter that it names is refused."""
    assert isinstance(address.base, Symbol)
    variable, start = context.symbol(address.base)
    offset = address.offset + address.base.offset
    if offset < 0 or offset + width > (variable.size or 0) or offset % width:
        message = f"{width} bytes at offset {offset} of {variable.name}, which has {variable.size}"
        raise context.error(address, message)
    return start + offset


def accessed_space(
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
