"""What the lanes of a warp execute together: barriers of a warp, and exchanges of values."""

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.ptx.blocks import Terminator
from golden.simt.arrays import Threads
from golden.simt.waiting import Arrival
from golden.simt.warp_operations import Masks, group_masks

_FULL_MASK: Final = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True)
class _AtCollective(Arrival):
    """Threads at a collective."""

    resume: int
    masks: Masks
    sources: Sequence[NDArray[Any]]

    def some(self, where: NDArray[np.bool_]) -> "_AtCollective":
        """The arrival of some of the threads."""
        sources = [source[where] for source in self.sources]
        return replace(self, threads=self.threads[where], masks=self.masks[where], sources=sources)


class Collectives:
    """The collectives of a `golden.simt.block.BlockRun`.

    A collective is executed when all lanes of its mask that have not ended have reached one with the same
    mask and the same qualifiers, be it the same instruction or not.
    """

    def __init__(self, block: Any) -> None:
        self._block = weakref.proxy(block)  # no cycle: the memory of a block is freed with it
        self.open: dict[tuple[str, ...], list[_AtCollective]] = {}
        """By opcode."""

    def arrive(self, threads: Threads, resume: int, terminator: Terminator, outcome: Any) -> None:
        """Let threads arrive at a collective; `outcome` are their masks, and its sources."""
        masks, *sources = outcome
        block, name = self._block, terminator.instruction.name
        arrival = _AtCollective(threads, resume, terminator, masks, sources)
        if bool((masks == _FULL_MASK).all()) and not self._missing(threads, masks, threads >> 5).any():
            self._execute([arrival])
            return
        outside = np.flatnonzero((masks >> (threads & 31).astype(np.uint32)) & 1 == 0)
        if outside.size:
            position = int(outside[0])
            lane, mask = threads[position] & 31, masks[position]
            message = f"{name} in lane {lane}, which is not in its own mask {mask:#010x}"
            block.fault(terminator.index, threads, message, position)
        block.note_masks(threads, masks & block.live[threads >> 5], terminator.index)
        self.open.setdefault(terminator.instruction.opcode, []).append(arrival)
        self._complete(terminator.instruction.opcode)

    def check(self) -> None:
        """Execute the collectives that wait for nobody any more, after threads have ended."""
        for opcode in list(self.open):
            self._complete(opcode)

    def _complete(self, opcode: tuple[str, ...]) -> None:
        """Execute the collectives for which all lanes have arrived."""
        arrivals = self.open.pop(opcode)
        threads = np.concatenate([arrival.threads for arrival in arrivals])
        masks = np.concatenate([arrival.masks for arrival in arrivals])
        group = np.unique(threads >> 5 << 32 | masks, return_inverse=True)[1]
        ready = self._missing(threads, masks, group) == 0
        if not ready.all():
            ends = np.cumsum([arrival.threads.size for arrival in arrivals])
            split = list(zip(arrivals, np.split(ready, ends[:-1]), strict=True))
            self.open[opcode] = [arrival.some(~goes) for arrival, goes in split if not goes.all()]
            arrivals = [arrival.some(goes) for arrival, goes in split if goes.any()]
        if arrivals:
            self._execute(arrivals)

    def _missing(self, threads: Threads, masks: Masks, group: NDArray[np.int64]) -> Masks:
        """The lanes of each thread's mask that have not ended and are not in its group."""
        return np.asarray(masks & self._block.live[threads >> 5] & ~group_masks(threads, group, 0)[group])

    def _execute(self, arrivals: list[_AtCollective]) -> None:
        """Execute collectives whose lanes are all here, and let them go on."""
        compute = arrivals[0].terminator.details["compute"]
        if compute is not None:
            threads, masks, *sources = (
                np.concatenate(parts) if len(parts) > 1 else parts[0]
                for parts in zip(*((a.threads, a.masks, *a.sources) for a in arrivals), strict=True)
            )
            computed = compute(threads, masks, *sources)
            start = 0
            for arrival in arrivals:
                end = start + arrival.threads.size
                for slot, result in zip(arrival.terminator.details["targets"], computed, strict=True):
                    if slot is not None:
                        self._block.put(slot, arrival.threads, result[start:end])
                start = end
        self._block.let_go([(arrival.resume, arrival.threads) for arrival in arrivals])
