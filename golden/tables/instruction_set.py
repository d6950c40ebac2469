"""The instruction set as data: what may be asked for, and nothing else.

An instruction here is what PTX writes before the operands: mnemonic and qualifiers. Its fields are
checked against `FAMILIES` when it is made, so that every instruction that exists is legal.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from golden.tables.formats import FORMATS

__all__ = [
    "CORE_FAMILIES",
    "FAMILIES",
    "SHAPES",
    "WGMMA_FAMILIES",
    "WGMMA_TILE",
    "Family",
    "IllegalInstruction",
    "Instruction",
    "Layout",
    "LoadInstruction",
    "MmaInstruction",
    "Shape",
    "Space",
    "StoreInstruction",
    "Use",
    "multiplicand_formats",
]

Use = Literal["a", "b", "c", "d"]
Layout = Literal["row", "col"]
Space = Literal["global", "shared", "generic"]
Mnemonic = Literal["wmma", "mma", "wgmma"]

USES: tuple[Use, ...] = ("a", "b", "c", "d")
LAYOUTS: tuple[Layout, ...] = ("row", "col")
SPACES: tuple[Space, ...] = ("global", "shared", "generic")
ROUNDINGS = ("rn", "rz", "rm", "rp")
BIT_OPERATIONS = ("xor", "and")
OPCODES: dict[Mnemonic, str] = {"wmma": "wmma.mma", "mma": "mma", "wgmma": "wgmma.mma_async"}


class IllegalInstruction(ValueError):
    """An instruction that is in no table.

    Parameters
    ----------
    qualifier : str
        The qualifier at fault, as written.
    allowed : iterable of str
        What may stand there instead.
    context : str
        Where "there" is, for the message.
    """

    def __init__(self, qualifier: str, allowed: Iterable[str], context: str) -> None:
        self.qualifier = qualifier
        self.allowed = tuple(allowed)
        self.context = context
        choices = ", ".join(f".{item}" for item in self.allowed) or "nothing"
        super().__init__(f"illegal qualifier .{qualifier} for {context}; allowed: {choices}")


class Shape(NamedTuple):
    """The tile sizes of one warp-wide multiply: A is m x k, B k x n, C and D m x n."""

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}"

    def extent(self, use: Use) -> tuple[int, int]:
        """Rows and columns of the matrix in role `use`."""
        return {"a": (self.m, self.k), "b": (self.k, self.n)}.get(use, (self.m, self.n))

    def default_stride(self, use: Use, layout: Layout) -> int:
        """Elements from one row (column) to the next when nothing lies between."""
        rows, columns = self.extent(use)
        return columns if layout == "row" else rows


_WIDE_K16 = (Shape(16, 16, 16), Shape(8, 32, 16), Shape(32, 8, 16))


@dataclass(frozen=True, kw_only=True)
class Family:
    """One row of the instruction tables.

    Parameters
    ----------
    name : str
        For messages.
    mnemonic : {"wmma", "mma", "wgmma"}
        `wmma` has loads and stores; `mma` takes raw registers; `wgmma` is four warps wide, arithmetic only.
    shapes : tuple of Shape
    multiplicands : tuple of str
        Types of A and B.
    mixed : bool
        Whether A and B may differ in type.
    accumulators : tuple of str
        Types of C and D.
    same_accumulators : bool
        Whether D has the type of C.
    fixed_layout : bool
        Only A row, B col.
    saturate : {"never", "integer", "float"}
        Whether results may be clamped: `.satfinite` of integers, satf of the API.
    roundings, operations : tuple of str
        Rounding modifiers of f64, logical operations of single bits.
    converted_to : str or None
        The type in which the products are made where it is not that of the multiplicands: fp8 in ``mma`` goes
        through two multiplies of f16 and one addition of C.
    """

    name: str
    mnemonic: Mnemonic = "wmma"
    shapes: tuple[Shape, ...]
    multiplicands: tuple[str, ...]
    mixed: bool = False
    accumulators: tuple[str, ...]
    same_accumulators: bool = False
    fixed_layout: bool = False
    saturate: Literal["never", "integer", "float"]
    roundings: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    converted_to: str | None = None

    @property
    def formats(self) -> frozenset[str]:
        """Multiplicand formats that a machine must have for it."""
        return multiplicand_formats(
            (*self.multiplicands, *([self.converted_to] if self.converted_to else []))
        )


def multiplicand_formats(types: Iterable[str]) -> frozenset[str]:
    """The names under which a machine has multiplicands of these types."""
    return frozenset(_MULTIPLICAND_FORMATS.get(name, name) for name in types)


_MULTIPLICAND_FORMATS: dict[str, str] = {
    **dict.fromkeys(("s8", "u8"), "i8"),
    **dict.fromkeys(("s4", "u4"), "i4"),
    **dict.fromkeys(("e4m3", "e5m2"), "fp8"),
}
"""Types that a multiplier has together, and the name of both."""


FAMILIES: tuple[Family, ...] = (
    Family(
        name="f16",
        shapes=_WIDE_K16,
        multiplicands=("f16",),
        accumulators=("f16", "f32"),
        saturate="float",
    ),
    Family(
        name="bf16",
        shapes=_WIDE_K16,
        multiplicands=("bf16",),
        accumulators=("f32",),
        saturate="float",
    ),
    Family(
        name="tf32",
        shapes=(Shape(16, 16, 8),),
        multiplicands=("tf32",),
        accumulators=("f32",),
        saturate="float",
    ),
    Family(
        name="f64",
        shapes=(Shape(8, 8, 4),),
        multiplicands=("f64",),
        accumulators=("f64",),
        saturate="never",
        roundings=ROUNDINGS,
    ),
    Family(
        name="integer",
        shapes=_WIDE_K16,
        multiplicands=("s8", "u8"),
        accumulators=("s32",),
        saturate="integer",
    ),
    Family(
        name="sub-byte",
        shapes=(Shape(8, 8, 32),),
        multiplicands=("s4", "u4"),
        accumulators=("s32",),
        fixed_layout=True,
        saturate="integer",
    ),
    Family(
        name="single-bit",
        shapes=(Shape(8, 8, 128),),
        multiplicands=("b1",),
        accumulators=("s32",),
        fixed_layout=True,
        saturate="never",
        operations=BIT_OPERATIONS,
    ),
    Family(
        name="mma.m8n8k16",
        mnemonic="mma",
        shapes=(Shape(8, 8, 16),),
        multiplicands=("s8", "u8"),
        mixed=True,
        accumulators=("s32",),
        fixed_layout=True,
        saturate="integer",
    ),
    Family(
        name="mma.f16",
        mnemonic="mma",
        shapes=(Shape(16, 8, 8), Shape(16, 8, 16)),
        multiplicands=("f16",),
        accumulators=("f16", "f32"),
        same_accumulators=True,
        fixed_layout=True,
        saturate="never",
    ),
    Family(
        name="mma.bf16",
        mnemonic="mma",
        shapes=(Shape(16, 8, 8), Shape(16, 8, 16)),
        multiplicands=("bf16",),
        accumulators=("f32",),
        fixed_layout=True,
        saturate="never",
    ),
    Family(
        name="mma.tf32",
        mnemonic="mma",
        shapes=(Shape(16, 8, 4), Shape(16, 8, 8)),
        multiplicands=("tf32",),
        accumulators=("f32",),
        fixed_layout=True,
        saturate="never",
    ),
    Family(
        name="mma.f64",
        mnemonic="mma",
        shapes=(Shape(8, 8, 4), Shape(16, 8, 4), Shape(16, 8, 8), Shape(16, 8, 16)),
        multiplicands=("f64",),
        accumulators=("f64",),
        fixed_layout=True,
        saturate="never",
        roundings=ROUNDINGS,
    ),
    Family(
        name="mma.integer",
        mnemonic="mma",
        shapes=(Shape(16, 8, 16), Shape(16, 8, 32)),
        multiplicands=("s8", "u8"),
        mixed=True,
        accumulators=("s32",),
        fixed_layout=True,
        saturate="integer",
    ),
    Family(
        name="mma.sub-byte",
        mnemonic="mma",
        shapes=(Shape(8, 8, 32), Shape(16, 8, 32), Shape(16, 8, 64)),
        multiplicands=("s4", "u4"),
        mixed=True,
        accumulators=("s32",),
        fixed_layout=True,
        saturate="integer",
    ),
    Family(
        name="mma.single-bit",
        mnemonic="mma",
        shapes=(Shape(8, 8, 128), Shape(16, 8, 128), Shape(16, 8, 256)),
        multiplicands=("b1",),
        accumulators=("s32",),
        fixed_layout=True,
        saturate="never",
        operations=BIT_OPERATIONS,
    ),
    Family(
        name="mma.fp8",
        mnemonic="mma",
        shapes=(Shape(16, 8, 16), Shape(16, 8, 32)),
        multiplicands=("e4m3", "e5m2"),
        mixed=True,
        accumulators=("f16", "f32"),
        same_accumulators=True,
        fixed_layout=True,
        saturate="never",
        converted_to="f16",
    ),
)
"""Every instruction of one warp."""

WGMMA_TILE = Family(
    name="wgmma.fp8.tile",
    mnemonic="wgmma",
    shapes=(Shape(16, 8, 32),),
    multiplicands=("e4m3", "e5m2"),
    mixed=True,
    accumulators=("f16", "f32"),
    same_accumulators=True,
    fixed_layout=True,
    saturate="never",
)
"""One warp's share of 8 columns of `wgmma.mma_async` of fp8: no instruction of PTX, but a core's command.

