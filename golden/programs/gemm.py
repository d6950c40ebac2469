"""A matrix multiply as a sequence of commands that keeps the multipliers busy."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from golden.arguments import checked_array
from golden.integers import checked_integer, checked_object, integer_of, listed, shortened
from golden.lines import pack, unpack
from golden.machine import Machine
from golden.programs.buffers import Buffers
from golden.programs.execution import MatrixRun, execute
from golden.resolve import resolve_instruction
from golden.tables.commands import Command, Fill, Load, Mma, Store
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import USES, Shape, Use
from golden.tables.matrix_instructions import MmaInstruction

_Tile = tuple[int, int]
"""The row and column of a tile in its matrix, both counted in tiles."""

_BUFFERS = 2
"""Sets of A and B fragments: one is multiplied while the other is loaded."""


@dataclass(frozen=True, kw_only=True)
class Gemm:
    """D = A B, or D = A B + C, of matrices of any number of tiles.

    D is computed block by block. At each step along k, the fragments of A and B for the next step are loaded
    into the second set of registers before the multiplies of this one are done, and a finished block is
    stored between the multiplies of the next. As the core starts commands in order, none is issued before
    what it waits for is nearly done: loads write registers that were read a step ago, and stores read
    accumulators that were finished some multiplies ago. Registers that are left over become further
    accumulators, so that a new block need not wait for the old one to be stored.

    Raises
    ------
    ValueError
        For sizes that are no multiples, types that do not chain, a block that the registers do not hold, and
        tiles that do not begin where a fragment must.
    """

    instruction: MmaInstruction
    """The multiply of one tile, a `wmma.mma` whose C and D have one type. A and B lie in memory in its
    layouts, C and D by rows, all without padding."""
    m: int
    n: int
    k: int
    """Sizes: A is m x k, B is k x n. Multiples of the tile's."""
    registers: int = 128
    """32-bit registers per lane."""
    block: tuple[int, int] = (2, 2)
    """Rows and columns of tiles in a block of D."""
    with_c: bool = False
    """Whether there is a C; without, the accumulators start from zeros kept in registers."""

    def __post_init__(self) -> None:
        instruction = resolve_instruction(self.instruction)
        object.__setattr__(self, "instruction", instruction)
        shape = instruction.shape
        if instruction.mnemonic != "wmma":
            raise ValueError(f"Instruction must be a wmma.mma, which has loads and stores, not {instruction}")
        if instruction.c_type != instruction.d_type:
            raise ValueError(
                "Instruction must have one type for C and D, as D is the next C, "
                f"not {instruction.c_type} and {instruction.d_type}"
            )
        for name, given, tile in (("m", self.m, shape.m), ("n", self.n, shape.n), ("k", self.k, shape.k)):
            size = integer_of(given) or 0
            if not 0 < size < 1 << 31 or size % tile:
                raise ValueError(f"Size {name} must be a positive multiple of {tile}, not {shortened(given)}")
            object.__setattr__(self, name, size)
        object.__setattr__(self, "registers", checked_integer("registers", self.registers, 0))
        given = checked_object("with_c", self.with_c, (bool, np.bool_), "True or False")
        object.__setattr__(self, "with_c", bool(given))
        rows, columns = (integer_of(extent) or 0 for extent in [*(listed(self.block) or ()), 0, 0][:2])
        if min(rows, columns) < 1:
            raise ValueError(f"Block must have at least one tile each way, not {shortened(self.block)}")
        object.__setattr__(self, "block", (rows, columns))
        if self._accumulators < rows * columns:
            raise ValueError(
                f"Block must fit the registers: {rows} x {columns} tiles need "
                f"{self._fixed + rows * columns * self._sizes['d']}, there are {self.registers}"
            )

    @property
    def whole(self) -> Shape:
        """The sizes as the shape of one multiply."""
        return Shape(self.m, self.n, self.k)

    def sizes(self) -> dict[str, int]:
        """Bytes of each matrix, by the names that `commands` wants addresses for."""
        uses: tuple[Use, ...] = ("a", "b", "d", "c") if self.with_c else ("a", "b", "d")
        types = self.instruction.types
        return {use: prod(self.whole.extent(use)) * FORMATS[types[use]].bits // 8 for use in uses}

    @property
    def tiles(self) -> int:
        """Tile multiplies of the whole."""
        return prod(self._counts)

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        """Tiles along m, n and k."""
        return tuple(size // tile for size, tile in zip(self.whole, self.instruction.shape, strict=True))

    def commands(self, addresses: Mapping[str, int]) -> Iterator[Command]:
        """The commands, in order; `addresses` are of ``a``, ``b``, ``d``, and ``c`` where there is one."""
        steps = list(self._steps())
        zeros = self.registers - self._sizes["d"]
        if not self.with_c:
            yield Fill(zeros, self._sizes["d"], 0)
        yield from self._operands(0, *steps[0], addresses)
        unstored: deque[Load | Store] = deque()
        started = 0
        for index, (k, block) in enumerate(steps):
            first, last = k == 0, k == self._counts[2] - 1
            slots = [self._slot(started + place) for place in range(len(block))]
            if first and self.with_c:
                for slot, tile in zip(slots, block, strict=True):
                    yield from _stored_until(unstored, slot)
                    yield self._access("c", slot, tile, addresses)
            for place, ((row, column), slot) in enumerate(zip(block, slots, strict=True)):
                if first:
                    yield from _stored_until(unstored, slot)
                start = zeros if first and not self.with_c else slot
                yield Mma(
                    self.instruction,
                    d=slot,
                    a=self._operand("a", index, (row, k)),
                    b=self._operand("b", index, (k, column)),
                    c=start,
                )
                if place == 0 and index + 1 < len(steps):
                    yield from self._operands(index + 1, *steps[index + 1], addresses)
                elif unstored:
                    yield unstored.popleft()
            if last:
                for slot, tile in zip(slots, block, strict=True):
                    unstored.append(self._access("d", slot, tile, addresses))
                started += len(block)
        yield from unstored

    def _steps(self) -> Iterator[tuple[int, list[_Tile]]]:
        """Each block of D at each step along k, counted in tiles; neighbours share a row or a column."""
        rows, columns, depth = map(range, self._counts)
        for top in rows[:: self.block[0]]:
            for left in columns[:: self.block[1]]:
                lines = rows[top : top + self.block[0]]
                line = columns[left : left + self.block[1]]
                block = [(row, column) for row in lines for column in line[:: -1 if (row - top) % 2 else 1]]
                for k in depth:
                    yield k, block

    def _operands(
        self, index: int, k: int, block: list[_Tile], addresses: Mapping[str, int]
    ) -> Iterator[Command]:
        """Load A and B for a step, in the order in which its multiplies need them."""
        needed: dict[tuple[Use, _Tile], None] = {}
        for row, column in block:
            needed["a", (row, k)] = needed["b", (k, column)] = None
        for use, tile in needed:
            yield self._access(use, self._operand(use, index, tile), tile, addresses)

    def _access(self, use: Use, register: int, tile: _Tile, addresses: Mapping[str, int]) -> Load | Store:
        """Load or store a tile."""
        command, stride, down, right = self._moves[use]
        return command(register, addresses[use] + tile[0] * down + tile[1] * right, stride)

    @cached_property
    def _moves(self) -> dict[Use, tuple[Callable[..., Load | Store], int, int, int]]:
        """Of each matrix: what moves a tile, the stride, and the bytes to the tile below and to the right."""
        instruction = self.instruction
        moves: dict[Use, tuple[Callable[..., Load | Store], int, int, int]] = {}
        for use in USES:
            move = partial(Store, instruction.store()) if use == "d" else partial(Load, instruction.load(use))
            layout, bits = instruction.layout(use), FORMATS[instruction.types[use]].bits
            stride = self.whole.default_stride(use, layout)
            rows, columns = instruction.shape.extent(use)
            line, place = (stride, 1) if layout == "row" else (1, stride)
            moves[use] = move, stride, rows * line * bits // 8, columns * place * bits // 8
        return moves

    @cached_property
    def _sizes(self) -> dict[Use, int]:
        """Registers of each fragment."""
        return {use: each.registers for use, each in self.instruction.fragments.items()}

    # Registers: two sets of A and B, then the accumulators; the zeros at the end.

    @cached_property
    def _set_size(self) -> int:
        return self.block[0] * self._sizes["a"] + self.block[1] * self._sizes["b"]

    @property
    def _fixed(self) -> int:
        return _BUFFERS * self._set_size + (0 if self.with_c else self._sizes["d"])

    @cached_property
    def _accumulators(self) -> int:
        # More would never be in use at once: a block's, and the block's before it.
        most = 2 * self.block[0] * self.block[1]
        return min(most, (self.registers - self._fixed) // self._sizes["d"])

    def _operand(self, use: Use, index: int, tile: _Tile) -> int:
        base = index % _BUFFERS * self._set_size
        if use == "a":
            return base + tile[0] % self.block[0] * self._sizes["a"]
        return base + self.block[0] * self._sizes["a"] + tile[1] % self.block[1] * self._sizes["b"]

    def _slot(self, number: int) -> int:
        """The register of the accumulator for the tile of that number."""
        return _BUFFERS * self._set_size + number % self._accumulators * self._sizes["d"]


def _stored_until(unstored: deque[Load | Store], slot: int) -> Iterator[Command]:
    """The stores up to the store of an accumulator that is to be used again."""
    while any(store.register == slot for store in unstored):
        yield unstored.popleft()


def multiply_matrices(
    gemm: Gemm,
    a: ArrayLike,
    b: ArrayLike,
    open_machine: Callable[[int], Machine],
    *,
    c: ArrayLike | None = None,
) -> MatrixRun:
    """Run a matrix multiply on a machine.

    `a`, `b` and `c` have shapes (m, k), (k, n) and (m, n), and are as for `golden.mma`: raw bit patterns of
    floating point, values of integers. Without `c`, it is D = A B. `open_machine` makes the machine, given
    the bytes of memory it needs; it is closed in the end.

    InvalidArgument for an array of the wrong shape or dtype, `golden.programs.execution.ProgramFault` for a
    command that fails, `golden.machine.Difference` from a machine that checks itself.
    """
    gemm = replace(gemm, with_c=c is not None)
    instruction = gemm.instruction
    given: dict[Use, ArrayLike] = {"a": a, "b": b} if c is None else {"a": a, "b": b, "c": c}
    matrices = {
        use: checked_array(use, matrix, instruction.types[use], gemm.whole.extent(use))
        for use, matrix in given.items()
    }
    buffers = Buffers(gemm.sizes())
    with closing(open_machine(buffers.memory_size)) as machine:
        for use, matrix in matrices.items():
            lines = matrix if instruction.layout(use) == "row" else matrix.T
            buffers.write(machine.memory, use, pack(lines, instruction.types[use]))
        commands = ((command, "") for command in gemm.commands(buffers.addresses))
        execution = execute(machine, commands)
        d = unpack(buffers.read(machine.memory, "d"), instruction.d_type).reshape(gemm.m, gemm.n)
    return MatrixRun(d=d, execution=execution)
