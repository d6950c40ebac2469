"""The one interface that programs, tests and pictures meet at."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from golden.commands import Command
from golden.memory import Memory

__all__ = ["Counters", "Machine"]


@dataclass(frozen=True, kw_only=True)
class Counters:
    """What a machine has done since it was made or reset.

    Parameters
    ----------
    instructions : int
        Commands executed to their end.
    cycles : int
        Clock cycles in which a command was in progress; 0 on the golden machine.
    dot_product_cycles : int
        Sum over the dot-product units of the cycles in which one accepted operands; 0 on the golden machine.
    read_beats, write_beats : int
        AXI data beats; 0 on the golden machine.
    """

    instructions: int = 0
    cycles: int = 0
    dot_product_cycles: int = 0
    read_beats: int = 0
    write_beats: int = 0


class Machine(Protocol):
    """A warp: 32 lanes of 32-bit registers and a global memory."""

    @property
    def memory(self) -> Memory:
        """Global memory; writing into it is seen by the next command."""

    @property
    def counters(self) -> Counters:
        """What has been done so far."""

    def read_registers(self) -> NDArray[np.uint32]:
        """All registers, shape (registers, 32 lanes)."""

    def write_registers(self, first: int, values: NDArray[np.uint32]) -> None:
        """Set consecutive registers; `values` has shape (count, 32 lanes)."""

    def execute(self, command: Command) -> None:
        """Execute one command to its end.

        Raises
        ------
        golden.faults.Fault
            The command was refused or failed; the machine can go on with the next one.
        """

    def close(self) -> None:
        """Give back what the machine holds (a simulation, a file); it cannot be used afterwards."""