Of the other types the share is an `mma` with the same arithmetic; `golden.tables.warp_tiles` has the rule."""

CORE_FAMILIES: tuple[Family, ...] = (*FAMILIES, WGMMA_TILE)
"""What the hardware executes."""


def _wgmma(name: str, k: int, multiplicands: tuple[str, ...], accumulators: tuple[str, ...]) -> Family:
    """A row of `WGMMA_FAMILIES`: 64 rows, any multiple of 8 columns up to 256."""
    return Family(
        name=f"wgmma.{name}",
        mnemonic="wgmma",
        shapes=tuple(Shape(64, n, k) for n in range(8, 264, 8)),
        multiplicands=multiplicands,
        mixed=len(multiplicands) > 1,
        accumulators=accumulators,
        same_accumulators=True,
        fixed_layout=True,
        saturate="integer" if accumulators == ("s32",) else "never",
    )


WGMMA_FAMILIES: tuple[Family, ...] = (
    _wgmma("f16", 16, ("f16",), ("f16", "f32")),
    _wgmma("bf16", 16, ("bf16",), ("f32",)),
    _wgmma("tf32", 8, ("tf32",), ("f32",)),
    _wgmma("fp8", 32, ("e4m3", "e5m2"), ("f16", "f32")),
    _wgmma("integer", 32, ("s8", "u8"), ("s32",)),
)
"""Multiplies of four warps (`wgmma.mma_async`): their arithmetic, without descriptors and asynchrony."""

SHAPES: tuple[Shape, ...] = tuple(dict.fromkeys(shape for family in FAMILIES for shape in family.shapes))
"""Every shape once; the index is the hardware's shape code."""


