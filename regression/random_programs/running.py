"""Runs a program on a core and on the golden machine: where they differ, and how much is compared."""

from collections.abc import Callable, Sequence

from golden.lines import gather_lines
from golden.machine import Difference, Machine
from golden.programs.buffers import BASE
from golden.tables.commands import Command, Mma, Store
from golden.tables.faults import Fault
from golden.warp import GoldenMachine
from regression.random_programs.choices import registers_of
from regression.random_programs.program import HOT_BYTES, Program, observations, observed_bytes
from sim.lockstep import LockstepMachine
from sim.mismatch import memory_difference
from sim.rtl_machine import RtlMachine
from sim.simulation import SimulationError

Core = RtlMachine | GoldenMachine
"""What is checked: a machine whose memory is in this process."""


def open_rtl(program: Program) -> RtlMachine:
    """The Verilated core of the program's preset, its memory as the program wants it."""
    return program.begun(RtlMachine(program.config, program.fresh_memory(), timing=program.timing))


def difference(
    program: Program,
    open_core: Callable[[Program], Core] = open_rtl,
    *,
    lockstep: bool = False,
    on_end: Callable[[Core], None] = lambda core: None,
) -> str | None:
    """Run a program, and compare: what differs, or how the core broke a rule; None where they agree.

    `lockstep` compares all registers and memory after each command, each ending before the next starts.
    Otherwise the core overlaps commands as it can, and they are compared at the end, by way of memory.
    `open_core` makes the core, just reset. `on_end` gets it when all went well, before it is closed.
    """
    try:
        core = open_core(program)
    except SimulationError as error:
        return str(error)
    try:
        found = _lockstep(program, core) if lockstep else _overlapped(program, core)
        if found is None:
            on_end(core)
    except SimulationError as error:
        return f"the simulation stopped: {error}"
    finally:
        core.close()
    return found


def _lockstep(program: Program, core: Core) -> str | None:
    try:
        fault = fault_of(LockstepMachine(program.golden(), core), program.commands)
    except Difference as found:
        return str(found)
    return None if fault is None else f"both refuse a command: {fault}"


def _overlapped(program: Program, core: Core) -> str | None:
    # A program leaves the end of memory free for them.
    observed_from = BASE + program.memory.size - observed_bytes(program.config)
    commands = (*program.commands, *observations(program.config, observed_from))
    golden = program.golden()
    refused, fault = fault_of(golden, commands), fault_of(core, commands)
    if fault is not None or refused is not None:
        is_same = fault and refused and (fault.cause, fault.index) == (refused.cause, refused.index)
        return None if is_same else f"golden {_told(refused)}, the core {_told(fault)}"
    executed = core.counters.instructions
    if executed != len(commands):
        return f"the core counts {executed} commands, not {len(commands)}"
    found = memory_difference(None, BASE, golden.memory.data, core.memory.data)
    return None if found is None else f"after {len(commands)} commands: {found}"


def fault_of(machine: Machine, commands: Sequence[Command]) -> Fault | None:
    """Run commands, one behind the other, to their end or the first fault, which is cleared."""
    try:
        machine.queue(commands)
        machine.finish()
    except Fault as fault:
        return fault
    return None


def _told(fault: Fault | None) -> str:
    return "executed everything" if fault is None else f"stopped with a fault ({fault})"


def compared_results(commands: tuple[Command, ...]) -> int:
    """How many elements of D stand in memory at the end of a program.

    Counted is what one multiply of warp 0 left in its registers, nothing of it overwritten, when a store took
    it to global memory beyond the hot bytes, to which no program of this package stores twice.
    """
    total = 0
    whole: dict[range, int] = {}  # registers of a result, and how many elements it has
    for command in commands:
        if command.warp:
            continue
        registers = registers_of(command)
        if isinstance(command, Store):
            (taken,) = registers["reads"]
            first = gather_lines(command.instruction, command.address, command.stride)[0][0]
            if command.instruction.space != "shared" and first >= BASE + HOT_BYTES:
                total += whole.pop(taken, 0)
        for written in registers["writes"]:
            whole = {result: size for result, size in whole.items() if set(result).isdisjoint(written)}
            if isinstance(command, Mma):
                whole[written] = command.instruction.shape.m * command.instruction.shape.n
    return total
