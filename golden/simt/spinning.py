"""Finds threads that wait in a loop for a change of memory."""

import weakref
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.simt.arrays import Threads

_FIRST_LOOK: Final = 16


class SpinDetector:
    """Notices loops that change nothing, and keeps the threads in them until memory changes.

    A round of a loop that leaves all live registers and the threads' own memory as they were, without a
    store or an atomic that changed something, is repeated for ever unless another thread stores something, or
    until a time if it looks at a clock. The state is compared in two successive rounds, after 16 rounds, 32,
    64, ..., and at once in a loop that has been found to spin before.
    """

    def __init__(self, block: Any) -> None:
        self._block = weakref.proxy(block)  # no cycle: the memory of a block is freed with it
        self.parked: dict[int, Threads] = {}
        """The threads that wait, by the block of code where they go on."""
        self.timed = False
        """Whether any of them may wait for a time."""
        self._seen_changes = 0
        self._known: set[int] = set()
        self._rounds: dict[int, tuple[int, int, int, list[NDArray[Any]] | None]] = {}

    def is_spinning(self, target: int, threads: Threads) -> bool:
        """Note that threads go back to a block of code; whether that will go on for ever."""
        changes, looks = self._block.launch.changed, self._block.looks_at_clock
        rounds, at, looked, before = self._rounds.get(target, (0, changes, looks, None))
        if at != changes:
            rounds, before = 0, None
        rounds += 1
        now: list[NDArray[Any]] | None = None
        # After 16 rounds, 32, 64, ...; at once where threads have spun before.
        looks_now = target in self._known or (rounds >= _FIRST_LOOK and rounds & (rounds - 1) == 0)
        if before is not None or looks_now:
            registers = self._block.registers
            live = self._block.kernel.blocks[target].live_in
            own = self._block.own_memory()[threads]
            now = [threads, own, *(registers[slot][threads] for slot in live)]
        same = (
            before is not None
            and now is not None
            and all(np.array_equal(x, y) for x, y in zip(before, now, strict=True))
        )
        if same:
            self._known.add(target)
            self.timed |= looked != looks
        self._rounds[target] = (0 if same else rounds, changes, looks, None if before is not None else now)
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
