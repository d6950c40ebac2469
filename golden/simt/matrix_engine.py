"""The seam between threads and a tensor core: what executes the matrix instructions of a kernel."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from golden.machine import Counters
from golden.tables.matrix_instructions import Instruction, LoadInstruction, MmaInstruction, StoreInstruction

__all__ = ["FragmentMemory", "MatrixEngine"]


class FragmentMemory(Protocol):
    """The memory of a kernel, as a matrix instruction sees it: generic addresses, of any warp."""

    def gather(self, warps: NDArray[np.int64], addresses: NDArray[np.uint64], size: int) -> NDArray[Any]:
        """The elements of `size` bytes at addresses, shape (warps, ...); `warps` number them for messages.

        Raises
        ------
        golden.simt.errors.KernelFault
            Where there is no memory.
        """

    def scatter(
        self, warps: NDArray[np.int64], addresses: NDArray[np.uint64], values: NDArray[Any], size: int
    ) -> None:
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
        self,
        instruction: LoadInstruction,
        warps: NDArray[np.int64],
        addresses: NDArray[np.uint64],
        strides: NDArray[np.int64],
        memory: FragmentMemory,
    ) -> NDArray[np.uint32]:
        """The fragments that the warps load."""

    def store(
        self,
        instruction: StoreInstruction,
        warps: NDArray[np.int64],
        addresses: NDArray[np.uint64],
        strides: NDArray[np.int64],
        registers: NDArray[np.uint32],
        memory: FragmentMemory,
    ) -> None:
        """Store the fragments of the warps."""

    def multiply(
        self,
        instruction: MmaInstruction,
        a: NDArray[np.uint32],
        b: NDArray[np.uint32],
        c: NDArray[np.uint32],
    ) -> NDArray[np.uint32]:
        """The fragments D = A B + C of the warps."""

    def load_matrices(
        self,
        warps: NDArray[np.int64],
        rows: NDArray[np.uint64],
        transposed: bool,
        memory: FragmentMemory,
    ) -> NDArray[np.uint32]:
        """What ``ldmatrix`` loads.

        Parameters
        ----------
        warps : ndarray of int64, shape (warps,)
        rows : ndarray of uint64, shape (warps, matrices, 8)
            Address of each row of 16 bytes.
        transposed : bool
        memory : FragmentMemory

        Returns
        -------
        ndarray of uint32, shape (warps, matrices, 32)
        """

    def store_matrices(
        self,
        warps: NDArray[np.int64],
        rows: NDArray[np.uint64],
        transposed: bool,
        registers: NDArray[np.uint32],
        memory: FragmentMemory,
    ) -> None:
        """Store matrices as ``stmatrix`` does; `registers` has shape (warps, matrices, 32)."""

    def transpose(self, registers: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """What ``movmatrix`` gives; both of shape (warps, 32)."""

    def finish(self) -> None:
        """End the work of a kernel: what checks itself compares what it has not compared yet.

        Raises
        ------
        golden.machine.Difference
        """
