"""The RTL machine: `golden.machine.Machine` on the Verilated core."""

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from golden.commands import Command
from golden.faults import Fault
from golden.memory import Memory
from hdl.command import encode
from hdl.config import CoreConfig
from sim import host_map
from sim.build import build_core
from sim.hosted import HostedMachine
from sim.simulation import BusTiming, Simulation
from sim.values import describe_command

__all__ = ["RtlMachine"]

_IN_FLIGHT = 64
"""More commands than a core can have taken from its queue and not yet ended."""


class RtlMachine(HostedMachine):
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
        self._memory = memory
        library = build_core(config, waves=waves is not None)
        self._simulation = Simulation(library, memory, timing=timing or BusTiming(), waves=waves)
        self._queued: deque[Command] = deque()
        self._first_queued = 0
        try:
            super().__init__(config, self._simulation.read, self._simulation.write)
        except BaseException:
            self._simulation.close()
            raise

    @property
    def simulation(self) -> Simulation:
        """The simulated core, for accesses that a machine has no name for."""
        return self._simulation

    @property
    def memory(self) -> Memory:
        """Global memory; writing into it is seen by the next command."""
        return self._memory

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

    def close(self) -> None:
        """End the simulation and finish its waveform."""
        self._simulation.close()

    def _queue(self, commands: Sequence[Command], *, serial: bool) -> None:
        words = [encode(command) for command in commands]
        if serial != self._serial and self._queued:
            self.finish()
        if not self._queued:
            self._first_queued = self._get(host_map.COUNTERS["instructions"])
            self._set_serial(serial)
        self._queued.extend(commands)
        if not self._simulation.queue(words):
            self._raise_fault()
        while len(self._queued) > self._config.queue_depth + _IN_FLIGHT:
            self._queued.popleft()
            self._first_queued += 1

    def _raise_fault(self) -> NoReturn:
        cause, index = self.clear_fault()
        command = self._queued[index - self._first_queued]
        self._queued.clear()
        raise Fault(cause, index, describe_command(command))
