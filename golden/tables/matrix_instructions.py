"""Loads, stores, multiplies and moves of matrices, as PTX writes them before their operands.

The fields of all but moves are checked against `golden.tables.instruction_set` when they are made: a
combination that is in no table is an IllegalInstruction.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, Final, Literal

from golden.message_text import sentence
from golden.tables.instruction_set import (
    LAYOUTS,
    OPCODES,
    SCALES,
    SPACES,
    SPARSE_WGMMA_FAMILIES,
    USES,
    WARP_FAMILIES,
    WGMMA_FAMILIES,
    WGMMA_TILE,
    Family,
    Layout,
    Mnemonic,
    Shape,
    Space,
    Use,
)
from golden.tables.layouts import FragmentLayout, fragment
from golden.tables.sparsity import Sparsity


class IllegalInstruction(ValueError):
    """An instruction that is in no table.

    Its qualifier is at fault, as written; `allowed` may stand there instead. `context` says where, for the
    message; `message` is in place of the sentence that these make.
    """

    def __init__(
        self, qualifier: str, allowed: Iterable[str], context: str, message: str | None = None
    ) -> None:
        self.qualifier = qualifier
        self.allowed = tuple(allowed)
        self.context = context
        choices = ", ".join(f".{item}" for item in self.allowed) or "nothing"
        message = message or f"illegal qualifier .{qualifier} for {context}; allowed: {choices}"
        super().__init__(sentence(message))


def _require(value: str, allowed: Iterable[str], context: str) -> None:
    allowed = tuple(dict.fromkeys(allowed))
    if value not in allowed:
        raise IllegalInstruction(value, allowed, context)


def _families(
    mnemonic: Mnemonic, use: Use, context: str, element: str, shape: Shape, kind: str = ""
) -> tuple[Family, ...]:
    """The families in which a fragment of `element` and `shape` may play the role `use`."""
    families = [
        family
        for family in WARP_FAMILIES + WGMMA_FAMILIES + SPARSE_WGMMA_FAMILIES
        if family.mnemonic == mnemonic and family.kind == kind
    ]
    _require(element, (name for family in families for name in family.types(use)), context)
    holders = [family for family in families if element in family.types(use)]
    _require(str(shape), (str(s) for family in holders for s in family.shapes), f"{context} of .{element}")
    return tuple(family for family in holders if shape in family.shapes)


@dataclass(frozen=True, kw_only=True)
class _Access:
    use: Use
    layout: Layout
    shape: Shape
    type: str
    space: Space = "generic"

    @property
    def fragment(self) -> FragmentLayout:
        """The layout of the fragment that is loaded or stored."""
        return fragment(self.use, self.type, self.shape)

    @property
    def alignment(self) -> int:
        """Bytes that address and stride must be multiples of, on an H200."""
        return self.fragment.alignment(self.layout, self.space)

    @property
    def core_alignment(self) -> int:
        """The same on a core, which moves whole words of 32 bits."""
        return self.fragment.core_alignment(self.layout, self.space)

    def __str__(self) -> str:
        kind = "store" if self.use == "d" else "load"
        space = "" if self.space == "generic" else f".{self.space}"
        return f"wmma.{kind}.{self.use}.sync.aligned.{self.layout}.{self.shape}{space}.{self.type}"


@dataclass(frozen=True, kw_only=True)
class LoadInstruction(_Access):
    """`wmma.load.{a,b,c}`: memory to fragment."""

    def __post_init__(self) -> None:
        _require(self.use, ("a", "b", "c"), "wmma.load")
        context = f"wmma.load.{self.use}"
        families = _families("wmma", self.use, context, self.type, self.shape)
        fixed = self.use in "ab" and all(family.fixed_layout for family in families)
        only = ("row" if self.use == "a" else "col",)
        _require(self.layout, only if fixed else LAYOUTS, f"{context} of .{self.type}")
        _require(self.space, SPACES, context)


@dataclass(frozen=True, kw_only=True)
class StoreInstruction(_Access):
    """`wmma.store.d`: fragment to memory."""

    use: Use = field(default="d", init=False, repr=False)

    def __post_init__(self) -> None:
        _families("wmma", "d", "wmma.store.d", self.type, self.shape)
        _require(self.layout, LAYOUTS, "wmma.store.d")
        _require(self.space, SPACES, "wmma.store.d")


@dataclass(frozen=True, kw_only=True)
class MmaInstruction:
    """`wmma.mma`, `mma`, `mma.sp`, `wgmma.mma_async` or `wgmma.mma_async.sp`: D = A B + C."""

    mnemonic: Mnemonic = "wmma"
    shape: Shape
    a_layout: Layout
    b_layout: Layout
    a_type: str
    b_type: str
    c_type: str
    d_type: str
    """PTX type qualifiers."""
    saturate: bool = False
    """`.satfinite` of integers, satf of floating point."""
    rounding: str | None = None
    """f64 only: ``"rn"``, ``"rz"``, ``"rm"`` or ``"rp"``; None means ``"rn"`` there."""
    operation: str | None = None
    """Single bits only: ``"xor"`` or ``"and"``."""
    kind: str = ""
    """``.kind::`` of `golden.tables.instruction_set.NARROW_FAMILIES`."""
    scale_vec: str = ""
    scale_type: str = ""
    """``"1X"``, ``"2X"`` or ``"4X"`` block scales for all k, and their type; empty without scales."""

    def __post_init__(self) -> None:
        family = self.family
        context = self._context(f".{self.shape} of .{self.a_type}")
        _require(self.b_type, family.multiplicands if family.mixed else (self.a_type,), context)
        _require(self.c_type, family.accumulators, context)
        _require(self.d_type, family.results(self.c_type), context)
        _require(self.a_layout, ("row",) if family.fixed_layout else LAYOUTS, context)
        _require(self.b_layout, ("col",) if family.fixed_layout else LAYOUTS, context)
        if self.saturate and family.saturate == "never":
            raise IllegalInstruction("satfinite", (), context)
        if self.rounding is not None:
            _require(self.rounding, family.roundings, context)
        if self.operation is not None or family.operations:
            _require(self.operation or "popc", family.operations, context)
        if self.scale_vec or family.scales:
            _require(
                f"scale_vec::{self.scale_vec}", (f"scale_vec::{vec}" for vec, _ in family.scales), context
            )
            types = (type_ for vec, type_ in family.scales if vec == self.scale_vec)
            _require(self.scale_type, types, f"{context} with .scale_vec::{self.scale_vec}")

    def _context(self, rest: str = "") -> str:
        kind = f".kind::{self.kind}" if self.kind else ""
        return f"{OPCODES[self.mnemonic]}{kind}{rest}"

    @property
    def is_sparse(self) -> bool:
        """Whether half of A is stored."""
        return self.family.is_sparse

    @property
    def summary(self) -> str:
        """What it multiplies, for messages."""
        sparse, scales = "sparse " * self.is_sparse, " with block scales" * bool(self.scale_vec)
        return f"{sparse}.{self.a_type} multiply{scales}"

    @property
    def stored(self) -> Shape:
        """The shape with the k of the elements of A that are stored."""
        return self.shape._replace(k=self.shape.k // 2) if self.is_sparse else self.shape

    def extent(self, use: Use) -> tuple[int, int]:
        """Rows and columns of an operand: of a sparse A the elements that are stored."""
        return (self.stored if use == "a" else self.shape).extent(use)

    @property
    def sparsity(self) -> Sparsity:
        """The metadata of a sparse A."""
        return Sparsity(self.fragments["a"].element_bits, self.shape.k)

    @property
    def scales(self) -> int:
        """Block scales of a row of A, and of a column of B."""
        return int(self.scale_vec[:1] or 0)

    def scale_extent(self, use: Use) -> tuple[int, int]:
        """Rows and columns of the block scales of A or B."""
        return (self.shape.m, self.scales) if use == "a" else (self.scales, self.shape.n)

    @property
    def side_registers(self) -> tuple[str, ...]:
        """Names of the registers that it reads beside its fragments: of metadata, and of block scales."""
        return ("metadata",) * self.is_sparse + SCALES * bool(self.scale_vec)

    @property
    def types(self) -> dict[Use, str]:
        """Element type of each operand, in the order in which PTX names them: d, a, b, c."""
        return {"d": self.d_type, "a": self.a_type, "b": self.b_type, "c": self.c_type}

    def layout(self, use: Use) -> Layout:
        """How an operand lies in memory: C and D by rows."""
        return {"a": self.a_layout, "b": self.b_layout}.get(use, "row")

    def load(self, use: Use) -> LoadInstruction:
        """The load of an operand from global memory."""
        element, layout = self.types[use], self.layout(use)
        return LoadInstruction(use=use, layout=layout, shape=self.shape, type=element, space="global")

    def store(self) -> StoreInstruction:
        """The store of D to global memory."""
        return StoreInstruction(layout="row", shape=self.shape, type=self.d_type, space="global")

    @cached_property
    def family(self) -> Family:
        """The row of `WARP_FAMILIES` or `WGMMA_FAMILIES` this instruction belongs to."""
        return _families(self.mnemonic, "a", self._context(), self.a_type, self.shape, self.kind)[0]

    @property
    def fragments(self) -> dict[Use, FragmentLayout]:
        """The layout of each operand's fragment, D first."""
        return {
            use: fragment(use, name, self.shape, self.layout(use), self.is_sparse)
            for use, name in self.types.items()
        }

    def __str__(self) -> str:
        operation = f".{self.operation}.popc" if self.operation else ""
        rounding = f".{self.rounding}" if self.rounding else ""
        satfinite = ".satfinite" if self.saturate else ""
        layouts = f"{self.a_layout}.{self.b_layout}"
        types = ".".join(self.types.values())
        if self.family.is_warpgroup:  # the tile of a warp too, which is in no PTX
            types = types.rpartition(".")[0]
            return f"{OPCODES[self.mnemonic]}.sync.aligned.{self.shape}.{types}{operation}{satfinite}"
        if self.mnemonic != "wmma":
            kind = f".kind::{self.kind}" if self.kind else ""
            if self.scale_vec:
                kind += f".block_scale.scale_vec::{self.scale_vec}"
                types += f".{self.scale_type}"
            head = f"{OPCODES[self.mnemonic]}.sync.aligned.{self.shape}.{layouts}"
            return f"{head}{kind}{satfinite}{rounding}.{types}{operation}"
        if self.a_type == "f16":
            types = f"{self.d_type}.{self.c_type}"
        return f"wmma.mma{operation}.sync.aligned.{layouts}.{self.shape}{rounding}.{types}{satfinite}"


