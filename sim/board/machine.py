"""The board machine: `golden.machine.Machine` on a core at the end of a serial line."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from golden.commands import Command
from golden.faults import Cause, Fault
from golden.layouts import LANES
from golden.machine import Counters
from hdl.command import encode
from hdl.config import CoreConfig
from hdl.control.host import REGISTERS
from sim import host_map
from sim.board.link import Link, LinkError, SerialPort
from sim.board.storage import LinkStorage
from sim.capabilities import Capabilities
from sim.values import describe_command

__all__ = ["BoardMachine", "open_board"]

_MOST_POLLS: Final = 20_000
"""Looks at the status register before we believe that the core hangs; each takes a millisecond or so."""

_INTERRUPT_AT_FAULT: Final = 2


class BoardMachine:
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
        self._config = config
        self._link = link
        self.identity = link.identify()
        Capabilities.read(link.read_host).require(Capabilities.of(config))
        self._memory = LinkStorage(
            self.identity.memory_base,
            self.identity.memory_bytes,
            lambda offset, count: link.read_memory(self.identity.memory_base + offset, count),
            lambda offset, values: link.write_memory(self.identity.memory_base + offset, values),
        )
        self._shared = LinkStorage(
            config.shared_base,
            config.shared_bytes,
            lambda offset, count: link.read_host(host_map.SHARED_WINDOW + offset, count),
            lambda offset, values: link.write_host(host_map.SHARED_WINDOW + offset, values),
        )
        self._set(host_map.CONTROL, host_map.CLEAR)
        self._serial = False
        self._poll(0, host_map.STATUS_BUSY)
        self._set(host_map.MODE, 0)
        self._set(REGISTERS["INTERRUPT_ENABLE"], _INTERRUPT_AT_FAULT)

    @property
    def config(self) -> CoreConfig:
        """The configuration of the core."""
        return self._config

    @property
    def memory(self) -> LinkStorage:
        """Global memory; writing into it is seen by the next command."""
        return self._memory

    @property
    def shared(self) -> LinkStorage | None:
        """Shared memory, by generic addresses; None where there is none."""
        return self._shared if self._config.shared_bytes else None

    @property
    def counters(self) -> Counters:
        """The core's own counters, since the reset of the board."""
        values = {}
        for name, address in host_map.COUNTERS.items():
            low, high = self._link.read_host(address, 2).tolist()
            values[name] = high << 32 | low
        return Counters(**values)

    def read_registers(self) -> NDArray[np.uint32]:
        """All registers, shape (registers, 32 lanes), read through the host interface."""
        count = self._config.registers
        return self._link.read_host(host_map.register_address(0), count * LANES).reshape(count, LANES)

    def write_registers(self, first: int, values: NDArray[np.uint32]) -> None:
        """Set consecutive registers through the host interface; `values` has shape (count, 32 lanes).

        Raises
        ------
        ValueError
            For registers that do not exist, or another shape.
        """
        if values.ndim != 2 or values.shape[1] != LANES:
            raise ValueError(f"register values must have shape (count, {LANES}), not {values.shape}")
        if first < 0 or first + len(values) > self._config.registers:
            last = first + len(values) - 1
            raise ValueError(f"registers {first} to {last} must be among 0 to {self._config.registers - 1}")
        self._link.write_host(host_map.register_address(first), values)

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

    def clear_fault(self) -> tuple[Cause, int]:
        """Clear the fault and drop the queued commands; returns the fault's cause and command index."""
        cause = Cause(self._get(host_map.FAULT_CAUSE))
        index = self._get(host_map.FAULT_INDEX)
        self._set(host_map.CONTROL, host_map.CLEAR)
        return cause, index

    def close(self) -> None:
        """Give the line back; the board keeps its registers and memory."""
        self._link.close()

    def _execute(self, commands: Sequence[Command], *, serial: bool) -> None:
        words = np.array([encode(command) for command in commands], dtype=np.uint32)
        before = self._get(host_map.COUNTERS["instructions"])
        if serial != self._serial:
            self._set(host_map.MODE, host_map.SERIAL * serial)
            self._serial = serial
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

    def _get(self, address: int) -> int:
        return int(self._link.read_host(address, 1)[0])

    def _set(self, address: int, value: int) -> None:
        self._link.write_host(address, np.array([value], dtype=np.uint32))

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
