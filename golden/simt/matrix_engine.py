"""The seam between threads and a tensor core: what executes the matrix instructions of a kernel."""

from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from golden.machine import Counters
from golden.simt.arrays import Access, Addresses, Strides, Warps, Words
from golden.simt.memory_access import MemoryAccess
from golden.tables.commands import MATRIX_ROW_BYTES
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import Instruction, LoadInstruction, MmaInstruction, StoreInstruction

ROW_HALVES: Final = np.arange(0, MATRIX_ROW_BYTES, 2, dtype=np.uint64)
"""Offsets of the elements of a row of a matrix that ``ldmatrix`` or ``stmatrix`` moves."""


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


class MatrixEngine(Protocol):
    """Executes matrix instructions for many warps at once.

    Registers are uint32 of shape (warps, registers, 32 lanes); an f64 takes two of them, the low half first.
    Addresses, of shape (warps,), are generic, and already known to be aligned as the instruction demands, as
    are the strides in elements.
    """

    @property
    def counters(self) -> Counters:
        """What the machine behind it has done; zeros where there is none."""

    def add(self, counters: Counters) -> None:
        """Count what a copy of this engine has done in another process."""

    def missing(self, instruction: Instruction) -> str | None:
        """Why an instruction cannot be executed; None if it can. Asked before a kernel starts."""

    def load(
        self, instruction: LoadInstruction, addresses: Addresses, strides: Strides, memory: FragmentMemory
    ) -> Words:
        """The fragments that the warps load."""

    def store(
        self,
        instruction: StoreInstruction,
        addresses: Addresses,
        strides: Strides,
        registers: Words,
        memory: FragmentMemory,
    ) -> None:
        """Store the fragments of the warps."""

    def multiply(self, instruction: MmaInstruction, a: Words, b: Words, c: Words) -> Words:
        """The fragments D = A B + C of the warps."""

    def load_matrices(self, rows: Addresses, transposed: bool, memory: FragmentMemory) -> Words:
        """What ``ldmatrix`` loads, a register for each matrix; `rows` has shape (warps, matrices, 8)."""

    def store_matrices(
        self, rows: Addresses, transposed: bool, registers: Words, memory: FragmentMemory
    ) -> None:
        """Store matrices as ``stmatrix`` does; `rows` are the addresses of rows of 16 bytes."""

    def transpose(self, registers: Words) -> Words:
        """What ``movmatrix`` gives; both of shape (warps, 32)."""

    def finish(self) -> None:
        """End the work of a kernel: what checks itself compares the rest, and may raise a Difference."""
