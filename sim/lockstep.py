"""Golden model and RTL side by side: after every command, registers and memories must agree."""

import numpy as np
from numpy.typing import NDArray

from golden.commands import Command, Elementwise, Store
from golden.elementwise import execute_elementwise
from golden.faults import Fault
from golden.lines import gather_lines
from golden.machine import Counters, Machine, Storage
from golden.memory import Memory
from sim.mismatch import Mismatch, memory_difference, register_difference

__all__ = ["LockstepMachine"]


class _BothShared:
    """Shared memory of both machines: read from the golden one, written to both."""

    def __init__(self, golden: Storage, rtl: Storage) -> None:
        self.golden = golden
        self.rtl = rtl

    @property
    def base(self) -> int:
        """Generic address of the first byte."""
        return self.golden.base

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.golden.size

    def contains(self, address: int, count: int) -> bool:
        """Whether all `count` bytes from `address` on exist."""
        return self.golden.contains(address, count)

    def read(self, address: int, count: int) -> NDArray[np.uint8]:
        """A copy of `count` bytes of the golden machine; IndexError where not all of them exist."""
        return self.golden.read(address, count)

    def write(self, address: int, values: NDArray[np.uint8]) -> None:
        """Write bytes into both; IndexError, with nothing written, where not all of them exist."""
        self.golden.write(address, values)
        self.rtl.write(address, values)


class LockstepMachine:
    """Executes every command on two machines and compares what they then hold.

    All registers and all of global memory are compared after every command. Of shared memory, which the host
    reads word by word, it is what a store reached, from its first byte to its last; `compare_shared` compares
    all.

    Parameters
    ----------
    golden, rtl : Machine
        Fresh machines with memories of the same base and size.

    Raises
    ------
    ValueError
        For memories that differ in base or size, and for shared memory on one machine alone.
    """

    def __init__(self, golden: Machine, rtl: Machine) -> None:
        ours, theirs = golden.memory, rtl.memory
        if (ours.base, ours.size) != (theirs.base, theirs.size):
            raise ValueError(
                f"memories in lockstep must have the same base and size, not {ours.base:#x} and {ours.size}, "
                f"{theirs.base:#x} and {theirs.size}"
            )
        if ours.data is theirs.data:
            raise ValueError("machines in lockstep must not share one memory")
        self._shared: _BothShared | None = None
        if golden.shared is not None and rtl.shared is not None:
            self._shared = _BothShared(golden.shared, rtl.shared)
        window = _extent(golden.shared)
        if window != _extent(rtl.shared):
            raise ValueError(
                "shared memories in lockstep must have the same base and size, "
                f"not {window}, {_extent(rtl.shared)}"
            )
        self._golden = golden
        self._rtl = rtl
        self._executed = 0

    @property
    def golden(self) -> Machine:
        """The machine that says what is right."""
        return self._golden

    @property
    def rtl(self) -> Machine:
        """The machine that is checked."""
        return self._rtl

    @property
    def memory(self) -> Memory:
        """The golden machine's memory; what is written into it reaches the RTL before the next command."""
        return self._golden.memory

    @property
    def shared(self) -> Storage | None:
        """The golden machine's shared memory; what is written into it is written into the RTL's as well."""
        return self._shared

    @property
    def counters(self) -> Counters:
        """The counters of the RTL."""
        return self._rtl.counters

    def read_registers(self) -> NDArray[np.uint32]:
        """All registers of the golden machine, which are those of both; shape (registers, 32 lanes)."""
        return self._golden.read_registers()

    def write_registers(self, first: int, values: NDArray[np.uint32]) -> None:
        """Set consecutive registers of both; `values` has shape (count, 32 lanes)."""
        self._golden.write_registers(first, values)
        self._rtl.write_registers(first, values)

    def execute(self, command: Command | Elementwise) -> None:
        """Execute one command on both, or do the host's work on the registers of both, and compare.

        Raises
        ------
        sim.mismatch.Mismatch
            They differ in a register, in memory, or in the fault they raised.
        golden.faults.Fault
            Both refused it, for the same cause.
        golden.arguments.InvalidArgument
            Work of the host that cannot be done.
        """
        if isinstance(command, Elementwise):
            self._execute_on_host(command)
            return
        # After the last comparison both memories were equal: what differs now, the caller has written.
        np.copyto(self._rtl.memory.data, self._golden.memory.data)
        index = self._executed
        rtl_fault = _fault_of(self._rtl, command)
        golden_fault = _fault_of(self._golden, command)
        if _key(rtl_fault) != _key(golden_fault):
            raise Mismatch(index, command, f"golden {_told(golden_fault)}, rtl {_told(rtl_fault)}")
        difference = (
            register_difference(command, self._golden.read_registers(), self._rtl.read_registers())
            or memory_difference(
                command, self._golden.memory.base, self._golden.memory.data, self._rtl.memory.data
            )
            or self._shared_difference(command)
        )
        if difference is not None:
            raise Mismatch(index, command, difference)
        if golden_fault is not None:
            raise golden_fault
        self._executed += 1

    def _execute_on_host(self, command: Elementwise) -> None:
        for machine in (self._rtl, self._golden):
            execute_elementwise(machine, command)
        golden, rtl = self._golden.read_registers(), self._rtl.read_registers()
        places = np.argwhere(golden != rtl)
        if len(places):
            register, lane = places[0].tolist()
            raise Mismatch(
                self._executed,
                None,
                f"{command}: {len(places)} of {golden.size} registers differ; the first is lane {lane}, "
                f"register {register}: golden {golden[register, lane]:#010x}, "
                f"rtl {rtl[register, lane]:#010x}",
            )

    def compare_shared(self) -> None:
        """Compare all of shared memory.

        Raises
        ------
        sim.mismatch.Mismatch
            They differ in a byte that no store was seen to reach.
        """
        if self._shared is None:
            return
        base, size = self._shared.base, self._shared.size
        ours, theirs = (side.read(base, size) for side in (self._shared.golden, self._shared.rtl))
        difference = memory_difference(None, base, ours, theirs, "shared memory")
        if difference is not None:
            raise Mismatch(self._executed, None, difference)

    def _shared_difference(self, command: Command) -> str | None:
        """Compare what a store reached of shared memory."""
        shared = self._shared
        if shared is None or not isinstance(command, Store) or command.instruction.space == "global":
            return None
        # Addresses as the command counts them, to those of the window.
        shift = shared.base if command.instruction.space == "shared" else 0
        lines = gather_lines(command.instruction, command.address, command.stride)
        first = max(lines[0][0] + shift, shared.base)
        last = min(sum(lines[-1]) + shift, shared.base + shared.size)
        if first >= last:
            return None
        ours, theirs = (side.read(first, last - first) for side in (shared.golden, shared.rtl))
        return memory_difference(command, first - shift, ours, theirs, "shared memory")

    def close(self) -> None:
        """Close both machines."""
        self._rtl.close()
        self._golden.close()


def _extent(memory: Storage | None) -> str:
    return "none" if memory is None else f"{memory.base:#x} and {memory.size}"


def _fault_of(machine: Machine, command: Command) -> Fault | None:
    try:
        machine.execute(command)
    except Fault as fault:
        return fault
    return None


def _key(fault: Fault | None) -> tuple[int, int] | None:
    return None if fault is None else (fault.cause, fault.index)


def _told(fault: Fault | None) -> str:
    return "executed it" if fault is None else f"faulted ({fault})"
