"""Atomics of the threads of a block, on global and shared memory: one thread after the other."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.simt.address_map import GLOBAL, SHARED
from golden.simt.memory_access import BASES, SHIFTS, TYPES, MemoryAccess

__all__ = ["AtomicAccess"]

Addresses = NDArray[np.uint64]
Threads = NDArray[np.int64]


class AtomicAccess(MemoryAccess):
    """What ``atom`` and ``red`` do: operations go from old bits of cells and sources to new bits."""

    def atomic_global(
        self,
        threads: Threads,
        addresses: Addresses,
        operation: Any,
        sources: Sequence[NDArray[Any]],
        size: int,
        index: int,
    ) -> NDArray[Any]:
        """Do an atomic on global memory, thread after thread; the old values."""
        found = self._buffer(addresses, size)
        if found is not None:
            offsets = (addresses - np.uint64(found.address)).view(np.int64)
            self._require_aligned(threads, addresses, offsets, size, index)
            return self._atomic(found.views[size], offsets >> SHIFTS[size], operation, sources)
        result = np.zeros(threads.size, dtype=TYPES[size])
        for buffer, where in self._by_buffer(threads, addresses, size, index):
            offsets = (addresses[where] - np.uint64(buffer.address)).view(np.int64)
            self._require_aligned(threads[where], addresses[where], offsets, size, index)
            result[where] = self._atomic(
                buffer.views[size], offsets >> SHIFTS[size], operation, [source[where] for source in sources]
            )
        return result

    def atomic_shared(
        self,
        threads: Threads,
        addresses: Addresses,
        operation: Any,
        sources: Sequence[NDArray[Any]],
        size: int,
        index: int,
    ) -> NDArray[Any]:
        """Do an atomic on shared memory."""
        offsets = self._offsets(self.shared, threads, addresses, size, index, SHARED)
        return self._atomic(self.shared.views[size], offsets >> SHIFTS[size], operation, sources)

    def atomic_generic(
        self,
        threads: Threads,
        addresses: Addresses,
        operation: Any,
        sources: Sequence[NDArray[Any]],
        size: int,
        index: int,
    ) -> NDArray[Any]:
        """Do an atomic on global or shared memory, wherever the addresses lie."""
        if not threads.size or int(addresses.min()) >= GLOBAL:
            return self.atomic_global(threads, addresses, operation, sources, size, index)
        result = np.zeros(threads.size, dtype=TYPES[size])
        for name, where in self._by_space(threads, addresses, index):
            if name not in ("global", "shared"):
                self.fault(index, threads[where], f"an atomic on .{name} memory", 0, int(addresses[where][0]))
            atomic = getattr(self, f"atomic_{name}")
            some = [source[where] for source in sources]
            result[where] = atomic(
                threads[where], addresses[where] - BASES[name], operation, some, size, index
            )
        return result

    def _atomic(
        self, view: NDArray[Any], cells: NDArray[np.int64], operation: Any, sources: Sequence[NDArray[Any]]
    ) -> NDArray[Any]:
        """One atomic by each thread, in their order: in rounds in which no cell occurs twice."""
        old = np.empty(cells.size, dtype=view.dtype)
        left = np.arange(cells.size)
        while left.size:
            first = np.sort(np.unique(cells[left], return_index=True)[1])
            now = left if first.size == left.size else left[first]
            where = cells[now]
            before = view[where]
            after = operation(before, *(source[now] for source in sources))
            if not np.array_equal(before, after):
                self.launch.changed += 1
                view[where] = after
            old[now] = before
            if now is left:
                break
            keep = np.ones(left.size, dtype=np.bool_)
            keep[first] = False
            left = left[keep]
        return old
