"""Matrix instructions on a machine, through its registers and its memory: as many warps at once as it has.

A machine has a memory of its own, so what a fragment is loaded from is copied there first, row by row,
and what is stored is copied back. Fragments stay in the registers as long as there is room: one that an
instruction needs is not written again if a register already holds its bits.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from golden.machine import Counters, Machine, Storage
from golden.simt.arrays import Words
from golden.simt.golden_engine import GoldenEngine
from golden.simt.machine_registers import MachineRegisters, scratch_address
from golden.tables.commands import (
    MATRIX_ROW_BYTES,
    MATRIX_ROWS,
    Command,
    Load,
    LoadMatrix,
    Mma,
    MoveMatrix,
    Store,
    StoreMatrix,
)
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import CORE_FAMILIES, Space, multiplicand_formats
from golden.tables.layouts import LANES, fragment
from golden.tables.matrix_instructions import Instruction, LoadInstruction, MmaInstruction, StoreInstruction
from golden.tables.profiles import Profile

_SCRATCH_BYTES: Final = 4096
"""Of memory for a fragment with its longest lines."""

_Group = list[tuple[int, int]]
"""Warps of a kernel, each with an address of memory for it."""

_Access = TypeVar("_Access", LoadInstruction, StoreInstruction)


@dataclass(frozen=True)
class _Scratch:
    """The memory of a machine through which lines go from and to a kernel's memory."""

    storage: Storage
    base: int
    """Of the part for the first warp; the others follow."""
    space: Space
    """The state space to name."""
    step: int
    """Bytes from one line to the next."""

    def access(self, instruction: _Access, start: int) -> tuple[_Access, int, int]:
        """The access to an address of `storage`: instruction, address and stride in elements."""
        origin = self.base if self.space == "shared" else 0
        stride = self.step * 8 // FORMATS[instruction.type].bits
        return replace(instruction, space=self.space), start - origin, stride

    def write(self, start: int, lines: NDArray[np.uint8]) -> None:
        """Put lines, shape (lines, bytes), at an address."""
        padded = np.pad(lines, ((0, 0), (0, self.step - lines.shape[1])))
        self.storage.write(start, padded.reshape(-1))

    def read(self, start: int, count: int, size: int) -> NDArray[np.uint8]:
        """Take `count` lines of `size` bytes from an address."""
        return self.storage.read(start, self.step * count).reshape(count, self.step)[:, :size]


