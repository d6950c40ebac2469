"""Makes a golden, an RTL or a lockstep machine of a configuration."""

from enum import StrEnum
from pathlib import Path

from golden.integers import checked_choice
from golden.machine import Machine
from golden.memory import Memory
from golden.programs.buffers import BASE
from hdl.config import CoreConfig
from hdl.config_checks import require_class
from sim.lockstep import LockstepMachine
from sim.rtl_machine import RtlMachine
from sim.testbench.reference import golden_machine
from sim.trace.trace_file import TraceFile


class Backend(StrEnum):
    """What executes the commands."""

    GOLDEN = "golden"
    RTL = "rtl"
    LOCKSTEP = "lockstep"


def open_machine(
    backend: str | Backend,
    config: CoreConfig,
    memory_size: int,
    *,
    waves: Path | None = None,
    trace: TraceFile | None = None,
) -> Machine:
    """Make a machine of a configuration.

    A machine in lockstep executes command by command; a simulated core overlaps them as it can.

    Parameters
    ----------
    backend : {"golden", "rtl", "lockstep"}
    config : CoreConfig
        Of the core; the golden machine has the same registers, formats, profile, address width and shared
        memory.
    memory_size : int
        Bytes of global memory, from `golden.programs.buffers.BASE` on.
    waves : Path or None
        Where the simulated core writes its waveform.
    trace : TraceFile or None
        The trace that the simulated core writes.

    Raises
    ------
    ValueError
        For another backend, and for a waveform or a trace of a golden machine.
    TypeError
        For another configuration.
    """
    backend = Backend(checked_choice("backend", backend, tuple(Backend)))
    require_class("Configuration", config, CoreConfig, "a CoreConfig")
    if backend is Backend.GOLDEN:
        for what, given in (("waveform", waves), ("trace", trace)):
            if given is not None:
                raise ValueError(f"a {what} needs a simulated core: rtl or lockstep, not golden")
        return golden_machine(config, Memory(memory_size, BASE))
    rtl = RtlMachine(config, Memory(memory_size, BASE), waves=waves, trace=trace)
    if backend is Backend.RTL:
        return rtl
    return LockstepMachine(golden_machine(config, Memory(memory_size, BASE)), rtl)
