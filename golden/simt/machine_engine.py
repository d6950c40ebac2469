"""Matrix instructions on a machine, through its registers and its memory: as many warps at once as it has.

A machine has a memory of its own, so what a fragment is loaded from is copied there first, row by row,
and what is stored is copied back. Fragments stay in the registers as long as there is room: one that an
instruction needs is not written again if a register already holds its bits.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from golden.invalid_argument import InvalidArgument
from golden.lines import piece_addresses
from golden.machine import Counters, Machine, Storage
from golden.resolve import resolve_profile
from golden.simt.arrays import Addresses, Strides, Words
from golden.simt.golden_engine import GoldenEngine
from golden.simt.machine_registers import MachineRegisters, scratch_address
from golden.simt.matrix_engine import ROW_HALVES, FragmentMemory
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
"""Places of a kernel's warps, each with an address of memory for it."""


class MachineEngine:
    """Implements `golden.simt.matrix_engine.MatrixEngine` on any `golden.machine.Machine`.

    The warps of a kernel that execute an instruction together are dealt out to the machine's.

    ``ldmatrix``, ``stmatrix`` and ``movmatrix``, too, go through its global memory; a machine without shared
    memory has no such commands, and the host does them.

    Nothing else may use the machine while a kernel runs. `name` is for messages; `formats` are the
    multiplicand formats that it has, as `golden.warp.GoldenMachine` names them, None for all.
    """

    def __init__(
        self, machine: Machine, *, name: str = "this machine", formats: Iterable[str] | None = None
    ) -> None:
        self._machine = machine
        self._name = name
        self._formats = None if formats is None else frozenset(formats)
        self._registers = [
            MachineRegisters(machine, self._formats, warp) for warp in range(machine.warp_count)
        ]
        self._host = GoldenEngine()
        self._elsewhere = Counters()

    @property
    def counters(self) -> Counters:
        """What the machine has done, and its copies in other processes."""
        return self._machine.counters + self._elsewhere

    def add(self, counters: Counters) -> None:
        """Count what a copy of the machine has done in another process."""
        self._elsewhere += counters

    def missing(self, instruction: Instruction) -> str | None:
        """Why the machine cannot execute an instruction; None if it can."""
        return missing_on_core(instruction, self._machine.profile, self._formats, self._name)

    def load(
        self, instruction: LoadInstruction, addresses: Addresses, strides: Strides, memory: FragmentMemory
    ) -> Words:
        """The fragments that the warps load, shape (warps, registers, 32)."""
        layout = fragment(instruction.use, instruction.type, instruction.shape)
        storage, base, space = self._scratch(instruction.space)
        local = replace(instruction, space=space)

        def load(warp: int, place: int, start: int) -> tuple[int, Command]:
            own = slice(place, place + 1)
            lines = piece_addresses(instruction, addresses[own], strides[own], 1)
            data = memory.of(own).gather(lines, 1)[0]
            stride, step = _own_stride(instruction, data.shape[1], layout.size)
            storage.write(start, np.pad(data, ((0, 0), (0, step - data.shape[1]))).reshape(-1))
            first = self._registers[warp].take(layout.registers)
            return first, Load(local, first, start - self._origin(space), stride, warp=warp)

        return self._results(self._groups(len(addresses), storage, base), layout.registers, load)

    def store(
        self,
        instruction: StoreInstruction,
        addresses: Addresses,
        strides: Strides,
        registers: Words,
        memory: FragmentMemory,
    ) -> None:
        """Store the fragments of the warps."""
        layout = fragment("d", instruction.type, instruction.shape)
        storage, base, space = self._scratch(instruction.space)
        local = replace(instruction, space=space)
        for group in self._groups(len(addresses), storage, base):
            commands: list[Command] = []
            lines = []
            for warp, (place, start) in enumerate(group):
                own = slice(place, place + 1)
                lines.append(piece_addresses(instruction, addresses[own], strides[own], 1))
                stride, step = _own_stride(instruction, lines[-1].shape[2], layout.size)
                (first,) = self._registers[warp].hold(registers[place])
                commands.append(Store(local, first, start - self._origin(space), stride, warp=warp))
            self._execute(commands)
            for (place, start), places in zip(group, lines, strict=True):
                _, count, length = places.shape
                _, step = _own_stride(instruction, length, layout.size)
                data = storage.read(start, step * count).reshape(1, count, step)[..., :length]
                memory.of(slice(place, place + 1)).scatter(places, data, 1)

    def multiply(self, instruction: MmaInstruction, a: Words, b: Words, c: Words) -> Words:
        """The fragments D = A B + C of the warps, shape (warps, registers, 32)."""
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

        return self._results(self._groups(len(a)), count, multiply)

    def load_matrices(self, rows: Addresses, transposed: bool, memory: FragmentMemory) -> Words:
        """What ``ldmatrix`` loads: shape (warps, matrices, 32)."""
        if self._machine.shared is None:
            return self._host.load_matrices(rows, transposed, memory)
        count = rows.shape[1]
        storage, base, _ = self._scratch("global")

        def load(warp: int, _: int, start: int) -> tuple[int, Command]:
            registers = self._registers[warp]
            (addresses,) = registers.hold(_row_addresses(start))
            first = registers.take(count, keep=((addresses, 1),))
            return first, LoadMatrix(first, addresses, count, transposed, "generic", warp=warp)

        def write_rows(group: _Group) -> None:
            for place, start in group:
                own = slice(place, place + 1)
                data = memory.of(own).gather(rows[own, ..., None] + ROW_HALVES, 2).astype("<u2")
                storage.write(start, data.reshape(-1).view(np.uint8))

        # What is held goes through the same memory, so the rows come behind it.
        return self._results(self._groups(len(rows), storage, base), count, load, write_rows)

    def store_matrices(
        self, rows: Addresses, transposed: bool, registers: Words, memory: FragmentMemory
    ) -> None:
        """Store matrices as ``stmatrix`` does."""
        if self._machine.shared is None:
            self._host.store_matrices(rows, transposed, registers, memory)
            return
        count = rows.shape[1]
        storage, base, _ = self._scratch("global")
        for group in self._groups(len(rows), storage, base):
            commands: list[Command] = []
            for warp, (place, start) in enumerate(group):
                first, addresses = self._registers[warp].hold(registers[place], _row_addresses(start))
                commands.append(StoreMatrix(first, addresses, count, transposed, "generic", warp=warp))
            self._execute(commands)
            for place, start in group:
                data = storage.read(start, rows[place].size * MATRIX_ROW_BYTES)
                own = slice(place, place + 1)
                halves = rows[own, ..., None] + ROW_HALVES
                memory.of(own).scatter(halves, data.view("<u2").reshape(halves.shape), 2)

    def transpose(self, registers: Words) -> Words:
        """What ``movmatrix`` gives."""
        if self._machine.shared is None:
            return self._host.transpose(registers)

        def transpose(warp: int, place: int, _: int) -> tuple[int, Command]:
            (source,) = self._registers[warp].hold(registers[place : place + 1])
            first = self._registers[warp].take(1, keep=((source, 1),))
            return first, MoveMatrix(first, source, warp=warp)

        return self._results(self._groups(len(registers)), 1, transpose)[:, 0]

    def finish(self) -> None:
        """Have the machine end its work."""
        self._machine.finish()

    def _results(
        self,
        groups: Iterable[_Group],
        count: int,
        command: Callable[[int, int, int], tuple[int, Command]],
        prepare: Callable[[_Group], None] = lambda group: None,
    ) -> Words:
        """Execute a command for each place of some groups; the `count` registers that each has written.

        `command` makes it, from a warp of the machine, a place and an address, with the first of these
        registers; `prepare` is called before the commands of a group are executed.
        """
        results = []
        for group in groups:
            made = [command(warp, place, start) for warp, (place, start) in enumerate(group)]
            prepare(group)
            self._execute([item for _, item in made])
            results += [self._registers[warp].read(first, count) for warp, (first, _) in enumerate(made)]
        return np.stack(results)

    def _groups(self, count: int, storage: Storage | None = None, base: int = 0) -> Iterator[_Group]:
        """The places of a kernel's warps, as many together as the machine has warps.

        The n-th of a group is executed by warp n, with its part of the memory `storage`, from `base` on, of
        which the address is beside its place. As many are together as there are parts.
        """
        together = self._machine.warp_count
        if storage is not None:
            room = storage.base + storage.size - base
            together = max(1, min(together, room // _SCRATCH_BYTES))
        for start in range(0, count, together):
            places = range(start, min(start + together, count))
            yield [(place, base + _SCRATCH_BYTES * warp) for warp, place in enumerate(places)]

    def _execute(self, commands: Sequence[Command]) -> None:
        """Have commands of different warps executed side by side."""
        if len(commands) == 1:
            self._machine.execute(commands[0])
            return
        self._machine.queue(commands)
        self._machine.finish()

    def _origin(self, space: Space) -> int:
        """The address from which a state space counts."""
        shared = self._machine.shared
        return shared.base if space == "shared" and shared is not None else 0

    def _scratch(self, space: Space) -> tuple[Storage, int, Space]:
        """The memory through which fragments go, an address in it, and the state space to name."""
        shared = self._machine.shared
        if space == "shared" and shared is not None:
            return shared, shared.base, "shared"
        memory = self._machine.memory
        return memory, scratch_address(memory), "global"


def missing_on_core(
    instruction: Instruction, profile: Profile, formats: Iterable[str] | None, name: str
) -> str | None:
    """Why a core cannot execute an instruction; None if it can.

    `formats` are as for `MachineEngine`; `name` is for the message.
    """
    if isinstance(instruction, MmaInstruction):
        if instruction.family not in CORE_FAMILIES:
            return f"{name} does not execute {instruction}"
        try:
            resolve_profile(profile, instruction)
        except InvalidArgument as error:
            return str(error)
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


def _own_stride(instruction: LoadInstruction | StoreInstruction, line: int, unit: int) -> tuple[int, int]:
    """The least legal stride for lines of so many bytes, in elements and in bytes."""
    step = -(-line // unit) * unit
    return step * 8 // FORMATS[instruction.type].bits, step
