"""Runs commands that must fault among others that must not, on a core and on the golden machine."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np

from golden.lines import gather_lines
from golden.tables.commands import Command, LoadMatrix, Mma, Store, StoreMatrix
from golden.tables.faults import Cause
from golden.warp import GoldenMachine
from hdl.command import encode
from hdl.control.host import REGISTERS
from regression.random_programs.generator import make_program
from regression.random_programs.illegal import Illegal, illegal_commands
from regression.random_programs.program import Program, raw_count, raw_load
from regression.random_programs.running import fault_of, open_rtl
from sim.mismatch import memory_difference, register_difference
from sim.rtl_machine import RtlMachine
from sim.simulation import BusTiming

_PAGE = 4096


class FaultSession:
    """A core and a golden machine that go on from fault to fault."""

    def __init__(self, preset: str, seed: int, open_core: Callable[[Program], RtlMachine] = open_rtl) -> None:
        self._program: Program = make_program(preset, seed, multiplies=6)
        self._config = self._program.config
        self._anytime = tuple(filter(_is_legal_anytime, self._program.commands))
        self._random = np.random.default_rng((seed, 1))
        self._seed = seed
        self._golden: GoldenMachine = self._program.golden()
        timing = BusTiming(
            latency=int(self._random.integers(1, 40)), stall=int(self._random.integers(0, 100))
        )
        self.core = open_core(replace(self._program, timing=timing))
        """Stands still between two illegal commands."""
        # In the last page but two, where neither programs nor broken accesses come.
        self._table = self._golden.memory.base + self._golden.memory.size - 3 * _PAGE

    def run(self) -> Iterator[tuple[Illegal, str, str | None]]:
        """Run every way to a fault once, first ``serial``, then ``overlapped``.

        Yields the illegal command, the mode, and what differed; then the machines are closed.
        """
        for command in self._program.commands:
            self._golden.execute(command)
        with closing(self.core), closing(self._golden):
            self.core.execute_batch(self._program.commands)
            self._executed = sum(not item.warp for item in self._program.commands)
            self._others = len(self._program.commands) - self._executed
            for mode in ("serial", "overlapped"):
                for illegal in illegal_commands(self._random, self._config, self._golden.memory, self._seed):
                    yield illegal, mode, self._run(illegal, mode)

    def _run(self, illegal: Illegal, mode: str) -> str | None:
        before, after = (*self._neighbours(), *self._rows(illegal)), self._neighbours()
        for command in before:
            self._golden.execute(command)
        self.core.simulation.set_slave_error(*(illegal.marked or (0, 0)))
        self.core.simulation.write(REGISTERS["MODE"], np.array([mode == "serial"], dtype=np.uint32))
        words = [*(encode(command) for command in before), illegal.words, *(encode(item) for item in after)]
        if self.core.execute_words(words):
            return "the core executed it"
        progress = int(self.core.simulation.read(REGISTERS["FAULT_PROGRESS"])[0])
        cause, index = self.core.clear_fault()
        self.core.simulation.set_slave_error(0, 0)
        self._executed += len(before)
        golden_cause = self._golden_cause(illegal)
        if golden_cause is not illegal.cause:
            return f"golden says {golden_cause.name}, expected was {illegal.cause.name}"
        if (cause, index) != (illegal.cause, self._executed):
            return f"cause {cause.name} at {index}, expected {illegal.cause.name} at {self._executed}"
        if isinstance(illegal.command, Store | StoreMatrix) and illegal.cause.is_of_memory:
            bursts = self._bursts_before(illegal)
            if progress != bursts:
                return f"progress {progress}, but the memory took {bursts} bursts before the first it refused"
        if not illegal.cause.is_of_memory or mode == "serial":
            counted = self.core.counters.instructions - self._others
            if counted != self._executed:
                return f"the core counts {counted} commands, not {self._executed}"
            return state_difference(self._golden, self.core)
        self._resynchronise()
        return None

    def _rows(self, illegal: Illegal) -> tuple[Command, ...]:
        """Put row addresses or metadata into both memories; the load that brings them to their register."""
        if illegal.held is None:
            return ()
        # The load of a single register is of i4, which not every core has.
        count = raw_count(self._config, 2)
        first = min(illegal.register, self._config.registers - count)
        load, data = raw_load(first, np.stack([illegal.held] * count), self._table)
        for memory in (self._golden.memory, self.core.memory):
            memory.write(self._table, data)
        return (load,)

    def _neighbours(self) -> tuple[Command, ...]:
        """Some commands of the program."""
        commands = self._anytime
        start = int(self._random.integers(len(commands) - 6))
        return commands[start : start + int(self._random.integers(1, 6))]

    def _golden_cause(self, illegal: Illegal) -> Cause:
        """What the golden machine says, which knows neither words in no table nor slave errors."""
        if illegal.command is None:
            return Cause.ILLEGAL_INSTRUCTION
        if illegal.marked is not None:
            if isinstance(illegal.command, Store | StoreMatrix):
                address, size = illegal.marked
                kept = self._golden.memory.read(address, size)
                self._golden.execute(illegal.command)
                self._golden.memory.write(address, kept)
            return illegal.cause
        fault = fault_of(self._golden, [illegal.command])
        assert fault is not None, f"the golden machine executed {illegal.command}"
        return fault.cause

    def _bursts_before(self, illegal: Illegal) -> int:
        """How many bursts of a store go well before the first that memory refuses."""
        command, marked = illegal.command, range(0)
        assert isinstance(command, Store | StoreMatrix)
        if illegal.marked is not None:
            marked = range(illegal.marked[0], sum(illegal.marked))

        def exists(address: int) -> bool:
            if command.instruction.space == "shared":
                return address < self._config.shared_bytes
            return address not in marked and self._golden.memory.contains(address, 1)

        if isinstance(command, StoreMatrix):
            assert illegal.held is not None
            return list(map(exists, illegal.held[: 8 * command.count].tolist())).index(False)
        burst, before = -1, -2
        for first, count in gather_lines(command.instruction, command.address, command.stride):
            for address in range(first, first + count):
                burst += address != before + 1 or address % _PAGE == 0
                if not exists(address):
                    return burst
                before = address
        raise AssertionError(f"memory takes every byte of {command}")

    def _resynchronise(self) -> None:
        """Commands behind a failure on the bus may have been executed: begin anew from the golden state."""
        self.core.write_registers(0, self._golden.read_registers())
        np.copyto(self.core.memory.data, self._golden.memory.data)
        if self._golden.shared is not None and self.core.shared is not None:
            base = self._golden.shared.base
            self.core.shared.write(base, self._golden.shared.read(base, self._golden.shared.size))


def _is_legal_anytime(command: Command) -> bool:
    """Whether it is a command of warp 0 that needs neither addresses nor metadata in a register."""
    if isinstance(command, LoadMatrix | StoreMatrix) or command.warp:
        return False
    return not (isinstance(command, Mma) and command.instruction.is_sparse)


def state_difference(golden: GoldenMachine, rtl: RtlMachine) -> str | None:
    """What of a core is not as on the golden machine: registers, memory, the first of on-chip memory."""
    found = register_difference(None, golden.inspect_registers(), rtl.inspect_registers())
    found = found or memory_difference(None, golden.memory.base, golden.memory.data, rtl.memory.data)
    if found is None and golden.shared is not None and rtl.shared is not None:
        place = golden.shared.base, 4096
        parts = golden.shared.read(*place), rtl.shared.read(*place)
        return memory_difference(None, golden.shared.base, *parts, "shared memory")
    return found
