"""Runs a stream of commands on a machine, and says what that took."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from golden.elementwise import execute_elementwise
from golden.machine import Counters, Machine
from golden.tables.commands import Command, Elementwise
from golden.tables.faults import Fault
from sim.hosted import HostedMachine
from sim.lockstep import LockstepMachine
from sim.mismatch import Mismatch

__all__ = ["Execution", "ProgramFault", "execute"]

_BATCH = 256
"""Commands handed to a core at once."""

_REMEMBERED = 1024
"""Commands whose place in the program is known: more than a core's queue holds and it has at work."""


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
    commands: Iterable[tuple[Command | Elementwise, object]],
    on_progress: Callable[[int], None] = lambda count: None,
) -> Execution:
    """Execute commands in order, and do the host's work between them.

    Parameters
    ----------
    machine : Machine
        A core, simulated or on a board, is handed commands as fast as it takes them, so that they overlap as
        it can, and ends them all before the host works on its registers; a machine in lockstep compares in
        the end the memories that are read word by word.
    commands : iterable of (Command or Elementwise, object)
        Each with what names its place in the program.
    on_progress : callable
        Called with the number of commands that have just been executed, or handed to a core.

    Raises
    ------
    ProgramFault
    sim.mismatch.Mismatch
        In lockstep; with the place in the program.
    """
    before = time.perf_counter()
    if isinstance(machine, HostedMachine):
        _execute_overlapped(machine, commands, on_progress)
    else:
        _execute_singly(machine, commands, on_progress)
    return Execution(counters=machine.counters, seconds=time.perf_counter() - before)


def _execute_overlapped(
    machine: HostedMachine,
    commands: Iterable[tuple[Command | Elementwise, object]],
    on_progress: Callable[[int], None],
) -> None:
    stream = iter(commands)
    places: deque[object] = deque()
    first = machine.counters.instructions
    try:
        while batch := list(islice(stream, _BATCH)):
            waiting: list[Command] = []
            for command, place in batch:
                if isinstance(command, Elementwise):
                    machine.queue(waiting)
                    waiting.clear()
                    machine.finish()
                    execute_elementwise(machine, command)
                else:
                    waiting.append(command)
                    places.append(place)
            machine.queue(waiting)
            while len(places) > _REMEMBERED:
                places.popleft()
                first += 1
            on_progress(len(batch))
        machine.finish()
    except Fault as fault:
        raise ProgramFault(fault, str(places[fault.index - first])) from fault


def _execute_singly(
    machine: Machine,
    commands: Iterable[tuple[Command | Elementwise, object]],
    on_progress: Callable[[int], None],
) -> None:
    for command, place in commands:
        try:
            if isinstance(machine, LockstepMachine):
                machine.execute(command)
            elif isinstance(command, Elementwise):
                execute_elementwise(machine, command)
            else:
                machine.execute(command)
        except Fault as fault:
            raise ProgramFault(fault, str(place)) from fault
        except Mismatch as mismatch:
            mismatch.origin = str(place)
            raise
        on_progress(1)
    if isinstance(machine, LockstepMachine):
        machine.compare_memory()
