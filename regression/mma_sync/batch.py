"""Many multiplies of one form as one list of commands, whose operands and results are in memory.

`mma` has no loads and stores of its own. The operands of some tiles lie one after the other in registers, as
loads of 8 registers bring them; so do their results. Sets of such tiles take turns, so that a core loads the
next set and stores the last one while it multiplies.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.fragments import collect, distribute
from golden.programs.buffers import BASE
from golden.tables.commands import Command, Mma
from golden.tables.instruction_set import Shape, Use
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction
from regression.random_programs.program import BLOCK_BYTES, BLOCK_REGISTERS, block_load, block_store

_SQUARE: Final = Shape(16, 16, 16)
_SOURCES: Final[tuple[Use, ...]] = ("a", "b", "c")


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The commands of many tiles, and where their operands and results lie; ValueError if no set fits."""

    instruction: MmaInstruction
    """A form of `mma`."""
    sets: int
    """How many times the registers' sets of tiles are multiplied."""
    registers: int
    """32-bit registers per lane of the machine."""
    address: int = BASE
    """Of the first operand; the results follow the operands."""

    def __post_init__(self) -> None:
        if self._slots < 1:
            raise ValueError(f"{self.instruction} needs {self._slot} registers, not {self.registers}")

    @cached_property
    def _sizes(self) -> dict[Use, int]:
        return {use: layout.registers for use, layout in self.instruction.fragments.items()}

    @cached_property
    def _together(self) -> int:
        """Tiles in a set: as many as have eight registers of results, or fewer where they do not fit."""
        count = BLOCK_REGISTERS // self._sizes["d"]
        while count > 1 and self._blocks_for(count) + BLOCK_REGISTERS > self.registers:
            count //= 2
        return count

    def _blocks_for(self, tiles: int) -> int:
        """Registers for the operands of so many tiles, in whole blocks."""
        used = tiles * sum(self._sizes[use] for use in _SOURCES)
        return -(-used // BLOCK_REGISTERS) * BLOCK_REGISTERS

    @cached_property
    def _operands(self) -> int:
        """Registers for the operands of a set."""
        return self._blocks_for(self._together)

    @property
    def _slot(self) -> int:
        return self._operands + BLOCK_REGISTERS

    @property
    def _slots(self) -> int:
        return self.registers // self._slot

    @property
    def tiles(self) -> int:
        """How many tiles are multiplied."""
        return self.sets * self._together

    @property
    def operand_bytes(self) -> int:
        """Of all sets."""
        return self.sets * self._operands * 4 * LANES

    @property
    def memory_bytes(self) -> int:
        """Of operands and results, in whole pages."""
        return -(-(self.operand_bytes + self.sets * BLOCK_BYTES) // 4096) * 4096

    def commands(self) -> Iterator[Command]:
        """Loads, multiplies and stores; successive sets are interleaved."""
        lags = (0, 1, 2) if self._slots > 1 else (0, 0, 0)
        for step in range(self.sets + lags[-1]):
            for lag, make in zip(lags, (self._loads, self._multiplies, self._stores), strict=True):
                if 0 <= step - lag < self.sets:
                    yield from make(step - lag)

    def _first(self, number: int) -> int:
        return number % self._slots * self._slot

    def _loads(self, number: int) -> Iterator[Command]:
        for block in range(0, self._operands, BLOCK_REGISTERS):
            place = (number * self._operands + block) * 4 * LANES
            yield block_load(self._first(number) + block, self.address + place)

    def _multiplies(self, number: int) -> Iterator[Command]:
        register = self._first(number)
        for tile in range(self._together):
            places: dict[Use, int] = {}
            for use in _SOURCES:
                places[use] = register
                register += self._sizes[use]
            result = self._first(number) + self._operands + tile * self._sizes["d"]
            yield Mma(self.instruction, d=result, a=places["a"], b=places["b"], c=places["c"])

    def _stores(self, number: int) -> Iterator[Command]:
        address = self.address + self.operand_bytes + number * BLOCK_BYTES
        yield block_store(self._first(number) + self._operands, address)

    def operand_image(self, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[np.uint8]:
        """The bytes that the loads bring.

        Matrices have shapes (tiles, m, k), (tiles, k, n) and (tiles, m, n), and elements as `golden.mma`
        takes them.
        """
        types, shape = self.instruction.types, self.instruction.shape
        words = np.concatenate(
            [
                distribute(matrix, use, types[use], shape)
                for use, matrix in zip(_SOURCES, (a, b, c), strict=True)
            ],
            axis=1,
        )
        image = np.zeros((self.sets, self._operands, LANES), dtype=np.uint32)
        packed = words.reshape(self.sets, -1, LANES)
        image[:, : packed.shape[1]] = packed
        blocks = collect(image.reshape(-1, BLOCK_REGISTERS, LANES), "c", "f32", _SQUARE)
        return np.ascontiguousarray(blocks, dtype="<u4").reshape(-1).view(np.uint8)

    def results(self, data: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """The registers of D of each tile, shape (tiles, registers, 32), from the bytes that were stored."""
        blocks = np.ascontiguousarray(data).view("<u4").reshape(self.sets, _SQUARE.m, _SQUARE.n)
        words = distribute(blocks.astype(np.uint32), "c", "f32", _SQUARE)
        used = self._together * self._sizes["d"]
        return words[:, :used].reshape(self.tiles, self._sizes["d"], LANES)
