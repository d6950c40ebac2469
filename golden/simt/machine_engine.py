"""Matrix instructions on a machine, through its registers and its memory: as many warps at once as it has.

A machine has a memory of its own, so what a fragment is loaded from is copied there first, row by row,
and what is stored is copied back. Fragments stay in the registers as long as there is room: one that an
instruction needs is not written again if a register already holds its bits.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np

from golden.lines import piece_addresses
from golden.machine import Counters, Machine, Storage
from golden.simt.arrays import Addresses, Strides, Words
from golden.simt.golden_engine import ROW_HALVES, FragmentMemory, GoldenEngine
from golden.simt.machine_registers import MachineRegisters, scratch_address
from golden.tables.commands import (
    MATRIX_ROW_BYTES,
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

_Make = Callable[[int, int, int], tuple[int, Command]]
"""From a warp of the machine, a warp of the kernel and an address to a first register and a command."""

_Access = TypeVar("_Access", LoadInstruction, StoreInstruction)


@dataclass(frozen=True)
class _Scratch:
    """The memory of a machine through which lines go from and to a kernel's memory."""

    storage: Storage
    base: int
    """Of the part for the first warp; the others follow."""
    space: Space
    """The state space to name."""
    memory: FragmentMemory
    """Of the kernel."""
    lines: Addresses
    """Where the elements lie in it, shape (warps, lines, elements)."""
    size: int
    """Bytes of an element."""
    step: int
    """Bytes from one line to the next in `storage`."""

    def access(self, instruction: _Access, start: int) -> tuple[_Access, int, int]:
        """The access to an address of `storage`: instruction, address and stride in elements."""
        origin = self.base if self.space == "shared" else 0
        stride = self.step * 8 // FORMATS[instruction.type].bits
        return replace(instruction, space=self.space), start - origin, stride

    def fill(self, group: _Group) -> None:
        """Copy the lines of some warps from the kernel's memory."""
        for place, start in group:
            own = slice(place, place + 1)
            rows = self.memory.of(own).gather(self.lines[own], self.size)[0].view(np.uint8)
            self.storage.write(start, np.pad(rows, ((0, 0), (0, self.step - rows.shape[1]))).reshape(-1))

    def empty(self, group: _Group) -> None:
        """Copy the lines of some warps to the kernel's memory."""
        _, count, elements = self.lines.shape
        for place, start in group:
            own = slice(place, place + 1)
            rows = self.storage.read(start, self.step * count).reshape(count, self.step)
            data = np.ascontiguousarray(rows[:, : elements * self.size]).view(f"u{self.size}")
            self.memory.of(own).scatter(self.lines[own], data, self.size)


