"""What every machine has that reaches a core through its host interface, whatever lies between."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from golden.faults import Cause
from golden.layouts import LANES
from golden.machine import Counters
from hdl.config import CoreConfig
from sim import host_map
from sim.capabilities import Capabilities
from sim.word_storage import WordStorage

__all__ = ["HostedMachine"]


class HostedMachine:
    """A core behind its host registers; how commands get there is left to those who inherit from it.

    Parameters
    ----------
    config : CoreConfig
        What the core must be.
    read_host : callable
        From the address of a host register or window, and a number of words, to their values.
    write_host : callable
        From an address and values.

    Raises
    ------
    sim.capabilities.CapabilityError
        When the core's own account of itself is not what `config` says.
    """

    def __init__(
        self,
        config: CoreConfig,
        read_host: Callable[[int, int], NDArray[np.uint32]],
        write_host: Callable[[int, NDArray[np.uint32]], None],
    ) -> None:
        self._config = config
        self._read_host = read_host
        self._write_host = write_host
        self._serial = False
        Capabilities.read(read_host).require(Capabilities.of(config))
        self._shared = WordStorage(
            config.shared_base,
            config.shared_bytes,
            lambda offset, count: read_host(host_map.SHARED_WINDOW + offset, count),
            lambda offset, values: write_host(host_map.SHARED_WINDOW + offset, values),
        )

    @property
    def config(self) -> CoreConfig:
        """The configuration of the core."""
        return self._config

    @property
    def shared(self) -> WordStorage | None:
        """Shared memory, by generic addresses; None where there is none."""
        return self._shared if self._config.shared_bytes else None

    @property
    def counters(self) -> Counters:
        """The core's own counters, since its reset."""
        values = {}
        for name, address in host_map.COUNTERS.items():
            low, high = self._read_host(address, 2).tolist()
            values[name] = high << 32 | low
        return Counters(**values)

    def read_registers(self) -> NDArray[np.uint32]:
        """All registers, shape (registers, 32 lanes), read through the host interface."""
        count = self._config.registers
        return self._read_host(host_map.register_address(0), count * LANES).reshape(count, LANES)

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
        self._write_host(host_map.register_address(first), values)

    def clear_fault(self) -> tuple[Cause, int]:
        """Clear the fault and drop the queued commands; returns the fault's cause and command index."""
        cause = Cause(self._get(host_map.FAULT_CAUSE))
        index = self._get(host_map.FAULT_INDEX)
        self._set(host_map.CONTROL, host_map.CLEAR)
        return cause, index

    def _get(self, address: int) -> int:
        return int(self._read_host(address, 1)[0])

    def _set(self, address: int, value: int) -> None:
        self._write_host(address, np.array([value], dtype=np.uint32))

    def _set_serial(self, serial: bool) -> None:
        """Have the core work on one command at a time, or not; it must be idle."""
        if serial != self._serial:
            self._set(host_map.MODE, host_map.SERIAL * serial)
            self._serial = serial
