"""What executes the matrix instructions of a kernel: the golden model, all warps in one call."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.fragments import collect, distribute
from golden.invalid_argument import InvalidArgument
from golden.lines import matrix_of_lines, matrix_to_lines
from golden.matrix_moves import ldmatrix, movmatrix, stmatrix
from golden.multiply import mma, multiply_fragments
from golden.resolve import resolve_profile
from golden.simt.arrays import Words
from golden.tables.matrix_instructions import Instruction, LoadInstruction, MmaInstruction, StoreInstruction
from golden.tables.profiles import HOPPER, ExactProfile, Profile

Unpacked = NDArray[np.uint8]
"""Nibbles or bytes, shape (warps, rows, columns)."""


class GoldenEngine:
    """Executes matrix instructions for many warps at once, with `golden.mma` under a profile.

    Registers are uint32 of shape (warps, registers, 32 lanes); an f64 takes two of them, the low half first.
    Lines are the bytes of the rows, or columns, of a matrix for each warp: uint8 of shape (warps, lines,
    bytes). Matrices of ``ldmatrix`` and ``stmatrix`` are uint16 of shape (warps, matrices, 8, 8).
    """

    def __init__(self, profile: Profile | ExactProfile = HOPPER) -> None:
        self._profile = profile

    def missing(self, instruction: Instruction) -> str | None:
        """Why an instruction cannot be executed; None if it can. Asked before a kernel starts.

        The golden model does not execute what the generation of its profile does not have.
        """
        if isinstance(instruction, MmaInstruction):
            try:
                resolve_profile(self._profile, instruction)
            except InvalidArgument as error:
                return str(error)
        return None

    def load(self, instruction: LoadInstruction, lines: NDArray[np.uint8]) -> Words:
        """The fragments that the warps load from lines."""
        matrices = matrix_of_lines(lines, instruction)
        return distribute(matrices, instruction.use, instruction.type, instruction.shape)

    def store(self, instruction: StoreInstruction, registers: Words) -> NDArray[np.uint8]:
        """The lines that the warps store."""
        return matrix_to_lines(collect(registers, "d", instruction.type, instruction.shape), instruction)

    def multiply(
        self, instruction: MmaInstruction, a: Words, b: Words, c: Words, extra: Mapping[str, Unpacked]
    ) -> Words:
        """The fragments D = A B + C of the warps; metadata and scales are unpacked, by their names."""
        return multiply_fragments(instruction, a, b, c, self._profile, extra)

    def multiply_matrices(
        self, instruction: MmaInstruction, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]
    ) -> NDArray[Any]:
        """The matrices D = A B + C of warpgroups, as for `golden.mma`."""
        return mma(instruction, a, b, c, profile=self._profile)

    def load_matrices(self, matrices: NDArray[np.uint16], transposed: bool) -> Words:
        """What ``ldmatrix`` loads, a register for each matrix."""
        return ldmatrix(matrices, transposed=transposed)

    def store_matrices(self, registers: Words, transposed: bool) -> NDArray[np.uint16]:
        """The matrices that ``stmatrix`` stores."""
        return stmatrix(registers, transposed=transposed)

    def transpose(self, registers: Words) -> Words:
        """What ``movmatrix`` gives; both of shape (warps, 32)."""
        return movmatrix(registers)
