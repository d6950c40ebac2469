"""Matrix instructions on the golden model: all warps in one call."""

from typing import Final

import numpy as np

from golden.fragments import collect, distribute
from golden.invalid_argument import InvalidArgument
from golden.lines import matrix_of_lines, matrix_to_lines, piece_addresses
from golden.machine import Counters
from golden.matrix_moves import ldmatrix, movmatrix, stmatrix
from golden.multiply import mma
from golden.resolve import resolve_profile
from golden.simt.arrays import Addresses, Strides, Words
from golden.simt.matrix_engine import ROW_HALVES, FragmentMemory
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import Instruction, LoadInstruction, MmaInstruction, StoreInstruction
from golden.tables.profiles import HOPPER, ExactProfile, Profile

_PIECE_BYTES: Final = 8
"""Most bytes of a matrix that are accessed at once."""


class GoldenEngine:
    """Implements `golden.simt.matrix_engine.MatrixEngine` with `golden.mma` under a profile."""

    def __init__(self, profile: Profile | ExactProfile = HOPPER) -> None:
        self._profile = profile

    @property
    def counters(self) -> Counters:
        """Zeros: there is no machine."""
        return Counters()

    def add(self, counters: Counters) -> None:
        """Nothing to count."""

    def missing(self, instruction: Instruction) -> str | None:
        """Why an instruction cannot be executed: what the profile's generation does not have."""
        if isinstance(instruction, MmaInstruction):
            try:
                resolve_profile(self._profile, instruction)
            except InvalidArgument as error:
                return str(error)
        return None

    def load(
        self, instruction: LoadInstruction, addresses: Addresses, strides: Strides, memory: FragmentMemory
    ) -> Words:
        """The fragments that the warps load, shape (warps, registers, 32)."""
        layout = fragment(instruction.use, instruction.type, instruction.shape)
        size = min(layout.size, _PIECE_BYTES)
        pieces = memory.gather(piece_addresses(instruction, addresses, strides, size), size)
        matrices = matrix_of_lines(pieces.view(np.uint8), instruction)
        return distribute(matrices, instruction.use, instruction.type, instruction.shape)

    def store(
        self,
        instruction: StoreInstruction,
        addresses: Addresses,
        strides: Strides,
        registers: Words,
        memory: FragmentMemory,
    ) -> None:
        """Store the fragments of the warps."""
        layout = fragment("d", instruction.type, instruction.shape)
        size = min(layout.size, _PIECE_BYTES)
        matrices = collect(registers, "d", instruction.type, instruction.shape)
        pieces = matrix_to_lines(matrices, instruction).view(f"u{size}")
        memory.scatter(piece_addresses(instruction, addresses, strides, size), pieces, size)

    def multiply(self, instruction: MmaInstruction, a: Words, b: Words, c: Words) -> Words:
        """The fragments D = A B + C of the warps, shape (warps, registers, 32)."""
        shape = instruction.shape
        result = mma(
            instruction,
            collect(a, "a", instruction.a_type, shape),
            collect(b, "b", instruction.b_type, shape),
            collect(c, "c", instruction.c_type, shape),
            profile=self._profile,
        )
        return distribute(result, "d", instruction.d_type, shape)

    def load_matrices(self, rows: Addresses, transposed: bool, memory: FragmentMemory) -> Words:
        """What ``ldmatrix`` loads: shape (warps, matrices, 32)."""
        matrices = memory.gather(rows[..., None] + ROW_HALVES, 2)
        return ldmatrix(matrices, transposed=transposed)

    def store_matrices(
        self, rows: Addresses, transposed: bool, registers: Words, memory: FragmentMemory
    ) -> None:
        """Store matrices as ``stmatrix`` does."""
        matrices = stmatrix(registers, transposed=transposed)
        memory.scatter(rows[..., None] + ROW_HALVES, matrices, 2)

    def transpose(self, registers: Words) -> Words:
        """What ``movmatrix`` gives."""
        return movmatrix(registers)

    def finish(self) -> None:
        """Nothing is left to do."""