class MachineEngine(GoldenEngine):
    """Executes matrix instructions on any `golden.machine.Machine`.

    The warps of a kernel that execute an instruction together are dealt out to the machine's.

    ``ldmatrix``, ``stmatrix`` and ``movmatrix``, too, go through its global memory; a machine without shared
    memory has no such commands, and the host does them.

    Nothing else may use the machine while a kernel runs. `name` is for messages; `formats` are the
    multiplicand formats that it has, as `golden.warp.GoldenMachine` names them, None for all.
    """

    piece_bytes: ClassVar[int] = 1
    """A fault names the byte without memory."""

    def __init__(
        self, machine: Machine, *, name: str = "this machine", formats: Iterable[str] | None = None
    ) -> None:
        super().__init__(machine.profile)
        self._machine = machine
        self._name = name
        self._formats = None if formats is None else frozenset(formats)
        self._registers = [
            MachineRegisters(machine, self._formats, warp) for warp in range(machine.warp_count)
        ]

    @property
    def counters(self) -> Counters:
        """What the machine has done, and its copies in other processes."""
        return self._machine.counters + super().counters

    def missing(self, instruction: Instruction) -> str | None:
        """Why the machine cannot execute an instruction; None if it can."""
        return missing_on_core(instruction, self._machine.profile, self._formats, self._name)

    def load(self, instruction: LoadInstruction, lines: NDArray[np.uint8]) -> Words:
        """As `GoldenEngine.load`, by a load of the machine."""
        count = instruction.fragment.registers
        scratch = self._scratch_of(instruction, lines.shape[2])

        def load(warp: int, _: int, start: int) -> tuple[int, Command]:
            first = self._registers[warp].take(count)
            local, address, stride = scratch.access(instruction, start)
            return first, Load(local, first, address, stride, warp=warp)

        return self._results(len(lines), count, load, scratch, lines)

    def store(self, instruction: StoreInstruction, registers: Words) -> NDArray[np.uint8]:
        """As `GoldenEngine.store`, by a store of the machine."""
        count, elements = instruction.shape.lines("d", instruction.layout)
        size = elements * FORMATS[instruction.type].bits // 8
        scratch = self._scratch_of(instruction, size)

        def store(warp: int, place: int, start: int) -> Command:
            (first,) = self._registers[warp].hold(registers[place])
            local, address, stride = scratch.access(instruction, start)
            return Store(local, first, address, stride, warp=warp)

        return self._stored(len(registers), store, scratch, count, size)

    def multiply(self, instruction: MmaInstruction, a: Words, b: Words, c: Words) -> Words:
        """As `GoldenEngine.multiply`, by the machine."""
        count = fragment("d", instruction.d_type, instruction.shape).registers

        def multiply(warp: int, place: int, _: int) -> tuple[int, Command]:
            registers = self._registers[warp]
            first_a, first_b, first_c = registers.hold(a[place], b[place], c[place])
            first = first_c
            if count != c.shape[1]:
                first = registers.take(
                    count, keep=((first_a, a.shape[1]), (first_b, b.shape[1]), (first_c, c.shape[1]))
                )
            return first, Mma(instruction, first, first_a, first_b, first_c, warp=warp)

        return self._results(len(a), count, multiply)

    def load_matrices(self, matrices: NDArray[np.uint16], transposed: bool) -> Words:
        """As `GoldenEngine.load_matrices`, by the machine if it has the command."""
        if self._machine.shared is None:
            return super().load_matrices(matrices, transposed)
        warps, count, *_ = matrices.shape

        def load(warp: int, _: int, start: int) -> tuple[int, Command]:
            registers = self._registers[warp]
            (addresses,) = registers.hold(_row_addresses(start))
            first = registers.take(count, keep=((addresses, 1),))
            return first, LoadMatrix(first, addresses, count, transposed, "generic", warp=warp)

        lines = matrices.reshape(warps, -1, MATRIX_ROWS).view(np.uint8)
        return self._results(warps, count, load, self._scratch(MATRIX_ROW_BYTES), lines)

    def store_matrices(self, registers: Words, transposed: bool) -> NDArray[np.uint16]:
        """As `GoldenEngine.store_matrices`, by the machine if it has the command."""
        if self._machine.shared is None:
            return super().store_matrices(registers, transposed)
        warps, count, _ = registers.shape

        def store(warp: int, place: int, start: int) -> Command:
            first, addresses = self._registers[warp].hold(registers[place], _row_addresses(start))
            return StoreMatrix(first, addresses, count, transposed, "generic", warp=warp)

        scratch = self._scratch(MATRIX_ROW_BYTES)
        lines = self._stored(warps, store, scratch, MATRIX_ROWS * count, MATRIX_ROW_BYTES)
        return lines.view(np.uint16).reshape(warps, count, MATRIX_ROWS, -1)

    def transpose(self, registers: Words) -> Words:
        """As `GoldenEngine.transpose`, by the machine if it has the command."""
        if self._machine.shared is None:
            return super().transpose(registers)

        def transpose(warp: int, place: int, _: int) -> tuple[int, Command]:
            (source,) = self._registers[warp].hold(registers[place : place + 1])
            first = self._registers[warp].take(1, keep=((source, 1),))
            return first, MoveMatrix(first, source, warp=warp)

        return self._results(len(registers), 1, transpose)[:, 0]

    def finish(self) -> None:
        """Have the machine end its work."""
        self._machine.finish()

    def _results(
        self,
        warps: int,
        count: int,
        make: Callable[[int, int, int], tuple[int, Command]],
        scratch: _Scratch | None = None,
        lines: NDArray[np.uint8] | None = None,
    ) -> Words:
        """Execute a command for each warp of a kernel; the `count` registers that each has written.

        `make` gives the first register and the command for a warp of the machine, a warp of the kernel and an
        address. The lines of each warp are copied to `scratch` before.
        """
        results = []
        for group in self._groups(warps, scratch):
            made = [make(warp, place, start) for warp, (place, start) in enumerate(group)]
            if scratch is not None and lines is not None:
                for place, start in group:  # behind what is held, which goes through the same memory
                    scratch.write(start, lines[place])
            self._execute([command for _, command in made])
            results += [self._registers[warp].read(first, count) for warp, (first, _) in enumerate(made)]
        return np.stack(results)

    def _stored(
        self, warps: int, make: Callable[[int, int, int], Command], scratch: _Scratch, count: int, size: int
    ) -> NDArray[np.uint8]:
        """Execute a store for each warp of a kernel; the `count` lines of `size` bytes that each leaves."""
        lines = []
        for group in self._groups(warps, scratch):
            self._execute([make(warp, place, start) for warp, (place, start) in enumerate(group)])
            lines += [scratch.read(start, count, size) for _, start in group]
        return np.stack(lines)

    def _groups(self, count: int, scratch: _Scratch | None) -> Iterator[_Group]:
        """The warps of a kernel, as many together as the machine has warps and `scratch` has parts.

        The n-th of a group is executed by warp n, with the part of the memory whose address is beside it.
        """
        together, base = self._machine.warp_count, 0
        if scratch is not None:
            base = scratch.base
            room = scratch.storage.base + scratch.storage.size - base
            together = max(1, min(together, room // _SCRATCH_BYTES))
        for start in range(0, count, together):
            places = range(start, min(start + together, count))
            yield [(place, base + _SCRATCH_BYTES * warp) for warp, place in enumerate(places)]

    def _execute(self, commands: list[Command]) -> None:
        """Have commands of different warps executed side by side."""
        if len(commands) == 1:
            self._machine.execute(commands[0])
            return
        self._machine.queue(commands)
        self._machine.finish()

    def _scratch_of(self, instruction: LoadInstruction | StoreInstruction, size: int) -> _Scratch:
        """The memory for lines of `size` bytes, in the instruction's state space if the machine has it."""
        unit = instruction.fragment.size
        step = -(-size // unit) * unit  # the least that is legal
        shared = self._machine.shared
        if instruction.space == "shared" and shared is not None:
            return _Scratch(shared, shared.base, "shared", step)
        return self._scratch(step)

    def _scratch(self, step: int) -> _Scratch:
        """The same in global memory."""
        storage = self._machine.memory
        return _Scratch(storage, scratch_address(storage), "global", step)


def missing_on_core(
    instruction: Instruction, profile: Profile, formats: Iterable[str] | None, name: str
) -> str | None:
    """Why a core cannot execute an instruction; None if it can.

    `formats` are as for `MachineEngine`; `name` is for the message.
    """
    if isinstance(instruction, MmaInstruction):
        if instruction.family not in CORE_FAMILIES:
            alone = ", which runs on golden alone" if instruction.family.tiles > 1 else ""
            return f"{name} does not execute {instruction}{alone}"
        problem = GoldenEngine(profile).missing(instruction)
        if problem is not None:
            return problem
        type_, needed = instruction.a_type, instruction.family.formats
    else:
        type_ = instruction.type
        needed = multiplicand_formats((type_,) if instruction.use in "ab" else ())
    if formats is not None and not needed <= frozenset(formats):
        return f"{name} has no .{type_} multiply"
    return None


def _row_addresses(start: int) -> Words:
    """Rows of matrices one after the other, the address of each in its lane."""
    rows = np.arange(start, start + MATRIX_ROW_BYTES * LANES, MATRIX_ROW_BYTES)
    return rows[None].astype(np.uint32)
