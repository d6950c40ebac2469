"""What the threads of a block wait for: barriers of the block, and a change that others make."""

import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.ptx.blocks import Terminator
from golden.simt.arrays import Threads
from golden.tables.layouts import LANES

_BARRIERS: Final = 16
_FIRST_LOOK: Final = 16

_Places = tuple[Any, ...]
"""Why threads come to blocks of code, and the blocks, each with the first of its threads."""


@dataclass(frozen=True)
class Arrival:
    """Threads at a barrier or a collective, and where they go on; None for those that only arrive."""

    threads: Threads
    resume: int | None
    terminator: Terminator


@dataclass(frozen=True)
class _AtBarrier(Arrival):
    """Threads at a barrier."""

    expected: int | None
    """Threads for which the barrier waits; None for all of the block."""
    values: NDArray[np.bool_] | None


class Barriers:
    """The sixteen named barriers of a `golden.simt.block.BlockRun`."""

    def __init__(self, block: Any) -> None:
        self._block = weakref.proxy(block)  # no cycle: the memory of a block is freed with it
        self.open: dict[int, list[_AtBarrier]] = {}
        """By number."""

    def arrive(self, threads: Threads, resume: int, terminator: Terminator, outcome: Any) -> None:
        """Let threads arrive at the barriers that `outcome` names."""
        numbers, counts, values = outcome
        only_arrive = terminator.details["mode"] == "arrive"
        for number in np.unique(numbers).tolist():
            where = np.flatnonzero(numbers == number)
            some = threads[where]
            refuse = partial(self._block.fault, terminator.index, some)
            if number >= _BARRIERS:
                refuse(f"barrier {number}; allowed: 0 to {_BARRIERS - 1}")
            arrivals = self.open.setdefault(number, [])
            expected = None if counts is None else int(counts[where[0]])
            if expected is not None and (counts[where] != expected).any():
                refuse(f"barrier {number} for {expected} threads, but other lanes name another count")
            if expected is not None and (expected == 0 or expected % 32):
                refuse(f"barrier {number} for {expected} threads, which is no multiple of 32")
            if arrivals and arrivals[0].expected != expected:
                refuse(
                    f"barrier {number} for {expected or 'all'} threads, "
                    f"but others wait at it for {arrivals[0].expected or 'all'}"
                )
            own = None if values is None else values[where]
            arrivals.append(_AtBarrier(some, None if only_arrive else resume, terminator, expected, own))
            if only_arrive:
                self._block.resume(resume, some)
            self._complete(number)

    def check(self) -> None:
        """Open the barriers that wait for nobody any more, after threads have ended."""
        for number in list(self.open):
            self._complete(number)

    def open_partial(self) -> bool:
        """Open barriers at which parts of warps have arrived, each for a whole one; whether there were any.

        A chip counts so at once. It is asked where nobody else can go on, as the rest of a warp may follow.
        """
        return any(self._complete(number, partial=True) for number in list(self.open))

    def _complete(self, number: int, *, partial: bool = False) -> bool:
        """Let the threads at a barrier go on if all that it waits for have arrived; whether they have."""
        arrivals, block = self.open[number], self._block
        expected = arrivals[0].expected
        arrived = np.concatenate([arrival.threads for arrival in arrivals])
        if expected is None:
            count = np.unique(arrived).size
        elif partial:
            count = LANES * sum(np.unique(arrival.threads >> 5).size for arrival in arrivals)
        else:
            count = self._count(arrived)
        if count < (expected or block.alive):
            return False
        del self.open[number]
        if expected is None and block.alive < block.total:
            block.note_early_exit(arrivals[0].terminator.index)
        block.note_barrier(arrived)
        self._reduce(arrivals)
        block.let_go(
            [(arrival.resume, arrival.threads) for arrival in arrivals if arrival.resume is not None]
        )
        return True

    def _count(self, arrived: Threads) -> int:
        """How many threads have arrived; a warp of which all lanes that are left have, counts as 32."""
        block = self._block
        times = np.bincount(arrived, minlength=32 * block.warps).reshape(-1, LANES)
        left = (block.live[:, None] >> np.arange(LANES, dtype=np.uint32)) & 1
        whole = np.where((left != 0) | (times > 0), times, times.max(axis=1, keepdims=True)).min(axis=1)
        return int((LANES * whole + np.maximum(times - whole[:, None], 0).sum(axis=1)).sum())

    def _reduce(self, arrivals: list[_AtBarrier]) -> None:
        """Write the results of ``bar.red``."""
        values = [arrival.values for arrival in arrivals if arrival.values is not None]
        if not values:
            return
        together = np.concatenate(values)
        results = {"popc": np.count_nonzero(together), "and": together.all(), "or": together.any()}
        for arrival in arrivals:
            for target in arrival.terminator.writes:
                self._block.put(target, arrival.threads, results[arrival.terminator.details["operation"]])


