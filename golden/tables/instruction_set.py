"""The instruction set as data: the qualifiers of PTX and the tables of what may be combined.

`golden.tables.matrix_instructions` makes instructions, which it checks against these tables.
"""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Literal, NamedTuple

from golden.tables.formats import FORMATS

Use = Literal["a", "b", "c", "d"]
Layout = Literal["row", "col"]
Space = Literal["global", "shared", "generic"]
Mnemonic = Literal["wmma", "mma", "wgmma", "mma.sp", "wgmma.sp"]

USES: tuple[Use, ...] = ("a", "b", "c", "d")
LAYOUTS: tuple[Layout, ...] = ("row", "col")
SPACES: tuple[Space, ...] = ("global", "shared", "generic")
ROUNDINGS = ("rn", "rz", "rm", "rp")
BIT_OPERATIONS = ("xor", "and")
OPCODES: dict[Mnemonic, str] = {
    "wmma": "wmma.mma",
    "mma": "mma",
    "wgmma": "wgmma.mma_async",
    "wgmma.sp": "wgmma.mma_async.sp",
    "mma.sp": "mma.sp::ordered_metadata",
}


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

    def lines(self, use: Use, layout: Layout) -> tuple[int, int]:
        """Rows (columns) of the matrix in memory, and elements in each."""
        rows, columns = self.extent(use)
        return (rows, columns) if layout == "row" else (columns, rows)

    def default_stride(self, use: Use, layout: Layout) -> int:
        """Elements from one row (column) to the next when nothing lies between."""
        return self.lines(use, layout)[1]


WIDE_K16 = (Shape(16, 16, 16), Shape(8, 32, 16), Shape(32, 8, 16))
"""Shapes of `wmma` of 8-bit and 16-bit multiplicands."""


FP4_KINDS = ("mxf4", "mxf4nvf4")
"""Kinds whose sums are of groups: `golden.arithmetic.fp4`."""


@dataclass(frozen=True)
class Family:
    """One row of the instruction tables."""

    name: str
    """For messages."""
    shapes: tuple[Shape, ...]
    multiplicands: tuple[str, ...]
    """Types of A and B."""
    accumulators: tuple[str, ...]
    """Types of C and D."""
    _: KW_ONLY
    mnemonic: Mnemonic = "wmma"
    """`wmma` has loads and stores; `mma` takes raw registers; `wgmma` is four warps wide, arithmetic only. In
    `mma.sp` and `wgmma.sp` half of A is stored, and metadata says which half: `golden.tables.sparsity`."""
    kind: str = ""
    """``.kind::`` of the formats of Blackwell's consumer chips; empty where the instruction has none."""
    scales: tuple[tuple[str, str], ...] = ()
    """``.scale_vec::`` and type of the block scales that it has; a single one need not be named."""
    same_accumulators: bool = False
    """Whether D has the type of C."""
    saturate: Literal["never", "integer", "float"] = "never"
    """Whether results may be clamped: `.satfinite` of integers, satf of the API."""
    roundings: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    """Rounding modifiers of f64, logical operations of single bits."""
    converted_to: str | None = None
    """The type in which the products are made where it is not the multiplicands' type: fp8 in ``mma`` goes
    through two multiplies of f16 and one addition of C."""
    tiles: int = 1
    """Multiplies of the shape that one instruction of a warp executes."""

    @property
    def is_sparse(self) -> bool:
        """Whether half of A is stored."""
        return self.mnemonic.endswith(".sp")

    @property
    def is_warpgroup(self) -> bool:
        """Whether four warps execute it together, or a tile of it."""
        return self.mnemonic.startswith("wgmma")

    @property
    def mixed(self) -> bool:
        """Whether A and B may differ in type."""
        return self.mnemonic != "wmma" and len(self.multiplicands) > 1

    @property
    def fixed_layout(self) -> bool:
        """Whether A is in rows and B in columns only: in raw registers, and below a byte."""
        return self.tiles == 1 and (self.mnemonic != "wmma" or FORMATS[self.multiplicands[0]].bits < 8)

    @property
    def formats(self) -> frozenset[str]:
        """Multiplicand formats that a machine must have for it."""
        if self.kind in FP4_KINDS:
            return frozenset({"mxf4", *(("sparse",) if self.is_sparse else ())})
        more = (self.converted_to, self.is_sparse and "sparse", self.scales and "block_scale")
        return multiplicand_formats((*self.multiplicands, *(name for name in more if name)))

    def results(self, c_type: str) -> tuple[str, ...]:
        """The types that D may have with a type of C."""
        same = self.same_accumulators or (self.tiles > 1 and c_type == "f32")
        return (c_type,) if same else self.accumulators

    def types(self, use: Use) -> tuple[str, ...]:
        """The types that a fragment in a role may have."""
        return self.multiplicands if use in "ab" else self.accumulators


