"""The Python side of the harness: one simulated core behind its host interface."""

import ctypes
from dataclasses import dataclass, fields
from enum import IntEnum
from operator import index
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.memory import Memory
from hdl.command import COMMAND_WORDS

CHANGE: Final = np.dtype([("cycle", "<u8"), ("value", "<u8"), ("probe", "<u4"), ("unused", "<u4")])
"""A new value of a probe, counted as in `sim.trace.probes.probes_of`, and the cycle in which it is there."""


class SimulationError(RuntimeError):
    """The simulated hardware broke a rule: a bus protocol, an assertion, or it never came to an end."""


class HostRefusal(RuntimeError):
    """The host interface answered an access with SLVERR."""


@dataclass(frozen=True, kw_only=True)
class BusTiming:
    """How the simulated memory behaves; ValueError for a value out of its range."""

    latency: int = 20
    """Cycles from a read address to its first beat, and from the last written beat to the response."""
    stall: int = 0
    """Probability, in 256ths, that a channel of the memory stalls in a cycle."""
    seed: int = 1
    """Seed of the stalls."""

    def __post_init__(self) -> None:
        if not 0 <= self.latency < 1 << 16:
            raise ValueError(f"Latency must be from 0 to 65535 cycles, not {self.latency}")
        if not 0 <= self.stall <= 224:
            raise ValueError(f"Stall must be from 0 to 224 chances of 256, not {self.stall}")


@dataclass(frozen=True, kw_only=True)
class BusWaits:
    """How often one side of the simulated core kept the other waiting, from its reset on."""

    read_address: int
    """Cycles in which the memory did not take what the core offered."""
    read_data: int
    """Cycles in which the core did not take what the memory offered."""
    read_gap: int
    """Cycles in which the memory held read data back after its latency."""
    write_address: int
    write_data: int
    """As of `read_address`."""
    write_response: int
    """As of `read_gap`, of a write response."""
    queue: int
    """Polls of the host that found the queue full while it had commands to push."""


class _Outcome(IntEnum):
    DONE = 0
    FAULT = 1
    REFUSED = 2
    BROKEN = 3


