"""``cp.async``: copies from global to shared memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.simt.arrays import Addresses, Threads
from golden.simt.memory_access import MemoryAccess

__all__ = ["AsyncCopies"]


class AsyncCopies(MemoryAccess):
    """Asynchronous copies. The bytes are moved at once; a checker is told that they are in flight."""

    def copy_async(
        self,
        threads: Threads,
        targets: Addresses,
        sources: Addresses,
        size: int,
        valid: NDArray[np.uint32] | None,
        index: int,
    ) -> None:
        """Copy `size` bytes for each thread, of which the last ones are zeros where `valid` is less.

        Where nothing is valid, the source address is not used.
        """
        if valid is None:
            values = self.load_global(threads, sources, min(size, 8), -(-size // 8), index)
            self.store_shared(threads, targets, values if size == 16 else [values], min(size, 8), index)
            return
        if int(valid.max(initial=0)) > size:
            position = int(np.argmax(valid))
            self.fault(
                index,
                threads,
                f"a copy of {size} bytes with {int(valid[position])} from its source",
                position,
            )
        for count in np.unique(valid).tolist():
            where = np.flatnonzero(valid == count)
            self._copy_part(threads[where], targets[where], sources[where], size, count, index)

    def _copy_part(
        self, threads: Threads, targets: Addresses, sources: Addresses, size: int, count: int, index: int
    ) -> None:
        words = np.zeros((threads.size, size), dtype=np.uint8)
        unit = count & -count if count else 1
        for at in range(0, count, unit):
            part: NDArray[Any] = self.load_global(
                threads, sources + np.uint64(at), unit if unit <= 8 else 8, 1, index
            )
            step = min(unit, 8)
            words[:, at : at + step] = part.view(np.uint8).reshape(threads.size, step)
            if unit == 16:
                rest: NDArray[Any] = self.load_global(threads, sources + np.uint64(8), 8, 1, index)
                words[:, 8:16] = rest.view(np.uint8).reshape(threads.size, 8)
        width = min(size, 8)
        values = [
            np.ascontiguousarray(words[:, at : at + width]).view(f"u{width}")[:, 0]
            for at in range(0, size, width)
        ]
        self.store_shared(threads, targets, values, width, index)

    def commit_copies(self, threads: Threads) -> None:
        """``cp.async.commit_group``."""

    def await_copies(self, threads: Threads, remaining: int, everything: bool) -> None:
        """``cp.async.wait_group`` and ``wait_all``."""
