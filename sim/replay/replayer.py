"""Executes a trace on a machine as a stream of commands, and compares what the machine then holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from golden.machine import Counters, Machine
from golden.memory import Memory
from golden.simt.trace_file import TraceReader
from golden.tables.commands import (
    Command,
    Fill,
    Load,
    LoadMatrix,
    Mma,
    MoveMatrix,
    Store,
    StoreMatrix,
    Wgmma,
)
from golden.tables.faults import Fault
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from golden.warp import GoldenMachine
from sim.replay.addresses import GRANULE, AddressMap
from sim.replay.carriers import carriers, parts
from sim.replay.entries import Block, Entry, Write, entries_of
from sim.replay.expectation import Expectation, Origin
from sim.replay.register_file import NEVER, RegisterFile, Resident
from sim.replay.schedule import Schedule, Step, Window, look_ahead

_TURN: Final = 4
"""Entries of a warp that are queued before another warp has its turn."""

_AHEAD: Final = 4
"""Entries whose operands are loaded before the first of them is executed."""

_BATCH: Final = 128
"""Commands that are queued together."""

_REGISTER_BYTES: Final = 4 * LANES


@dataclass(frozen=True, kw_only=True)
class ReplayCounters(Counters):
    """What a machine has done to execute a trace."""

    reloads: int = 0
    """Fragments loaded again that had been in registers."""
    pushed: int = 0
    """Fragments loaded that the host had changed, or that no matrix instruction had made."""
    written_bytes: int = 0
    """Bytes that the host wrote into the machine's memory for them and for the kernel's loads."""
    waits: int = 0
    """Times the machine ended its work before it was given more."""


@dataclass(kw_only=True)
class ReplayOptions:
    """What is observed while a trace is executed."""

    compares_each: bool = False
    """Whether registers are compared behind each window of entries that may overlap, beside after blocks."""
    on_command: Callable[[str], None] | None = None
    """Called with the line of the kernel before a machine gets a command."""
    expectation: type[Expectation] = Expectation
    """What compares the machine with the trace."""


class Replayer:
    """Executes the matrix instructions of a trace on a fresh machine, whose registers and memories are zeros.

    `able` is a machine with the same registers, formats and address widths, which says what `machine`
    accepts. With `serial`, the machine ends and is compared after each entry. `on_block` is called after each
    block with the number of those that have ended.
    """

    def __init__(
        self,
        machine: Machine,
        able: GoldenMachine,
        trace: TraceReader,
        options: ReplayOptions | None = None,
        *,
        serial: bool = False,
        on_block: Callable[[int], None] | None = None,
    ) -> None:
        self._machine = machine
        self._able = able
        self._trace = trace
        self._serial = serial
        self._options = options or ReplayOptions()
        self._on_block = on_block
        memory, shared = machine.memory, machine.shared
        size = None if isinstance(memory, Memory) else memory.size
        self._base, self._shared_base = memory.base, 0 if shared is None else shared.base
        shared_bytes = 0 if shared is None else min(shared.size, trace.head.shared_bytes)
        self._addresses = AddressMap(trace.segments, shared_bytes, memory.base, size)
        sizes = self._addresses.memory_bytes, shared_bytes
        self._expected = self._options.expectation(machine, *sizes)
        self._accepted: dict[Load | Store, bool] = {}
        self._schedule = Schedule(machine.warp_count, sizes)
        self._carriers = carriers(self._accepts)
        unit = min((carrier.registers for carrier in self._carriers), default=1)
        self._files: list[RegisterFile[bytes]] = [
            RegisterFile(machine.register_count, unit if unit == 4 else 1) for _ in range(machine.warp_count)
        ]
        self._known: set[int] = set()
        """Hashes of the contents that have been in registers since the block began."""
        self._pending: list[tuple[Command, str]] = []
        self._last: Origin = None, ""
        self._scratch = 0
        self._counts = dict.fromkeys(("reloads", "pushed", "written_bytes", "waits"), 0)
        self.block = -1
        """The block that is executed, for messages."""

    def run(self) -> ReplayCounters:
        """Execute all of the trace.

        Difference where the machine differs from the trace, or refuses a command; LaunchError for registers
        that do not hold the fragments of an instruction.
        """
        ended = 0
        for part in self._trace.parts():
            shared_base = None if self._machine.shared is None else self._shared_base
            entries = entries_of(part, self._addresses, self._accepts, shared_base, self._base)
            steps = self._schedule.order(entries)
            for file, uses in zip(self._files, look_ahead(steps, len(self._files)), strict=True):
                file.set_uses(uses)
            for step in steps:
                self._step(step)
                if isinstance(step, Block):
                    ended += 1
                    if self._on_block is not None:
                        self._on_block(ended)
            self._finish()
        self._expected.compare_registers()
        self._expected.compare_memories()
        return ReplayCounters(**vars(self._machine.counters), **self._counts)

    def _step(self, step: Step) -> None:
        if isinstance(step, Write):
            self._put(step.place.is_shared, step.place.offset, step.data)
        elif isinstance(step, Window):
            self._window(step)
            if self._options.compares_each:
                self._finish()
                self._compare_near()
        else:
            self._finish()
            if isinstance(step, Block):
                self._known.clear()
                self._compare_near()

    def _compare_near(self) -> None:
        """Compare registers that are not behind a wire."""
        if isinstance(self._machine.memory, Memory):
            self._expected.compare_registers()

    def _window(self, window: Window) -> None:
        for start in range(0, max(map(len, window.entries)), _TURN):
            for warp, entries in enumerate(window.entries):
                for place, entry in enumerate(entries[start : start + _TURN], start):
                    if not self._serial:
                        self._load_ahead(warp, entries[place : place + _AHEAD])
                    self._entry(warp, entry)
                    if self._serial:
                        self._finish()
                        self._expected.compare_registers()
        self._flush()

    def _load_ahead(self, warp: int, entries: Sequence[Entry]) -> None:
        """Load the operands of the next entries where registers are free, or hold what is used later."""
        file, made = self._files[warp], {entries[0].result}
        for entry in entries[1:]:
            for content in entry.sources:
                if content not in made and file.find(content) is None:
                    count = len(content) // _REGISTER_BYTES
                    resident = file.take_early(content, count, (), entry.number)
                    if resident is None:
                        return
                    resident.next_use = entry.number
                    self._fill(warp, resident, entry.line)
            made.add(entry.result)

    def _entry(self, warp: int, entry: Entry) -> None:
        """Have a warp of the machine execute an entry, its operands in registers."""
        instruction, file = entry.instruction, self._files[warp]
        self.block = entry.block
        held: list[Resident[bytes]] = []
        for content, next_use in zip(entry.sources, entry.next_uses, strict=False):
            resident = file.find(content)
            if resident is None:
                resident = file.take(content, len(content) // _REGISTER_BYTES, held)
                self._fill(warp, resident, entry.line)
            resident.next_use = next_use
            held.append(resident)
        firsts = [resident.first for resident in held]
        if entry.result is None:
            command = self._command(entry, warp, firsts, firsts[0])
            self._expected.store(entry, command)
        else:
            count = len(entry.result) // _REGISTER_BYTES
            others = held[:2] + held[3:]
            last = held[-1] if isinstance(instruction, MmaInstruction) and held else None
            if entry.share is not None:
                in_place = entry.share.scale_d
            else:
                last = held[2] if isinstance(instruction, MmaInstruction) else None
                in_place = (
                    last is not None
                    and last.next_use == NEVER
                    and last.count == file.whole(count)
                    and last not in others
                )
            if in_place and last is not None:
                resident = file.replace(last, entry.result)
            else:
                resident = file.take(entry.result, count, held)
            resident.next_use = entry.next_uses[-1]
            command = self._command(entry, warp, firsts, resident.first)
            self._expected.load(warp, resident.first, entry.result, (command, entry.line))
            self._known.add(hash(entry.result))
        self._queue(command, entry.line)

    def _command(self, entry: Entry, warp: int, sources: list[int], first: int) -> Command:
        instruction = entry.instruction
        if entry.share is not None:
            a = sources[0] if entry.share.a_in_registers else entry.share.a
            return replace(entry.share, d=first, a=a, warp=warp)
        if isinstance(instruction, MmaInstruction):
            side = dict(zip(instruction.side_registers, sources[3:], strict=True))
            return Mma(instruction, first, *sources[:3], **side, warp=warp)
        if isinstance(instruction, LoadInstruction | StoreInstruction):
            place = entry.place
            assert place is not None
            if not place.is_shared:
                instruction, address = replace(instruction, space="global"), self._base + place.offset
            elif instruction.space == "shared":
                address = place.offset
            else:
                address = self._shared_base + place.offset
            kind = Load if isinstance(instruction, LoadInstruction) else Store
            return kind(instruction, first, address, entry.stride, warp=warp)  # type: ignore[arg-type]
        if instruction.mnemonic == "movmatrix":
            return MoveMatrix(first, sources[0], warp=warp)
        kind_of = LoadMatrix if instruction.mnemonic == "ldmatrix" else StoreMatrix
        return kind_of(first, sources[-1], instruction.count, instruction.transposed, "generic", warp=warp)

    def _fill(self, warp: int, resident: Resident[bytes], line: str) -> None:
        """Load a content into its registers."""
        content = resident.content
        words = np.frombuffer(content, np.uint32).reshape(-1, LANES)
        if hash(content) in self._known:
            self._counts["reloads"] += 1
        else:
            self._counts["pushed"] += 1
            self._known.add(hash(content))
        if (words == words[0, 0]).all():
            fill = Fill(resident.first, len(words), int(words[0, 0]), warp=warp)
            self._expected.load(warp, resident.first, content, (fill, line))
            self._queue(fill, line)
            return
        padded = np.pad(words, ((0, resident.count - len(words)), (0, 0)))
        for first, count, carrier in parts(self._carriers, resident.first, resident.count):
            values = padded[first - resident.first :][:count]
            command: Command = Fill(first, count, 0, warp=warp)
            if carrier is None:
                self._finish()
                self._machine.write_registers(first, values, warp=warp)
            else:
                offset = self._scratch_for(carrier.bytes)
                data = carrier.in_memory(values)
                self._put(False, offset, data)
                command = Load(carrier.load, first, self._base + offset, warp=warp)
                self._queue(command, line)
            self._expected.load(warp, first, values.tobytes(), (command, line))

    def _scratch_for(self, size: int) -> int:
        """Memory that no command in flight reads."""
        if self._scratch + size > self._addresses.scratch_bytes:
            self._finish()
        offset = self._scratch
        self._scratch += size
        return offset

    def _put(self, is_shared: bool, offset: int, data: NDArray[np.uint8]) -> None:
        """Write bytes into the machine's memory."""
        self._expected.write(is_shared, offset, data)
        self._counts["written_bytes"] += data.size

    def _queue(self, command: Command, line: str) -> None:
        self._pending.append((command, line))
        if self._serial or len(self._pending) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        """Give the machine what it has not got yet."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        if self._options.on_command is not None:
            for _, line in pending:
                self._options.on_command(line)
        self._expected.executed += len(pending)
        self._last = pending[-1]
        if self._serial:
            self._guard(lambda: self._machine.execute(pending[0][0]))
        else:
            self._guard(lambda: self._machine.queue([command for command, _ in pending]))

    def _finish(self) -> None:
        """Wait until the machine has ended, and compare what it has stored."""
        self._flush()
        self._guard(self._machine.finish)
        self._counts["waits"] += 1
        self._scratch = 0
        self._expected.compare_stored()

    def _guard(self, action: Callable[[], None]) -> None:
        """Have the machine do something; what it refuses is a mismatch."""
        try:
            action()
        except Fault as fault:
            difference = f"golden executed it, the core faulted ({fault})"
            raise self._expected.mismatch(self._last, difference) from None

    def _accepts(self, access: Load | Store | Wgmma) -> bool:
        """Whether the machine executes an access to memory that exists."""
        if isinstance(access, Wgmma):
            return self._able.accepts(access)
        low = replace(access, address=access.address % GRANULE**2)
        if low not in self._accepted:
            self._accepted[low] = self._able.accepts(low)
        return self._accepted[low]