class _MemoryParameters(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("base", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("read_latency", ctypes.c_uint32),
        ("write_latency", ctypes.c_uint32),
        ("stall", ctypes.c_uint32),
        ("seed", ctypes.c_uint32),
    )


class _Waits(ctypes.Structure):
    _fields_ = tuple((field.name, ctypes.c_uint64) for field in fields(BusWaits))


class Simulation:
    """A Verilated core, its clock running only while something is asked of it.

    `library` is what `sim.build.build_core` returned. The buffer of `memory` is shared, not copied. One
    command or one host access must end in `cycle_limit` cycles. For `waves`, the FST file to write, and with
    `records`, to record the signals of which traces are made, the library must have been built.
    SimulationError when the waveform cannot be written, and when the library cannot record signals.
    """

    def __init__(
        self,
        library: Path,
        memory: Memory,
        *,
        timing: BusTiming,
        cycle_limit: int = 200_000,
        waves: Path | None = None,
        records: bool = False,
    ) -> None:
        self._library = _load(library)
        self._buffer = memory.data  # keeps the shared buffer alive
        parameters = _MemoryParameters(
            data=memory.data.ctypes.data,
            base=memory.base,
            size=memory.size,
            read_latency=timing.latency,
            write_latency=timing.latency,
            stall=timing.stall,
            seed=timing.seed,
        )
        path = None if waves is None else str(waves).encode()
        self._harness: int | None = self._library.openwmma_create(
            ctypes.byref(parameters), cycle_limit, path, records
        )
        if self._harness is None:
            raise SimulationError(self._error())

    @property
    def cycles(self) -> int:
        """Clock cycles simulated so far."""
        return int(self._library.openwmma_cycles(self._handle()))

    @property
    def observed_cycles(self) -> int:
        """Clock cycles in the waveform and in the record: all but the cycles of the host's reads in a row."""
        return int(self._library.openwmma_observed_cycles(self._handle()))

    @property
    def changes(self) -> NDArray[Any]:
        """What has been recorded so far: an array of `CHANGE`, in the order of the cycles."""
        first = ctypes.c_void_p()
        count = self._library.openwmma_changes(self._handle(), ctypes.byref(first))
        text = ctypes.string_at(first.value, count * CHANGE.itemsize) if first.value and count else b""
        return np.frombuffer(text, dtype=CHANGE)

    @property
    def waits(self) -> BusWaits:
        """How often memory, core and host waited for each other so far."""
        waits = _Waits()
        self._library.openwmma_waits(self._handle(), ctypes.byref(waits))
        return BusWaits(**{field.name: getattr(waits, field.name) for field in fields(BusWaits)})

    def read(self, address: int, count: int = 1) -> NDArray[np.uint32]:
        """Read `count` successive host registers, the first at byte address `address`.

        HostRefusal where one of them answered with an error; ValueError for registers beyond 32-bit
        addresses.
        """
        address, count = _host_range(address, count)
        values = np.empty(count, dtype=np.uint32)
        outcome = self._library.openwmma_read(self._handle(), address, count, values.ctypes.data)
        if self._judge(outcome) is _Outcome.REFUSED:
            raise HostRefusal(f"the core refused a read of {count} host registers at {address:#06x}")
        return values

    def inspect(self, count: int) -> NDArray[np.uint32]:
        """The first words of the memory that the library was built to show; no cycle passes.

        SimulationError where there is no such memory, or it has fewer words.
        """
        values = np.empty(count, dtype=np.uint32)
        self._judge(self._library.openwmma_inspect(self._handle(), values.size, values.ctypes.data))
        return values

    def read_shared(self, offset: int, count: int) -> NDArray[np.uint32]:
        """Words of the on-chip memory from a byte offset on; no cycle passes.

        SimulationError where there are fewer words, or the library was built of other Verilog than a core's.
        """
        values = np.empty(count, dtype=np.uint32)
        self._judge(
            self._library.openwmma_read_shared(self._handle(), offset // 4, count, values.ctypes.data)
        )
        return values

    def write_shared(self, offset: int, values: NDArray[np.uint32]) -> None:
        """Write words of the on-chip memory; as `read_shared`."""
        data = np.ascontiguousarray(values, dtype=np.uint32).reshape(-1)
        self._judge(
            self._library.openwmma_write_shared(self._handle(), offset // 4, data.size, data.ctypes.data)
        )

    def write(self, address: int, values: NDArray[np.uint32]) -> None:
        """Write successive host registers, the first at byte address `address`; errors as of `read`."""
        data = np.ascontiguousarray(values, dtype=np.uint32).reshape(-1)
        address, _ = _host_range(address, data.size)
        addresses = address + 4 * np.arange(data.size, dtype=np.uint32)
        outcome = self._library.openwmma_write(
            self._handle(), addresses.ctypes.data, data.ctypes.data, data.size
        )
        if self._judge(outcome) is _Outcome.REFUSED:
            raise HostRefusal(f"the core refused a write of {data.size} host registers at {address:#06x}")

    def queue(self, commands: ArrayLike) -> bool:
        """Queue encoded commands, as fast as the queue has room, and return when the last is queued.

        `commands` have shape (count, 5). False when the core has stopped with a fault, which is then to be
        cleared.
        """
        words = np.array(commands, dtype=np.uint32).reshape(-1, COMMAND_WORDS)
        outcome = self._library.openwmma_queue(self._handle(), words.ctypes.data, len(words))
        return self._judge(outcome) is _Outcome.DONE

    def finish(self) -> bool:
        """Run until the core is idle; False when it has stopped with a fault."""
        return self._judge(self._library.openwmma_finish(self._handle())) is _Outcome.DONE

    def execute(self, commands: ArrayLike) -> bool:
        """Queue encoded commands and run until the core is idle; as `queue` and `finish`."""
        return self.queue(commands) and self.finish()

    def set_slave_error(self, base: int, size: int) -> None:
        """Let the memory answer accesses to `size` bytes from `base` on with SLVERR."""
        self._library.openwmma_set_slave_error(self._handle(), index(base), index(size))

    def close(self) -> None:
        """End the simulation and finish its waveform."""
        if self._harness is not None:
            self._library.openwmma_destroy(self._harness)
            self._harness = None

    def _handle(self) -> int:
        if self._harness is None:
            raise ValueError("the simulation is closed")
        return self._harness

    def _judge(self, outcome: int) -> _Outcome:
        if outcome == _Outcome.BROKEN:
            raise SimulationError(self._error())
        return _Outcome(outcome)

    def _error(self) -> str:
        text: bytes = self._library.openwmma_error()
        return text.decode()


def _host_range(address: int, count: int) -> tuple[int, int]:
    """Address and count as plain integers, checked: C gets them in 32 bits."""
    address, count = index(address), index(count)
    if address < 0 or count < 0 or address + 4 * count > 1 << 32:
        raise ValueError(f"Host registers must have 32-bit addresses, not {count} from {address:#x} on")
    return address, count


def _load(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    pointer, u32, u64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
    signatures: dict[str, tuple[type | None, tuple[type, ...]]] = {
        "openwmma_error": (ctypes.c_char_p, ()),
        "openwmma_create": (pointer, (pointer, u64, ctypes.c_char_p, ctypes.c_int)),
        "openwmma_destroy": (None, (pointer,)),
        "openwmma_cycles": (u64, (pointer,)),
        "openwmma_observed_cycles": (u64, (pointer,)),
        "openwmma_changes": (u64, (pointer, pointer)),
        "openwmma_waits": (None, (pointer, pointer)),
        "openwmma_set_slave_error": (None, (pointer, u64, u64)),
        "openwmma_read": (ctypes.c_int, (pointer, u32, u32, pointer)),
        "openwmma_inspect": (ctypes.c_int, (pointer, u32, pointer)),
        "openwmma_read_shared": (ctypes.c_int, (pointer, u32, u32, pointer)),
        "openwmma_write_shared": (ctypes.c_int, (pointer, u32, u32, pointer)),
        "openwmma_write": (ctypes.c_int, (pointer, pointer, pointer, u32)),
        "openwmma_queue": (ctypes.c_int, (pointer, pointer, u32)),
        "openwmma_finish": (ctypes.c_int, (pointer,)),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library