class SpinDetector:
    """Notices loops that change nothing, and keeps the threads in them until others make progress.

    A round of a loop is repeated for ever if it leaves all live registers and the threads' own memory as they
    were, without a store or an atomic that changed something. Only another thread ends it, or a time if it
    looks at a clock. Another thread does so by a store and, where the loop has a barrier or a collective, by
    meeting any thread at one, or by its end. A meeting is progress unless all who meet are as they were the
    last time. The state is compared in two successive rounds, after 16 rounds, 32, 64, ..., and at once in a
    loop that has been found to spin before.
    """

    def __init__(self, block: Any) -> None:
        self._block = weakref.proxy(block)  # no cycle: the memory of a block is freed with it
        self.parked: dict[tuple[int, bool], tuple[Threads, int]] = {}
        """The threads that wait, by the block of code where they go on and whether meetings wake them.

        Each with the count of changes since which they wait.
        """
        self.timed = False
        """Whether any of them may wait for a time."""
        self._meetings = 0
        self._progress = 0
        self._last_met = np.zeros(block.total, dtype=np.int64)
        self._known: set[_Places] = set()
        self._rounds: dict[_Places, tuple[int, int, int, int, list[NDArray[Any]]]] = {}

    def meet(self, *places: tuple[int, Threads]) -> None:
        """Note that threads have met, and go on at blocks of code."""
        if len(places) > 1:
            places = tuple(sorted(places, key=lambda place: (place[0], place[1][0])))
        self._meetings += 1
        for _, threads in places:
            self._last_met[threads] = self._meetings
        if not self._is_unchanged("met", *places):
            self._progress += 1

    def note_end(self) -> None:
        """Note that threads have ended."""
        self._progress += 1

    def is_spinning(self, target: int, threads: Threads) -> bool:
        """Note that threads go back to a block of code; whether they wait there, as that goes on for ever."""
        key = ("back", (target, int(threads[0])))
        meets = key in self._rounds and bool((self._last_met[threads] > self._rounds[key][0]).any())
        if not self._is_unchanged(*key[:1], (target, threads), meets=meets):
            return False
        others, since = self.parked.get((target, meets), (threads[:0], self._changes(meets)))
        self.parked[target, meets] = np.sort(np.concatenate((threads, others))), since
        return True

    def wake(self) -> None:
        """Let the threads go on that wait, if there was progress since they began to."""
        for (target, meets), (threads, since) in list(self.parked.items()):
            if since != self._changes(meets):
                del self.parked[target, meets]
                self._block.resume(target, threads)
        self.timed &= bool(self.parked)

    def _is_unchanged(self, why: str, *places: tuple[int, Threads], meets: bool = False) -> bool:
        """Note that threads come to blocks of code; whether they find everything as the last time."""
        block, changes = self._block, self._changes(meets)
        key = (why, *((number, int(threads[0])) for number, threads in places))
        _, rounds, at, looks, before = self._rounds.get(key, (0, 0, changes, 0, []))
        if at != changes:
            rounds, before = 0, []
        rounds += 1
        now: list[NDArray[Any]] = []
        if before or key in self._known or (rounds >= _FIRST_LOOK and rounds & (rounds - 1) == 0):
            for number, threads in places:
                live = block.kernel.blocks[number].live_in
                now += [threads, block.own_memory()[threads]]
                now += (block.registers[slot][threads] for slot in live)
        same = bool(before) and all(map(np.array_equal, before, now))
        if same:
            rounds = 0
            self._known.add(key)
            self.timed |= looks != block.looks_at_clock
        kept = now if same or not before else []
        self._rounds[key] = self._meetings, rounds, changes, block.looks_at_clock, kept
        return same

    def _changes(self, meets: bool) -> int:
        """What counts changes of memory, and with `meets` other progress, too."""
        return int(self._block.launch.changed) + meets * self._progress
