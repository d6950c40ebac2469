"""The board machine: `golden.machine.Machine` on a core at the end of a serial line."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from golden.commands import Command
from golden.faults import Fault
from hdl.command import encode
from hdl.config import CoreConfig
from hdl.control.host import REGISTERS
from sim import host_map
from sim.board.link import Link, LinkError, SerialPort
from sim.hosted import HostedMachine
from sim.values import describe_command
from sim.word_storage import WordStorage

__all__ = ["BoardMachine", "open_board"]

_MOST_POLLS: Final = 20_000
"""Looks at the status register before we believe that the core hangs; each takes a millisecond or so."""

_INTERRUPT_AT_FAULT: Final = 2


class BoardMachine(HostedMachine):
    """A core on a board.

    Parameters
    ----------
    config : CoreConfig
        What the core must be.
    link : Link
        Begins its session here.

    Raises
    ------
    sim.board.link.LinkError
        When there is no board; from every method, when the line fails.
    sim.capabilities.CapabilityError
        When the core on the board is not what `config` says.
    """

    def __init__(self, config: CoreConfig, link: Link) -> None:
        self._link = link
        self.identity = link.identify()
        super().__init__(config, link.read_host, link.write_host)
        base = self.identity.memory_base
        self._memory = WordStorage(
            base,
            self.identity.memory_bytes,
            lambda offset, count: link.read_memory(base + offset, count),
            lambda offset, values: link.write_memory(base + offset, values),
        )
        self._set(host_map.CONTROL, host_map.CLEAR)
        self._poll(0, host_map.STATUS_BUSY)
        self._set(host_map.MODE, 0)
        self._set(REGISTERS["INTERRUPT_ENABLE"], _INTERRUPT_AT_FAULT)

    @property
    def memory(self) -> WordStorage:
        """Global memory; writing into it is seen by the next command."""
        return self._memory

    def execute(self, command: Command) -> None:
        """Execute one command to its end; the core is told to have only one at work.

        Raises
        ------
        golden.faults.Fault
            The core refused it or it failed; the fault has been cleared.
        ValueError
            An operand has no place in its field of the command.
        """
        self._execute((command,), serial=True)

    def execute_batch(self, commands: Sequence[Command]) -> None:
        """Execute commands without waiting in between: the core overlaps them as it can.

        Raises
        ------
        golden.faults.Fault
            The first that failed; those behind it have been dropped, and the fault cleared.
        ValueError
            An operand has no place in its field of a command; nothing has been executed.
        """
        self._execute(commands, serial=False)

    def close(self) -> None:
        """Give the line back; the board keeps its registers and memory."""
        self._link.close()

    def _execute(self, commands: Sequence[Command], *, serial: bool) -> None:
        words = np.array([encode(command) for command in commands], dtype=np.uint32)
        before = self._get(host_map.COUNTERS["instructions"])
        self._set_serial(serial)
        queued = 0
        while queued < len(words):
            status = self._poll(host_map.STATUS_FAULT | host_map.STATUS_FREE, 0)
            if status & host_map.STATUS_FAULT:
                break
            free = (status & host_map.STATUS_FREE) // (host_map.STATUS_FREE & -host_map.STATUS_FREE)
            part = words[queued : queued + free]
            self._link.queue_commands(host_map.COMMAND, part)
            queued += len(part)
        if self._poll(host_map.STATUS_FAULT, host_map.STATUS_BUSY) & host_map.STATUS_FAULT:
            cause, index = self.clear_fault()
            raise Fault(cause, index, describe_command(commands[(index - before) % (1 << 32)]))
        executed = (self._get(host_map.COUNTERS["instructions"]) - before) % (1 << 32)
        if executed != len(words):
            raise LinkError(
                f"the core must have executed {len(words)} commands, not {executed}; was it reset?"
            )

    def _poll(self, ones: int, zeros: int) -> int:
        """The status register, when one of the bits `ones` is set, or one of `zeros` is not."""
        for _ in range(_MOST_POLLS):
            status = self._get(host_map.STATUS)
            if status & ones or ~status & zeros:
                return status
        raise LinkError(f"the core did not come to an end; its status is {status:#x}")


def open_board(port: str, config: CoreConfig, baud: int) -> BoardMachine:
    """Find a core on a board.

    Parameters
    ----------
    port : str
        Device name of the serial port, or URL as pyserial understands it.
    config : CoreConfig
        What the core must be.
    baud : int
        What the board was built with.

    Returns
    -------
    BoardMachine

    Raises
    ------
    sim.board.link.LinkError
        When the port cannot be opened, or nothing answers.
    sim.capabilities.CapabilityError
        When another core answers.
    """
    link = Link(SerialPort(port, baud))
    try:
        return BoardMachine(config, link)
    except BaseException:
        link.close()
        raise
