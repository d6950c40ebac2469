"""Runs a PTX kernel: arrays into memory, commands through a machine, arrays out of memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.machine import Machine
from golden.ptx.program import Entry
from sim.arguments import Output, UsageError
from sim.buffers import Buffers
from sim.execution import Execution, execute

__all__ = ["Argument", "ProgramRun", "run_program"]

Argument = NDArray[Any] | int | float
"""An array is placed in memory, and its address is what the kernel gets."""


@dataclass(frozen=True, kw_only=True)
class ProgramRun:
    """What a run gave.

    Parameters
    ----------
    outputs : mapping of str to ndarray
        The arrays asked for, by the name of their parameter.
    execution : Execution
    """

    outputs: Mapping[str, NDArray[Any]]
    execution: Execution


def run_program(
    entry: Entry,
    open_machine: Callable[[int], Machine],
    *,
    arguments: Mapping[str, Argument],
    outputs: Sequence[Output],
    registers: int,
    on_progress: Callable[[int], None] = lambda count: None,
) -> ProgramRun:
    """Run a kernel on one warp.

    Parameters
    ----------
    entry : Entry
    open_machine : callable
        Makes the machine, given the bytes of memory it needs; it is closed in the end.
    arguments : mapping of str to array or number
        By the name of the parameter.
    outputs : sequence of Output
        Arrays to read in the end. One that is no argument as well begins as zeros.
    registers : int
        32-bit registers per lane of the machine.
    on_progress : callable
        Called with the number of commands that have just been executed.

    Raises
    ------
    UsageError
        For an output that does not fit its argument.
    golden.ptx.source.PtxError
        For arguments that do not fit the kernel.
    sim.execution.ProgramFault
    sim.mismatch.Mismatch
    """
    buffers = Buffers(_sizes(arguments, outputs))
    numbers = {name: value for name, value in arguments.items() if not isinstance(value, np.ndarray)}
    commands = entry.commands({**numbers, **buffers.addresses}, registers=registers)
    machine = open_machine(buffers.memory_size)
    try:
        for name, value in arguments.items():
            if isinstance(value, np.ndarray):
                buffers.write(machine.memory, name, value)
        execution = execute(machine, commands, on_progress)
        results = {
            output.name: buffers.read(machine.memory, output.name)[: output.size]
            .view(output.dtype)
            .reshape(output.shape)
            for output in outputs
        }
    finally:
        machine.close()
    return ProgramRun(outputs=results, execution=execution)


def _sizes(arguments: Mapping[str, Argument], outputs: Sequence[Output]) -> dict[str, int]:
    sizes = {name: value.nbytes for name, value in arguments.items() if isinstance(value, np.ndarray)}
    for output in outputs:
        argument = arguments.get(output.name)
        if argument is not None and not isinstance(argument, np.ndarray):
            raise UsageError(
                f"--out {output.name}: expected an array, but --arg gives it the number {argument}"
            )
        if argument is not None and argument.nbytes < output.size:
            raise UsageError(
                f"--out {output.name}: expected at most the {argument.nbytes} bytes that --arg gives, "
                f"not {output.size}"
            )
        sizes.setdefault(output.name, output.size)
    return sizes
