"""The configuration of a board: a core, its memory, its clock and its serial line."""

from dataclasses import dataclass
from typing import Final

from boards.gateware.uart import LEAST_DIVIDER
from boards.serial_core.serial_config import SerialConfig
from hdl.config import PAGE_BYTES, CoreConfig

__all__ = ["BUS_BYTES", "BoardConfig"]

BUS_BYTES: Final = 16
"""Bytes of a row of the memory: one beat."""

_WORD_ADDRESSES: Final = 1 << 32
_MOST_MEMORY_BYTES: Final = 1 << 20
_MOST_DIVIDER: Final = 1 << 16
_MOST_BAUD_ERROR: Final = 0.02
_LEAST_GAP_BITS: Final = 40
_LEAST_ACCESS_CYCLES: Final = 64
_MOST_ACCESS_CYCLES: Final = 1 << 16
_LEAST_ACCESSES_PER_SECOND: Final = 10


@dataclass(frozen=True, kw_only=True)
class BoardConfig:
    """The configuration of everything between the pins of a board.

    Parameters
    ----------
    core : CoreConfig
        With 128 data bits, or a `SerialConfig`: then the board has a serial core.
    memory_bytes : int
        Global memory in block RAM, or beside a serial core in single-port RAM: a power of two from 4096 to
        2**20.
    memory_base : int
        Address of its first byte: a multiple of 4096. By default the second page, so that a null pointer
        reaches nothing.
    clock_hz : int
        Of the clock that the board top is given.
    baud : int
        Bits per second of the serial line; the clock divided by a whole number, at least 4, must come within
        2 % of it (10 bits of a byte, half a bit to spare at either end, and the other side may be off as
        well).
    access_cycles : int
        Clocks in which an access of the host must be answered, 64 to 65536, and at most 100 ms: the host's
        software waits 200 ms for an answer. The core answers within tens of clocks; the memory may first
        serve what the core's queue holds, a few thousand beats.
    gap_microseconds : int
        Silence after which a frame that has not ended is given up: at least 40 bits. A USB adapter may pause
        for milliseconds within a frame.

    Raises
    ------
    ValueError
        For a value that breaks a rule above, naming the value and the rule.
    """

    core: CoreConfig
    memory_bytes: int
    memory_base: int = PAGE_BYTES
    clock_hz: int
    baud: int
    access_cycles: int = 16_384
    gap_microseconds: int = 20_000

    def __post_init__(self) -> None:
        size, base, core = self.memory_bytes, self.memory_base, self.core
        if not isinstance(core, SerialConfig) and core.data_bits != 8 * BUS_BYTES:
            raise ValueError(f"Data bits of a board's core must be {8 * BUS_BYTES}, not {core.data_bits}")
        if size & (size - 1) or not PAGE_BYTES <= size <= _MOST_MEMORY_BYTES:
            raise ValueError(
                f"Memory bytes must be a power of two from {PAGE_BYTES} to {_MOST_MEMORY_BYTES}, not {size}"
            )
        if base % PAGE_BYTES or base < 0:
            raise ValueError(f"Memory base must be a multiple of {PAGE_BYTES}, not {base:#x}")
        end = min(1 << core.address_bits, _WORD_ADDRESSES)
        if base + size > end:
            raise ValueError(f"Memory must end at or below {end:#x}, not at {base + size:#x}")
        if (
            core.shared_bytes
            and base < core.shared_base + core.shared_bytes
            and core.shared_base < base + size
        ):
            raise ValueError(
                f"Memory must not overlap the shared memory from {core.shared_base:#x} on; "
                f"{base:#x} to {base + size:#x} does"
            )
        if self.clock_hz <= 0 or self.baud <= 0:
            raise ValueError(f"Clock and baud must be positive, not {self.clock_hz} and {self.baud}")
        if not LEAST_DIVIDER <= self.divider < _MOST_DIVIDER:
            raise ValueError(
                f"Clocks of a bit must be from {LEAST_DIVIDER} to {_MOST_DIVIDER - 1}, "
                f"not {self.divider} ({self.clock_hz} Hz for {self.baud} baud)"
            )
        if abs(self.clock_hz / (self.divider * self.baud) - 1) > _MOST_BAUD_ERROR:
            raise ValueError(
                f"Baud must be within {_MOST_BAUD_ERROR:.0%} of {self.clock_hz} Hz by a whole number; "
                f"{self.baud} is not, the nearest is {self.clock_hz / self.divider:.0f}"
            )
        if self.gap_cycles < _LEAST_GAP_BITS * self.divider:
            raise ValueError(
                f"Gap must be at least {_LEAST_GAP_BITS} bits, {1e6 * _LEAST_GAP_BITS / self.baud:g} us, "
                f"not {self.gap_microseconds}"
            )

        most = min(_MOST_ACCESS_CYCLES, self.clock_hz // _LEAST_ACCESSES_PER_SECOND)
        if not _LEAST_ACCESS_CYCLES <= self.access_cycles <= most:
            raise ValueError(
                f"Access cycles must be from {_LEAST_ACCESS_CYCLES} to {most}, not {self.access_cycles}"
            )

    @property
    def divider(self) -> int:
        """Clocks of one bit on the serial line."""
        return round(self.clock_hz / self.baud)

    @property
    def gap_cycles(self) -> int:
        """Clocks of the silence after which a frame is given up."""
        return self.clock_hz * self.gap_microseconds // 1_000_000
