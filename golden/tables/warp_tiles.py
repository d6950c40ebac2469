"""The multiplies of one warp that a multiply of four warps (`wgmma.mma_async`) consists of."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from golden.tables.instruction_set import WGMMA_TILE, Shape
from golden.tables.matrix_instructions import MmaInstruction

TILE_ROWS: Final = 16
"""Rows of a tile: each of the four warps has as many of the 64."""

TILE_COLUMNS: Final = 8
"""Columns of a tile."""


def warp_tile(instruction: MmaInstruction) -> MmaInstruction:
    """The multiply of one warp that has the results of `instruction` in 16 rows and 8 columns.

    ``wgmma`` of f16, bf16, tf32, s8 and u8 has the arithmetic of ``mma`` with as many k. fp8 has not: its
    tile is of the family `golden.tables.instruction_set.WGMMA_TILE`.

    Parameters
    ----------
    instruction : MmaInstruction
        Any multiply. One of a single warp is returned as it is.
    """
    if instruction.mnemonic != "wgmma":
        return instruction
    is_fp8 = instruction.a_type in WGMMA_TILE.multiplicands
    return replace(
        instruction,
        mnemonic="wgmma" if is_fp8 else "mma",
        shape=Shape(TILE_ROWS, TILE_COLUMNS, instruction.shape.k),
    )


def tile_places(instruction: MmaInstruction) -> Iterator[tuple[slice, slice]]:
    """The rows and columns of each tile in a multiply, warp after warp."""
    tile, whole = warp_tile(instruction).shape, instruction.shape
    for row in range(0, whole.m, tile.m):
        for column in range(0, whole.n, tile.n):
            yield slice(row, row + tile.m), slice(column, column + tile.n)
