"""The order in which a machine executes the entries of a trace: which of them overlap, and where it waits.

Entries of different warps between two waits may be executed in any order, so they must not touch the same
memory. They form a *window*, in which entries of one warp of the kernel stay together, so that its
fragments stay resident. What the host writes comes before the open window, or behind a wait where an entry of
this window or of an earlier one in flight touches the same bytes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.replay.addresses import GRANULE
from sim.replay.entries import Block, Entry, Write
from sim.replay.register_file import NEVER

_WARPS: Final = 4096
"""More than the numbers of warps; the tag of an access counts windows in units of it."""

_SEVERAL: Final = _WARPS - 1
_HOST: Final = _WARPS - 2


@dataclass(frozen=True, slots=True)
class Wait:
    """The machine ends what it has been given."""


@dataclass(slots=True)
class Window:
    """Entries that may overlap, by the warp of the machine that executes them."""

    entries: list[list[Entry]] = field(default_factory=list)


Step = Write | Wait | Window | Block


class Schedule:
    """Orders entries for a machine; warp w of a kernel runs on warp w modulo `warps`.

    `sizes` are the bytes of global and of shared memory.
    """

    def __init__(self, warps: int, sizes: tuple[int, int]) -> None:
        self._warps = warps
        self._tags = [[np.zeros(-(-size // GRANULE) + 1, np.int64) for _ in "rw"] for size in sizes]
        """For global and shared memory, of the last reader and the last writer of each granule."""
        self._number = 1
        self._first = 1
        """Of the windows in flight."""

    def order(self, entries: Iterable[Entry | Write | Block]) -> list[Step]:
        """The steps for consecutive entries; they end with all windows closed."""
        steps: list[Step] = []
        open_: dict[int, list[Entry]] = {}

        def close() -> None:
            if open_:
                by_warp: list[list[Entry]] = [[] for _ in range(self._warps)]
                for warp in sorted(open_):
                    by_warp[warp % self._warps] += open_[warp]
                steps.append(Window(by_warp))
                open_.clear()
            self._number += 1

        def wait() -> None:
            steps.append(Wait())
            self._first = self._number

        for entry in entries:
            if isinstance(entry, Block):
                close()
                steps.append(entry)
                self._first = self._number
                continue
            if entry.place is not None:
                warp = _HOST if isinstance(entry, Write) else entry.warp
                stores = isinstance(entry, Write) or entry.stores
                tags = self._tags[entry.place.is_shared]
                found = self._others(tags, entry.granules, warp, stores=stores)
                if found.size and int(found.max()) // _WARPS == self._number:
                    close()
                if found.size and (self._elsewhere(found, warp)):
                    wait()
                if not isinstance(entry, Write):
                    self._note(tags, entry.granules, warp, stores=stores)
            if isinstance(entry, Write):
                steps.append(entry)
            else:
                open_.setdefault(entry.warp, []).append(entry)
        close()
        return steps

    def _others(
        self, tags: list[NDArray[np.int64]], places: NDArray[np.int64], warp: int, *, stores: bool
    ) -> NDArray[np.int64]:
        """The tags of accesses in flight by other warps that must come before one of `warp`."""
        found: NDArray[np.int64] = np.concatenate([kind[places] for kind in (tags if stores else tags[1:])])
        others: NDArray[np.int64] = found[(found >= self._first * _WARPS) & (found % _WARPS != warp)]
        return others

    def _elsewhere(self, found: NDArray[np.int64], warp: int) -> bool:
        """Whether other warps of the machine, which keep no order with `warp`, made one of these accesses."""
        by = found % _WARPS
        return warp == _HOST or bool(((by == _SEVERAL) | (by % self._warps != warp % self._warps)).any())

    def _note(
        self, tags: list[NDArray[np.int64]], places: NDArray[np.int64], warp: int, *, stores: bool
    ) -> None:
        tag = self._number * _WARPS + warp
        if stores:
            tags[1][places] = tag
            return
        before = tags[0][places]
        shared = (before >= self._first * _WARPS) & (before % _WARPS != warp)
        tags[0][places] = np.where(shared, self._number * _WARPS + _SEVERAL, tag)


def look_ahead(steps: Iterable[Step], warps: int) -> list[dict[bytes, int]]:
    """Number the entries of each warp of the machine, and tell each when its contents are used next.

    The result is for each warp the first use of each content.
    """
    orders: list[list[Entry]] = [[] for _ in range(warps)]
    for step in steps:
        if isinstance(step, Window):
            for order, entries in zip(orders, step.entries, strict=True):
                order.extend(entries)
    firsts = []
    for order in orders:
        uses: dict[bytes, int] = {}
        for number in range(len(order) - 1, -1, -1):
            entry = order[number]
            entry.number = number
            after = NEVER if entry.result is None else uses.get(entry.result, NEVER)
            entry.next_uses = (*(uses.get(content, NEVER) for content in entry.sources), after)
            uses.update(dict.fromkeys(entry.sources, number))
        firsts.append(uses)
    return firsts
