"""From the mnemonic and qualifiers of PTX to an instruction of the instruction set, and nothing else."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal

from golden.ptx.qualifiers import MalformedInstruction, Qualifiers
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import (
    BIT_OPERATIONS,
    FAMILIES,
    LAYOUTS,
    ROUNDINGS,
    IllegalInstruction,
    Instruction,
    Layout,
    LoadInstruction,
    MmaInstruction,
    Shape,
    Space,
    StoreInstruction,
    Use,
)

__all__ = ["MalformedInstruction", "parse_instruction", "parse_qualifiers"]

_LAYOUT: Final[Mapping[str, Layout]] = MappingProxyType({layout: layout for layout in LAYOUTS})
_SPACE: Final[Mapping[str, Space]] = MappingProxyType(
    {"global": "global", "shared": "shared", "shared::cta": "shared"}
)
_TYPE: Final[Mapping[str, str]] = MappingProxyType({name: name for name in FORMATS})
_ROUNDING: Final[Mapping[str, str]] = MappingProxyType({name: name for name in ROUNDINGS})
_LOAD_USE: Final[Mapping[str, Use]] = MappingProxyType({"a": "a", "b": "b", "c": "c"})

_IMPLICIT_MULTIPLICAND: Final = "f16"
"""The type of A and B that ``wmma.mma`` does not spell out."""

_LAST_FLOAT_SATFINITE: Final = (6, 4)
"""The last PTX ISA version with ``.satfinite`` on floating point."""


def _only(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def _sync(qualifiers: Qualifiers, following: Mapping[str, object]) -> None:
    qualifiers.take(_only("sync"))
    qualifiers.accept(_only("aligned"), following)


def _shapes(mnemonic: str) -> dict[str, Shape]:
    return {
        str(shape): shape for family in FAMILIES if family.mnemonic == mnemonic for shape in family.shapes
    }


def _memory(qualifiers: Qualifiers) -> tuple[Layout, Shape, Space, str]:
    """Layout, shape, state space and type, in the order of the grammar or in that of its examples."""
    shapes = _shapes("wmma")
    _sync(qualifiers, {**_LAYOUT, **shapes})
    first = qualifiers.accept(_LAYOUT, shapes)
    shape = qualifiers.take(shapes)
    space = qualifiers.accept(_SPACE, _TYPE if first else _LAYOUT)
    layout = qualifiers.take(_LAYOUT) if first is None else first
    element = qualifiers.take(_TYPE)
    qualifiers.end()
    return layout, shape, space or "generic", element


def _load(qualifiers: Qualifiers) -> LoadInstruction:
    use = qualifiers.take(_LOAD_USE)
    layout, shape, space, element = _memory(qualifiers)
    return LoadInstruction(use=use, layout=layout, shape=shape, space=space, type=element)


def _store(qualifiers: Qualifiers) -> StoreInstruction:
    qualifiers.take(_only("d"))
    layout, shape, space, element = _memory(qualifiers)
    return StoreInstruction(layout=layout, shape=shape, space=space, type=element)


def _multiply(qualifiers: Qualifiers, mnemonic: Literal["wmma", "mma"]) -> MmaInstruction:
    operation = None
    shapes = _shapes(mnemonic)
    if mnemonic == "wmma":
        operation = qualifiers.accept(_only(*BIT_OPERATIONS), _only("sync"))
        if operation is not None:
            qualifiers.take(_only("popc"))
    in_grammar_order = mnemonic == "wmma"
    _sync(qualifiers, {**_LAYOUT, **shapes} if in_grammar_order else shapes)
    first = qualifiers.accept(_LAYOUT, shapes) if in_grammar_order else None
    if first is None:
        shape = qualifiers.take(shapes)
        a_layout, b_layout = qualifiers.take(_LAYOUT), qualifiers.take(_LAYOUT)
    else:
        a_layout, b_layout = first, qualifiers.take(_LAYOUT)
        shape = qualifiers.take(shapes)
    families = [item for item in FAMILIES if item.mnemonic == mnemonic and shape in item.shapes]
    if operation is None and all(family.operations for family in families):
        operations = [name for family in families for name in family.operations]
        raise MalformedInstruction("missing qualifier", "", operations, "wmma.mma")
    satfinite = _only("satfinite")
    early = _only() if mnemonic == "wmma" else satfinite
    rounding = qualifiers.accept(_ROUNDING, {**early, **_TYPE}) if mnemonic == "wmma" else None
    saturate = qualifiers.accept(early, _TYPE) is not None
    d_type, a_type, b_type, c_type = _types(qualifiers, mnemonic, shape)
    if not saturate:
        saturate = qualifiers.accept(satfinite, {}) is not None
    qualifiers.end({} if saturate else satfinite)
    return MmaInstruction(
        mnemonic=mnemonic,
        shape=shape,
        a_layout=a_layout,
        b_layout=b_layout,
        a_type=a_type,
        b_type=b_type,
        c_type=c_type,
        d_type=d_type,
        saturate=saturate,
        rounding=rounding,
        operation=operation,
    )


def _types(qualifiers: Qualifiers, mnemonic: str, shape: Shape) -> tuple[str, str, str, str]:
    """The types of D, A, B and C; those of A and B are written only where they are not f16."""
    context = f"{mnemonic}.mma.{shape}" if mnemonic == "wmma" else f"mma.{shape}"
    families = [item for item in FAMILIES if item.mnemonic == mnemonic and shape in item.shapes]
    d_type = qualifiers.take(_TYPE)
    results = dict.fromkeys(name for family in families for name in family.accumulators)
    if d_type not in results:
        raise IllegalInstruction(d_type, results, context)
    families = [family for family in families if d_type in family.accumulators]
    implicit = [family for family in families if _IMPLICIT_MULTIPLICAND in family.multiplicands]
    accumulators = dict.fromkeys(name for family in implicit for name in family.accumulators)
    multiplicands = dict.fromkeys(
        name for family in families if family not in implicit for name in family.multiplicands
    )
    second = qualifiers.take(_TYPE)
    if second in accumulators:
        return d_type, _IMPLICIT_MULTIPLICAND, _IMPLICIT_MULTIPLICAND, second
    if second not in multiplicands:
        raise IllegalInstruction(second, {**accumulators, **multiplicands}, f"{context} with D of .{d_type}")
    return d_type, second, qualifiers.take(_TYPE), qualifiers.take(_TYPE)


def _check_version(instruction: MmaInstruction, version: tuple[int, int]) -> None:
    """Refuse a saturation that PTX does not have, though the WMMA API does."""
    if not instruction.saturate or instruction.family.saturate != "float":
        return
    context = f"wmma.mma.{instruction.shape} of .{instruction.a_type}"
    if instruction.a_type != _IMPLICIT_MULTIPLICAND:
        raise IllegalInstruction("satfinite", (), f"{context} (the WMMA API has it, PTX does not)")
    if version > _LAST_FLOAT_SATFINITE:
        raise IllegalInstruction(
            "satfinite",
            (),
            f"{context} in PTX ISA {version[0]}.{version[1]} (removed after PTX ISA 6.4)",
        )


def parse_qualifiers(parts: Sequence[str], *, ptx_version: tuple[int, int] | None = None) -> Instruction:
    """Parse mnemonic and qualifiers that are already split at their dots.

    Parameters
    ----------
    parts : sequence of str
        For example ``["wmma", "mma", "sync", ...]``.
    ptx_version : (int, int) or None
        As for `parse_instruction`.

    Returns
    -------
    LoadInstruction, StoreInstruction or MmaInstruction

    Raises
    ------
    IllegalInstruction
        As for `parse_instruction`.
    """
    mnemonics = ("wmma", "mma")
    qualifiers = Qualifiers(parts)
    if not parts or parts[0] not in mnemonics:
        written = parts[0] if parts else ""
        error = IllegalInstruction(written, mnemonics, "an instruction")
        error.args = (f"unknown instruction {written!r}; allowed: wmma, mma",)
        raise error
    qualifiers.take(_only(*mnemonics))
    instruction: Instruction
    if parts[0] == "mma":
        instruction = _multiply(qualifiers, "mma")
    else:
        kind = qualifiers.take(_only("load", "mma", "store"))
        if kind == "load":
            instruction = _load(qualifiers)
        elif kind == "store":
            instruction = _store(qualifiers)
        else:
            instruction = _multiply(qualifiers, "wmma")
    if ptx_version is not None and isinstance(instruction, MmaInstruction):
        _check_version(instruction, ptx_version)
    return instruction


def parse_instruction(text: str, *, ptx_version: tuple[int, int] | None = None) -> Instruction:
    """Parse PTX text without operands, such as ``wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32``.

    ``.aligned`` may be left out; state space, layout and shape may stand in the order of the grammar or
    in that of the reference's examples (``.m16n16k16.global.row``). The ``.satfinite`` of ``mma`` may
    stand before or after the types. ``parse_instruction(str(instruction)) == instruction``.

    Parameters
    ----------
    text : str
        Mnemonic and qualifiers; white space around them does not matter.
    ptx_version : (int, int) or None
        The PTX ISA version that the text follows. None allows ``.satfinite`` on floating point, which
        stands for the satf argument of the WMMA API; a version allows it on f16, up to 6.4.

    Returns
    -------
    LoadInstruction, StoreInstruction or MmaInstruction

    Raises
    ------
    IllegalInstruction
        Naming the qualifier at fault and what is allowed; `MalformedInstruction` where a qualifier is
        unknown, missing, doubled or out of place.
    """
    if any(character.isspace() or character in "{[(,;" for character in text.strip()):
        error = IllegalInstruction(text, (), "an instruction without operands")
        error.args = (f"expected mnemonic and qualifiers without operands, not {text.strip()!r}",)
        raise error
    return parse_qualifiers(text.strip().split("."), ptx_version=ptx_version)