def _require(value: str, allowed: Iterable[str], context: str) -> None:
    allowed = tuple(dict.fromkeys(allowed))
    if value not in allowed:
        raise IllegalInstruction(value, allowed, context)


def _families(use: Use, context: str, element: str, shape: Shape) -> tuple[Family, ...]:
    """The wmma families in which a fragment of `element` and `shape` may play the role `use`."""
    wmma = [family for family in FAMILIES if family.mnemonic == "wmma"]

    def types(family: Family) -> tuple[str, ...]:
        return family.multiplicands if use in "ab" else family.accumulators

    _require(element, (name for family in wmma for name in types(family)), context)
    holders = [family for family in wmma if element in types(family)]
    _require(str(shape), (str(s) for family in holders for s in family.shapes), f"{context} of .{element}")
    return tuple(family for family in holders if shape in family.shapes)


@dataclass(frozen=True, kw_only=True)
class LoadInstruction:
    """`wmma.load.{a,b,c}`: memory to fragment.

    Raises
    ------
    IllegalInstruction
        For a combination that is in no table.
    """

    use: Use
    layout: Layout
    shape: Shape
    type: str
    space: Space = "generic"

    def __post_init__(self) -> None:
        _require(self.use, ("a", "b", "c"), "wmma.load")
        context = f"wmma.load.{self.use}"
        families = _families(self.use, context, self.type, self.shape)
        fixed = self.use in "ab" and all(family.fixed_layout for family in families)
        only = ("row" if self.use == "a" else "col",)
        _require(self.layout, only if fixed else LAYOUTS, f"{context} of .{self.type}")
        _require(self.space, SPACES, context)

    def __str__(self) -> str:
        space = "" if self.space == "generic" else f".{self.space}"
        return f"wmma.load.{self.use}.sync.aligned.{self.layout}.{self.shape}{space}.{self.type}"