def multiplicand_formats(types: Iterable[str]) -> frozenset[str]:
    """The names under which a machine has multiplicands of these types."""
    return frozenset(_MULTIPLICAND_FORMATS.get(name, name) for name in types)


_MULTIPLICAND_FORMATS: dict[str, str] = {
    **dict.fromkeys(("s8", "u8"), "i8"),
    **dict.fromkeys(("s4", "u4"), "i4"),
    **dict.fromkeys(("e4m3", "e5m2"), "fp8"),
    **dict.fromkeys(("e3m2", "e2m3"), "fp6"),
    "e2m1": "fp4",
}
"""Types that a multiplier has together, and the name of both. `sparse`, `block_scale`, and `mxf4` for sums of
groups are names too."""


def _m16n8(*depths: int) -> tuple[Shape, ...]:
    return tuple(Shape(16, 8, k) for k in depths)


_mma = partial(Family, mnemonic="mma")

FAMILIES: tuple[Family, ...] = (
    Family("f16", WIDE_K16, ("f16",), ("f16", "f32"), saturate="float"),
    Family("bf16", WIDE_K16, ("bf16",), ("f32",), saturate="float"),
    Family("tf32", (Shape(16, 16, 8),), ("tf32",), ("f32",), saturate="float"),
    Family("f64", (Shape(8, 8, 4),), ("f64",), ("f64",), roundings=ROUNDINGS),
    Family("integer", WIDE_K16, ("s8", "u8"), ("s32",), saturate="integer"),
    Family("sub-byte", (Shape(8, 8, 32),), ("s4", "u4"), ("s32",), saturate="integer"),
    Family("single-bit", (Shape(8, 8, 128),), ("b1",), ("s32",), operations=BIT_OPERATIONS),
    _mma("mma.m8n8k16", (Shape(8, 8, 16),), ("s8", "u8"), ("s32",), saturate="integer"),
    _mma("mma.f16", _m16n8(8, 16), ("f16",), ("f16", "f32"), same_accumulators=True),
    _mma("mma.bf16", _m16n8(8, 16), ("bf16",), ("f32",)),
    _mma("mma.tf32", _m16n8(4, 8), ("tf32",), ("f32",)),
    _mma("mma.f64", (Shape(8, 8, 4), *_m16n8(4, 8, 16)), ("f64",), ("f64",), roundings=ROUNDINGS),
    _mma("mma.integer", _m16n8(16, 32), ("s8", "u8"), ("s32",), saturate="integer"),
    _mma("mma.sub-byte", (Shape(8, 8, 32), *_m16n8(32, 64)), ("s4", "u4"), ("s32",), saturate="integer"),
    _mma(
        "mma.single-bit", (Shape(8, 8, 128), *_m16n8(128, 256)), ("b1",), ("s32",), operations=BIT_OPERATIONS
    ),
    _mma(
        "mma.fp8",
        _m16n8(16, 32),
        ("e4m3", "e5m2"),
        ("f16", "f32"),
        same_accumulators=True,
        converted_to="f16",
    ),
)
"""Every instruction of one warp."""

WGMMA_TILE = Family(
    "wgmma.fp8.tile", _m16n8(32), ("e4m3", "e5m2"), ("f16", "f32"), mnemonic="wgmma", same_accumulators=True
)
"""One warp's share of 8 columns of `wgmma.mma_async` of fp8: no instruction of PTX, but a core's command.

Of the other types the share is an `mma` with the same arithmetic: see
`golden.tables.matrix_instructions.warp_tile`."""

QUAD_PAIRS = _mma("mma.m8n8k4", (Shape(8, 8, 4),), ("f16",), ("f16", "f32"), tiles=4)
"""Four multiplies, one in each pair of quads: an instruction of the tensor cores of Volta and Turing, which
the assembler replaces by scalar instructions for later chips. A core has neither."""

_sp = partial(Family, mnemonic="mma.sp")

SPARSE_FAMILIES: tuple[Family, ...] = (
    _sp("mma.sp.f16", _m16n8(16, 32), ("f16",), ("f16", "f32"), same_accumulators=True),
    _sp("mma.sp.bf16", _m16n8(16, 32), ("bf16",), ("f32",)),
    _sp("mma.sp.tf32", _m16n8(8, 16), ("tf32",), ("f32",)),
    _sp("mma.sp.integer", _m16n8(32, 64), ("s8", "u8"), ("s32",), saturate="integer"),
    _sp("mma.sp.sub-byte", _m16n8(64, 128), ("s4", "u4"), ("s32",), saturate="integer"),
    _sp("mma.sp.fp8", _m16n8(64), ("e4m3", "e5m2"), ("f16", "f32"), same_accumulators=True),
)
"""Multiplies whose A is 2:4 sparse."""

CORE_FAMILIES: tuple[Family, ...] = (
    *FAMILIES,
    WGMMA_TILE,
    *(family for family in SPARSE_FAMILIES if "fp8" not in family.formats),
)
"""What the hardware executes. Sparse fp8 is emulated by the assembler on chips with the core's arithmetic."""

