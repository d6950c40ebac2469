"""Golden model and RTL side by side: after every command, all registers and all of memory must agree."""

import numpy as np
from numpy.typing import NDArray

from golden.commands import Command
from golden.faults import Fault
from golden.machine import Counters, Machine
from golden.memory import Memory
from sim.mismatch import Mismatch, memory_difference, register_difference

__all__ = ["LockstepMachine"]


class LockstepMachine:
    """Executes every command on two machines and compares what they then hold.

    Parameters
    ----------
    golden, rtl : Machine
        Fresh machines with memories of the same base and size.

    Raises
    ------
    ValueError
        For memories that differ in base or size.
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

    def execute(self, command: Command) -> None:
        """Execute one command on both, and compare.

        Raises
        ------
        sim.mismatch.Mismatch
            They differ in a register, in memory, or in the fault they raised.
        golden.faults.Fault
            Both refused it, for the same cause.
        """
        # After the last comparison both memories were equal: what differs now, the caller has written.
        np.copyto(self._rtl.memory.data, self._golden.memory.data)
        index = self._executed
        rtl_fault = _fault_of(self._rtl, command)
        golden_fault = _fault_of(self._golden, command)
        if _key(rtl_fault) != _key(golden_fault):
            raise Mismatch(index, command, f"golden {_told(golden_fault)}, rtl {_told(rtl_fault)}")
        difference = register_difference(
            command, self._golden.read_registers(), self._rtl.read_registers()
        ) or memory_difference(
            command, self._golden.memory.base, self._golden.memory.data, self._rtl.memory.data
        )
        if difference is not None:
            raise Mismatch(index, command, difference)
        if golden_fault is not None:
            raise golden_fault
        self._executed += 1

    def close(self) -> None:
        """Close both machines."""
        self._rtl.close()
        self._golden.close()


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
