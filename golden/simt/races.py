"""Finds data races on shared memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.simt.arrays import Addresses, Threads

__all__ = ["Races"]


class Races:
    """The last store and the last load of each byte of shared memory, and who has met whom at barriers."""

    def __init__(self, threads: int, size: int) -> None:
        self._met = np.zeros((threads, threads), dtype=np.int32)
        self._now = 0
        self._accesses = {
            kind: (
                np.full(size, -1, dtype=np.int32),
                np.zeros(size, dtype=np.int32),
                np.zeros(size, dtype=np.int32),
                np.zeros(size, dtype=np.bool_),
            )
            for kind in ("store", "load")
        }
        self._arrived: dict[tuple[int, int], NDArray[np.int32]] = {}

    def arrive(self, threads: Threads, barriers: Addresses, phases: NDArray[Any]) -> None:
        """Threads have arrived at phases of mbarriers, the phases given by their parities."""
        self._now += 1
        for thread, *key in zip(threads.tolist(), barriers.tolist(), phases.tolist(), strict=True):
            times = self._arrived.setdefault((key[0], key[1]), np.zeros(len(self._met), dtype=np.int32))
            times[thread] = self._now

    def wait(self, threads: Threads, barriers: Addresses, phases: NDArray[Any]) -> None:
        """Threads have found phases of mbarriers complete."""
        for thread, *key in zip(threads.tolist(), barriers.tolist(), phases.tolist(), strict=True):
            times = self._arrived.get((key[0], key[1]))
            if times is not None:
                self._met[:, thread] = np.maximum(self._met[:, thread], times)

    def barrier(self, threads: Threads) -> None:
        """All these threads have met."""
        self._now += 1
        self._met[np.ix_(threads, threads)] = self._now

    def access(
        self, threads: Threads, places: NDArray[np.int64], index: int, *, writes: bool, atomic: bool
    ) -> tuple[int, int, int] | None:
        """Note accesses; position, other thread and other instruction of the first race, if there is one."""
        found = None
        me = np.broadcast_to(threads[:, None], places.shape)
        for kind in ("store", "load") if writes else ("store",):
            who, when, what, was_atomic = self._accesses[kind]
            other = who[places]
            known = (other >= 0) & (other >> 5 != me >> 5)
            if atomic:
                known &= ~was_atomic[places]
            apart = known & (self._met[np.maximum(other, 0), me] <= when[places])
            if found is None and apart.any():
                position, byte = np.argwhere(apart)[0].tolist()
                found = (position, int(other[position, byte]), int(what[places[position, byte]]))
        who, when, what, was_atomic = self._accesses["store" if writes else "load"]
        who[places], when[places], what[places], was_atomic[places] = me, self._now, index, atomic
        return found
