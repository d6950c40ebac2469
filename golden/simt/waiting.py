"""What the threads of a block wait for: barriers, and a change of memory."""

import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.ptx.blocks import Terminator
from golden.simt.arrays import Threads
from golden.simt.warp_operations import lane_masks

_BARRIERS: Final = 16
_FIRST_LOOK: Final = 16


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
                    f"barrier {number} for {expected or 'all'} threads, "
                    f"but others wait at it for {arrivals[0].expected or 'all'}"
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


class SpinDetector:
    """Notices loops that change nothing, and keeps the threads in them until memory changes.

    A round of a loop is repeated for ever if it leaves all live registers and the threads' own memory as they
    were, without a store or an atomic that changed something. Only a store of another thread ends it, or a
    time if it looks at a clock. The state is compared in two successive rounds, after 16 rounds, 32, 64, ...,
    and at once in a loop that has been found to spin before.
    """

    def __init__(self, block: Any) -> None:
        self._block = weakref.proxy(block)  # no cycle: the memory of a block is freed with it
        self.parked: dict[int, Threads] = {}
        """The threads that wait, by the block of code where they go on."""
        self.timed = False
        """Whether any of them may wait for a time."""
        self._seen_changes = 0
        self._known: set[int] = set()
        self._rounds: dict[int, tuple[int, int, int, list[NDArray[Any]]]] = {}

    def is_spinning(self, target: int, threads: Threads) -> bool:
        """Note that threads go back to a block of code; whether that will go on for ever."""
        changes, looks = self._block.launch.changed, self._block.looks_at_clock
        rounds, at, looked, before = self._rounds.get(target, (0, changes, looks, []))
        if at != changes:
            rounds, before = 0, []
        rounds += 1
        now: list[NDArray[Any]] = []
        if before or target in self._known or (rounds >= _FIRST_LOOK and rounds & (rounds - 1) == 0):
            registers = self._block.registers
            live = self._block.kernel.blocks[target].live_in
            now = [threads, self._block.own_memory()[threads], *(registers[slot][threads] for slot in live)]
        same = bool(before) and all(map(np.array_equal, before, now))
        if same:
            self._known.add(target)
            self.timed |= looked != looks
        self._rounds[target] = (0 if same else rounds, changes, looks, [] if before else now)
        return same

    def park(self, target: int, threads: Threads) -> None:
        """Keep threads until memory changes."""
        others = self.parked.get(target)
        if others is not None:
            threads = np.sort(np.concatenate((threads, others)))
        if not self.parked:
            self._seen_changes = self._block.launch.changed
        self.parked[target] = threads

    def wake(self) -> None:
        """Give back the threads that wait, if memory has changed since the first of them began to."""
        if not self.parked or self._block.launch.changed == self._seen_changes:
            return
        for target, threads in self.parked.items():
            self._block.resume(target, threads)
        self.parked.clear()
        self.timed = False