class MachineEngine(GoldenEngine):
    """Executes matrix instructions on any `golden.machine.Machine`.

    The warps of a kernel that execute an instruction together are dealt out to the machine's.

    ``ldmatrix``, ``stmatrix`` and ``movmatrix``, too, go through its global memory; a machine without shared
    memory has no such commands, and the host does them.

    Nothing else may use the machine while a kernel runs. `name` is for messages; `formats` are the
    multiplicand formats that it has, as `golden.warp.GoldenMachine` names them, None for all.
    """

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

    def load(
        self, instruction: LoadInstruction, addresses: Addresses, strides: Strides, memory: FragmentMemory
    ) -> Words:
        """As `GoldenEngine.load`, by a load of the machine."""
        count = fragment(instruction.use, instruction.type, instruction.shape).registers
        scratch = self._lines(instruction, addresses, strides, memory)

        def load(warp: int, _: int, start: int) -> tuple[int, Command]:
            first = self._registers[warp].take(count)
            local, address, stride = scratch.access(instruction, start)
            return first, Load(local, first, address, stride, warp=warp)

        return self._results(len(addresses), count, load, scratch)

    def store(
        self,
        instruction: StoreInstruction,
        addresses: Addresses,
        strides: Strides,
        registers: Words,
        memory: FragmentMemory,
    ) -> None:
        """As `GoldenEngine.store`, by a store of the machine."""
        scratch = self._lines(instruction, addresses, strides, memory)

        def store(warp: int, place: int, start: int) -> tuple[int, Command]:
            (first,) = self._registers[warp].hold(registers[place])
            local, address, stride = scratch.access(instruction, start)
            return first, Store(local, first, address, stride, warp=warp)

        self._store(store, scratch)

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

    def load_matrices(self, rows: Addresses, transposed: bool, memory: FragmentMemory) -> Words:
        """As `GoldenEngine.load_matrices`, by the machine if it has the command."""
        if self._machine.shared is None:
            return super().load_matrices(rows, transposed, memory)
        count = rows.shape[1]

        def load(warp: int, _: int, start: int) -> tuple[int, Command]:
            registers = self._registers[warp]
            (addresses,) = registers.hold(_row_addresses(start))
            first = registers.take(count, keep=((addresses, 1),))
            return first, LoadMatrix(first, addresses, count, transposed, "generic", warp=warp)

        return self._results(len(rows), count, load, self._rows(rows, memory))

    def store_matrices(
        self, rows: Addresses, transposed: bool, registers: Words, memory: FragmentMemory
    ) -> None:
        """As `GoldenEngine.store_matrices`, by the machine if it has the command."""
        if self._machine.shared is None:
            super().store_matrices(rows, transposed, registers, memory)
            return

        def store(warp: int, place: int, start: int) -> tuple[int, Command]:
            first, addresses = self._registers[warp].hold(registers[place], _row_addresses(start))
            return first, StoreMatrix(first, addresses, rows.shape[1], transposed, "generic", warp=warp)

        self._store(store, self._rows(rows, memory))

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

    def _results(self, warps: int, count: int, make: _Make, scratch: _Scratch | None = None) -> Words:
        """Execute a command for each warp of a kernel; the `count` registers that each has written.

        The lines of `scratch` are copied to the machine before.
        """
        results = []
        for group in self._groups(warps, scratch):
            made = [make(warp, place, start) for warp, (place, start) in enumerate(group)]
            if scratch is not None:
                scratch.fill(group)  # behind what is held, which goes through the same memory
            self._execute([command for _, command in made])
            results += [self._registers[warp].read(first, count) for warp, (first, _) in enumerate(made)]
        return np.stack(results)

    def _store(self, make: _Make, scratch: _Scratch) -> None:
        """Execute a command for each warp of a kernel, and copy the lines of `scratch` from the machine."""
        for group in self._groups(len(scratch.lines), scratch):
            self._execute([make(warp, place, start)[1] for warp, (place, start) in enumerate(group)])
            scratch.empty(group)

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

    def _lines(
        self,
        instruction: LoadInstruction | StoreInstruction,
        addresses: Addresses,
        strides: Strides,
        memory: FragmentMemory,
    ) -> _Scratch:
        """The scratch memory for fragments, in the state space of the instruction if the machine has it."""
        lines = piece_addresses(instruction, addresses, strides, 1)
        unit = fragment(instruction.use, instruction.type, instruction.shape).size
        step = -(-lines.shape[2] // unit) * unit  # the least that is legal
        shared = self._machine.shared
        if instruction.space == "shared" and shared is not None:
            return _Scratch(shared, shared.base, "shared", memory, lines, 1, step)
        storage = self._machine.memory
        return _Scratch(storage, scratch_address(storage), "global", memory, lines, 1, step)

    def _rows(self, rows: Addresses, memory: FragmentMemory) -> _Scratch:
        """The scratch memory for the rows of matrices, shape (warps, matrices, 8)."""
        storage = self._machine.memory
        halves = rows.reshape(len(rows), -1, 1) + ROW_HALVES
        return _Scratch(storage, scratch_address(storage), "global", memory, halves, 2, MATRIX_ROW_BYTES)


def missing_on_core(
    instruction: Instruction, profile: Profile, formats: Iterable[str] | None, name: str
) -> str | None:
    """Why a core cannot execute an instruction; None if it can.

    `formats` are as for `MachineEngine`; `name` is for the message.
    """
    if isinstance(instruction, MmaInstruction):
        if instruction.family not in CORE_FAMILIES:
            return f"{name} does not execute {instruction}"
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
