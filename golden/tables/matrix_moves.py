"""`ldmatrix`, `stmatrix` and `movmatrix` as PTX writes them before their operands."""

from dataclasses import dataclass
from typing import Final, Literal

from golden.tables.commands import LoadMatrix, MoveMatrix, StoreMatrix
from golden.tables.instruction_set import Space

MoveMnemonic = Literal["ldmatrix", "stmatrix", "movmatrix"]

MOVES: Final[tuple[MoveMnemonic, ...]] = ("ldmatrix", "stmatrix", "movmatrix")
"""Their mnemonics."""


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


def instruction_of(command: LoadMatrix | StoreMatrix | MoveMatrix) -> MoveInstruction:
    """The instruction that a command carries out."""
    if isinstance(command, MoveMatrix):
        return MoveInstruction(mnemonic="movmatrix", transposed=True)
    return MoveInstruction(
        mnemonic="ldmatrix" if isinstance(command, LoadMatrix) else "stmatrix",
        count=command.count,
        transposed=command.transposed,
        space=command.space,
    )
