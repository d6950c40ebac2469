"""The matrix instructions of a block: from its registers to golden arithmetic and back."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.block_scales import pack_scales, unpack_scales, uses_of_scales
from golden.fragments import collect, distribute
from golden.invalid_argument import InvalidArgument
from golden.lines import matrix_of_lines, matrix_to_lines, piece_addresses
from golden.matrix_moves import ldmatrix, movmatrix, stmatrix
from golden.multiply import multiply_fragments
from golden.simt.arrays import Access, Addresses, Threads, Values, Words
from golden.simt.memory_access import MemoryAccess
from golden.sparsity import first_undefined, pack_metadata, unpack_metadata
from golden.tables.commands import MATRIX_ROW_BYTES
from golden.tables.formats import FORMATS
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import (
    LoadInstruction,
    MmaInstruction,
    MoveInstruction,
    StoreInstruction,
)

_PIECE_BYTES: Final = 8
"""Most bytes of a line that are accessed at once."""

_ROW_HALVES: Final = np.arange(0, MATRIX_ROW_BYTES, 2, dtype=np.uint64)
"""Offsets of the elements of a row of a matrix that ``ldmatrix`` or ``stmatrix`` moves."""


_LEADERS: Final = slice(None, None, LANES)
"""The first lanes of warps."""

_Instruction = LoadInstruction | StoreInstruction | MoveInstruction


class MatrixOperations(MemoryAccess):
    """What the code of a block calls for matrix instructions; `threads` are whole warps."""

    def load_matrix(
        self,
        instruction: LoadInstruction | MoveInstruction,
        access: Access,
        strides: NDArray[np.uint32] | None,
    ) -> Values:
        """``wmma.load`` and ``ldmatrix``: one array for each register."""
        places, size = self._places(instruction, access, strides)
        values: NDArray[Any] = self.load("generic", access.some(_LEADERS).at(places), size, 1)
        elements = values.reshape(places.shape)
        if isinstance(instruction, MoveInstruction):
            words, bits = ldmatrix(elements, transposed=instruction.transposed), 32
        else:
            matrices = matrix_of_lines(elements.view(np.uint8), instruction)
            words = distribute(matrices, instruction.use, instruction.type, instruction.shape)
            bits = FORMATS[instruction.type].bits
        self._record(instruction, access, places, size, d=words, strides=strides)
        return _unpacked(words, bits)

    def store_matrix(
        self,
        instruction: StoreInstruction | MoveInstruction,
        access: Access,
        strides: NDArray[np.uint32] | None,
        registers: Values,
    ) -> None:
        """``wmma.store`` and ``stmatrix``; of lines that overlap a core keeps the last one."""
        places, size = self._places(instruction, access, strides)
        words = _packed(registers)
        if isinstance(instruction, MoveInstruction):
            elements: NDArray[Any] = stmatrix(words, transposed=instruction.transposed)
        else:
            matrices = collect(words, "d", instruction.type, instruction.shape)
            elements = matrix_to_lines(matrices, instruction).view(f"u{size}")
        # First what a core leaves, which the trace takes; then, where that differs, what an H200 leaves.
        warps = access.some(_LEADERS)
        self.store("generic", warps.at(places), [elements.reshape(-1)], size)
        self._record(instruction, access, places, size, a=words, strides=strides)
        if _overlap(places, size):
            order = _stored_order(instruction, size)
            values = elements.reshape(len(places), -1)[:, order].reshape(-1)
            self.store("generic", warps.at(places.reshape(len(places), -1)[:, order]), [values], size)

    def multiply(
        self,
        instruction: MmaInstruction,
        threads: Threads,
        a: Values,
        b: Values,
        c: Values,
        index: int,
        *extra: NDArray[Any],
    ) -> Values:
        """``wmma.mma``, ``mma.sync`` and ``mma.sp``; metadata, scales and selectors follow the number."""
        self.launch.matrix_instructions += threads.size // LANES
        sources = _packed(a), _packed(b), _packed(c)
        unpacked = self._unpacked_extra(instruction, threads, index, extra)
        words = multiply_fragments(instruction, *sources, self.launch.engine.profile, unpacked)
        if self.launch.trace is not None:
            packed = [pack_metadata(instruction, unpacked["metadata"])] if instruction.is_sparse else []
            packed += [
                pack_scales(instruction, use, unpacked[f"scale_{use}"]) for use in uses_of_scales(instruction)
            ]
            if packed:
                sources = *sources[:2], np.concatenate([sources[2], np.stack(packed, axis=1)], axis=1)
            self.launch.trace.matrix(self, index, instruction, threads, (*sources, words))
        return _unpacked(words, FORMATS[instruction.d_type].bits)

    def unpacked_metadata(
        self,
        instruction: MmaInstruction,
        threads: Threads,
        index: int,
        register: NDArray[np.uint32],
        selector: NDArray[np.uint32],
    ) -> NDArray[np.uint8]:
        """The metadata of each matrix, from the registers of its threads, shape (matrices, ...)."""
        metadata = unpack_metadata(instruction, register, int(selector.flat[0]))
        undefined = first_undefined(instruction.sparsity, metadata)
        if undefined is not None:
            (matrix, *_), problem = undefined
            self.fault(index, threads, str(problem), matrix * (threads.size // len(metadata)))
        return metadata

    def _unpacked_extra(
        self, instruction: MmaInstruction, threads: Threads, index: int, extra: Sequence[NDArray[Any]]
    ) -> dict[str, NDArray[np.uint8]]:
        """Metadata and block scales of each warp, by their names."""
        unpacked = {}
        warps = [operand.reshape(-1, LANES) for operand in extra]
        if instruction.is_sparse:
            register, selector, *warps = warps
            unpacked["metadata"] = self.unpacked_metadata(instruction, threads, index, register, selector)
        for use, first in zip(uses_of_scales(instruction), (0, 3), strict=False):
            for selector in warps[first + 1 : first + 3]:
                differs = np.flatnonzero(selector != selector[:, :1])
                if differs.size:
                    self.fault(index, threads, f"lanes with other selectors of scale {use}", int(differs[0]))
            chosen = (selector[:, 0] for selector in warps[first + 1 : first + 3])
            try:
                unpacked[f"scale_{use}"] = unpack_scales(instruction, use, warps[first], *chosen)
            except InvalidArgument as error:
                self.fault(index, threads, str(error))
        return unpacked

    def transpose_matrix(
        self, instruction: MoveInstruction, threads: Threads, registers: Values, index: int
    ) -> Values:
        """``movmatrix``."""
        words = _packed(registers)
        moved = movmatrix(words[:, 0])[:, None]
        if self.launch.trace is not None:
            self.launch.trace.matrix(self, index, instruction, threads, (words, None, None, moved))
        return _unpacked(moved, 32)

    def _record(
        self,
        instruction: _Instruction,
        access: Access,
        places: Addresses,
        size: int,
        *,
        a: Words | None = None,
        d: Words | None = None,
        strides: NDArray[np.uint32] | None,
    ) -> None:
        """Record a load, which has a result `d`, or a store of `a`, if the launch is traced."""
        trace = self.launch.trace
        if trace is not None:
            (trace.reads if a is None else trace.writes)(self, places, size)
            rows = isinstance(instruction, MoveInstruction)
            addresses = places[..., 0] if rows else access.addresses[::LANES]
            if strides is not None:
                strides = strides[::LANES]
            fragments = (a, None, None, d)
            trace.matrix(self, access.number, instruction, access.threads, fragments, addresses, strides)

    def _places(
        self, instruction: _Instruction, access: Access, strides: NDArray[np.uint32] | None
    ) -> tuple[Addresses, int]:
        """Where the elements or pieces lie, shape (warps, ...), and the bytes of one."""
        if isinstance(instruction, MoveInstruction):
            return self._halves(access, instruction.count), 2
        return self._pieces_of_lines(instruction, access, strides)

    def _halves(self, access: Access, count: int) -> Addresses:
        """Where the elements of matrices lie, whose rows are aligned: shape (warps, matrices, 8, 8)."""
        rows = access.addresses.reshape(-1, LANES)[:, : 8 * count]
        if int(np.bitwise_or.reduce(rows, axis=None)) & 15:
            warp, lane = np.argwhere(rows & np.uint64(15))[0].tolist()
            message = f"row address {rows[warp, lane]:#x} is not a multiple of 16"
            self.refuse(access, warp * LANES + lane, message)
        return rows.reshape(-1, count, 8, 1) + _ROW_HALVES

    def _pieces_of_lines(
        self,
        instruction: LoadInstruction | StoreInstruction,
        access: Access,
        strides: NDArray[np.uint32] | None,
    ) -> tuple[Addresses, int]:
        """Where the pieces of lines lie, shape (warps, lines, pieces), and the bytes of a piece.

        Address and stride of each warp are multiples of `LoadInstruction.alignment`.
        """
        places = access.addresses[::LANES]
        layout, unit = instruction.fragment, instruction.alignment
        least = instruction.shape.default_stride(instruction.use, instruction.layout)
        steps = np.full(len(places), least) if strides is None else strides[::LANES].astype(np.int64)
        common = int(np.bitwise_or.reduce(places))
        if common & (unit - 1):
            position = int(np.flatnonzero(places & np.uint64(unit - 1))[0])
            message = f"address {places[position]:#x} is not a multiple of {unit} bytes"
            self.refuse(access, position * LANES, message)
        spans = steps * layout.element_bits
        common |= (bits := int(np.bitwise_or.reduce(spans))) >> 3
        if bits & (8 * unit - 1):
            position = int(np.flatnonzero(spans & (8 * unit - 1))[0])
            stride = f"stride {steps[position]} of {layout.element_bits}-bit elements"
            message = f"{stride} is not a multiple of {unit} bytes"
            self.fault(access.number, access.threads, message, position * LANES)
        common |= _PIECE_BYTES
        size = common & -common
        return piece_addresses(instruction, places, steps, size), size


def _packed(registers: Values) -> Words:
    """Registers as they are in a block to shape (warps, 32-bit registers, 32)."""
    stacked = np.stack(registers)
    words = stacked.view(np.uint32).reshape(len(registers), -1, LANES, stacked.itemsize // 4)
    lanes = words.transpose(1, 0, 3, 2)
    return np.ascontiguousarray(lanes).reshape(len(lanes), -1, LANES)


def _unpacked(words: NDArray[np.uint32], bits: int) -> list[NDArray[Any]]:
    """The inverse of `_packed`."""
    size = max(1, bits // 32)
    lanes = words.reshape(len(words), -1, size, LANES).transpose(1, 0, 3, 2)
    return list(np.ascontiguousarray(lanes).view(f"u{4 * size}").reshape(-1, len(words) * LANES))


def _overlap(places: Addresses, size: int) -> bool:
    """Whether lines of a warp have bytes in common, given the addresses of their pieces of `size` bytes."""
    lines = places.reshape(len(places), -1, places.shape[-1])
    between = np.diff(np.sort(lines[..., 0]))
    return bool((between < lines[0, 0, -1] - lines[0, 0, 0] + np.uint64(size)).any())


@cache
def _stored_order(instruction: StoreInstruction | MoveInstruction, size: int) -> NDArray[np.int64]:
    """The pieces of a tile, of `size` bytes, in the order in which the lanes of an H200 store them.

    A lane stores one element, or two that are neighbours in memory; 128 bytes of lanes are stored at once,
    the lowest lane last. ``stmatrix`` stores matrix after matrix, the first row last.
    """
    if isinstance(instruction, MoveInstruction):
        return np.arange(64 * instruction.count).reshape(-1, 8, 8)[:, ::-1].reshape(-1)
    layout = instruction.fragment
    is_single = layout.is_transposed(instruction.layout)
    is_moved = is_single and layout.element_bits == 16  # through movmatrix: then a lane has two neighbours
    together = min(LANES, 8 * 128 // max(32, layout.element_bits * (1 if is_single else 2)))
    ranks = np.empty(layout.extent, np.int64)
    for lane, positions in enumerate(layout.positions):
        for i, position in enumerate(positions):
            by = 8 * (lane % 4) + 4 * (i % 2) + lane // 8 if is_moved else lane
            turn = i if is_single and not is_moved else i // 2
            ranks[position] = LANES * turn + (by ^ (together - 1))
    lines = ranks if instruction.layout == "row" else ranks.T
    return np.argsort(lines[:, :: max(1, 8 * size // layout.element_bits)], axis=None, kind="stable")
