"""The board machine: `golden.machine.Machine` on a core in a SoC at the end of a link."""

from collections.abc import Mapping
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from boards.address_map import INFO, INFO_BYTES, ORIGIN, SocInfo
from boards.host.bridges.open_link import open_link
from boards.host.link.bus_link import Link
from boards.host.link.errors import LinkError
from golden.tables.layouts import LANES
from hdl.config import PAGE_BYTES, CoreConfig
from sim import host_map
from sim.hosted import HostedMachine
from sim.word_storage import WordStorage

_MAX_POLLS: Final = 20_000
"""Looks at the status register before we believe that the core hangs; each takes a millisecond or so."""

_WORD_BYTES: Final = 4
_SPREAD: Final = 0x9E37_79B1
"""An odd number, so that its multiples differ in all bits."""


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
    boards.host.link.errors.LinkError
        When there is no board; from every method, when the line fails.
    sim.capabilities.CapabilityError
        When the core on the board is not what `config` says.
    """

    def __init__(self, config: CoreConfig | None, link: Link) -> None:
        self._link = link
        try:
            self.info = SocInfo.of(link.read(INFO, INFO_BYTES // _WORD_BYTES).tolist())
        except ValueError as error:
            raise LinkError(str(error)) from None
        super().__init__(
            config,
            lambda address, count: link.read(ORIGIN + address, count),
            lambda address, values: link.write(ORIGIN + address, values),
        )
        self.memory = self._storage(self.info.memory_bytes - PAGE_BYTES)
        self._test_memory()
        for warp in range(self.config.warps):
            self._select(warp)
            self._set(host_map.CONTROL, host_map.CLEAR)
        self._poll(0, host_map.STATUS_BUSY)
        self._restart_counters()
        self._set(host_map.MODE, 0)
        self._set(host_map.INTERRUPT_ENABLE, host_map.INTERRUPT_AT_FAULT)

    def restrict(self, memory_bytes: int) -> None:
        """Take only the first bytes of `memory` for it: a comparison of all of it is then shorter.

        Parameters
        ----------
        memory_bytes : int
            A multiple of 4, at most its size.
        """
        self.memory = self._storage(memory_bytes)

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
                    for command in rest[:free]:
                        self._write_host(host_map.COMMAND + _WORD_BYTES, command[1:])
                        self._write_host(host_map.COMMAND, command[:1])
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

    def _storage(self, size: int) -> WordStorage:
        first = self.info.memory_base + PAGE_BYTES
        return WordStorage(
            PAGE_BYTES,
            size,
            lambda offset, count: self._link.read(first + offset, count),
            lambda offset, values: self._link.write(first + offset, values),
        )

    def _test_memory(self) -> None:
        """Write and read a word for each address line, which then has its value again."""
        bits = self.info.memory_bytes.bit_length() - 1
        places = [PAGE_BYTES, *(PAGE_BYTES + (1 << bit) for bit in range(2, bits))]
        places = [place for place in places if place < self.info.memory_bytes]
        first = self.info.memory_base
        before = [self._link.read(first + place, 1) for place in places]
        for place in places:
            self._link.write(first + place, np.array([place * _SPREAD % (1 << 32)], dtype=np.uint32))
        for place in places:
            found, expected = int(self._link.read(first + place, 1)[0]), place * _SPREAD % (1 << 32)
            if found != expected:
                raise LinkError(
                    f"the board's memory must keep {expected:#x} at {first + place:#x}, not {found:#x}; "
                    "its processor initialises the memory after reset"
                )
        for place, value in zip(places, before, strict=True):
            self._link.write(first + place, value)

    def _poll(self, ones: int, zeros: int) -> int:
        """The status register, when one of the bits `ones` is set, or one of `zeros` is not."""
        for _ in range(_MAX_POLLS):
            status = self._get(host_map.STATUS)
            if status & ones or ~status & zeros:
                return status
        raise LinkError(f"the core did not come to an end; its status is {status:#x}")


def open_board(port: str, config: CoreConfig | None, baud: int) -> BoardMachine:
    """Find a core on a board.

    Parameters
    ----------
    port : str
        As `boards.host.link.open_link` takes it.
    config : CoreConfig or None
        What the core must be; None for whatever it says that it is.
    baud : int
        What the board was built with.

    Returns
    -------
    BoardMachine

    Raises
    ------
    boards.host.link.errors.PortError
        When the port cannot be opened.
    boards.host.link.errors.LinkError
        When nothing answers.
    sim.capabilities.CapabilityError
        When another core answers.
    """
    link = open_link(port, baud)
    try:
        return BoardMachine(config, link)
    except LinkError as error:
        link.close()
        raise LinkError(f"no board at {port}: {error}") from error
    except BaseException:
        link.close()
        raise
