"""The barriers of a block: who has arrived, and who goes on when."""

import weakref
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.ptx.blocks import Terminator
from golden.simt.arrays import Threads
from golden.simt.warp_operations import lane_masks

_BARRIERS = 16


@dataclass(frozen=True)
class _Arrival:
    """Threads at a barrier, and where they go on; `resume` is None for those that only arrive."""

    threads: Threads
    resume: int | None
    terminator: Terminator
    values: NDArray[np.bool_] | None


@dataclass
class _Barrier:
    arrivals: list[_Arrival] = field(default_factory=list)
    expected: int | None = None


class Barriers:
    """Sixteen named barriers, and one of its own for each warp, of a `golden.simt.block.BlockRun`."""

    def __init__(self, block: Any) -> None:
        self._block = weakref.proxy(block)  # no cycle: the memory of a block is freed with it
        self._open: dict[int, _Barrier] = {}
        self._warps: list[tuple[Threads, int, NDArray[np.uint32]]] = []

    @property
    def waiting(self) -> bool:
        """Whether any thread waits at a barrier."""
        return bool(self._warps) or any(
            arrival.resume is not None for barrier in self._open.values() for arrival in barrier.arrivals
        )

    def places(self) -> list[tuple[int, Threads]]:
        """The instructions at which threads wait."""
        at_barriers = [
            (arrival.terminator.index, arrival.threads)
            for barrier in self._open.values()
            for arrival in barrier.arrivals
            if arrival.resume is not None
        ]
        blocks = self._block.kernel.blocks
        at_warps = [(max(0, blocks[number].first - 1), threads) for threads, number, _ in self._warps]
        return at_barriers + at_warps

    def arrive(self, threads: Threads, resume: int, terminator: Terminator, outcome: Any) -> None:
        """Let threads arrive at the barriers that `outcome` names."""
        numbers, counts, values = outcome
        only_arrive = terminator.details["mode"] == "arrive"
        for number in np.unique(numbers).tolist():
            where = np.flatnonzero(numbers == number)
            some = threads[where]
            refuse = partial(self._block.fault, terminator.index, some)
            if number >= _BARRIERS:
                refuse(f"barrier {number}, but there are {_BARRIERS}")
            barrier = self._open.setdefault(number, _Barrier())
            expected = None if counts is None else int(counts[where[0]])
            if expected is not None and (expected == 0 or expected % 32):
                refuse(f"barrier {number} for {expected} threads, which is no multiple of 32")
            if barrier.arrivals and barrier.expected != expected:
                refuse(
                    f"barrier {number} for {_told(expected)} threads, "
                    f"but others wait at it for {_told(barrier.expected)}"
                )
            barrier.expected = expected
            own = None if values is None else values[where]
            barrier.arrivals.append(_Arrival(some, None if only_arrive else resume, terminator, own))
            if only_arrive:
                self._block.resume(resume, some)
            self._complete(number)

    def arrive_warp(self, threads: Threads, resume: int, masks: NDArray[np.uint32]) -> None:
        """Let threads arrive at the barriers of their warps."""
        self._warps.append((threads, resume, masks))
        self.check_warps()

    def check(self) -> None:
        """Open the barriers that wait for nobody any more, after threads have ended."""
        for number in list(self._open):
            self._complete(number)
        self.check_warps()

    def check_warps(self) -> bool:
        """Open the barriers of warps at which all lanes have arrived; whether there were any."""
        if not self._warps:
            return False
        block = self._block
        threads = np.concatenate([threads for threads, _, _ in self._warps])
        masks = np.concatenate([masks for _, _, masks in self._warps])
        present = lane_masks(threads, block.warps)
        needed = np.zeros(block.warps, dtype=np.uint32)
        np.bitwise_or.at(needed, threads >> 5, masks)
        ready = (needed & block.live & ~present) == 0
        left = []
        opened = False
        for some, resume, wanted in self._warps:
            goes = ready[some >> 5]
            if goes.any():
                opened = True
                block.resume(resume, some[goes])
            if not goes.all():
                left.append((some[~goes], resume, wanted[~goes]))
        self._warps = left
        return opened

    def _complete(self, number: int) -> None:
        """Let the threads at a barrier go on if all that it waits for have arrived."""
        barrier = self._open[number]
        if not barrier.arrivals:
            del self._open[number]
            return
        block = self._block
        arrived = np.concatenate([arrival.threads for arrival in barrier.arrivals])
        if barrier.expected is None:
            if np.unique(arrived).size < block.alive:
                return
        elif self._arrived(barrier) < barrier.expected:
            return
        del self._open[number]
        if barrier.expected is None and block.alive < block.total:
            block.note_early_exit(barrier.arrivals[0].terminator.index)
        block.note_barrier(arrived)
        self._reduce(barrier)
        for arrival in barrier.arrivals:
            if arrival.resume is not None:
                block.resume(arrival.resume, arrival.threads)

    def _arrived(self, barrier: _Barrier) -> int:
        """How many threads have arrived; a warp of which all lanes that are left have, counts as 32."""
        block = self._block
        total = 0
        for arrival in barrier.arrivals:
            present = lane_masks(arrival.threads, block.warps)
            whole = (present != 0) & ((block.live & ~present) == 0)
            total += 32 * int(whole.sum()) + int(np.bitwise_count(present[~whole]).sum())
        return total

    def _reduce(self, barrier: _Barrier) -> None:
        """Write the results of ``bar.red``."""
        block = self._block
        values = [arrival.values for arrival in barrier.arrivals if arrival.values is not None]
        if not values:
            return
        together = np.concatenate(values)
        results = {"popc": np.count_nonzero(together), "and": together.all(), "or": together.any()}
        for arrival in barrier.arrivals:
            for target in arrival.terminator.writes:
                register = block.registers[target].copy()
                register[arrival.threads] = results[arrival.terminator.details["operation"]]
                block.registers[target] = register


def _told(expected: int | None) -> str:
    return "all" if expected is None else str(expected)
