"""Makes a machine by the name of what it runs on."""

from enum import StrEnum
from pathlib import Path

from boards.host.board_machine import BoardMachine
from golden.machine import Machine
from golden.memory import Memory
from golden.warp import GoldenMachine
from hdl.config import CoreConfig
from sim.arguments import UsageError
from sim.buffers import BASE
from sim.lockstep import LockstepMachine
from sim.machine import RtlMachine

__all__ = ["Backend", "golden_machine", "open_machine", "open_on_board"]


class Backend(StrEnum):
    """What executes the commands."""

    GOLDEN = "golden"
    RTL = "rtl"
    BOARD = "board"
    LOCKSTEP = "lockstep"


def open_machine(
    backend: Backend, config: CoreConfig, memory_size: int, *, waves: Path | None = None
) -> Machine:
    """Make a machine of a configuration.

    A machine in lockstep executes command by command; a simulated core overlaps them as it can.

    Parameters
    ----------
    backend : Backend
    config : CoreConfig
        Of the core; the golden machine has the same registers, formats, profile, address width and shared
        memory.
    memory_size : int
        Bytes of global memory, from `sim.buffers.BASE` on.
    waves : Path or None
        Where the simulated core writes its waveform.

    Raises
    ------
    ValueError
        For a waveform of a golden machine, and for a board, which `open_on_board` takes.
    """
    if backend is Backend.BOARD:
        raise ValueError("a core on a board cannot be made from a configuration alone; see open_on_board")
    if backend is Backend.GOLDEN:
        if waves is not None:
            raise ValueError("a waveform needs a simulated core: rtl or lockstep, not golden")
        return golden_machine(config, Memory(memory_size, BASE))
    rtl = RtlMachine(config, Memory(memory_size, BASE), waves=waves)
    return (
        rtl
        if backend is Backend.RTL
        else LockstepMachine(golden_machine(config, Memory(memory_size, BASE)), rtl)
    )


def open_on_board(board: BoardMachine, memory_size: int, *, lockstep: bool = False) -> Machine:
    """Make a core on a board as good as new.

    Parameters
    ----------
    board : BoardMachine
    memory_size : int
        Bytes of global memory that are needed, from `sim.buffers.BASE` on.
    lockstep : bool
        Whether a golden machine goes along with it; then all of the board's memory is cleared.

    Raises
    ------
    UsageError
        For more memory than the board has.
    """
    memory = board.memory
    if not memory.contains(BASE, memory_size):
        raise UsageError(
            f"expected arrays of at most {max(0, memory.base + memory.size - BASE)} bytes in all, for which "
            f"the board has memory, not {memory_size}"
        )
    board.clear(memory.size if lockstep else BASE + memory_size - memory.base)
    if not lockstep:
        return board
    return LockstepMachine(golden_machine(board.config, Memory(memory.size, memory.base)), board)


def golden_machine(config: CoreConfig, memory: Memory) -> GoldenMachine:
    """The golden machine that is as large and as able as a core of the configuration.

    Parameters
    ----------
    config : CoreConfig
    memory : Memory
        Global memory.
    """
    return GoldenMachine(
        registers=config.registers,
        memory=memory,
        shared=Memory(config.shared_bytes, config.shared_base) if config.shared_bytes else None,
        address_bits=config.address_bits,
        formats=config.formats,
        families=config.families,
        profile=config.dot_product.profile,
    )