def multiplies_of(family: Family) -> Iterator[MmaInstruction]:
    """Every multiply of a family: shapes, types, rounding modes, operations, with and without saturation.

    A is in rows and B in columns, which every family has.
    """
    choices: dict[str, Iterable[Any]] = {
        "shape": family.shapes,
        **{f"{use}_type": family.types(use) for use in USES},
        "rounding": family.roundings or (None,),
        "operation": family.operations or (None,),
        "saturate": (False,) if family.saturate == "never" else (False, True),
        "scale": family.scales or (("", ""),),
    }
    for chosen in product(*choices.values()):
        fields = dict(zip(choices, chosen, strict=True))
        fields["scale_vec"], fields["scale_type"] = fields.pop("scale")
        is_same = fields["a_type"] == fields["b_type"]
        if (is_same or family.mixed) and fields["d_type"] in family.results(fields["c_type"]):
            kind: dict[str, Any] = {"mnemonic": family.mnemonic, "kind": family.kind}
            yield MmaInstruction(a_layout="row", b_layout="col", **kind, **fields)


Instruction = LoadInstruction | StoreInstruction | MmaInstruction

MoveMnemonic = Literal["ldmatrix", "stmatrix", "movmatrix"]

MOVES: Final[tuple[MoveMnemonic, ...]] = ("ldmatrix", "stmatrix", "movmatrix")
"""The mnemonics of moves of 8 x 8 matrices."""


