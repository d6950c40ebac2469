"""What a machine executes: an instruction with the values of its operands, and the warp that executes it."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from golden.tables.instruction_set import Space
from golden.tables.matrix_instructions import (
    LoadInstruction,
    MmaInstruction,
    MoveInstruction,
    StoreInstruction,
)

MATRIX_COUNTS: Final = (1, 2, 4)
"""Matrices that one `LoadMatrix` or `StoreMatrix` moves: ``.x1``, ``.x2``, ``.x4``."""

MATRIX_ROWS: Final = 8
"""Of such a matrix."""

MATRIX_ROW_BYTES: Final = 16
"""Of a row of such a matrix; its address is a multiple."""

MATRIX_SPACES: Final[tuple[Space, ...]] = ("shared", "generic")
"""State spaces of its addresses."""


@dataclass(frozen=True)
class _OfWarp:
    """What a warp executes; `warp` is its number, 0 unless given by name."""

    warp: int = field(default=0, kw_only=True)


@dataclass(frozen=True)
class Load(_OfWarp):
    """Load a fragment from memory."""

    instruction: LoadInstruction
    register: int
    """First of the fragment's consecutive 32-bit registers."""
    address: int
    """Byte address of the first element."""
    stride: int | None = None
    """Elements from one row (column) to the next; None for the default."""


@dataclass(frozen=True)
class Store(_OfWarp):
    """Store a fragment to memory; fields as of `Load`."""

    instruction: StoreInstruction
    register: int
    address: int
    stride: int | None = None


@dataclass(frozen=True)
class Mma(_OfWarp):
    """Multiply and accumulate: D = A B + C; d may be c."""

    instruction: MmaInstruction
    d: int
    a: int
    b: int
    c: int
    """First registers of the four fragments."""
    metadata: int = 0
    """The register with the metadata of a sparse multiply."""
    selector: int = 0
    """The lanes of it that have the metadata: `golden.tables.sparsity`."""
    scale_a: int = 0
    scale_b: int = 0
    """The registers with the block scales of A and B."""
    byte_a: int = 0
    thread_a: int = 0
    byte_b: int = 0
    thread_b: int = 0
    """The bytes and lanes of them that have the scales: `golden.tables.scales`."""


@dataclass(frozen=True)
class Wgmma(_OfWarp):
    """A warp's share of `wgmma.mma_async`: 16 of the 64 rows, by its place among four warps.

    The other warps of the four may execute theirs or not; D is in the registers of this one.
    """

    instruction: MmaInstruction
    """Of 64 rows."""
    d: int
    """First register of D, and of C."""
    a: int
    """The matrix descriptor, or the first register of the fragment."""
    b: int
    """The matrix descriptor."""
    _: KW_ONLY
    a_in_registers: bool = False
    negated: tuple[bool, bool] = (False, False)
    transposed: tuple[bool, bool] = (False, False)
    """Of A and B: whether the sign bits are inverted, and whether m or n is contiguous in place of k."""
    scale_d: bool = True
    """Whether C is D, and not zero."""


@dataclass(frozen=True)
class Fill(_OfWarp):
    """Set `count` registers from `register` on to the 32-bit `value`, in every lane."""

    register: int
    count: int
    value: int


@dataclass(frozen=True)
class Move(_OfWarp):
    """Copy `count` registers, one after the other, from `source` on to `destination` on, in every lane."""

    destination: int
    source: int
    count: int


@dataclass(frozen=True)
class _OfMatrices(_OfWarp):
    register: int
    """First of the consecutive registers, one for each matrix."""
    addresses: int
    """The register whose lane ``8 j + i`` has the byte address of row i of matrix j."""
    count: int
    """Matrices, of `MATRIX_COUNTS`; addresses in lanes beyond theirs do not count."""
    transposed: bool = False
    """``.trans``."""
    space: Space = "shared"
    """Of the addresses, one of `MATRIX_SPACES`; ValueError for another space or count."""

    def __post_init__(self) -> None:
        if self.count not in MATRIX_COUNTS:
            raise ValueError(f"matrices must be 1, 2 or 4, not {self.count}")
        if self.space not in MATRIX_SPACES:
            raise ValueError(f"rows of matrices must be in shared or generic space, not {self.space}")

    @property
    def instruction(self) -> MoveInstruction:
        """What it carries out."""
        return MoveInstruction(
            mnemonic="ldmatrix" if isinstance(self, LoadMatrix) else "stmatrix",
            count=self.count,
            transposed=self.transposed,
            space=self.space,
        )


@dataclass(frozen=True)
class LoadMatrix(_OfMatrices):
    """`ldmatrix`: load 8 x 8 matrices of 16-bit elements, whose rows of 16 bytes may lie anywhere."""


@dataclass(frozen=True)
class StoreMatrix(_OfMatrices):
    """`stmatrix`: the same the other way."""


@dataclass(frozen=True)
class MoveMatrix(_OfWarp):
    """`movmatrix`: the 8 x 8 matrix in register `source`, transposed, to register `destination`."""

    destination: int
    source: int

    @property
    def instruction(self) -> MoveInstruction:
        """What it carries out."""
        return MoveInstruction(mnemonic="movmatrix", transposed=True)


Command = Load | Store | Mma | Wgmma | Fill | Move | LoadMatrix | StoreMatrix | MoveMatrix
"""What a core executes, and every machine."""
