"""The matrix instructions of a block: from its registers to the engine and back."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.machine import Difference
from golden.simt.arrays import Access, Threads, Values, Words
from golden.simt.golden_engine import FragmentMemory
from golden.simt.memory_access import MemoryAccess
from golden.tables.faults import Fault
from golden.tables.formats import FORMATS
from golden.tables.layouts import LANES, fragment
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction

_ROW_ALIGNMENT: Final = 16
"""Bytes; rows of smaller fragments are aligned to the fragment."""


class MatrixOperations(MemoryAccess):
    """What the code of a block calls for matrix instructions; `threads` are whole warps."""

    def load_fragment(
        self, instruction: LoadInstruction, access: Access, strides: NDArray[np.uint32] | None
    ) -> Values:
        """``wmma.load``: one array for each register."""
        places, steps = self._checked_access(instruction, access, strides)
        with self._faults(access.threads, access.number):
            words = self.launch.engine.load(instruction, places, steps, self._memory(access))
        return _unpacked(words, FORMATS[instruction.type].bits)

    def store_fragment(
        self,
        instruction: StoreInstruction,
        access: Access,
        strides: NDArray[np.uint32] | None,
        registers: Values,
    ) -> None:
        """``wmma.store``."""
        places, steps = self._checked_access(instruction, access, strides)
        words = _packed(registers)
        with self._faults(access.threads, access.number):
            self.launch.engine.store(instruction, places, steps, words, self._memory(access))

    def multiply(
        self, instruction: MmaInstruction, threads: Threads, a: Values, b: Values, c: Values, index: int
    ) -> Values:
        """``wmma.mma`` and ``mma.sync``."""
        self.launch.matrix_instructions += threads.size // LANES
        with self._faults(threads, index):
            words = self.launch.engine.multiply(instruction, _packed(a), _packed(b), _packed(c))
        return _unpacked(words, FORMATS[instruction.d_type].bits)

    def load_matrices(self, access: Access, count: int, transposed: bool) -> Values:
        """``ldmatrix``."""
        rows = self._rows(access, count)
        return _unpacked(self.launch.engine.load_matrices(rows, transposed, self._memory(access)), 32)

    def store_matrices(self, access: Access, count: int, transposed: bool, registers: Values) -> None:
        """``stmatrix``."""
        rows = self._rows(access, count)
        self.launch.engine.store_matrices(rows, transposed, _packed(registers), self._memory(access))

    def transpose_matrix(self, threads: Threads, registers: Values) -> Values:
        """``movmatrix``."""
        return [
            self.launch.engine.transpose(register.reshape(-1, LANES)).reshape(-1) for register in registers
        ]

    def _memory(self, access: Access) -> FragmentMemory:
        return FragmentMemory(self, access.threads[::LANES] >> 5, access.number)

    @contextmanager
    def _faults(self, threads: Threads, index: int) -> Iterator[None]:
        """Announce an instruction, and report a fault of the machine as one of the kernel."""
        if self.launch.on_matrix is not None:
            self.launch.on_matrix(self.kernel.source_line(index))
        try:
            yield
        except Difference as difference:
            difference.origin = str(self.kernel.source_line(index))
            raise
        except Fault as fault:
            self.fault(index, threads, f"the machine refused the instruction: {fault}")

    def _rows(self, access: Access, count: int) -> NDArray[np.uint64]:
        rows = access.addresses.reshape(-1, LANES)[:, : 8 * count]
        if int(np.bitwise_or.reduce(rows, axis=None)) & 15:
            warp, lane = np.argwhere(rows & np.uint64(15))[0].tolist()
            message = f"row address {rows[warp, lane]:#x} is not a multiple of 16"
            self.refuse(access, warp * LANES + lane, message)
        return rows.reshape(-1, count, 8)

    def _checked_access(
        self,
        instruction: LoadInstruction | StoreInstruction,
        access: Access,
        strides: NDArray[np.uint32] | None,
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Address and stride of each warp; both must keep rows aligned as the chip's loads need it.

        The chip takes strides of 16 bytes where the specification asks for the size of a fragment, and
        strides of less than a row: a bias of one row is loaded with stride 0.
        """
        places = access.addresses[::LANES]
        layout = fragment(instruction.use, instruction.type, instruction.shape)
        unit = min(_ROW_ALIGNMENT, layout.size)
        least = instruction.shape.default_stride(instruction.use, instruction.layout)
        steps = np.full(len(places), least) if strides is None else strides[::LANES].astype(np.int64)
        if int(np.bitwise_or.reduce(places)) & (unit - 1):
            position = int(np.flatnonzero(places & np.uint64(unit - 1))[0])
            message = f"address {places[position]:#x} is not a multiple of {unit} bytes"
            self.refuse(access, position * LANES, message)
        spans = steps * layout.element_bits
        if int(np.bitwise_or.reduce(spans)) & (8 * unit - 1):
            position = int(np.flatnonzero(spans & (8 * unit - 1))[0])
            stride = f"stride {steps[position]} of {layout.element_bits}-bit elements"
            message = f"{stride} is not a multiple of {unit} bytes"
            self.fault(access.number, access.threads, message, position * LANES)
        return places, steps


def _packed(registers: Values) -> Words:
    """Registers as they are in a block to shape (warps, 32-bit registers, 32)."""
    stacked = np.stack(registers)
    warps = stacked.shape[1] // LANES
    lanes = stacked.reshape(len(registers), warps, LANES).transpose(1, 0, 2)
    if stacked.dtype.itemsize == 8:
        halves = np.ascontiguousarray(lanes).view(np.uint32).reshape(warps, len(registers), LANES, 2)
        return np.ascontiguousarray(halves.transpose(0, 1, 3, 2)).reshape(warps, -1, LANES)
    return np.ascontiguousarray(lanes)


def _unpacked(words: NDArray[np.uint32], bits: int) -> list[NDArray[Any]]:
    """The inverse of `_packed`."""
    warps = len(words)
    if bits == 64:
        pairs = words.reshape(warps, -1, 2, LANES).transpose(1, 0, 3, 2)
        wide = np.ascontiguousarray(pairs).view(np.uint64).reshape(-1, warps * LANES)
        return list(wide)
    return list(np.ascontiguousarray(words.transpose(1, 0, 2)).reshape(-1, warps * LANES))
