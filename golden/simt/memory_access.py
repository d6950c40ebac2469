"""Loads and stores of the threads of a block, in every state space.

Addresses come as arrays of uint64, one for each thread of `threads`. An access of `count` elements of `size`
bytes must be aligned to its whole size, as the hardware demands.
"""

from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from golden.ptx.special_registers import Geometry
from golden.simt.address_map import GLOBAL, SHARED, WINDOW_BYTES, WINDOWS
from golden.simt.arrays import Addresses, Threads, Values
from golden.simt.device_memory import TYPES, Allocation, DeviceMemory
from golden.simt.errors import KernelFault
from golden.simt.writer import LOCAL_PARAMETERS

__all__ = ["BASES", "SHIFTS", "MemoryAccess"]

SHIFTS: Final = {1: 0, 2: 1, 4: 2, 8: 3}


class MemoryAccess:
    """The memory of one block; the other parts of `golden.simt.block.BlockRun` are subclasses.

    Attributes
    ----------
    kernel : golden.simt.compiled.CompiledKernel
    launch : golden.simt.grid.LaunchState
        Its `changed` counts the stores, and the atomics that changed something.
    """

    kernel: Any
    geometry: Geometry
    device: DeviceMemory
    shared: Allocation
    local: Allocation
    local_bytes: int
    parameters: Allocation
    launch: Any
    total: int
    _recent: Allocation | None

    # Loads

    def load_global(self, threads: Threads, addresses: Addresses, size: int, count: int, index: int) -> Any:
        """Load from global memory or constants; an array, or a list of `count` arrays."""
        width = size * count
        found = self._buffer(addresses, width)
        if found is None:
            result = self._load_scattered(threads, addresses, size, count, index)
        else:
            offsets = (addresses - np.uint64(found.address)).view(np.int64)
            self._require_aligned(threads, addresses, offsets, width, index)
            result = self._gather(found.views[size], offsets, size, count)
        self.note_access("global", threads, addresses, width, index, reads=True)
        return result

    def load_shared(self, threads: Threads, addresses: Addresses, size: int, count: int, index: int) -> Any:
        """Load from shared memory."""
        offsets = self._offsets("shared", threads, addresses, size * count, index)
        result = self._gather(self.shared.views[size], offsets, size, count)
        self.note_access("shared", threads, addresses, size * count, index, reads=True)
        return result

    def load_local(self, threads: Threads, addresses: Addresses, size: int, count: int, index: int) -> Any:
        """Load from the threads' own memory."""
        offsets = self._offsets("local", threads, addresses, size * count, index)
        result = self._gather(self.local.views[size], offsets, size, count)
        self.note_access("local", threads, addresses, size * count, index, reads=True)
        return result

    def load_param(self, threads: Threads, addresses: Addresses, size: int, count: int, index: int) -> Any:
        """Load from parameters of the entry, or of calls, which are in local memory."""
        if int(addresses.max(initial=0)) >= LOCAL_PARAMETERS:
            return self.load_local(threads, addresses, size, count, index)
        offsets = self._offsets("param", threads, addresses, size * count, index)
        return self._gather(self.parameters.views[size], offsets, size, count)

    def load_generic(self, threads: Threads, addresses: Addresses, size: int, count: int, index: int) -> Any:
        """Load from wherever the addresses lie."""
        if not threads.size or int(addresses.min()) >= GLOBAL:
            return self.load_global(threads, addresses, size, count, index)
        results = [np.zeros(threads.size, dtype=TYPES[size]) for _ in range(count)]
        for name, where in self._by_space(threads, addresses, index):
            load = getattr(self, f"load_{name}")
            base = BASES[name]
            values = load(threads[where], addresses[where] - base, size, count, index)
            for result, value in zip(results, [values] if count == 1 else values, strict=True):
                result[where] = value
        return results[0] if count == 1 else results

    def parameter(self, offset: int, size: int, count: int) -> NDArray[Any]:
        """A parameter of the entry, the same in all threads."""
        data = self.parameters.data[offset : offset + size]
        return (
            np.full(count, data.view(TYPES[size])[0]) if data.size == size else np.zeros(count, TYPES[size])
        )

    # Stores

    def store_global(
        self, threads: Threads, addresses: Addresses, values: Values, size: int, index: int
    ) -> None:
        """Store to global memory; where threads store to one place, the last thread's value stays."""
        width = size * len(values)
        self.launch.changed += 1
        found = self._buffer(addresses, width)
        if found is None:
            self._store_scattered(threads, addresses, values, size, index)
        else:
            offsets = (addresses - np.uint64(found.address)).view(np.int64)
            self._require_aligned(threads, addresses, offsets, width, index)
            self._require_writable(found, threads, addresses, index)
            self._scatter(found.views[size], offsets, values, size)
        self.note_access("global", threads, addresses, width, index, writes=True)

    def store_shared(
        self, threads: Threads, addresses: Addresses, values: Values, size: int, index: int
    ) -> None:
        """Store to shared memory."""
        self.launch.changed += 1
        offsets = self._offsets("shared", threads, addresses, size * len(values), index)
        self._scatter(self.shared.views[size], offsets, values, size)
        self.note_access("shared", threads, addresses, size * len(values), index, writes=True)

    def store_local(
        self, threads: Threads, addresses: Addresses, values: Values, size: int, index: int
    ) -> None:
        """Store to the threads' own memory."""
        offsets = self._offsets("local", threads, addresses, size * len(values), index)
        self._scatter(self.local.views[size], offsets, values, size)
        self.note_access("local", threads, addresses, size * len(values), index, writes=True)

    def store_param(
        self, threads: Threads, addresses: Addresses, values: Values, size: int, index: int
    ) -> None:
        """Store to the parameters of a call."""
        if threads.size and int(addresses.min()) < LOCAL_PARAMETERS:
            self.fault(index, threads, "parameters of an entry cannot be stored to")
        self.store_local(threads, addresses, values, size, index)

    def store_generic(
        self, threads: Threads, addresses: Addresses, values: Values, size: int, index: int
    ) -> None:
        """Store to wherever the addresses lie."""
        if not threads.size or int(addresses.min()) >= GLOBAL:
            self.store_global(threads, addresses, values, size, index)
            return
        for name, where in self._by_space(threads, addresses, index):
            store = getattr(self, f"store_{name}")
            store(
                threads[where],
                addresses[where] - BASES[name],
                [value[where] for value in values],
                size,
                index,
            )

    def note_access(
        self,
        space: str,
        threads: Threads,
        addresses: Addresses,
        width: int,
        index: int,
        *,
        reads: bool = False,
        writes: bool = False,
    ) -> None:
        """Note an access of `width` bytes for each thread, after it; an atomic reads and writes."""

    # Where addresses lie

    def own_memory(self) -> NDArray[np.uint8]:
        """Local memory and the parameters of calls: a row of bytes for each thread."""
        return self.local.bytes.reshape(self.total, self.local_bytes)

    def in_window(self, space: str, addresses: Addresses) -> NDArray[np.bool_]:
        """Whether generic addresses lie in a state space."""
        if space in ("global", "const"):
            return addresses >= np.uint64(GLOBAL)
        base = int(BASES[space])
        return (addresses >= np.uint64(base)) & (addresses < np.uint64(base + WINDOW_BYTES))

    def _buffer(self, addresses: Addresses, width: int) -> Allocation | None:
        """The buffer that holds all these accesses; None if there is not one such."""
        if not addresses.size:
            return self._recent or self.device.find(GLOBAL)
        least, last = int(np.minimum.reduce(addresses)), int(np.maximum.reduce(addresses)) + width
        found = self._recent
        if found is None or not (found.address <= least and last <= found.end):
            found = self.device.find(least)
            if found is None or last > found.end:
                return None
            self._recent = found
        return found

    def _by_buffer(
        self, threads: Threads, addresses: Addresses, width: int, index: int
    ) -> list[tuple[Allocation, NDArray[np.int64], NDArray[np.int64]]]:
        """The buffers that hold the accesses, each with the positions and the offsets of those it holds."""
        groups = []
        left = np.arange(addresses.size)
        while left.size:
            address = int(addresses[left[0]])
            found = self.device.find(address)
            if found is None or address + width > found.end:
                where = self.device.describe(address if found is None else address + width - 1)
                self.fault(
                    index,
                    threads,
                    f"no memory for {width} bytes at {address:#x}: {where}",
                    int(left[0]),
                    address,
                )
            some = addresses[left]
            inside = (some >= np.uint64(found.address)) & (
                some <= np.uint64(max(found.end - width, found.address))
            )
            groups.append((found, left[inside], (some[inside] - np.uint64(found.address)).view(np.int64)))
            left = left[~inside]
        return groups

    def _by_space(
        self, threads: Threads, addresses: Addresses, index: int
    ) -> list[tuple[str, NDArray[np.int64]]]:
        """The state spaces in which generic addresses lie, each with the positions of those in it."""
        groups = []
        for name in ("global", "shared", "local", "param"):
            where = np.flatnonzero(self.in_window(name, addresses))
            if where.size:
                groups.append((name, where))
        if sum(where.size for _, where in groups) != addresses.size:
            missing = np.flatnonzero(addresses < np.uint64(SHARED))
            position = int(missing[0]) if missing.size else 0
            address = int(addresses[position])
            self.fault(
                index,
                threads,
                f"no memory at {address:#x}: {self.device.describe(address)}",
                position,
                address,
            )
        return groups

    def _offsets(
        self, space: str, threads: Threads, addresses: Addresses, width: int, index: int
    ) -> NDArray[np.int64]:
        """Where the accesses lie in a memory of the block, whose bounds and alignment they keep."""
        if space == "local":  # parameters of calls have addresses of their own, in the same memory
            addresses = np.where(addresses < LOCAL_PARAMETERS, addresses, addresses - LOCAL_PARAMETERS)
        window = {"shared": self.shared, "local": self.local, "param": self.parameters}[space]
        have = self.local_bytes if space == "local" else window.nbytes
        if addresses.size and int(np.maximum.reduce(addresses)) + width > have:
            position = int(np.argmax(addresses + np.uint64(width) > np.uint64(have)))
            address = int(addresses[position])
            near = f": {self.describe_shared(address)}" if space == "shared" else ""
            self.fault(
                index,
                threads,
                f"{width} bytes at {address:#x} of {window.name}, which has {have} bytes{near}",
                position,
                int(BASES[space]) + address,
            )
        offsets = addresses.view(np.int64)
        self._require_aligned(threads, addresses, offsets, width, index)
        return offsets + threads * have if space == "local" else offsets

    def _require_aligned(
        self, threads: Threads, addresses: Addresses, offsets: NDArray[np.int64], width: int, index: int
    ) -> None:
        if width > 1 and offsets.size and int(np.bitwise_or.reduce(offsets)) & (width - 1):
            position = int(np.flatnonzero(offsets & (width - 1))[0])
            address = int(addresses[position])
            self.fault(
                index,
                threads,
                f"address {address:#x} is not a multiple of the {width} bytes accessed",
                position,
                address,
            )

    def _require_writable(
        self, buffer: Allocation, threads: Threads, addresses: Addresses, index: int
    ) -> None:
        if buffer.constant and threads.size:
            address = int(addresses[0])
            where = self.device.describe(address)
            self.fault(index, threads, f"constants cannot be written: {where} at {address:#x}", 0, address)

    # Faults

    def coordinates(self, thread: int) -> tuple[int, int, int]:
        """The index of a thread in its block."""
        x, y, _ = self.geometry.block
        return thread % x, thread // x % y, thread // (x * y)

    def describe_shared(self, offset: int) -> str:
        """Where a byte of shared memory lies, for a message."""
        return f"byte {offset} of shared memory, {self.kernel.shared_variable(offset)}"

    def fault(
        self, index: int, threads: Threads, message: str, position: int = 0, address: int | None = None
    ) -> NoReturn:
        """Raise the fault of an instruction; `position` is the thread's among `threads`."""
        raise KernelFault(
            message,
            kernel=self.kernel.readable,
            place=str(self.kernel.source_line(index)),
            block=self.geometry.index,
            thread=self.coordinates(int(threads[position])) if threads.size else None,
            address=address,
        )

    # Elements

    def _gather(self, view: NDArray[Any], offsets: NDArray[np.int64], size: int, count: int) -> Any:
        places = offsets >> SHIFTS[size] if size > 1 else offsets
        if count == 1:
            return view[places]
        return [view[places + i] if i else view[places] for i in range(count)]

    def _scatter(self, view: NDArray[Any], offsets: NDArray[np.int64], values: Values, size: int) -> None:
        places = offsets >> SHIFTS[size] if size > 1 else offsets
        for i, value in enumerate(values):
            view[places + i if i else places] = value

    def _load_scattered(
        self, threads: Threads, addresses: Addresses, size: int, count: int, index: int
    ) -> Any:
        results = [np.zeros(threads.size, dtype=TYPES[size]) for _ in range(count)]
        for buffer, where, offsets in self._by_buffer(threads, addresses, size * count, index):
            self._require_aligned(threads[where], addresses[where], offsets, size * count, index)
            values = self._gather(buffer.views[size], offsets, size, count)
            for result, value in zip(results, [values] if count == 1 else values, strict=True):
                result[where] = value
        return results[0] if count == 1 else results

    def _store_scattered(
        self, threads: Threads, addresses: Addresses, values: Values, size: int, index: int
    ) -> None:
        width = size * len(values)
        for buffer, where, offsets in self._by_buffer(threads, addresses, width, index):
            self._require_aligned(threads[where], addresses[where], offsets, width, index)
            self._require_writable(buffer, threads[where], addresses[where], index)
            self._scatter(buffer.views[size], offsets, [value[where] for value in values], size)


BASES: Final = {space: np.uint64(base) for space, base in WINDOWS.items()}
"""What is added to an address within a state space to make it generic."""
