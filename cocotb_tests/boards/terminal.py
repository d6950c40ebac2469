"""A pseudo-terminal joined to a simulated serial line, for a program in a process of its own."""

import os
import pty
import subprocess
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cocotb_tests.boards.serial_line import SerialLine

__all__ = ["run_at_terminal"]

_MOST_BYTES: Final = 4096
_SLICE_BITS: Final = 40
"""Simulated bits between two looks at the terminal."""


async def run_at_terminal(line: SerialLine, command: Callable[[str], list[str]], folder: Path) -> str:
    """Run a program that has the line as its serial port.

    The simulation goes on for as long as the program runs; it has no clock in common with it.

    Parameters
    ----------
    line : SerialLine
    command : callable
        From the name of the port to the program and its arguments.
    folder : Path
        Where it is run.

    Returns
    -------
    str
        What it printed; AssertionError with that where its exit code is not 0.
    """
    far, near = pty.openpty()
    tty.setraw(near)
    os.set_blocking(far, False)
    log = folder / "program.log"
    try:
        with (
            log.open("w") as output,
            subprocess.Popen(command(os.ttyname(near)), cwd=folder, stdout=output, stderr=output) as program,
        ):
            while program.poll() is None:
                await line.send(_available(far))
                answers = await line.take(_MOST_BYTES, _SLICE_BITS)
                if answers:
                    os.write(far, answers)
    finally:
        os.close(near)
        os.close(far)
    printed = log.read_text()
    assert program.returncode == 0, printed
    return printed


def _available(far: int) -> bytes:
    try:
        return os.read(far, _MOST_BYTES)
    except BlockingIOError:
        return b""
