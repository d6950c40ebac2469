"""The RTL machine: `golden.machine.Machine` on the Verilated core."""

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from golden.commands import Command
from golden.faults import Cause, Fault
from golden.layouts import LANES
from golden.machine import Counters
from golden.memory import Memory
from hdl.command import encode
from hdl.config import CoreConfig
from sim import host_map
from sim.build import build_core
from sim.capabilities import Capabilities
from sim.shared_window import SharedWindow
from sim.simulation import BusTiming, Simulation
from sim.values import describe_command

__all__ = ["RtlMachine"]

_IN_FLIGHT = 64
"""More commands than a core can have taken from its queue and not yet ended."""


class RtlMachine:
    """A core of the given configuration, simulated from its Verilog; built first if it never was.

    Parameters
    ----------
    config : CoreConfig
    memory : Memory
        Shared with the simulation, not copied.
    waves : Path or None
        Where to write a waveform (FST) of all signals, without the host's register reads.
    timing : BusTiming
        How the memory behaves.

    Raises
    ------
    sim.verilate.BuildError
    sim.capabilities.CapabilityError
        When the core's own account of itself is not what `config` says.
    sim.simulation.SimulationError
        When the waveform cannot be written; from every method, when the hardware breaks a rule.
    """

    def __init__(
        self,
        config: CoreConfig,
        memory: Memory,
        *,
        waves: Path | None = None,
        timing: BusTiming | None = None,
    ) -> None:
        self._config = config
        self._memory = memory
        library = build_core(config, waves=waves is not None)
        self._simulation = Simulation(library, memory, timing=timing or BusTiming(), waves=waves)
        self._serial = False
        self._queued: deque[Command] = deque()
        self._first_queued = 0
        try:
            Capabilities.read(self._simulation.read).require(Capabilities.of(config))
        except BaseException:
            self._simulation.close()
            raise
        self._shared = (
            SharedWindow(self._simulation, config.shared_bytes, config.shared_base)
            if config.shared_bytes
            else None
        )

    @property
    def config(self) -> CoreConfig:
        """The configuration that was built."""
        return self._config

    @property
    def simulation(self) -> Simulation:
        """The simulated core, for accesses that a machine has no name for."""
        return self._simulation

    @property
    def memory(self) -> Memory:
        """Global memory; writing into it is seen by the next command."""
        return self._memory

    @property
    def shared(self) -> SharedWindow | None:
        """The on-chip memory, where the configuration has one."""
        return self._shared

    @property
    def counters(self) -> Counters:
        """The core's own counters."""
        values = {}
        for name, address in host_map.COUNTERS.items():
            low, high = self._simulation.read(address, 2)
            values[name] = int(high) << 32 | int(low)
        return Counters(**values)

    def read_registers(self) -> NDArray[np.uint32]:
        """All registers, shape (registers, 32 lanes), read through the host interface."""
        count = self._config.registers
        return self._simulation.read(host_map.register_address(0), count * LANES).reshape(count, LANES)

    def write_registers(self, first: int, values: NDArray[np.uint32]) -> None:
        """Set consecutive registers through the host interface; `values` has shape (count, 32 lanes).

        Raises
        ------
        ValueError
            For registers that do not exist, or another shape.
        """
        if values.ndim != 2 or values.shape[1] != LANES:
            raise ValueError(f"register values must have shape (count, {LANES}), not {values.shape}")
        if first < 0 or first + len(values) > self._config.registers:
            last = first + len(values) - 1
            raise ValueError(f"registers {first} to {last} must be among 0 to {self._config.registers - 1}")
        self._simulation.write(host_map.register_address(first), values)

    def execute(self, command: Command) -> None:
        """Execute one command to its end; the core is told to have only one at work.

        Raises
        ------
        golden.faults.Fault
            The core refused it or it failed; the fault has been cleared.
        ValueError
            An operand has no place in its field of the command.
        """
        self._queue((command,), serial=True)
        self.finish()

    def execute_batch(self, commands: Sequence[Command]) -> None:
        """Execute commands without waiting in between: `queue` and `finish`."""
        self.queue(commands)
        self.finish()

    def queue(self, commands: Sequence[Command]) -> None:
        """Hand over commands as fast as the queue takes them, and return while the core is still at work.

        The core overlaps them as it can. Until `finish`, nothing but more commands may be asked of it.

        Raises
        ------
        golden.faults.Fault
            The first that failed, of these or of those queued before; those behind it have been dropped,
            and the fault cleared.
        ValueError
            An operand has no place in its field of a command; nothing has been queued.
        """
        self._queue(commands, serial=False)

    def finish(self) -> None:
        """Wait until every command that was queued has been executed.

        Raises
        ------
        golden.faults.Fault
            As `queue` does.
        """
        if not self._simulation.finish():
            self._raise_fault()
        self._queued.clear()

    def execute_words(self, words: Sequence[Sequence[int]]) -> bool:
        """Execute encoded commands; False when the core has stopped with a fault, still to be cleared."""
        return self._simulation.execute(words)

    def clear_fault(self) -> tuple[Cause, int]:
        """Clear the fault and drop the queued commands; returns the fault's cause and command index."""
        cause = Cause(int(self._simulation.read(host_map.FAULT_CAUSE)[0]))
        index = int(self._simulation.read(host_map.FAULT_INDEX)[0])
        self._simulation.write(host_map.CONTROL, np.array([host_map.CLEAR], dtype=np.uint32))
        return cause, index

    def close(self) -> None:
        """End the simulation and finish its waveform."""
        self._simulation.close()

    def _queue(self, commands: Sequence[Command], *, serial: bool) -> None:
        words = [encode(command) for command in commands]
        if serial != self._serial and self._queued:
            self.finish()
        if not self._queued:
            self._first_queued = int(self._simulation.read(host_map.COUNTERS["instructions"])[0])
            self._set_serial(serial)
        self._queued.extend(commands)
        if not self._simulation.queue(words):
            self._raise_fault()
        while len(self._queued) > self._config.queue_depth + _IN_FLIGHT:
            self._queued.popleft()
            self._first_queued += 1

    def _set_serial(self, serial: bool) -> None:
        if serial != self._serial:
            self._simulation.write(host_map.MODE, np.array([host_map.SERIAL * serial], dtype=np.uint32))
            self._serial = serial

    def _raise_fault(self) -> NoReturn:
        cause, index = self.clear_fault()
        command = self._queued[index - self._first_queued]
        self._queued.clear()
        raise Fault(cause, index, describe_command(command))
