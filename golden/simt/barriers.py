"""The barriers of a block: who has arrived, and who goes on when."""

import weakref
from dataclasses import dataclass
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
    expected: int | None
    """Threads for which the barrier waits; None for all of the block."""
    values: NDArray[np.bool_] | None


class Barriers:
    """Sixteen named barriers, and one of its own for each warp, of a `golden.simt.block.BlockRun`."""

    def __init__(self, block: Any) -> None:
        self._block = weakref.proxy(block)  # no cycle: the memory of a block is freed with it
        self._open: dict[int, list[_Arrival]] = {}
        self._warps: list[tuple[Threads, int, NDArray[np.uint32]]] = []

    def places(self) -> list[tuple[int, Threads]]:
        """The instructions at which threads wait."""
        at_barriers = [
            (arrival.terminator.index, arrival.threads)
            for arrivals in self._open.values()
            for arrival in arrivals
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
            arrivals = self._open.setdefault(number, [])
            expected = None if counts is None else int(counts[where[0]])
            if expected is not None and (expected == 0 or expected % 32):
                refuse(f"barrier {number} for {expected} threads, which is no multiple of 32")
            if arrivals and arrivals[0].expected != expected:
                refuse(
                    f"barrier {number} for {_told(expected)} threads, "
                    f"but others wait at it for {_told(arrivals[0].expected)}"
                )
            own = None if values is None else values[where]
            arrivals.append(_Arrival(some, None if only_arrive else resume, terminator, expected, own))
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
        arrivals, block = self._open[number], self._block
        expected = arrivals[0].expected
        arrived = np.concatenate([arrival.threads for arrival in arrivals])
        if expected is None:
            if np.unique(arrived).size < block.alive:
                return
        elif self._arrived(arrivals) < expected:
            return
        del self._open[number]
        if expected is None and block.alive < block.total:
            block.note_early_exit(arrivals[0].terminator.index)
        block.note_barrier(arrived)
        self._reduce(arrivals)
        for arrival in arrivals:
            if arrival.resume is not None:
                block.resume(arrival.resume, arrival.threads)

    def _arrived(self, arrivals: list[_Arrival]) -> int:
        """How many threads have arrived; a warp of which all lanes that are left have, counts as 32."""
        block = self._block
        total = 0
        for arrival in arrivals:
            present = lane_masks(arrival.threads, block.warps)
            whole = (present != 0) & ((block.live & ~present) == 0)
            total += 32 * int(whole.sum()) + int(np.bitwise_count(present[~whole]).sum())
        return total

    def _reduce(self, arrivals: list[_Arrival]) -> None:
        """Write the results of ``bar.red``."""
        values = [arrival.values for arrival in arrivals if arrival.values is not None]
        if not values:
            return
        together = np.concatenate(values)
        results = {"popc": np.count_nonzero(together), "and": together.all(), "or": together.any()}
        registers = self._block.registers
        for arrival in arrivals:
            for target in arrival.terminator.writes:
                registers[target] = registers[target].copy()
                registers[target][arrival.threads] = results[arrival.terminator.details["operation"]]


def _told(expected: int | None) -> str:
    return "all" if expected is None else str(expected)
