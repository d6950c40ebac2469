"""Matrix instructions on the golden model: all warps in one call."""

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.fragments import collect, distribute
from golden.invalid_argument import InvalidArgument
from golden.machine import Counters
from golden.matrix_moves import ldmatrix, movmatrix, stmatrix
from golden.multiply import mma
from golden.resolve import resolve_profile
from golden.simt.arrays import Addresses, Strides, Warps, Words
from golden.simt.matrix_engine import FragmentMemory
from golden.tables.formats import FORMATS
from golden.tables.layouts import LANES, fragment
from golden.tables.matrix_instructions import Instruction, LoadInstruction, MmaInstruction, StoreInstruction
from golden.tables.profiles import HOPPER, ExactProfile, Profile

__all__ = ["GoldenEngine"]

_WORD_BITS: Final = 32
_ROW_HALVES: Final = np.arange(0, 16, 2, dtype=np.uint64)


class GoldenEngine:
    """Implements `golden.simt.matrix_engine.MatrixEngine` with `golden.mma` and the fragment layouts.

    Parameters
    ----------
    profile : Profile or ExactProfile
        Constants of the arithmetic.
    """

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
        self,
        instruction: LoadInstruction,
        warps: Warps,
        addresses: Addresses,
        strides: Strides,
        memory: FragmentMemory,
    ) -> Words:
        """The fragments that the warps load, shape (warps, registers, 32)."""
        access = _access(instruction)
        elements = memory.gather(warps, access.addresses(addresses, strides), access.size)
        if access.size == 8:
            halves = elements.view(np.uint32).reshape(*elements.shape, 2)
            return np.ascontiguousarray(halves.transpose(0, 1, 3, 2)).reshape(len(warps), -1, LANES)
        if access.size == 4:
            return elements.astype(np.uint32, copy=False)
        shifts = np.arange(0, _WORD_BITS, 8 * access.size, dtype=np.uint32)[:, None]
        words = elements.astype(np.uint32) << shifts
        return np.asarray(np.bitwise_or.reduce(words, axis=2))

    def store(
        self,
        instruction: StoreInstruction,
        warps: Warps,
        addresses: Addresses,
        strides: Strides,
        registers: Words,
        memory: FragmentMemory,
    ) -> None:
        """Store the fragments of the warps."""
        access = _access(instruction)
        places = access.addresses(addresses, strides)
        values: NDArray[Any] = registers
        if access.size == 8:
            pairs = registers.reshape(len(warps), -1, 2, LANES)
            values = pairs[:, :, 0].astype(np.uint64) | pairs[:, :, 1].astype(np.uint64) << np.uint64(
                _WORD_BITS
            )
        elif access.size < 4:
            shifts = np.arange(0, _WORD_BITS, 8 * access.size, dtype=np.uint32)[:, None]
            values = (registers[:, :, None, :] >> shifts).astype(f"u{access.size}")
        memory.scatter(warps, places, values, access.size)

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

    def load_matrices(self, warps: Warps, rows: Addresses, transposed: bool, memory: FragmentMemory) -> Words:
        """What ``ldmatrix`` loads: shape (warps, matrices, 32)."""
        matrices = memory.gather(warps, rows[..., None] + _ROW_HALVES, 2)
        return ldmatrix(matrices, transposed=transposed)

    def store_matrices(
        self, warps: Warps, rows: Addresses, transposed: bool, registers: Words, memory: FragmentMemory
    ) -> None:
        """Store matrices as ``stmatrix`` does."""
        matrices = stmatrix(registers, transposed=transposed)
        memory.scatter(warps, rows[..., None] + _ROW_HALVES, matrices, 2)

    def transpose(self, registers: Words) -> Words:
        """What ``movmatrix`` gives."""
        return movmatrix(registers)

    def finish(self) -> None:
        """Nothing is left to do."""


class _Access(NamedTuple):
    """Where the elements of a fragment lie in memory, for each register and lane."""

    lines: NDArray[np.int64]
    """Row (column) of each element, or of each word of elements."""
    offsets: NDArray[np.int64]
    """Bytes from the beginning of the row (column)."""
    bits: int
    size: int
    """Bytes that are accessed at once."""

    def addresses(self, first: Addresses, strides: Strides) -> NDArray[np.uint64]:
        """Addresses for each warp, shape (warps, *lines.shape)."""
        ones = (1,) * self.lines.ndim
        steps = (strides * self.bits // 8).reshape(-1, *ones)
        return first.reshape(-1, *ones) + (self.lines * steps + self.offsets).view(np.uint64)


@cache
def _access(instruction: LoadInstruction | StoreInstruction) -> _Access:
    layout = fragment(instruction.use, instruction.type, instruction.shape)
    bits = FORMATS[instruction.type].bits
    rows, columns = np.moveaxis(np.array(layout.positions, dtype=np.int64), -1, 0)
    lines, within = (rows, columns) if instruction.layout == "row" else (columns, rows)
    per_word = max(1, _WORD_BITS // bits)
    lines = lines.reshape(LANES, -1, per_word).transpose(1, 2, 0)  # (registers, elements in one, lanes)
    within = within.reshape(LANES, -1, per_word).transpose(1, 2, 0)
    together = bool((lines == lines[:, :1]).all() and (np.diff(within, axis=1) == 1).all())
    if per_word == 1 or together:
        size = 8 if bits == 64 else 4
        return _Access(
            np.ascontiguousarray(lines[:, 0]), np.ascontiguousarray(within[:, 0] * bits // 8), bits, size
        )
    return _Access(np.ascontiguousarray(lines), np.ascontiguousarray(within * bits // 8), bits, bits // 8)
