"""The RTL machine: `golden.machine.Machine` on the Verilated core."""

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.memory import Memory
from hdl.config import CoreConfig
from sim.build import build_core
from sim.hosted import HostedMachine
from sim.simulation import BusTiming, Simulation

__all__ = ["RtlMachine"]


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

    def execute_words(self, words: ArrayLike) -> bool:
        """Execute encoded commands; False when the core has stopped with a fault, still to be cleared."""
        return self._simulation.execute(words)

    def close(self) -> None:
        """End the simulation and finish its waveform."""
        self._simulation.close()

    def _hand_over(self, words: NDArray[np.uint32]) -> bool:
        return self._simulation.queue(words)

    def _await_end(self, executed: int) -> bool:
        return self._simulation.finish()
