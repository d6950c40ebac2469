"""The RTL machine: `golden.machine.Machine` on the Verilated core."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.memory import Memory
from golden.tables.commands import Command
from golden.tables.faults import Cause
from golden.tables.layouts import LANES
from hdl.config import CoreConfig
from sim.build import build_core, core_verilog
from sim.hosted import HostedMachine
from sim.simulation import BusTiming, Simulation
from sim.trace.trace_file import TraceFile
from sim.waves.layout_files import write_layouts
from sim.waves.signal_groups import signal_groups
from sim.word_storage import WordStorage


class RtlMachine(HostedMachine):
    """A core of the given configuration, simulated from its Verilog; built first if it never was.

    Parameters
    ----------
    config : CoreConfig
    memory : Memory
        Shared with the simulation, not copied.
    waves : Path or None
        Where to write a waveform (FST) of all signals with names, without the host's register reads; beside
        it go the layouts of `sim.waves.layout_files`.
    trace : TraceFile or None
        Where to write a trace of what each unit did with each command, when the machine is closed.
    timing : BusTiming
        How the memory behaves.
    window : bool
        Whether the host reaches shared memory through its window, as on a board, not without a cycle.
    library : Path or None
        A simulation that `sim.build.build_core` built of other Verilog, to be run in place of the core's.

    Attributes
    ----------
    simulation : Simulation
        The simulated core, for accesses that a machine has no name for.

    Raises
    ------
    sim.verilate.BuildError
    sim.capabilities.CapabilityError
        When the core's own account of itself is not what `config` says.
    sim.simulation.SimulationError
        When the waveform cannot be written; from every method, when the hardware breaks a rule.
    """

    memory: Memory

    def __init__(
        self,
        config: CoreConfig,
        memory: Memory,
        *,
        waves: Path | None = None,
        trace: TraceFile | None = None,
        timing: BusTiming | None = None,
        window: bool = False,
        library: Path | None = None,
    ) -> None:
        self.memory = memory
        self._trace = trace
        self._is_own = library is None
        library = library or build_core(config, observed=waves is not None or trace is not None)
        if waves is not None:
            write_layouts(waves, signal_groups(config, core_verilog(config)))
        self.simulation = Simulation(
            library, memory, timing=timing or BusTiming(), waves=waves, records=trace is not None
        )
        try:
            super().__init__(config, self.simulation.read, self.simulation.write)
        except BaseException:
            self.simulation.close()
            raise
        if self._is_own and not window and config.shared_bytes:
            access = self.simulation.read_shared, self.simulation.write_shared
            self.shared = WordStorage(config.shared_base, config.shared_bytes, *access)

    def inspect_registers(self) -> NDArray[np.uint32]:
        """All registers of all warps, out of the memory of the core's model: no cycle passes on the way.

        This is backdoor access as in IEEE 1800.2 (UVM). The rows of the register file follow one another as
        lanes and registers do (`hdl.registers.register_ports.word_address`).
        """
        if not self._is_own:
            return super().inspect_registers()
        words = self.simulation.inspect(self.config.all_registers * LANES)
        return words.reshape(-1, LANES)

    def execute_words(self, words: ArrayLike) -> bool:
        """Execute encoded commands; False when the core has stopped with a fault, still to be cleared."""
        return self.simulation.execute(words)

    def clear_fault(self, warp: int = 0) -> tuple[Cause, int]:
        """As `HostedMachine.clear_fault`; a trace is told that commands have been dropped."""
        if self._trace is not None:
            self._trace.log.drop(warp)
        return super().clear_fault(warp)

    def close(self) -> None:
        """End the simulation, and finish its waveform and its trace."""
        trace, self._trace = self._trace, None
        try:
            if trace is not None:
                trace.write(self.config, self.simulation)
        finally:
            self.simulation.close()

    def _queue(self, commands: Sequence[Command], *, serial: bool) -> None:
        if self._trace is not None:
            for command in commands:
                self._trace.log.hand_over(command, self._owner(command.warp))
        super()._queue(commands, serial=serial)

    def _hand_over(self, words: NDArray[np.uint32]) -> bool:
        return self.simulation.queue(words)

    def _await_end(self, executed: Mapping[int, int]) -> bool:
        return self.simulation.finish()
