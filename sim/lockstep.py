"""Golden model and RTL side by side: registers and memories must agree."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from golden.lines import gather_lines
from golden.machine import Counters, Machine, Storage
from golden.tables.commands import MATRIX_ROW_BYTES, Command, Store, StoreMatrix
from golden.tables.faults import Fault
from golden.tables.layouts import LANES
from sim.mismatch import mismatch, register_difference
from sim.storage_pair import StoragePair


class LockstepMachine:
    """Executes every command on two machines and compares what they then hold.

    Commands of different warps that are queued one after the other are executed side by side; then all of
    them are compared.

    After every command all of global memory is compared where it lies in this process. Of memory that is read
    word by word, as shared memory and a board's, it is what a store reached, from its first byte to its
    last; `finish` compares all. Registers are compared after every command.

    Parameters
    ----------
    golden, rtl : Machine
        Fresh machines with memories of the same base, size and content.

    Attributes
    ----------
    memory, shared : StoragePair
        The golden machine's memories; what is written into one is written into the RTL's as well. `shared` is
        None where there is none.
    profile, register_count, warp_count
        As of the golden machine.

    Raises
    ------
    ValueError
        For different numerics profiles, for memories that differ in base or size, and for shared memory on
        one machine alone.
    """

    def __init__(self, golden: Machine, rtl: Machine) -> None:
        if golden.profile != rtl.profile:
            raise ValueError(
                "machines in lockstep must have the same numerics profile, "
                f"not {golden.profile.name}, {rtl.profile.name}"
            )
        self.memory = StoragePair(golden.memory, rtl.memory, "memory")
        window = _extent(golden.shared)
        if window != _extent(rtl.shared):
            raise ValueError(
                "shared memories in lockstep must have the same base and size, "
                f"not {window}, {_extent(rtl.shared)}"
            )
        self.shared: StoragePair | None = None
        if golden.shared is not None and rtl.shared is not None:
            self.shared = StoragePair(golden.shared, rtl.shared, "shared memory")
        self.golden = golden
        self.rtl = rtl
        self.profile = golden.profile
        self.register_count = golden.register_count
        self.warp_count = golden.warp_count
        self._executed = 0
        self._last_written: dict[int, tuple[int, Command]] = {}
        self._faults: deque[Fault] = deque()

    @property
    def counters(self) -> Counters:
        """The counters of the RTL."""
        return self.rtl.counters

    def executed(self, warp: int = 0) -> int:
        """Commands that a warp of the golden machine has executed."""
        return self.golden.executed(warp)

    def read_registers(
        self, first: int = 0, count: int | None = None, *, warp: int = 0
    ) -> NDArray[np.uint32]:
        """Consecutive registers of the golden machine; Difference where the registers of the RTL differ."""
        registers = self.golden.read_registers(first, count, warp=warp)
        if not np.array_equal(registers, self.rtl.read_registers(first, count, warp=warp)):
            self._compare_registers()
            last = first + len(registers) - 1
            raise mismatch(
                self._executed, None, f"the host reads other values in registers {first} to {last}"
            )
        return registers

    def inspect_registers(self) -> NDArray[np.uint32]:
        """All registers of all warps of the golden machine."""
        return self.golden.inspect_registers()

    def write_registers(self, first: int, values: NDArray[np.uint32], *, warp: int = 0) -> None:
        """Set consecutive registers of a warp of both; `values` has shape (count, 32 lanes)."""
        self.golden.write_registers(first, values, warp=warp)
        self.rtl.write_registers(first, values, warp=warp)

    def execute(self, command: Command) -> None:
        """Execute one command on both, and compare.

        Difference where they differ in a register, in memory, or in the fault they raised; the Fault where
        both refused it for the same cause.
        """
        self._raise_fault()
        self._execute_commands([command])

    def queue(self, commands: Iterable[Command]) -> None:
        """Execute and compare commands, as `execute` does; no more are drawn than that.

        Successive commands of different warps are executed side by side.
        """
        self._raise_fault()
        together: dict[int, Command] = {}
        for command in commands:
            # Warp 0 refuses commands for warps that do not exist.
            warp = command.warp if command.warp < self.warp_count else 0
            if warp in together:
                self._execute_together(together)
            together[warp] = command
            if len(together) == self.warp_count:
                self._execute_together(together)
        self._execute_together(together)

    def finish(self) -> None:
        """Compare all bytes of the memories, and all registers, that are not compared after every command.

        Fault of another warp than the fault that was raised before; Difference in a byte that no store was
        seen to reach, or in a register that no command was to write.
        """
        self._raise_fault()
        for pair in (None if self.memory.is_near else self.memory, self.shared):
            difference = pair.difference(None) if pair is not None else None
            if difference is not None:
                raise mismatch(self._executed, None, difference)

    def _execute_together(self, together: dict[int, Command]) -> None:
        """Execute a command of each warp, and leave none."""
        commands = list(together.values())
        together.clear()
        if commands:
            self._execute_commands(commands)

    def _execute_commands(self, commands: Sequence[Command]) -> None:
        """Execute commands of different warps side by side, and compare when all have ended."""
        index = self._executed
        rtl_faults = _faults_of(self.rtl, commands)
        for command in commands:
            found = _faults_of(self.golden, [command])
            warp, fault = next(iter(found.items()), (command.warp, None))
            rtl_fault = rtl_faults.pop(warp, None)
            if _key(rtl_fault) != _key(fault):
                raise mismatch(index, command, f"golden {_told(fault)}, rtl {_told(rtl_fault)}")
            self._faults.extend(found.values())
            self._executed += not found
            if not isinstance(command, Store | StoreMatrix):
                self._last_written[command.warp] = (index, command)
        self._compare_registers()
        for command in commands:
            difference = self._memory_difference(command)
            if difference is not None:
                self._compare_registers()
                raise mismatch(index, command, difference)
        self._raise_fault()

    def _raise_fault(self) -> None:
        """Where commands of several warps failed, each call raises the next fault."""
        if self._faults:
            raise self._faults.popleft()

    def _compare_registers(self) -> None:
        """Compare all registers; what differs is told in terms of the last command that wrote any."""
        golden, rtl = (
            machine.inspect_registers().reshape(self.warp_count, -1, LANES)
            for machine in (self.golden, self.rtl)
        )
        for warp in range(self.warp_count):
            index, command = self._last_written.get(warp, (self._executed, None))
            difference = register_difference(command, golden[warp], rtl[warp])
            if difference is not None:
                of_warp = f"warp {warp}: " if warp else ""
                raise mismatch(index, command, of_warp + difference)

    def _memory_difference(self, command: Command) -> str | None:
        """Compare all of memory that is near, and what a store reached in shared and in other memory."""
        if self.memory.is_near and (difference := self.memory.difference(command)) is not None:
            return difference
        if isinstance(command, Store):
            space = command.instruction.space
            lines = gather_lines(command.instruction, command.address, command.stride)
            reached = [(lines[0][0], sum(lines[-1]))]
        elif isinstance(command, StoreMatrix):
            (lanes,) = self.golden.read_registers(command.addresses, 1, warp=command.warp)
            space, rows = command.space, lanes[: 8 * command.count].tolist()
            reached = [(row, row + MATRIX_ROW_BYTES) for row in rows]
        else:
            return None
        # From addresses as the command counts them to addresses of the window.
        shift = self.shared.base if self.shared is not None and space == "shared" else 0
        told = shift if isinstance(command, Store) else 0
        pairs = [self.shared] if self.shared is not None and space != "global" else []
        pairs += [] if space == "shared" or self.memory.is_near else [self.memory]
        found = (
            pair.difference(command, (first + shift, last + shift), told)
            for pair in pairs
            for first, last in reached
        )
        return next((difference for difference in found if difference is not None), None)

    def close(self) -> None:
        """Close both machines."""
        self.rtl.close()
        self.golden.close()


def _extent(memory: Storage | None) -> str:
    return "none" if memory is None else f"{memory.base:#x} and {memory.size}"


def _faults_of(machine: Machine, commands: Sequence[Command]) -> dict[int, Fault]:
    """Have commands of different warps executed; the fault of each warp that failed."""
    faults: dict[int, Fault] = {}

    def end(action: Callable[[], None]) -> bool:
        try:
            action()
        except Fault as fault:
            faults[fault.warp] = fault
            return False
        return True

    if len(commands) == 1:
        end(lambda: machine.execute(commands[0]))
    else:
        end(lambda: machine.queue(commands))
        while not end(machine.finish):
            pass
    return faults


def _key(fault: Fault | None) -> tuple[int, int] | None:
    return None if fault is None else (fault.cause, fault.index)


def _told(fault: Fault | None) -> str:
    return "executed it" if fault is None else f"faulted ({fault})"
