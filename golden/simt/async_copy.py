"""``cp.async``: copies from global to shared memory."""

import numpy as np
from numpy.typing import NDArray

from golden.simt.arrays import Access, Threads
from golden.simt.memory_access import MemoryAccess

__all__ = ["AsyncCopies"]


class AsyncCopies(MemoryAccess):
    """Asynchronous copies. The bytes are moved at once; a checker is told that they are in flight."""

    def copy_async(self, target: Access, source: Access, size: int, valid: NDArray[np.uint32] | None) -> None:
        """Copy `size` bytes for each thread, of which the last ones are zeros where `valid` is less.

        Where nothing is valid, the source address is not used.
        """
        if valid is None:
            values = self.load("global", source, min(size, 8), -(-size // 8))
            self.store("shared", target, values if size == 16 else [values], min(size, 8))
            return
        if int(valid.max(initial=0)) > size:
            position = int(np.argmax(valid))
            message = f"a copy of {size} bytes with {int(valid[position])} from its source"
            self.fault(target.number, target.threads, message, position)
        for count in np.unique(valid).tolist():
            where = np.flatnonzero(valid == count)
            self._copy_part(target.some(where), source.some(where), size, count)

    def _copy_part(self, target: Access, source: Access, size: int, count: int) -> None:
        words = np.zeros((source.threads.size, size), dtype=np.uint8)
        unit = min(count & -count, 8)
        for at in range(0, count, unit or 1):
            part = source._replace(addresses=source.addresses + np.uint64(at))
            words[:, at : at + unit] = self.load("global", part, unit, 1).view(np.uint8).reshape(-1, unit)
        width = min(size, 8)
        values = [
            np.ascontiguousarray(words[:, at : at + width]).view(f"u{width}")[:, 0]
            for at in range(0, size, width)
        ]
        self.store("shared", target, values, width)

    def commit_copies(self, threads: Threads) -> None:
        """``cp.async.commit_group``."""

    def await_copies(self, threads: Threads, remaining: int, everything: bool) -> None:
        """``cp.async.wait_group`` and ``wait_all``."""
