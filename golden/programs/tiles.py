"""Multiplies a batch of tiles: each loaded, multiplied and stored by a machine."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate, chain, product, zip_longest
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arguments import checked_operands, dtype_of
from golden.block_scales import pack_scales
from golden.fragments import collect, distribute
from golden.integers import checked_integer, checked_objects
from golden.invalid_argument import InvalidArgument
from golden.lines import pack, unpack
from golden.machine import Machine
from golden.multiply import checked_side_operands
from golden.programs.buffers import Buffers
from golden.programs.execution import Execution, MatrixRun, execute
from golden.resolve import resolve_instruction
from golden.sparsity import pack_metadata
from golden.tables.commands import Command, Load, Mma, Store
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import USES, Use
from golden.tables.matrix_instructions import MmaInstruction, tile_places, warp_tile

_CHUNK = 256
"""Tiles that are in memory at once."""

_Program = Iterable[tuple[Command, str]]


def multiply_tiles(
    instruction: MmaInstruction,
    operands: Sequence[ArrayLike],
    open_machine: Callable[[int], Machine],
    on_progress: Callable[[int], None] = lambda count: None,
    *,
    side: Mapping[str, ArrayLike] = MappingProxyType({}),
    registers: int = 32,
    memory_bytes: int | None = None,
) -> MatrixRun:
    """D = A B + C for every tile.

    Where the registers hold several tiles, the loads of one are issued before the multiply of the one before
    and the store of the one before that, so that a core can do them at once. A machine of several warps gets
    the tiles in turns, one for each warp.

    Parameters
    ----------
    instruction : MmaInstruction
        Of a `wmma.mma`, A and B lie in memory in its layouts, C and D by rows. An `mma` has no loads: its
        fragments are written to the registers, and D is read from there. Of a `wgmma.mma_async` each warp's
        share is multiplied in tiles (`golden.tables.matrix_instructions.tile_places`), likewise.
    operands : sequence of three array_like
        a, b and c, as for `golden.mma`: shapes (..., m, k), (..., k, n), (..., m, n).
    open_machine : callable
        Makes the machine, given the bytes of memory it needs; it is closed in the end.
    on_progress : callable
        Called with the number of commands that have just been executed, of which a tile has five, or one
        where there are no loads, and a `wgmma.mma_async` one for each of its tiles.
    side : mapping of str to array_like
        Metadata and block scales by the names that they have in `golden.mma`.
    registers : int
        32-bit registers per lane of the machine.
    memory_bytes : int or None
        The most memory that the machine can have; None where there is no end.

    Raises
    ------
    golden.InvalidArgument
        For an array of the wrong shape or dtype.
    golden.programs.execution.ProgramFault
    golden.machine.Difference
        From a machine that checks itself.
    """
    registers = checked_integer("registers", registers, 1, 1 << 16)
    if memory_bytes is not None:
        memory_bytes = checked_integer("memory_bytes", memory_bytes, 0)
    instruction = resolve_instruction(instruction)
    operands = checked_objects("operands", operands, object, "an array")
    if len(operands) != len(USES[:3]):
        raise InvalidArgument("operands", f"{len(operands)} arrays", "a, b and c")
    (a, b, c), leading = checked_operands(instruction, operands)
    extent = instruction.shape.extent("d")
    d = np.zeros((len(a), *extent), dtype_of(FORMATS[instruction.d_type]))
    tiles = _Tiles(instruction, a, b, c, d, _packed_side(instruction, side, leading))
    chunk = max(1, min(len(d), _CHUNK)) if instruction.mnemonic == "wmma" else 0
    while chunk > 1 and memory_bytes is not None and tiles.buffers(chunk).memory_size > memory_bytes:
        chunk //= 2
    with closing(open_machine(tiles.buffers(chunk).memory_size)) as machine:
        programs = tiles.in_memory(machine, chunk, registers) if chunk else tiles.in_registers(machine)
        seconds = math.fsum(execute(machine, program, on_progress).seconds for program in programs)
        execution = Execution(counters=machine.counters, seconds=seconds)
    return MatrixRun(d=d.reshape(*leading, *extent), execution=execution)


def _packed_side(
    instruction: MmaInstruction, side: Mapping[str, ArrayLike], leading: tuple[int, ...]
) -> dict[str, NDArray[np.uint32]]:
    """The registers of metadata and block scales of each tile."""
    given = {**dict.fromkeys(instruction.side_registers), **side}
    checked = checked_side_operands(instruction, given, leading)
    return {
        name: pack_metadata(instruction, array)
        if name == "metadata"
        else pack_scales(instruction, "b" if name == "scale_b" else "a", array)
        for name, array in checked.items()
    }


def _places(instruction: MmaInstruction) -> tuple[dict[Use, int], int]:
    """The first register of each fragment, one after the other, and how many registers they take."""
    *firsts, end = accumulate((instruction.fragments[use].registers for use in USES), initial=0)
    return dict(zip(USES, firsts, strict=True)), end


@dataclass(frozen=True)
class _Tiles:
    """Operands and results, each with one leading axis, and where they lie in memory."""

    instruction: MmaInstruction
    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[Any]
    d: NDArray[Any]
    side: Mapping[str, NDArray[np.uint32]]
    """Registers of metadata and block scales, for selectors of 0."""

    def in_memory(self, machine: Machine, chunk: int, registers: int) -> Iterator[_Program]:
        """Programs of `chunk` tiles each; the results are read when the next one is asked for."""
        buffers, types, warps = self.buffers(chunk), self.instruction.types, machine.warp_count
        lines, length = self.lines("d")
        for first in range(0, len(self.d), chunk):
            part = range(first, min(first + chunk, len(self.d)))
            for use, matrix in zip(USES, (self.a, self.b, self.c), strict=False):
                tiles = matrix[part.start : part.stop]
                if self.instruction.layout(use) == "col":
                    tiles = tiles.swapaxes(-1, -2)
                buffers.write(machine.memory, use, pack(tiles, types[use]))
            programs = (self._steps(buffers, part, registers, warp, warps) for warp in range(warps))
            yield chain.from_iterable(chain.from_iterable(zip_longest(*programs, fillvalue=())))
            results = unpack(buffers.read(machine.memory, "d"), types["d"])
            self.d[part.start : part.stop] = results.reshape(chunk, lines, length)[: len(part)]

    def in_registers(self, machine: Machine) -> Iterator[_Program]:
        """Programs of one multiply each, whose fragments are put into the registers from outside."""
        instruction = warp_tile(self.instruction)
        first, end = _places(instruction)
        registers = {name: end + place for place, name in enumerate(self.side)}
        multiply = Mma(instruction, **first, **registers)
        for tile, (rows, columns) in product(range(len(self.d)), tile_places(self.instruction)):
            matrices = (self.a[tile, rows], self.b[tile, :, columns], self.c[tile, rows, columns])
            for use, matrix in zip(USES, matrices, strict=False):
                kind = instruction.types[use], instruction.shape
                machine.write_registers(
                    first[use], distribute(matrix, use, *kind, sparse=instruction.is_sparse)
                )
            for name, register in registers.items():
                machine.write_registers(register, self.side[name][tile, None])
            yield [(multiply, f"tile {tile}")]
            words = machine.read_registers(first["d"], instruction.fragments["d"].registers)
            self.d[tile, rows, columns] = collect(words, "d", instruction.d_type, instruction.shape)

    def lines(self, use: Use) -> tuple[int, int]:
        """Rows (or columns, where they are contiguous) of a matrix, and the elements of each."""
        return self.instruction.shape.lines(use, self.instruction.layout(use))

    def tile_bytes(self, use: Use) -> int:
        """Bytes from one tile to the next."""
        return math.prod(self.lines(use)) * FORMATS[self.instruction.types[use]].bits // 8

    def buffers(self, count: int) -> Buffers:
        """Where the matrices of `count` tiles lie."""
        return Buffers({use: count * self.tile_bytes(use) for use in USES})

    def _steps(
        self, buffers: Buffers, part: range, registers: int, warp: int, warps: int
    ) -> Iterator[list[tuple[Command, str]]]:
        """What a warp does with its share of the tiles, step by step: commands, each with its tile."""
        instruction, tiles = self.instruction, part[warp::warps]
        place, used = _places(instruction)
        sets = max(1, registers // used)
        loads, storing = [instruction.load(use) for use in USES[:3]], instruction.store()
        sizes, addresses = {use: self.tile_bytes(use) for use in USES}, buffers.addresses

        def access(use: Use, index: int) -> tuple[int, int]:
            address = addresses[use] + (tiles[index] - part.start) * sizes[use]
            return index % sets * used + place[use], address

        def load(index: int) -> list[Command]:
            return [Load(each, *access(each.use, index), warp=warp) for each in loads]

        def multiply(index: int) -> list[Command]:
            d, a, b, c = (index % sets * used + place[use] for use in ("d", *USES[:3]))
            return [Mma(instruction, d=d, a=a, b=b, c=c, warp=warp)]

        def store(index: int) -> list[Command]:
            return [Store(storing, *access("d", index), warp=warp)]

        # Tiles that each is behind the loads. Two sets of registers are enough: loads replace A, B and C of
        # the tile before the last, which has been multiplied, but not its D.
        lags = {load: 0, multiply: 1, store: 2} if sets > 1 else dict.fromkeys((load, multiply, store), 0)
        for index in range(len(tiles) + lags[store]):
            yield [
                (command, f"tile {tiles[index - lag]}")
                for phase, lag in lags.items()
                if 0 <= index - lag < len(tiles)
                for command in phase(index - lag)
            ]