@dataclass(frozen=True, kw_only=True)
class StoreInstruction:
    """`wmma.store.d`: fragment to memory.

    Raises
    ------
    IllegalInstruction
        For a combination that is in no table.
    """

    layout: Layout
    shape: Shape
    type: str
    space: Space = "generic"

    def __post_init__(self) -> None:
        _families("d", "wmma.store.d", self.type, self.shape)
        _require(self.layout, LAYOUTS, "wmma.store.d")
        _require(self.space, SPACES, "wmma.store.d")

    @property
    def use(self) -> Use:
        """The role of the stored fragment, always ``"d"``."""
        return "d"

    def __str__(self) -> str:
        space = "" if self.space == "generic" else f".{self.space}"
        return f"wmma.store.d.sync.aligned.{self.layout}.{self.shape}{space}.{self.type}"


@dataclass(frozen=True, kw_only=True)
class MmaInstruction:
    """`wmma.mma`, `mma` or `wgmma.mma_async`: D = A B + C.

    Parameters
    ----------
    mnemonic : {"wmma", "mma", "wgmma"}
    shape : Shape
    a_layout, b_layout : {"row", "col"}
    a_type, b_type, c_type, d_type : str
        PTX type qualifiers.
    saturate : bool
        `.satfinite` of integers, satf of floating point.
    rounding : str or None
        f64 only: ``"rn"``, ``"rz"``, ``"rm"`` or ``"rp"``; None means ``"rn"`` there.
    operation : str or None
        Single bits only: ``"xor"`` or ``"and"``.

    Raises
    ------
    IllegalInstruction
        For a combination that is in no table.
    """

    mnemonic: Mnemonic = "wmma"
    shape: Shape
    a_layout: Layout
    b_layout: Layout
    a_type: str
    b_type: str
    c_type: str
    d_type: str
    saturate: bool = False
    rounding: str | None = None
    operation: str | None = None

    def __post_init__(self) -> None:
        family = self.family
        context = f"{OPCODES[self.mnemonic]}.{self.shape} of .{self.a_type}"
        _require(self.b_type, family.multiplicands if family.mixed else (self.a_type,), context)
        _require(self.c_type, family.accumulators, context)
        _require(self.d_type, (self.c_type,) if family.same_accumulators else family.accumulators, context)
        _require(self.a_layout, ("row",) if family.fixed_layout else LAYOUTS, context)
        _require(self.b_layout, ("col",) if family.fixed_layout else LAYOUTS, context)
        if self.saturate and family.saturate == "never":
            raise IllegalInstruction("satfinite", (), context)
        if self.rounding is not None:
            _require(self.rounding, family.roundings, context)
        if self.operation is not None or family.operations:
            _require(self.operation or "popc", family.operations, context)

    @property
    def family(self) -> Family:
        """The row of `CORE_FAMILIES` or `WGMMA_FAMILIES` this instruction belongs to."""
        families = [family for family in CORE_FAMILIES + WGMMA_FAMILIES if family.mnemonic == self.mnemonic]
        context = OPCODES[self.mnemonic]
        _require(self.a_type, (name for family in families for name in family.multiplicands), context)
        families = [family for family in families if self.a_type in family.multiplicands]
        shapes = [str(shape) for family in families for shape in family.shapes]
        _require(str(self.shape), shapes, f"{context} of .{self.a_type}")
        return next(family for family in families if self.shape in family.shapes)

    def __str__(self) -> str:
        operation = f".{self.operation}.popc" if self.operation else ""
        rounding = f".{self.rounding}" if self.rounding else ""
        satfinite = ".satfinite" if self.saturate else ""
        layouts = f"{self.a_layout}.{self.b_layout}"
        if self.mnemonic == "wgmma":  # the tile of a warp too, which is in no PTX
            types = ".".join((self.d_type, self.a_type, self.b_type))
            return f"wgmma.mma_async.sync.aligned.{self.shape}.{types}{satfinite}"
        if self.mnemonic == "mma":
            types = ".".join((self.d_type, self.a_type, self.b_type, self.c_type))
            return f"mma.sync.aligned.{self.shape}.{layouts}{satfinite}{rounding}.{types}{operation}"
        types = ".".join(
            (self.d_type, self.c_type)
            if self.a_type == "f16"
            else (self.d_type, self.a_type, self.b_type, self.c_type)
        )
        return f"wmma.mma{operation}.sync.aligned.{layouts}.{self.shape}{rounding}.{types}{satfinite}"


Instruction = LoadInstruction | StoreInstruction | MmaInstruction

assert all(
    name in FORMATS
    for family in CORE_FAMILIES + WGMMA_FAMILIES
    for name in family.multiplicands + family.accumulators
)
