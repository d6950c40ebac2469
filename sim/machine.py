"""The RTL machine: `golden.machine.Machine` on the Verilated core."""

from collections.abc import Sequence
from pathlib import Path

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
from sim.simulation import BusTiming, Simulation
from sim.values import describe_command

__all__ = ["RtlMachine"]


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
        """Execute one command to its end.

        Raises
        ------
        golden.faults.Fault
            The core refused it or it failed; the fault has been cleared.
        ValueError
            An operand has no place in its field of the command.
        """
        self.execute_batch((command,))

    def execute_batch(self, commands: Sequence[Command]) -> None:
        """Execute commands without waiting in between: the core overlaps them as it can.

        Raises
        ------
        golden.faults.Fault
            The first that failed; those behind it have been dropped, and the fault cleared.
        ValueError
            An operand has no place in its field of a command; nothing has been executed.
        """
        before = self._executed()
        if not self.execute_words([encode(command) for command in commands]):
            cause, index = self.clear_fault()
            raise Fault(cause, index, describe_command(commands[index - before]))

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

    def _executed(self) -> int:
        return int(self._simulation.read(host_map.COUNTERS["instructions"])[0])
