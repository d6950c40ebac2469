"""The board machine: `golden.machine.Machine` on a core at the end of a serial line."""

from collections.abc import Mapping
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from boards.host.link import BoardRefusal, BoardTimeout, Link, LinkError, SerialPort
from golden.tables.layouts import LANES
from hdl.config import CoreConfig
from sim import host_map
from sim.hosted import HostedMachine
from sim.word_storage import WordStorage

__all__ = ["BoardMachine", "open_board"]

_MOST_POLLS: Final = 20_000
"""Looks at the status register before we believe that the core hangs; each takes a millisecond or so."""


class BoardMachine(HostedMachine):
    """A core on a board.

    Parameters
    ----------
    config : CoreConfig or None
        What the core must be; None for whatever it says that it is.
    link : Link
        Begins its session here.

    Raises
    ------
    boards.host.link.LinkError
        When there is no board; from every method, when the line fails.
    sim.capabilities.CapabilityError
        When the core on the board is not what `config` says.
    """

    def __init__(self, config: CoreConfig | None, link: Link) -> None:
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
        for warp in range(self.config.warps):
            self._select(warp)
            self._set(host_map.CONTROL, host_map.CLEAR)
        self._poll(0, host_map.STATUS_BUSY)
        self._restart_counters()
        self._overlaps = self._clear_serial()
        self._set(host_map.INTERRUPT_ENABLE, host_map.INTERRUPT_AT_FAULT)

    @property
    def memory(self) -> WordStorage:
        """Global memory; writing into it is seen by the next command."""
        return self._memory

    def clear(self, memory_bytes: int) -> None:
        """Set registers, shared memory and the first bytes of memory to zero, as on a fresh machine.

        Parameters
        ----------
        memory_bytes : int
        """
        zeros = np.zeros((self.config.registers, LANES), dtype=np.uint32)
        for warp in range(self.config.warps):
            self.write_registers(0, zeros, warp=warp)
        self.memory.write(self.memory.base, np.zeros(memory_bytes, dtype=np.uint8))
        if self.shared is not None:
            self.shared.write(self.shared.base, np.zeros(self.shared.size, dtype=np.uint8))

    def close(self) -> None:
        """Give the line back; the board keeps its registers and memory."""
        self._link.close()

    def _hand_over(self, words: NDArray[np.uint32]) -> bool:
        faults = 0
        for warp, group in groupby(words, key=lambda command: self._owner(int(command[0] >> 28))):
            rest = np.array(list(group))
            self._select(warp)
            while len(rest) and not faults >> warp & 1:
                status = self._poll(host_map.STATUS_FAULT | host_map.STATUS_FREE, 0)
                if status & host_map.STATUS_FAULT:
                    faults = self._get(host_map.FAULTS)
                if not faults >> warp & 1:
                    free = (status & host_map.STATUS_FREE) // (host_map.STATUS_FREE & -host_map.STATUS_FREE)
                    if free:
                        self._link.queue_commands(host_map.COMMAND, rest[:free])
                    rest = rest[free:]
        return not faults

    def _await_end(self, executed: Mapping[int, int]) -> bool:
        if self._poll(0, host_map.STATUS_BUSY) & host_map.STATUS_FAULT:
            return False
        for warp, count in executed.items():
            if self.executed(warp) != count:
                raise LinkError(
                    f"the core must have executed {count} commands, not {self.executed(warp)}; was it reset?"
                )
        return True

    def _clear_serial(self) -> bool:
        """Let commands overlap; False on a serial core, which refuses the write and stays as it is."""
        try:
            self._set(host_map.MODE, 0)
        except BoardRefusal:
            if not self._get(host_map.MODE) & host_map.SERIAL:
                raise
            return False
        return True

    def _set_serial(self, serial: bool) -> None:
        if self._overlaps:
            super()._set_serial(serial)

    def _poll(self, ones: int, zeros: int) -> int:
        """The status register, when one of the bits `ones` is set, or one of `zeros` is not."""
        for _ in range(_MOST_POLLS):
            status = self._get(host_map.STATUS)
            if status & ones or ~status & zeros:
                return status
        raise LinkError(f"the core did not come to an end; its status is {status:#x}")


def open_board(port: str, config: CoreConfig | None, baud: int) -> BoardMachine:
    """Find a core on a board.

    Parameters
    ----------
    port : str
        Device name of the serial port, or URL as pyserial understands it.
    config : CoreConfig or None
        What the core must be; None for whatever it says that it is.
    baud : int
        What the board was built with.

    Returns
    -------
    BoardMachine

    Raises
    ------
    boards.host.link.PortError
        When the port cannot be opened.
    boards.host.link.LinkError
        When nothing answers.
    sim.capabilities.CapabilityError
        When another core answers.
    """
    link = Link(SerialPort(port, baud))
    try:
        return BoardMachine(config, link)
    except BoardTimeout:
        link.close()
        raise
    except LinkError as error:
        link.close()
        raise LinkError(f"no board at {port} with {baud} baud: {error}") from error
    except BaseException:
        link.close()
        raise
