"""What executes the matrix instructions of a kernel: the golden model, all warps in one call."""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.fragments import collect, distribute
from golden.invalid_argument import InvalidArgument
from golden.lines import matrix_of_lines, matrix_to_lines, piece_addresses
from golden.machine import Counters
from golden.matrix_moves import ldmatrix, movmatrix, stmatrix
from golden.multiply import mma
from golden.resolve import resolve_profile
from golden.simt.arrays import Access, Addresses, Strides, Warps, Words
from golden.simt.memory_access import MemoryAccess
from golden.tables.commands import MATRIX_ROW_BYTES
from golden.tables.layouts import LANES, fragment
from golden.tables.matrix_instructions import Instruction, LoadInstruction, MmaInstruction, StoreInstruction
from golden.tables.profiles import HOPPER, ExactProfile, Profile

ROW_HALVES: Final = np.arange(0, MATRIX_ROW_BYTES, 2, dtype=np.uint64)
"""Offsets of the elements of a row of a matrix that ``ldmatrix`` or ``stmatrix`` moves."""

_PIECE_BYTES: Final = 8
"""Most bytes of a matrix that are accessed at once."""


@dataclass(frozen=True)
class FragmentMemory:
    """The memory of a block, as a matrix instruction of some warps sees it: generic addresses."""

    block: MemoryAccess
    warps: Warps
    index: int
    """Number of the instruction."""

    def of(self, warps: slice) -> "FragmentMemory":
        """The same for some of the warps."""
        return replace(self, warps=self.warps[warps])

    def gather(self, addresses: Addresses, size: int) -> NDArray[Any]:
        """The elements of `size` bytes at addresses, shape (warps, ...); KernelFault without memory there."""
        values = self.block.load("generic", self._access(addresses), size, 1)
        return np.asarray(values).reshape(addresses.shape)

    def scatter(self, addresses: Addresses, values: NDArray[Any], size: int) -> None:
        """Store elements of `size` bytes at addresses, both of shape (warps, ...)."""
        flat = [np.ascontiguousarray(values).reshape(-1)]
        self.block.store("generic", self._access(addresses), flat, size)

    def _access(self, addresses: Addresses) -> Access:
        threads = np.repeat(self.warps * LANES, addresses[0].size)
        return Access(threads, addresses.reshape(-1), self.index)


class GoldenEngine:
    """Executes matrix instructions for many warps at once, with `golden.mma` under a profile.

    A subclass executes them on something else, with the same results.

    Registers are uint32 of shape (warps, registers, 32 lanes); an f64 takes two of them, the low half first.
    Addresses, of shape (warps,), are generic, and already known to be aligned as the instruction demands, as
    are the strides in elements.
    """

    def __init__(self, profile: Profile | ExactProfile = HOPPER) -> None:
        self._profile = profile
        self._elsewhere = Counters()

    @property
    def counters(self) -> Counters:
        """What the machine behind it and its copies in other processes have done; zeros without one."""
        return self._elsewhere

    def add(self, counters: Counters) -> None:
        """Count what a copy of this engine has done in another process."""
        self._elsewhere += counters

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
        """What ``ldmatrix`` loads, a register for each matrix; `rows` has shape (warps, matrices, 8)."""
        matrices = memory.gather(rows[..., None] + ROW_HALVES, 2)
        return ldmatrix(matrices, transposed=transposed)

    def store_matrices(
        self, rows: Addresses, transposed: bool, registers: Words, memory: FragmentMemory
    ) -> None:
        """Store matrices as ``stmatrix`` does; `rows` are the addresses of rows of 16 bytes."""
        matrices = stmatrix(registers, transposed=transposed)
        memory.scatter(rows[..., None] + ROW_HALVES, matrices, 2)

    def transpose(self, registers: Words) -> Words:
        """What ``movmatrix`` gives; both of shape (warps, 32)."""
        return movmatrix(registers)

    def finish(self) -> None:
        """End the work of a kernel: what checks itself compares the rest, and may raise a Difference."""
