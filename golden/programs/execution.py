"""Runs a program on a machine, measures it, and names the line of the program where it failed."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from golden.machine import Counters, Difference, Machine
from golden.tables.commands import Command
from golden.tables.faults import Fault

_REMEMBERED = 2048
"""Commands whose place in the program is known: more than a machine draws at once, queues and executes."""


class ProgramFault(Exception):
    """A command of a program faulted; `origin` is where in the program it stands."""

    def __init__(self, fault: Fault, origin: str) -> None:
        super().__init__(f"{fault} ({origin})" if origin else str(fault))
        self.fault = fault
        self.origin = origin


@dataclass(frozen=True, kw_only=True)
class Execution:
    """What it took to run a program."""

    counters: Counters
    """Of the machine, from its beginning."""
    seconds: float
    """Wall time of the execution, without building or writing files."""


@dataclass(frozen=True, kw_only=True)
class MatrixRun:
    """What matrix multiplies gave."""

    d: NDArray[Any]
    """Shape (..., m, n): raw bit patterns, or int32."""
    execution: Execution


def execute(
    machine: Machine,
    program: Iterable[tuple[Command, object]],
    on_progress: Callable[[int], None] = lambda count: None,
) -> Execution:
    """Execute a program to its end: commands, each with what names its place in the program.

    `on_progress` is called with the number of commands that the machine has taken since the last call. The
    place is in the ProgramFault of a command that fails, and in the Difference of a machine that checks
    itself.
    """
    before = time.perf_counter()
    counts = [machine.executed(warp) for warp in range(machine.warp_count)]
    places = [deque[object](maxlen=_REMEMBERED) for _ in counts]
    last: object = ""

    def drawn() -> Iterator[Command]:
        nonlocal last
        for command, place in program:
            last = place
            # Warp 0 refuses commands for warps that do not exist.
            warp = command.warp if command.warp < len(counts) else 0
            places[warp].append(place)
            counts[warp] += 1
            yield command
            on_progress(1)

    try:
        try:
            machine.queue(drawn())
        except Difference as difference:
            difference.origin = str(last)
            raise
        machine.finish()
    except Fault as fault:
        from_end = fault.index - counts[fault.warp]
        raise ProgramFault(fault, str(places[fault.warp][from_end])) from fault
    return Execution(counters=machine.counters, seconds=time.perf_counter() - before)
