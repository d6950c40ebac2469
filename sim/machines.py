"""Makes a machine by the name of what it runs on."""

from enum import StrEnum
from pathlib import Path

from golden.machine import Machine
from golden.memory import Memory
from golden.warp import GoldenMachine
from hdl.config import CoreConfig
from sim.buffers import BASE
from sim.lockstep import LockstepMachine
from sim.machine import RtlMachine

__all__ = ["Backend", "open_machine"]


class Backend(StrEnum):
    """What executes the commands."""

    GOLDEN = "golden"
    RTL = "rtl"
    LOCKSTEP = "lockstep"


def open_machine(
    backend: Backend, config: CoreConfig, memory_size: int, *, waves: Path | None = None
) -> Machine:
    """Make a machine of a configuration.

    Parameters
    ----------
    backend : Backend
    config : CoreConfig
        Of the core; the golden machine has the same registers, formats, profile and address width.
    memory_size : int
        Bytes of global memory, from `sim.buffers.BASE` on.
    waves : Path or None
        Where the simulated core writes its waveform.

    Raises
    ------
    ValueError
        For a waveform of a golden machine.
    """
    if backend is Backend.GOLDEN:
        if waves is not None:
            raise ValueError("a waveform needs a simulated core: rtl or lockstep, not golden")
        return _golden(config, memory_size)
    rtl = RtlMachine(config, Memory(memory_size, BASE), waves=waves)
    return rtl if backend is Backend.RTL else LockstepMachine(_golden(config, memory_size), rtl)


def _golden(config: CoreConfig, memory_size: int) -> GoldenMachine:
    return GoldenMachine(
        registers=config.registers,
        memory=Memory(memory_size, BASE),
        address_bits=config.address_bits,
        formats=config.formats,
        profile=config.dot_product.profile,
    )
