"""The one interface that programs, tests and pictures meet at."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from golden.tables.commands import Command
from golden.tables.profiles import Profile


class Difference(Exception):
    """Two machines disagree.

    Parameters
    ----------
    difference : str
        Where, and both values.
    index : int or None
        How many commands had been executed before; None where that has no meaning.
    command : str
        The one after which they differ; empty where that is not known.
    """

    origin: str = ""
    """Where in the program the command stands, set by whatever runs the program."""

    def __init__(self, difference: str, index: int | None = None, command: str = "") -> None:
        super().__init__(difference, index, command)
        self.difference = difference
        self.index = index
        self.command = command

    def __str__(self) -> str:
        if self.index is None:
            return self.difference
        if not self.command:
            return f"after {self.index} instructions: {self.difference}"
        origin = f" ({self.origin})" if self.origin else ""
        return f"instruction {self.index}: {self.command}{origin}: {self.difference}"


@dataclass(frozen=True, kw_only=True)
class Counters:
    """What a machine has done since it was made or reset."""

    instructions: int = 0
    """Commands executed to their end."""
    cycles: int = 0
    """Clock cycles in which a command was in progress; 0 on the golden machine."""
    dot_product_cycles: int = 0
    """Sum over the dot-product units of cycles in which one accepted operands; 0 on the golden machine."""
    read_beats: int = 0
    write_beats: int = 0
    """AXI data beats; 0 on the golden machine."""
    stall_registers: int = 0
    stall_memory: int = 0
    stall_unit: int = 0
    """Cycles in which the next command waited: for registers that an earlier one still reads or writes, for
    memory likewise, or for its unit to take it; 0 on the golden machine."""
    queue_empty_cycles: int = 0
    """Cycles in which commands were in progress, but none waited in the queue; 0 on the golden machine."""
    bank_conflicts: int = 0
    """Cycles that `wgmma` lost to rows of on-chip memory in the same banks; 0 on the golden machine."""

    def __add__(self, other: "Counters") -> Self:
        """What two machines have done together."""
        return replace(self, **{name: count + getattr(other, name) for name, count in vars(self).items()})

    def __sub__(self, other: "Counters") -> Self:
        """What a machine has done since it had done `other`."""
        return replace(self, **{name: count - getattr(other, name) for name, count in vars(self).items()})

    def utilisation(self, units: int) -> float | None:
        """The share of cycles in which `units` dot-product units took operands; None without cycles."""
        return self.dot_product_cycles / (self.cycles * units) if self.cycles else None


class Storage(Protocol):
    """Bytes at the addresses `base` to ``base + size``: `golden.memory.Memory`, or what stands for one."""

    @property
    def base(self) -> int:
        """Address of the first byte."""

    @property
    def size(self) -> int:
        """Number of bytes."""

    def contains(self, address: int, count: int) -> bool:
        """Whether all `count` bytes from `address` on exist."""

    def read(self, address: int, count: int) -> NDArray[np.uint8]:
        """A copy of `count` bytes; IndexError where not all of them exist."""

    def write(self, address: int, values: NDArray[np.uint8]) -> None:
        """Write bytes; IndexError, with nothing written, where not all of them exist."""


class Machine(Protocol):
    """Warps, each 32 lanes of 32-bit registers, a global memory, and perhaps a shared one.

    A warp executes its commands in order. Commands of different warps may be executed in any order, also
    where they touch the same bytes of memory.
    """

    @property
    def memory(self) -> Storage:
        """Global memory; writing into it is seen by the next command."""

    @property
    def shared(self) -> Storage | None:
        """Shared memory, by generic addresses; None where there is none."""

    @property
    def profile(self) -> Profile:
        """Constants of the arithmetic."""

    @property
    def counters(self) -> Counters:
        """What has been done so far."""

    @property
    def register_count(self) -> int:
        """Registers of a lane of a warp."""

    @property
    def warp_count(self) -> int:
        """Number of warps."""

    def executed(self, warp: int = 0) -> int:
        """Commands that a warp has executed to their end, as the index of a fault counts them."""

    def read_registers(
        self, first: int = 0, count: int | None = None, *, warp: int = 0
    ) -> NDArray[np.uint32]:
        """Consecutive registers, all from `first` on unless `count` is given; shape (count, 32 lanes)."""

    def inspect_registers(self) -> NDArray[np.uint32]:
        """All registers, warp after warp; in a simulation no cycle passes, unlike in `read_registers`."""

    def write_registers(self, first: int, values: NDArray[np.uint32], *, warp: int = 0) -> None:
        """Set consecutive registers of a warp; `values` has shape (count, 32 lanes)."""

    def execute(self, command: Command) -> None:
        """Execute one command to its end.

        Raises
        ------
        golden.tables.faults.Fault
            The command was refused or failed; the machine can go on with the next one.
        Difference
            The machine checks its results, and one is wrong.
        ValueError
            For a command that cannot be encoded.
        """

    def queue(self, commands: Iterable[Command]) -> None:
        """Execute the commands of each warp in order; they may overlap, and may be executing on return.

        Until `finish`, only `queue` may be called.

        Parameters
        ----------
        commands : iterable of Command
            Drawn as the machine has room. Where `Difference` is raised, the command at fault is the last
            drawn.

        Raises
        ------
        golden.tables.faults.Fault
            A failure, of these commands or of commands queued before: the first one of its warp. Its index
            counts the commands of the warp. No more commands are drawn, and later commands of the warp are
            dropped. Other warps have executed theirs; where one of them failed, too, the next call raises
            that.
        Difference
        ValueError
            As `execute` does; no command of the same batch has been queued.
        """

    def finish(self) -> None:
        """Wait until all queued commands have been executed.

        Raises
        ------
        golden.tables.faults.Fault
            As `queue` does.
        Difference
            The machine compares more in the end than after each command.
        """

    def close(self) -> None:
        """Give back what the machine holds (a simulation, a file); it cannot be used afterwards."""
