"""Atomics of the threads of a block, on global and shared memory: one thread after the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.locks import SHARED
from golden.simt.address_map import GLOBAL
from golden.simt.arrays import Access, Values
from golden.simt.device_memory import TYPES
from golden.simt.memory_access import SHIFTS, MemoryAccess


class AtomicAccess(MemoryAccess):
    """What ``atom`` and ``red`` do: operations go from old bits of cells and sources to new bits."""

    def atomic(self, space: str, access: Access, operation: Any, sources: Values, size: int) -> NDArray[Any]:
        """Do an atomic on cells of `size` bytes, thread after thread; the old values.

        `space` is ``"global"``, ``"shared"`` or ``"generic"``.
        """
        if space == "generic" and access.threads.size and int(access.addresses.min()) < GLOBAL:
            for name, where in self._by_space(access):
                if name not in ("global", "shared"):
                    self.refuse(access.some(where), 0, f"an atomic on .{name} memory")
        result = np.zeros(access.threads.size, dtype=TYPES[size])
        for piece in self._pieces(space, access, size, writes=True):
            positions = slice(None) if piece.where is None else piece.where
            some = [source[positions] for source in sources]
            view, cells = piece.memory.views[size], piece.offsets >> SHIFTS[size]
            with SHARED:  # other launches wait meanwhile
                if operation is np.add and cells.size:
                    result[positions] = self._add(view, cells, some[0])
                else:
                    result[positions] = self._exchange(view, cells, operation, some)
            self.note_access(piece, size, reads=True, writes=True)
        return result

    def _exchange(
        self, view: NDArray[Any], cells: NDArray[np.int64], operation: Any, sources: Values
    ) -> NDArray[Any]:
        """Any atomic, by each thread in their order, in rounds; the old values."""
        old = np.empty(cells.size, dtype=view.dtype)
        left = np.arange(cells.size)
        while left.size:
            # Until a cell changes, all its threads find what is in it: one round does for all of them, and
            # for the first that changes it.
            where = cells[left]
            before = view[where]
            after = operation(before, *(source[left] for source in sources))
            old[left] = before
            changing = np.flatnonzero(before != after)
            if not changing.size:
                break
            self.launch.changed += 1
            changed, first = np.unique(where[changing], return_index=True)
            first = changing[first]
            view[changed] = after[first]
            place = np.minimum(np.searchsorted(changed, where), changed.size - 1)
            left = left[(changed[place] == where) & (np.arange(left.size) > first[place])]
        return old

    def _add(self, view: NDArray[Any], cells: NDArray[np.int64], values: NDArray[Any]) -> NDArray[Any]:
        """Sums of integers: what a thread finds is what was there and the values of the threads before it."""
        values = np.broadcast_to(values, cells.shape)
        if values.any():
            self.launch.changed += 1
        order = np.argsort(cells, kind="stable")
        sorted_cells = cells[order]
        ends = np.cumsum(values[order], dtype=view.dtype)
        before = ends - values[order]
        starts = np.flatnonzero(np.diff(sorted_cells, prepend=-1))
        group = np.cumsum(np.diff(sorted_cells, prepend=-1) != 0) - 1
        found = view[sorted_cells] + before - before[starts][group]
        lasts = np.append(starts[1:], cells.size) - 1
        view[sorted_cells[lasts]] = found[lasts] + values[order][lasts]
        old = np.empty(cells.size, dtype=view.dtype)
        old[order] = found
        return old
