"""From mnemonic and qualifiers of PTX to a matrix instruction or a move of matrices, and nothing else.

Qualifiers are read from left to right, with precise complaints.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from golden.tables.commands import MATRIX_COUNTS
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import (
    BIT_OPERATIONS,
    FAMILIES,
    LAYOUTS,
    NARROW_FAMILIES,
    ROUNDINGS,
    SHAPES,
    SPARSE_WGMMA_FAMILIES,
    USES,
    WARP_FAMILIES,
    WGMMA_FAMILIES,
    WGMMA_TILE,
    Family,
    Shape,
    Space,
)
from golden.tables.matrix_instructions import (
    MOVES,
    IllegalInstruction,
    Instruction,
    LoadInstruction,
    MmaInstruction,
    MoveInstruction,
    StoreInstruction,
)

_T = TypeVar("_T")

_SPACES: Final[dict[str | None, Space]] = {
    None: "generic",
    "global": "global",
    "shared": "shared",
    "shared::cta": "shared",
}
"""The state space that a qualifier means, and the one without a qualifier."""
_WMMA: Final = [family for family in FAMILIES if family.mnemonic == "wmma"]
_MMA: Final = [family for family in WARP_FAMILIES if family.mnemonic == "mma"]
_SPARSE: Final = [family for family in WARP_FAMILIES if family.mnemonic == "mma.sp"]
_SP: Final = ("sp", "sp::ordered_metadata")
_KINDS: Final = {
    f"kind::{family.kind}": dict.fromkeys(f"scale_vec::{vec}" for vec, _ in family.scales)
    for family in NARROW_FAMILIES
}
"""Each kind with the vectors of scales that it takes."""
_SCALE_TYPES: Final = dict.fromkeys(type_ for family in NARROW_FAMILIES for _, type_ in family.scales)
_UNSCALED: Final = ("e4m3", "e5m2")
"""The types with which a kind that has block scales may lack them; it is then ``.kind::f8f6f4``."""
_SHARED: Final = ("shared", "shared::cta")
_MODIFIERS: Final = (*ROUNDINGS, "satfinite")
_COUNTS: Final = tuple(f"x{count}" for count in MATRIX_COUNTS)

_IMPLICIT_MULTIPLICAND: Final = "f16"
"""The type of A and B that ``wmma.mma`` does not spell out."""

_LAST_FLOAT_SATFINITE: Final = (6, 4)
"""The last PTX ISA version with ``.satfinite`` on floating point."""

_ONCE: Final = frozenset(
    {
        *("sync", "aligned", "popc", "satfinite", "a", "b", "c", "d"),
        *("global", "shared", "shared::cta"),
        *("m8n8", "x1", "x2", "x4", "trans", "b16"),
        *(*_SP, "block_scale", *_KINDS),
        *BIT_OPERATIONS,
        *ROUNDINGS,
        *(str(shape) for shape in SHAPES),
    }
)
"""Qualifiers that no instruction has twice."""

_VOCABULARY: Final = _ONCE | {"load", "store", "mma", *LAYOUTS, *FORMATS, *_SCALE_TYPES}


class MalformedInstruction(IllegalInstruction):
    """Qualifiers that are unknown, missing, doubled or out of order, whatever their combination.

    The qualifier at fault is empty where one is missing; `allowed` is what may stand there instead, and
    `context` the instruction up to that place.
    """

    def __init__(self, reason: str, qualifier: str, allowed: Iterable[object], context: str) -> None:
        names = tuple(dict.fromkeys(map(str, allowed)))
        choices = ", ".join(f".{item}" for item in names) or "nothing"
        super().__init__(qualifier, names, context, f"{reason} after {context}; allowed here: {choices}")


@dataclass
class _Qualifiers:
    """The qualifiers of one instruction, taken from left to right."""

    parts: Sequence[str]
    """Mnemonic and qualifiers without their dots; the first is taken like any other."""
    _next: int = 0
    _skipped: tuple[object, ...] = ()
    """Optional ones that may stand here, too."""

    def take(self, *allowed: _T) -> _T:
        """Which of `allowed` is the next qualifier; another one is refused."""
        found = self.accept(allowed)
        if found is not None:
            return found
        taken, rest = self.parts[: self._next], self.parts[self._next :]
        reason, part = "missing qualifier", ""
        if rest:
            part = rest[0]
            reason = f"unknown qualifier .{part}"
            if part in taken and part in _ONCE:
                reason = f"qualifier .{part} given twice,"
            elif part in _VOCABULARY:
                reason = f"qualifier .{part} out of place"
        raise MalformedInstruction(reason, part, self._skipped, ".".join(taken))

    def accept(self, allowed: Iterable[_T]) -> _T | None:
        """As `take`, for an optional qualifier."""
        allowed = tuple(allowed)
        for item in allowed:
            if str(item) in self.parts[self._next : self._next + 1]:
                self._next, self._skipped = self._next + 1, ()
                return item
        self._skipped += allowed
        return None

    def end(self) -> None:
        """Refuse anything that follows."""
        if self._next < len(self.parts):
            self.take()


def _sync(qualifiers: _Qualifiers) -> None:
    qualifiers.take("sync")
    qualifiers.accept(["aligned"])


def _operation(qualifiers: _Qualifiers) -> str | None:
    """The logical operation of single bits, where there is one."""
    operation = qualifiers.accept(BIT_OPERATIONS)
    if operation is not None:
        qualifiers.take("popc")
    return operation


def _memory(qualifiers: _Qualifiers) -> dict[str, Any]:
    """Layout, shape, state space and type, in the order of the grammar or of its examples."""
    shapes = [shape for family in _WMMA for shape in family.shapes]
    _sync(qualifiers)
    first = qualifiers.accept(LAYOUTS)
    shape = qualifiers.take(*shapes)
    space = qualifiers.accept(("global", *_SHARED))
    layout = qualifiers.take(*LAYOUTS) if first is None else first
    element = qualifiers.take(*FORMATS)
    qualifiers.end()
    return {"layout": layout, "shape": shape, "space": _SPACES[space], "type": element}


def _kind(qualifiers: _Qualifiers) -> tuple[str, str]:
    """The kind of formats and, where it has block scales, how many: both empty where there is no kind."""
    kind = qualifiers.accept(_KINDS)
    if kind is None or not qualifiers.accept(["block_scale"]):
        return kind or "", ""
    vectors = _KINDS[kind]
    if not vectors:
        raise IllegalInstruction("block_scale", (), f"mma.{kind}")
    given = qualifiers.take(*vectors) if len(vectors) > 1 else qualifiers.accept(vectors)
    return kind, given or next(iter(vectors))


def _multiply(qualifiers: _Qualifiers, families: Sequence[Family]) -> MmaInstruction:
    """A multiply of one of some families, after its first words.

    In `wmma` the logical operation comes first. The layouts may stand before the shape. `wgmma` has no
    layouts, and no modifier before the types. The kind stands before the shape or behind the layouts.
    """
    mnemonic = families[0].mnemonic
    is_group = families[0].is_warpgroup
    shapes = [shape for family in families for shape in family.shapes]
    operation = _operation(qualifiers) if mnemonic == "wmma" else None
    has_kinds = mnemonic in ("mma", "mma.sp")
    _sync(qualifiers)
    kind, vector = _kind(qualifiers) if has_kinds else ("", "")
    first = None if is_group else qualifiers.accept(LAYOUTS)
    layouts = None if first is None else (first, qualifiers.take(*LAYOUTS))
    shape = qualifiers.take(*shapes)
    if is_group:
        layouts = "row", "col"
    a_layout, b_layout = layouts or (qualifiers.take(*LAYOUTS), qualifiers.take(*LAYOUTS))
    if has_kinds and not kind:
        kind, vector = _kind(qualifiers)
    families = [family for family in families if shape in family.shapes]
    if mnemonic == "wmma" and operation is None and all(family.operations for family in families):
        operations = [name for family in families for name in family.operations]
        raise MalformedInstruction("missing qualifier", "", operations, "wmma.mma")
    modifier = None if is_group else qualifiers.accept(_MODIFIERS)
    types = _types(qualifiers, shape, families)
    if mnemonic != "wmma" and "b1" in types:
        operation = _operation(qualifiers)
    scale_type = qualifiers.take(*_SCALE_TYPES) if vector else ""
    if kind and not vector and _KINDS[kind]:
        for type_ in types[1:3]:
            if type_ not in _UNSCALED:
                raise IllegalInstruction(type_, _UNSCALED, f"{mnemonic}.{kind} without .block_scale")
        kind = "kind::f8f6f4"
    if modifier is None:
        modifier = qualifiers.accept(("satfinite",) if is_group else _MODIFIERS)
    qualifiers.end()
    return MmaInstruction(
        mnemonic=mnemonic,
        shape=shape,
        a_layout=a_layout,
        b_layout=b_layout,
        **{f"{use}_type": type_ for use, type_ in zip("dabc", types, strict=True)},
        saturate=modifier == "satfinite",
        rounding=None if modifier == "satfinite" else modifier,
        operation=operation,
        kind=kind.removeprefix("kind::"),
        scale_vec=vector.removeprefix("scale_vec::"),
        scale_type=scale_type,
    )


def _types(qualifiers: _Qualifiers, shape: Shape, families: Sequence[Family]) -> Sequence[str]:
    """The types of D, A, B and C: `wgmma` does not name the type of C, `wmma` of f16 only D and C."""
    d_type = qualifiers.take(*FORMATS)
    if families[0].mnemonic != "wmma":
        others = [qualifiers.take(*FORMATS) for _ in range(2 if families[0].is_warpgroup else 3)]
        return [d_type, *others, d_type][:4]
    context = f"wmma.mma.{shape}"
    results = dict.fromkeys(name for family in families for name in family.accumulators)
    if d_type not in results:
        raise IllegalInstruction(d_type, results, context)
    families = [family for family in families if d_type in family.accumulators]
    implicit = [family for family in families if _IMPLICIT_MULTIPLICAND in family.multiplicands]
    accumulators = dict.fromkeys(name for family in implicit for name in family.accumulators)
    multiplicands = dict.fromkeys(
        name for family in families if family not in implicit for name in family.multiplicands
    )
    second = qualifiers.take(*FORMATS)
    if second in accumulators:
        return d_type, _IMPLICIT_MULTIPLICAND, _IMPLICIT_MULTIPLICAND, second
    if second not in multiplicands:
        raise IllegalInstruction(second, {**accumulators, **multiplicands}, f"{context} with D of .{d_type}")
    return d_type, second, qualifiers.take(*FORMATS), qualifiers.take(*FORMATS)


def _check_version(instruction: MmaInstruction, version: tuple[int, int]) -> None:
    """Refuse a saturation that PTX does not have, though the WMMA API does."""
    if not instruction.saturate or instruction.family.saturate != "float":
        return
    context = f"wmma.mma.{instruction.shape} of .{instruction.a_type}"
    if instruction.a_type != _IMPLICIT_MULTIPLICAND:
        raise IllegalInstruction("satfinite", (), f"{context} (the WMMA API has it, PTX does not)")
    if version > _LAST_FLOAT_SATFINITE:
        context += f" in PTX ISA {version[0]}.{version[1]} (removed after PTX ISA 6.4)"
        raise IllegalInstruction("satfinite", (), context)


def parse_instruction(
    text: str, *, ptx_version: tuple[int, int] | None = None, warp_tile: bool = False
) -> Instruction:
    """Parse PTX text without operands, such as ``wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32``.

    ``.aligned`` may be left out; state space, layout and shape may stand in the order of the grammar or in
    the order of the reference's examples (``.m16n16k16.global.row``). ``.satfinite`` and a rounding may stand
    before the types or at the end, as compilers write both. ``parse_instruction(str(instruction)) ==
    instruction``.

    `ptx_version` is of the PTX ISA that the text follows. None allows ``.satfinite`` on floating point, which
    stands for the satf argument of the WMMA API; a version allows it on f16, up to 6.4. With `warp_tile`,
    ``wgmma`` is the command of the core that computes one tile of a warp, with the shape of `WGMMA_TILE`,
    instead of the instruction of PTX.

    IllegalInstruction names the qualifier at fault and what is allowed; MalformedInstruction where a
    qualifier is unknown, missing, doubled or out of place.
    """
    if any(character.isspace() or character in "{[(,;" for character in text.strip()):
        message = f"expected mnemonic and qualifiers without operands, not {text.strip()!r}"
        raise IllegalInstruction(text, (), "an instruction without operands", message)
    mnemonics = ("wmma", "mma", "wgmma")
    qualifiers = _Qualifiers(text.strip().split("."))
    written = qualifiers.parts[0]
    if written not in mnemonics:
        message = f"unknown instruction {written!r}; allowed: {', '.join(mnemonics)}"
        raise IllegalInstruction(written, mnemonics, "an instruction", message)
    qualifiers.take(*mnemonics)
    if written == "wmma":
        kind = qualifiers.take("load", "mma", "store")
        if kind == "load":
            return LoadInstruction(use=qualifiers.take(*USES[:3]), **_memory(qualifiers))
        if kind == "store":
            qualifiers.take("d")
            return StoreInstruction(**_memory(qualifiers))
        instruction = _multiply(qualifiers, _WMMA)
    elif written == "mma":
        sparse = qualifiers.accept(_SP)
        instruction = _multiply(qualifiers, _SPARSE if sparse else _MMA)
        of_bytes = instruction.a_type in _UNSCALED and instruction.d_type == "f16"
        if sparse == _SP[0] and (instruction.kind or of_bytes):
            raise IllegalInstruction(sparse, _SP[1:], str(instruction))
    else:
        qualifiers.take("mma_async")
        sparse = qualifiers.accept(_SP[:1])
        families = SPARSE_WGMMA_FAMILIES if sparse else WGMMA_FAMILIES
        instruction = _multiply(qualifiers, (WGMMA_TILE,) if warp_tile else families)
    if ptx_version is not None:
        _check_version(instruction, ptx_version)
    return instruction


def parse_move(parts: Sequence[str]) -> MoveInstruction:
    """Parse mnemonic and qualifiers of a matrix move, already split at their dots.

    The first is one of `MOVES`. ``.aligned`` may be left out. What is unknown, missing, doubled or out of
    place is a MalformedInstruction.
    """
    qualifiers = _Qualifiers(parts)
    mnemonic = qualifiers.take(*MOVES)
    if mnemonic == "movmatrix":
        _sync(qualifiers)
        for part in ("m8n8", "trans", "b16"):
            qualifiers.take(part)
        qualifiers.end()
        return MoveInstruction(mnemonic=mnemonic, transposed=True)
    _sync(qualifiers)
    count, transposed = 0, False
    kinds: list[tuple[str, ...]] = [("m8n8",), _COUNTS, ("trans",)]
    while kinds not in ([], [("trans",)]):  # in any order, as assemblers take them
        part = qualifiers.take(*(name for kind in kinds for name in kind))
        kinds = [kind for kind in kinds if part not in kind]
        count = int(part[1:]) if part in _COUNTS else count
        transposed |= part == "trans"
    if not transposed:
        transposed = qualifiers.accept(["trans"]) is not None
    space = _SPACES[qualifiers.accept(_SHARED)]
    qualifiers.take("b16")
    qualifiers.end()
    return MoveInstruction(mnemonic=mnemonic, count=count, transposed=transposed, space=space)
