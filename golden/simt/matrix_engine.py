"""The seam between threads and a tensor core: what executes the matrix instructions of a kernel."""

from typing import Any, Protocol

from numpy.typing import NDArray

from golden.machine import Counters
from golden.simt.arrays import Addresses, Strides, Words
from golden.tables.matrix_instructions import Instruction, LoadInstruction, MmaInstruction, StoreInstruction

__all__ = ["FragmentMemory", "MatrixEngine"]


class FragmentMemory(Protocol):
    """The memory of a kernel, as a matrix instruction of some warps sees it: generic addresses."""

    def of(self, warps: slice) -> "FragmentMemory":
        """The same for some of the warps."""

    def gather(self, addresses: Addresses, size: int) -> NDArray[Any]:
        """The elements of `size` bytes at addresses, shape (warps, ...).

        Raises
        ------
        golden.simt.errors.KernelFault
            Where there is no memory.
        """

    def scatter(self, addresses: Addresses, values: NDArray[Any], size: int) -> None:
        """Store elements of `size` bytes at addresses, both of shape (warps, ...)."""


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
        """What ``ldmatrix`` loads.

        Parameters
        ----------
        rows : ndarray of uint64, shape (warps, matrices, 8)
            Address of each row of 16 bytes.
        transposed : bool
        memory : FragmentMemory

        Returns
        -------
        ndarray of uint32, shape (warps, matrices, 32)
        """

    def store_matrices(
        self, rows: Addresses, transposed: bool, registers: Words, memory: FragmentMemory
    ) -> None:
        """Store matrices as ``stmatrix`` does; `registers` has shape (warps, matrices, 32)."""

    def transpose(self, registers: Words) -> Words:
        """What ``movmatrix`` gives; both of shape (warps, 32)."""

    def finish(self) -> None:
        """End the work of a kernel: what checks itself compares the rest.

        Raises
        ------
        golden.machine.Difference
        """
