"""Runs a stream of commands on a machine, and says what that took."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from golden.commands import Command
from golden.faults import Fault
from golden.machine import Counters, Machine
from sim.machine import RtlMachine
from sim.mismatch import Mismatch

__all__ = ["Execution", "ProgramFault", "execute"]

_BATCH = 256
"""Commands handed to the simulated core at once."""


class ProgramFault(Exception):
    """A command of a program faulted.

    Parameters
    ----------
    fault : Fault
    origin : str
        Where in the program the command stands.
    """

    def __init__(self, fault: Fault, origin: str) -> None:
        super().__init__(f"{fault} ({origin})" if origin else str(fault))
        self.fault = fault
        self.origin = origin


@dataclass(frozen=True, kw_only=True)
class Execution:
    """What it took to run some commands.

    Parameters
    ----------
    counters : Counters
        Of the machine, from its beginning.
    seconds : float
        Wall time of the execution, without building or writing files.
    """

    counters: Counters
    seconds: float


def execute(
    machine: Machine,
    commands: Iterable[tuple[Command, object]],
    on_progress: Callable[[int], None] = lambda count: None,
) -> Execution:
    """Execute commands in order.

    Parameters
    ----------
    machine : Machine
        A simulated core is handed many commands at once, so that none waits for Python.
    commands : iterable of (Command, object)
        Each with what names its place in the program.
    on_progress : callable
        Called with the number of commands that have just been executed.

    Raises
    ------
    ProgramFault
    sim.mismatch.Mismatch
        In lockstep; with the place in the program.
    """
    before = time.perf_counter()
    stream = iter(commands)
    while batch := list(islice(stream, _BATCH if isinstance(machine, RtlMachine) else 1)):
        first = machine.counters.instructions if len(batch) > 1 else 0
        try:
            if isinstance(machine, RtlMachine):
                machine.execute_batch([command for command, _ in batch])
            else:
                machine.execute(batch[0][0])
        except Fault as fault:
            place = batch[fault.index - first][1] if len(batch) > 1 else batch[0][1]
            raise ProgramFault(fault, str(place)) from fault
        except Mismatch as mismatch:
            mismatch.origin = str(batch[0][1])
            raise
        on_progress(len(batch))
    return Execution(counters=machine.counters, seconds=time.perf_counter() - before)