@dataclass(frozen=True, kw_only=True)
class MoveInstruction:
    """A move of 8 x 8 matrices of 16-bit elements."""

    mnemonic: MoveMnemonic
    count: int = 1
    """Matrices, of `golden.tables.commands.MATRIX_COUNTS`; a register each."""
    transposed: bool = False
    """``.trans``, without which there is no `movmatrix`."""
    space: Space = "generic"
    """Of the addresses of rows, which `movmatrix` has not."""

    def __str__(self) -> str:
        if self.mnemonic == "movmatrix":
            return "movmatrix.sync.aligned.m8n8.trans.b16"
        transposed = ".trans" if self.transposed else ""
        space = "" if self.space == "generic" else f".{self.space}"
        return f"{self.mnemonic}.sync.aligned.m8n8.x{self.count}{transposed}{space}.b16"


TILE_COLUMNS: Final = 8
"""Columns of a tile of `wgmma.mma_async`, which has 16 rows: each of the four warps has as many of the 64."""


def warp_tile(instruction: MmaInstruction) -> MmaInstruction:
    """The multiply of one warp that has the results of `instruction` in 16 rows and 8 columns.

    ``wgmma`` of f16, bf16, tf32, s8 and u8 has the arithmetic of ``mma`` with as many k. fp8 has not: its
    tile is of the family `golden.tables.instruction_set.WGMMA_TILE`.

    Multiplies of a single warp are returned as they are.
    """
    if instruction.mnemonic != "wgmma":
        return instruction
    mnemonic: Mnemonic = "wgmma" if instruction.a_type in WGMMA_TILE.multiplicands else "mma"
    return replace(instruction, mnemonic=mnemonic, shape=Shape(16, TILE_COLUMNS, instruction.shape.k))


def tile_places(instruction: MmaInstruction) -> Iterator[tuple[slice, slice]]:
    """The rows and columns of each tile in a multiply, warp after warp."""
    tile, whole = warp_tile(instruction).shape, instruction.shape
    for row in range(0, whole.m, tile.m):
        for column in range(0, whole.n, tile.n):
            yield slice(row, row + tile.m), slice(column, column + tile.n)