_SMALL = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_BYTES = ("e4m3", "e5m2")
SCALES = ("scale_a", "scale_b")
"""Names of the operands with block scales."""

SCALE_VECS = ("1X", "2X", "4X")
"""Block scales for all k, by their ``.scale_vec::``."""

_E8 = (("1X", "ue8m0"),)
_MXF4 = (("2X", "ue8m0"),)
_NVF4 = (("2X", "ue8m0"), ("4X", "ue8m0"), ("4X", "ue4m3"))

NARROW_FAMILIES: tuple[Family, ...] = (
    _mma("mma.f8f6f4", _m16n8(32), _SMALL, ("f16", "f32"), same_accumulators=True, kind="f8f6f4"),
    _mma("mma.f8f6f4.k16", _m16n8(16), _BYTES, ("f16", "f32"), same_accumulators=True, kind="f8f6f4"),
    _mma("mma.mxf8f6f4", _m16n8(32), _SMALL, ("f32",), kind="mxf8f6f4", scales=_E8),
    _mma("mma.mxf4", _m16n8(64), ("e2m1",), ("f32",), kind="mxf4", scales=_MXF4),
    _mma("mma.mxf4nvf4", _m16n8(64), ("e2m1",), ("f32",), kind="mxf4nvf4", scales=_NVF4),
    _sp("mma.sp.f8f6f4", _m16n8(64), _SMALL, ("f16", "f32"), same_accumulators=True, kind="f8f6f4"),
    _sp("mma.sp.mxf8f6f4", _m16n8(64), _SMALL, ("f32",), kind="mxf8f6f4", scales=_E8),
    _sp("mma.sp.mxf4", _m16n8(128), ("e2m1",), ("f32",), kind="mxf4", scales=_MXF4),
    _sp("mma.sp.mxf4nvf4", _m16n8(128), ("e2m1",), ("f32",), kind="mxf4nvf4", scales=_NVF4),
)
"""Multiplies of 8, 6 and 4 bits, with block scales or not, of compute capability 12.0."""

CORE_NARROW_FAMILIES: tuple[Family, ...] = (
    *NARROW_FAMILIES,
    *(family for family in SPARSE_FAMILIES if "fp8" in family.formats),
)
"""What a core of such a generation executes beside the others: its fp8 is not emulated."""

WARP_FAMILIES: tuple[Family, ...] = tuple(
    dict.fromkeys((*CORE_FAMILIES, QUAD_PAIRS, *SPARSE_FAMILIES, *NARROW_FAMILIES))
)
"""What golden executes in one warp."""


def _wgmma(
    name: str,
    k: int,
    multiplicands: tuple[str, ...],
    accumulators: tuple[str, ...],
    operations: tuple[str, ...] = (),
    mnemonic: Mnemonic = "wgmma",
) -> Family:
    """A row of `WGMMA_FAMILIES`: 64 rows, up to 256 columns in steps of 8; of integers, from 32 on, of 16."""
    is_integer = accumulators == ("s32",)
    columns = (8, 16, 24, *range(32, 264, 16)) if is_integer else range(8, 264, 8)
    return Family(
        f"{mnemonic}.{name}",
        tuple(Shape(64, n, k) for n in columns),
        multiplicands,
        accumulators,
        mnemonic=mnemonic,
        same_accumulators=True,
        saturate="integer" if is_integer and not operations else "never",
        operations=operations,
    )


WGMMA_FAMILIES: tuple[Family, ...] = (
    _wgmma("f16", 16, ("f16",), ("f16", "f32")),
    _wgmma("bf16", 16, ("bf16",), ("f32",)),
    _wgmma("tf32", 8, ("tf32",), ("f32",)),
    _wgmma("fp8", 32, ("e4m3", "e5m2"), ("f16", "f32")),
    _wgmma("integer", 32, ("s8", "u8"), ("s32",)),
    _wgmma("single-bit", 256, ("b1",), ("s32",), ("and",)),
)
"""Multiplies of four warps (`wgmma.mma_async`)."""

SPARSE_WGMMA_FAMILIES: tuple[Family, ...] = tuple(
    _wgmma(
        family.name.removeprefix("wgmma."),
        2 * family.shapes[0].k,
        family.multiplicands,
        family.accumulators,
        mnemonic="wgmma.sp",
    )
    for family in WGMMA_FAMILIES
    if not family.operations
)
"""Those whose A is 2:4 sparse, with twice as many k (`wgmma.mma_async.sp`); golden alone has them."""

SHAPES: tuple[Shape, ...] = tuple(dict.fromkeys(shape for family in FAMILIES for shape in family.shapes))
"""Every shape once; the index is the hardware's shape code."""

assert all(
    name in FORMATS
    for family in WARP_FAMILIES + WGMMA_FAMILIES + SPARSE_WGMMA_FAMILIES
    for name in family.multiplicands + family.accumulators
)
