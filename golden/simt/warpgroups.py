"""The multiplies of warpgroups: A and B from shared memory by descriptors, or A from registers."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.matrix_descriptors import (
    CHUNK,
    K_BYTES,
    MatrixDescriptor,
    element_dtype,
    element_values,
    matrix_of_chunks,
    signed,
)
from golden.multiply import mma
from golden.simt.address_map import SHARED
from golden.simt.arrays import Access, Threads, Values
from golden.simt.matrix_operations import MatrixOperations
from golden.tables.formats import FORMATS
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction

WARPGROUP: Final = 128
"""Threads of a warpgroup, the first of which has a multiple of it as its number."""


@dataclass(frozen=True, kw_only=True)
class WarpgroupMultiply:
    """A ``wgmma.mma_async``, decoded."""

    instruction: MmaInstruction
    index: int
    """Its number in the kernel."""
    negated: tuple[bool, bool]
    transposed: tuple[bool, bool]
    """Of A and B: whether the sign bits are inverted, and whether m or n is contiguous in place of k."""
    targets: tuple[int, ...]
    sources: tuple[int, ...]
    metadata: tuple[int, ...]
    """The accumulators, and the registers of A and of metadata."""


class WarpgroupOperations(MatrixOperations):
    """What the code of a block calls for multiplies of warpgroups; `threads` are whole warpgroups."""

    def multiply_warpgroups(
        self,
        form: WarpgroupMultiply,
        threads: Threads,
        a: Values,
        b: NDArray[np.uint64],
        accumulators: Values,
        scale: NDArray[np.bool_],
        *metadata: NDArray[np.uint32],
    ) -> Values:
        """``wgmma.mma_async``: the accumulators of all threads, computed at once.

        `a` is the four registers of the fragment, or a descriptor alone; `metadata` of a sparse multiply its
        register and its selector.
        """
        instruction, shape = form.instruction, form.instruction.shape
        self.launch.matrix_instructions += threads.size // LANES
        before = np.stack(accumulators)
        c = _matrix_of_registers(before, FORMATS[instruction.d_type].bits)
        c[~scale[::WARPGROUP]] = 0
        if len(a) > 1:
            bytes_ = _matrix_of_registers(np.stack(a), 8).reshape(len(c), shape.m, K_BYTES)
            left = bytes_.view(element_dtype(instruction.a_type))
        else:
            left = self._operand(form, threads, 0, a[0], shape.m)
        right = self._operand(form, threads, 1, b, shape.n)
        types = instruction.a_type, instruction.b_type, instruction.d_type
        left, right = map(signed, (left, right), types, form.negated)
        nibbles = None
        if metadata:
            register, selector = metadata[0].reshape(-1, 4, LANES), metadata[1]
            nibbles = self.unpacked_metadata(instruction, threads, form.index, register, selector)
        rows, columns, c = map(element_values, (left, right, c), types)
        profile = self.launch.engine.profile
        d = mma(instruction, rows, columns.swapaxes(1, 2), c, metadata=nibbles, profile=profile)
        after = _registers_of_matrix(d, FORMATS[instruction.d_type].bits)
        if self.launch.trace is not None:
            bits = (not form.sources, False, *form.negated, *form.transposed)
            flags = sum(int(bit) << place for place, bit in enumerate(bits))
            descriptors = np.concatenate([(b if form.sources else a[0])[::LANES], b[::LANES]])
            found = scale[::LANES] * np.uint32(2) + np.uint32(flags)
            arrays = *map(np.ascontiguousarray, (left, right)), before, after
            self.launch.trace.matrix(self, form.index, instruction, threads, arrays, descriptors, found)
        return list(after)

    def _operand(
        self,
        form: WarpgroupMultiply,
        threads: Threads,
        which: int,
        descriptors: NDArray[np.uint64],
        rows: int,
    ) -> NDArray[Any]:
        """The rows of A (0) or B (1) that descriptors name, shape (warpgroups, rows, k)."""
        by_group = descriptors.reshape(-1, WARPGROUP)
        if (by_group != by_group[:, :1]).any():
            place = int(np.argmax((by_group != by_group[:, :1]).reshape(-1)))
            message = f"the descriptor of {'AB'[which]} differs from the first thread's in the warpgroup"
            self.fault(form.index, threads, message, place)
        places = []
        k_bytes = K_BYTES * (1 + (which and form.instruction.is_sparse))
        for group, bits in enumerate(by_group[:, 0].tolist()):
            found = MatrixDescriptor.from_bits(bits)
            chunks = found.chunks(rows, form.transposed[which], k_bytes)
            if int(chunks.max()) + CHUNK > self.shared.nbytes:
                reach = f"reaches byte {int(chunks.max()) + CHUNK - 1} of shared memory"
                message = f"{'AB'[which]} {reach}, which has {self.shared.nbytes} bytes: {found}"
                self.fault(form.index, threads, message, group * WARPGROUP)
            places.append(chunks)
        stacked = np.stack(places)
        owners = np.repeat(threads[::WARPGROUP], places[0].size)
        if self.launch.trace is not None:
            self.launch.trace.reads(self, stacked.view(np.uint64) + np.uint64(SHARED), CHUNK)
        words = self.load_async(Access(owners, stacked.reshape(-1).view(np.uint64), form.index), "multiply")
        type_ = (form.instruction.a_type, form.instruction.b_type)[which]
        pairs = np.stack(words, axis=-1).reshape(*stacked.shape, 2)
        return matrix_of_chunks(pairs, element_dtype(type_), form.transposed[which])


def _matrix_of_registers(stacked: NDArray[np.uint32], bits: int) -> NDArray[Any]:
    """The matrix in the registers of warpgroups, shape (warpgroups, 64, columns).

    `stacked` has shape (registers, threads). Register r has elements of row ``g + 8 (r % 2)`` of a warp's
    sixteen, or of f32 and s32 of row ``g + 8 (r // 2 % 2)``; the elements of four lanes follow one another.
    """
    if bits == 32:  # register, lane -> column pair, row half, element, group, warp, g, t
        parts = stacked.reshape(-1, 2, 2, stacked.shape[1] // WARPGROUP, 4, 8, 4).transpose(
            3, 4, 1, 5, 0, 6, 2
        )
    else:
        each = 32 // bits
        words = stacked.view(f"u{bits // 8}")
        parts = words.reshape(-1, 2, stacked.shape[1] // WARPGROUP, 4, 8, 4, each).transpose(
            2, 3, 1, 4, 0, 5, 6
        )
    return np.ascontiguousarray(parts).reshape(len(parts), 64, -1)


def _registers_of_matrix(matrix: NDArray[Any], bits: int) -> NDArray[np.uint32]:
    """The inverse of `_matrix_of_registers` for accumulators of 16 or 32 bits."""
    parts = matrix.reshape(len(matrix), 4, 2, 8, -1, 4, 2)  # group, warp, row half, g, columns, t, element
    if bits == 32:
        return parts.transpose(4, 2, 6, 0, 1, 3, 5).reshape(matrix.shape[2] // 2, -1).view(np.uint32)
    words = np.ascontiguousarray(parts.transpose(4, 2, 0, 1, 3, 5, 6)).view(np.uint32)
    return words.reshape(matrix.shape[2] // 4, -1)
