"""What a machine executes: an instruction with the values of its operands, and the warp that executes it."""

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

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

ElementOperation = Literal["add", "sub", "mul", "fma", "min", "max"]
ElementType = Literal["f16", "f32", "f64", "s32", "u32"]

OPERAND_COUNTS: Final = MappingProxyType[ElementOperation, int](
    {"add": 2, "sub": 2, "mul": 2, "fma": 3, "min": 2, "max": 2}
)
"""Operands of each operation on elements; fma multiplies the first two and adds the third."""

ELEMENT_BITS: Final = MappingProxyType[ElementType, int](
    {"f16": 16, "f32": 32, "f64": 64, "s32": 32, "u32": 32}
)
"""Width of each type."""


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


Command = Load | Store | Mma | Fill | Move | LoadMatrix | StoreMatrix | MoveMatrix
"""What a core executes, and every machine."""


@dataclass(frozen=True)
class Uniform:
    """A source operand that is the same in every lane; `pattern` has the width of a register of its type."""

    pattern: int


@dataclass(frozen=True)
class Elementwise(_OfWarp):
    """The same arithmetic on every element of a fragment: work of the host, between a core's commands.

    No core executes it: it has no encoding and is in no counter. The host reads the registers, computes, and
    writes them back; `golden.host_work.execute_host_work` does so on any machine.
    """

    operation: ElementOperation
    type: ElementType
    """Of an element: a register holds two f16, an f64 takes two registers."""
    destination: int
    """First register of the results."""
    sources: tuple[int | Uniform, ...]
    """First register of each operand, or its value, which is two f16 for f16."""
    count: int
    """32-bit registers of results, worked on one element after the other from the first on."""
    flush: bool = False
    """Whether subnormal operands and results become zeros."""

    def __str__(self) -> str:
        sources = ", ".join(
            f"{source.pattern:#x}" if isinstance(source, Uniform) else f"registers {source} on"
            for source in self.sources
        )
        what = f"{self.operation} of {self.type}{', flushed' if self.flush else ''}"
        return f"{what} on {sources} to {self.count} registers from {self.destination} on"


@dataclass(frozen=True)
class SetLanes(_OfWarp):
    """Set one register to a value for each lane: work of the host, as `Elementwise` is."""

    register: int
    values: tuple[int, ...]
    """32-bit patterns, lane 0 first."""

    def __str__(self) -> str:
        values = ", ".join(f"{value:#x}" for value in self.values[:4])
        return f"register {self.register} set to {values}, ... lane by lane"


HostWork = Elementwise | SetLanes
"""What the host does to registers between commands."""

Work = Command | HostWork
"""What a program consists of: commands of the machine, and what the host does between them."""
