"""Looks for what a kernel must not do although a chip does not stop it.

Reads of bytes that were never written, reads of bytes that ``cp.async`` may still be copying, barriers
that part of a block never reaches, and data races on shared memory. Two accesses of one byte are a race
when at least one is a store, the threads are of different warps, and no barrier in which both took part
lies between; atomics do not race with atomics. An arrival at an ``mbarrier`` and a wait that finds its phase
complete are such a barrier. Synchronisation through flags in memory is not understood.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.simt.address_map import SHARED
from golden.simt.arrays import Addresses, Threads
from golden.simt.block import BlockRun
from golden.simt.device_memory import Allocation
from golden.simt.races import Races

__all__ = ["CheckedBlock", "Report"]


@dataclass(frozen=True)
class Report:
    """Something the checker found.

    Parameters
    ----------
    message : str
        What happened, with the address and the nearest array.
    kernel : str
    place : str
        File and line of the instruction, and its text.
    block, thread : (int, int, int)
        Of the first time.
    address : int or None
        Generic address.
    times : int
        Accesses of this kind at this instruction, in all threads and blocks.
    """

    message: str
    kernel: str
    place: str
    block: tuple[int, int, int]
    thread: tuple[int, int, int] | None
    address: int | None
    times: int

    def __str__(self) -> str:
        thread = f", thread {self.thread}" if self.thread is not None else ""
        more = f", {self.times} times" if self.times > 1 else ""
        return f"{self.message} (kernel {self.kernel}, block {self.block}{thread}{more}) at {self.place}"


class CheckedBlock(BlockRun):
    """A block whose accesses are checked; parameters as for `BlockRun`."""

    def __init__(self, kernel: Any, launch: Any, geometry: Any) -> None:
        super().__init__(kernel, launch, geometry)
        size = self.shared.data.size
        for memory in (self.shared, self.local):
            memory.written = np.zeros(memory.data.size, dtype=np.bool_)
        self._copying = np.zeros(size, dtype=np.int32)
        self._group = np.zeros(size, dtype=np.int64)
        self._committed = np.zeros(self.total, dtype=np.int64)
        self._tracked: dict[int, list[NDArray[np.int64]]] = {}
        self._races = Races(self.total, size) if launch.races else None

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
        """Check an access; the bytes of a store count as written."""
        if space == "global":
            self._check_global(threads, addresses, width, index, reads=reads, writes=writes)
        elif space == "shared":
            self._check_shared(threads, addresses, width, index, reads=reads, writes=writes)
        else:
            offsets = self._offsets("local", threads, addresses, width, index)
            if reads:
                self._require_written(self.local, threads, addresses, offsets, width, index)
            if writes:
                self._note_written(self.local, offsets, width)

    # Asynchronous copies

    def copy_async(
        self, threads: Threads, targets: Addresses, sources: Addresses, size: int, valid: Any, index: int
    ) -> None:
        """As `AsyncCopies.copy_async`, and the bytes are in flight until their thread has waited for them."""
        super().copy_async(threads, targets, sources, size, valid, index)
        places = _bytes(targets.view(np.int64), size)
        self._copying[places] = threads[:, None] + 1
        self._group[places] = self._committed[threads][:, None]

    def commit_copies(self, threads: Threads) -> None:
        """``cp.async.commit_group``."""
        self._committed[threads] += 1

    def await_copies(self, threads: Threads, remaining: int, everything: bool) -> None:
        """``cp.async.wait_group`` and ``wait_all``."""
        done = np.zeros(self.total, dtype=np.int64)
        done[threads] = self._committed[threads] + 1 if everything else self._committed[threads] - remaining
        flying = np.flatnonzero(self._copying)
        landed = self._group[flying] < done[self._copying[flying] - 1]
        self._copying[flying[landed]] = 0

    # Barriers

    def arrive_copies(self, threads: Threads, addresses: Addresses, increment: bool, index: int) -> None:
        """As `MbarrierAccess.arrive_copies`; a wait for the barrier is one for the copies."""
        phases = [self.mbarriers[offset].phase for offset in addresses.tolist() if offset in self.mbarriers]
        super().arrive_copies(threads, addresses, increment, index)
        flying = np.flatnonzero(self._copying)
        for offset in np.unique(addresses).tolist():
            theirs = np.isin(self._copying[flying] - 1, threads[addresses == offset])
            self._tracked.setdefault(offset, []).append(flying[theirs])
        if self._races is not None:
            self._races.arrive(threads, addresses, np.array(phases))

    def arrive_mbarrier(self, threads: Threads, addresses: Addresses, *arguments: Any) -> NDArray[np.uint64]:
        """As `MbarrierAccess.arrive_mbarrier`, noted."""
        words = super().arrive_mbarrier(threads, addresses, *arguments)
        if self._races is not None:
            self._races.arrive(threads, addresses, words >> np.uint64(63))
        return words

    def wait_mbarrier(
        self, threads: Threads, addresses: Addresses, phases: NDArray[Any], index: int
    ) -> NDArray[np.bool_]:
        """As `MbarrierAccess.wait_mbarrier`; the copies that the barrier tracks have landed."""
        done = super().wait_mbarrier(threads, addresses, phases, index)
        for offset in np.unique(addresses[done]).tolist():
            for places in self._tracked.pop(offset, ()):
                self._copying[places] = 0
        if self._races is not None:
            self._races.wait(threads[done], addresses[done], phases[done])
        return done

    def note_early_exit(self, index: int) -> None:
        """Report a barrier that opened although threads have ended that never reached it."""
        missing = self.total - self.alive
        self._report(
            "barrier",
            index,
            f"{missing} of {self.total} threads of the block ended without reaching this barrier",
        )

    def note_barrier(self, threads: Threads) -> None:
        """Note that threads have passed a barrier together."""
        if self._races is not None:
            self._races.barrier(threads)

    # Reports

    def _check_global(
        self, threads: Threads, addresses: Addresses, width: int, index: int, *, reads: bool, writes: bool
    ) -> None:
        for buffer, where, offsets in self._by_buffer(threads, addresses, width, index):
            if reads:
                self._require_written(buffer, threads[where], addresses[where], offsets, width, index)
            if writes:
                self._note_written(buffer, offsets, width)

    def _check_shared(
        self, threads: Threads, addresses: Addresses, width: int, index: int, *, reads: bool, writes: bool
    ) -> None:
        offsets = addresses.view(np.int64)
        places = _bytes(offsets, width)
        generic = addresses + np.uint64(SHARED)
        if reads:
            self._require_written(self.shared, threads, generic, offsets, width, index)
            flying = (self._copying[places] != 0).any(axis=1)
            if flying.any():
                position = int(np.argmax(flying))
                self._report(
                    "flight",
                    index,
                    "read of bytes that cp.async may still be copying: "
                    f"{self.describe_shared(int(offsets[position]))}",
                    int(threads[position]),
                    int(generic[position]),
                    int(flying.sum()),
                )
        if self._races is not None:
            found = self._races.access(threads, places, index, writes=writes, atomic=reads and writes)
            if found is not None:
                position, other, other_index = found
                line = self.kernel.line_of(other_index)
                self._report(
                    "race",
                    index,
                    f"data race with thread {self.coordinates(other)} at line {line}: "
                    f"{self.describe_shared(int(offsets[position]))}",
                    int(threads[position]),
                    int(generic[position]),
                )
        if writes:
            self._note_written(self.shared, offsets, width)

    def _note_written(self, memory: Allocation, offsets: NDArray[np.int64], width: int) -> None:
        if memory.written is not None:
            memory.written[_bytes(offsets, width)] = True

    def _require_written(
        self,
        memory: Allocation,
        threads: Threads,
        addresses: Addresses,
        offsets: NDArray[np.int64],
        width: int,
        index: int,
    ) -> None:
        if memory.written is None:
            return
        missing = ~memory.written[_bytes(offsets, width)].all(axis=1)
        if not missing.any():
            return
        position = int(np.argmax(missing))
        address = int(addresses[position])
        if memory is self.local:
            where = f"byte {address} of local memory"
        elif memory is self.shared:
            where = self.describe_shared(int(offsets[position]))
        else:
            where = self.device.describe(address)
        self._report(
            "unwritten",
            index,
            f"read of {width} bytes that were never written: {where}",
            int(threads[position]),
            address,
            int(missing.sum()),
        )

    def _report(
        self,
        kind: str,
        index: int,
        message: str,
        thread: int | None = None,
        address: int | None = None,
        times: int = 1,
    ) -> None:
        reports = self.launch.reports
        before = reports.get((kind, index))
        if before is not None:
            reports[kind, index] = replace(before, times=before.times + times)
            return
        at = f" at {address:#x}" if address is not None else ""
        reports[kind, index] = Report(
            message + at,
            self.kernel.readable,
            str(self.kernel.source_line(index)),
            self.geometry.index,
            None if thread is None else self.coordinates(thread),
            address,
            times,
        )


def _bytes(offsets: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """The place of each byte of accesses, shape (accesses, width)."""
    return offsets[:, None] + np.arange(width)
