"""What every machine has that reaches a core through its host interface, whatever lies between."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from golden.machine import Counters, Storage
from golden.programs.values import describe_command
from golden.tables.commands import Command
from golden.tables.faults import Cause, Fault
from golden.tables.layouts import LANES
from golden.tables.profiles import Profile
from hdl.command import encode
from hdl.config import CoreConfig
from hdl.control.host import register_map
from sim import host_map
from sim.capabilities import Capabilities
from sim.word_storage import WordStorage

_BATCH: Final = 256
"""Commands drawn at once."""

_IN_FLIGHT: Final = 64
"""More commands than a core can have taken from its queue and not yet ended."""

_INDICES: Final = 1 << 32
"""The core counts commands modulo this where it names the one that failed."""


class HostedMachine(ABC):
    """A core behind its host registers; how commands get there is left to those who inherit from it.

    Attributes are as of `golden.machine.Machine`; `config` is the core's.

    Parameters
    ----------
    config : CoreConfig or None
        What the core must be, else CapabilityError; None for whatever it says that it is.
    read_host : callable
        From the address of a host register or window, and a number of words, to their values.
    write_host : callable
        From an address and values.
    """

    memory: Storage

    def __init__(
        self,
        config: CoreConfig | None,
        read_host: Callable[[int, int], NDArray[np.uint32]],
        write_host: Callable[[int, NDArray[np.uint32]], None],
    ) -> None:
        self._read_host = read_host
        self._write_host = write_host
        self._serial = False
        found = Capabilities.read(read_host)
        self.config = found.configuration() if config is None else config
        found.require(Capabilities.of(self.config))
        self._queued: list[deque[Command]] = [deque() for _ in range(self.config.warps)]
        self._first_queued = [0] * self.config.warps
        self._restart_counters()
        self.profile: Profile = self.config.dot_product.profile
        self.register_count: int = self.config.registers
        self.warp_count: int = self.config.warps
        self.shared: WordStorage | None = None
        if self.config.shared_bytes:
            self.shared = WordStorage(
                self.config.shared_base,
                self.config.shared_bytes,
                lambda offset, count: read_host(register_map.SHARED_WINDOW + offset, count),
                lambda offset, values: write_host(register_map.SHARED_WINDOW + offset, values),
            )

    @property
    def counters(self) -> Counters:
        """The core's own counters, since the machine was made."""
        before = asdict(self._before)
        return Counters(**{name: now - before[name] for name, now in asdict(self._read_counters()).items()})

    def read_registers(
        self, first: int = 0, count: int | None = None, *, warp: int = 0
    ) -> NDArray[np.uint32]:
        """Consecutive registers through the host interface: all from `first` on unless `count` is given."""
        wanted = self.config.registers - first if count is None else count
        self._select(warp)
        return self._read_host(register_map.lane_address(first), wanted * LANES).reshape(wanted, LANES)

    def inspect_registers(self) -> NDArray[np.uint32]:
        """All registers of all warps, through the host interface where there is no other way."""
        return np.concatenate([self.read_registers(warp=warp) for warp in range(self.config.warps)])

    def write_registers(self, first: int, values: NDArray[np.uint32], *, warp: int = 0) -> None:
        """Set consecutive registers through the host interface; `values` has shape (count, 32 lanes).

        ValueError for registers that do not exist, or another shape.
        """
        if values.ndim != 2 or values.shape[1] != LANES:
            raise ValueError(f"register values must have shape (count, {LANES}), not {values.shape}")
        if first < 0 or first + len(values) > self.config.registers:
            last = first + len(values) - 1
            raise ValueError(f"registers {first} to {last} must be among 0 to {self.config.registers - 1}")
        self._select(warp)
        self._write_host(register_map.lane_address(first), values)

    def execute(self, command: Command) -> None:
        """Execute one command in serial mode, to its end; a Fault that it raises has been cleared.

        ValueError for an operand that does not fit its field of the command.
        """
        self._queue((command,), serial=True)
        self.finish()

    def execute_batch(self, commands: Iterable[Command]) -> None:
        """Execute commands without waiting in between: `queue` and `finish`."""
        self.queue(commands)
        self.finish()

    def queue(self, commands: Iterable[Command]) -> None:
        """Hand over commands as fast as the queue takes them, and return while the core is still at work.

        The core overlaps them where it can. Until `finish`, only `queue` may be called. Errors are as of
        `golden.machine.Machine.queue`; a Fault that is raised has been cleared.
        """
        stream = iter(commands)
        while batch := list(islice(stream, _BATCH)):
            self._queue(batch, serial=False)

    def finish(self) -> None:
        """Wait until every command that was queued has been executed; Fault as of `queue`."""
        if not any(self._queued):
            return
        executed = {
            warp: (self._first_queued[warp] + len(queued)) % _INDICES
            for warp, queued in enumerate(self._queued)
            if queued
        }
        if not self._await_end(executed):
            self._raise_fault()
        for queued in self._queued:
            queued.clear()

    def clear_fault(self, warp: int = 0) -> tuple[Cause, int]:
        """Clear the fault of a warp and drop its queued commands.

        The result is its cause, and the index of the command among all that the warp got since the machine
        was made.
        """
        self._select(warp)
        cause = Cause(self._get(host_map.FAULT_CAUSE))
        index = (self._get(host_map.FAULT_INDEX) - self._executed_before[warp]) % _INDICES
        self._set(host_map.CONTROL, host_map.CLEAR)
        return cause, index

    @abstractmethod
    def close(self) -> None:
        """Give back what the machine holds."""

    @abstractmethod
    def _hand_over(self, words: NDArray[np.uint32]) -> bool:
        """Queue encoded commands, shape (count, 5); False when a warp has stopped with a fault.

        The commands of that warp may be skipped; commands of other warps are queued.
        """

    @abstractmethod
    def _await_end(self, executed: Mapping[int, int]) -> bool:
        """Wait until the core is idle; False when a warp has stopped with a fault.

        Where none has, `executed` is what `executed` must then return of each warp.
        """

    def _queue(self, commands: Sequence[Command], *, serial: bool) -> None:
        words = np.array([encode(command) for command in commands], dtype=np.uint32)
        if serial != self._serial and any(self._queued):
            self.finish()
        if not any(self._queued):
            self._set_serial(serial)
        for command in commands:
            warp = self._owner(command.warp)
            if not self._queued[warp]:
                self._first_queued[warp] = self.executed(warp)
            self._queued[warp].append(command)
        if not self._hand_over(words):
            self._await_end({})
            self._raise_fault()
        for warp, queued in enumerate(self._queued):
            while len(queued) > self.config.queue_depth + _IN_FLIGHT:
                queued.popleft()
                self._first_queued[warp] += 1

    def _raise_fault(self) -> NoReturn:
        faults = self._get(host_map.FAULTS)
        warp = (faults & -faults).bit_length() - 1
        cause, index = self.clear_fault(warp)
        queued = self._queued[warp]
        command = queued[(index - self._first_queued[warp]) % _INDICES]
        queued.clear()
        raise Fault(cause, index, describe_command(command), warp=warp)

    def executed(self, warp: int = 0) -> int:
        """Commands of a warp since the machine was made, modulo 2**32, as the core counts them for faults."""
        self._select(warp)
        return (self._get(host_map.COUNTERS["instructions"]) - self._executed_before[warp]) % _INDICES

    def _restart_counters(self) -> None:
        """Count from here on; the core must be idle."""
        self._before = self._read_counters()
        self._executed_before = [
            self._read_counter("instructions", warp) for warp in range(self.config.warps)
        ]

    def _read_counters(self) -> Counters:
        values = {name: self._read_counter(name) for name in host_map.COUNTERS}
        values["instructions"] = sum(
            self._read_counter("instructions", warp) for warp in range(self.config.warps)
        )
        if self.config.wgmma:
            values["bank_conflicts"] = self._get(host_map.BANK_CONFLICTS)
        return Counters(**values)

    def _read_counter(self, name: str, warp: int = 0) -> int:
        self._select(warp)
        low, high = self._read_host(host_map.COUNTERS[name], 2).tolist()
        return int(high << 32 | low)

    def _owner(self, warp: int) -> int:
        """Whose queue takes the commands for a warp: warp 0 refuses those for warps that do not exist."""
        return warp if warp < self.config.warps else 0

    def _select(self, warp: int) -> None:
        """Have the host registers and the window speak of a warp."""
        if self.config.warps > 1:
            self._set(host_map.WARP, warp)

    def _get(self, address: int) -> int:
        return int(self._read_host(address, 1)[0])

    def _set(self, address: int, value: int) -> None:
        self._write_host(address, np.array([value], dtype=np.uint32))

    def _set_serial(self, serial: bool) -> None:
        """Have the core work on one command at a time, or not; it must be idle."""
        if serial != self._serial:
            self._set(host_map.MODE, host_map.SERIAL * serial)
            self._serial = serial
