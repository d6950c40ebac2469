"""What was recorded of a simulation, as questions about signals and cycles."""

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.trace.probes import Probe, of_warp


class Interval(NamedTuple):
    """Cycles `first` to `last`, both included, in which a signal has a value."""

    first: int
    last: int
    value: int


class Recording:
    """The values of probes over the cycles of a simulation.

    Names of the sequencer and of the command queue mean one warp's: of `warp`, 0 but for what `of_warp`
    returns. `changes` have the dtype `sim.simulation.CHANGE`, in the order of cycles; the first cycle has all
    probes.
    """

    def __init__(self, probes: Sequence[Probe], changes: NDArray[Any], cycles: int) -> None:
        self.cycles = cycles
        self.warp = 0
        self._changes: dict[str, tuple[NDArray[np.int64], list[int]]] = {}
        order = np.argsort(changes["probe"], kind="stable")
        bounds = np.searchsorted(changes["probe"][order], np.arange(len(probes) + 1))
        for probe, (first, last) in zip(probes, pairwise(bounds.tolist()), strict=True):
            mine = changes[order[first:last]]
            self._changes[probe.name] = mine["cycle"].astype(np.int64), mine["value"].tolist()

    def of_warp(self, warp: int) -> "Recording":
        """The same recording, with a look at another warp."""
        other = copy(self)
        other.warp = warp
        return other

    def __contains__(self, name: str) -> bool:
        """Whether there is a probe of that name."""
        return of_warp(name, self.warp) in self._changes

    def value(self, name: str, cycle: int) -> int:
        """The value of a probe in a cycle that was recorded."""
        cycles, values = self._changes[of_warp(name, self.warp)]
        return values[int(np.searchsorted(cycles, cycle, side="right")) - 1]

    def intervals(self, name: str) -> list[Interval]:
        """All cycles, cut where a probe changes."""
        cycles, values = self._changes[of_warp(name, self.warp)]
        ends = [*cycles[1:].tolist(), self.cycles]
        return [
            Interval(first, end - 1, value)
            for first, end, value in zip(cycles.tolist(), ends, values, strict=True)
        ]

    def high(self, *names: str) -> list[Interval]:
        """The longest intervals in which probes of one bit are all 1; none where there is no such probe."""
        if any(name not in self for name in names):
            return []
        tracks = [self._changes[of_warp(name, self.warp)] for name in names]
        starts = np.unique(np.concatenate([cycles for cycles, _ in tracks]))
        now = [np.array(values)[np.searchsorted(cycles, starts, "right") - 1] for cycles, values in tracks]
        edges = np.diff(np.all(now, axis=0), prepend=False, append=False)
        changes = np.append(starts, self.cycles)[edges].tolist()
        return [Interval(first, end - 1, 1) for first, end in zip(changes[::2], changes[1::2], strict=True)]

    def pulses(self, *names: str) -> list[int]:
        """Every cycle in which probes of one bit are all 1."""
        return [cycle for item in self.high(*names) for cycle in range(item.first, item.last + 1)]

    def bit_pulses(self, name: str, bit: int) -> list[int]:
        """Every cycle in which one bit of a probe is 1."""
        return [
            cycle
            for item in self.intervals(name)
            if item.value >> bit & 1
            for cycle in range(item.first, item.last + 1)
        ]
