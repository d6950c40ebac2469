"""What the checker remembers: its reports, bytes and registers in use, and who has met whom."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.simt.arrays import Addresses, Threads

_NONE: Final = 1 << 62
"""The group of a register that no multiply uses."""

_OPERANDS: Final = ("accumulator", "register of A", "metadata")
"""Registers that an unfinished multiply uses; it writes the first."""


@dataclass(frozen=True)
class Report:
    """Something the checker found."""

    message: str
    """What happened, with the address and the nearest array."""
    kernel: str
    place: str
    """File and line of the instruction, and its text."""
    block: tuple[int, int, int]
    thread: tuple[int, int, int] | None
    """Indices of the first time."""
    address: int | None
    """Generic address."""
    times: int
    """Accesses of this kind at this instruction, in all threads and blocks."""

    def __str__(self) -> str:
        thread = f", thread {self.thread}" if self.thread is not None else ""
        more = f", {self.times} times" if self.times > 1 else ""
        return f"{self.message} (kernel {self.kernel}, block {self.block}{thread}{more}) at {self.place}"


class InFlight:
    """Bytes of shared memory in use by asynchronous instructions, each until its thread has waited."""

    def __init__(self, threads: int, size: int) -> None:
        self.owner = np.zeros(size, dtype=np.int32)
        """The thread that has issued the instruction, plus 1; 0 where there is none."""
        self._group = np.zeros(size, dtype=np.int64)
        self.committed = np.zeros(threads, dtype=np.int64)
        """Groups that each thread has committed."""

    def add(self, places: NDArray[np.int64], owners: Threads) -> None:
        """Bytes are in use, a row for each owner."""
        self.owner[places] = owners[:, None] + 1
        self._group[places] = self.committed[owners][:, None]

    def wait(self, threads: Threads, remaining: int | None) -> None:
        """Threads have waited for all but some of their groups; None: for all that they have issued."""
        done = np.zeros(self.committed.size, dtype=np.int64)
        done[threads] = self.committed[threads] + (1 if remaining is None else -remaining)
        flying = np.flatnonzero(self.owner)
        landed = self._group[flying] < done[self.owner[flying] - 1]
        self.owner[flying[landed]] = 0

    def owned(self, threads: Threads) -> NDArray[np.int64]:
        """The bytes that threads have in use."""
        flying = np.flatnonzero(self.owner)
        return flying[np.isin(self.owner[flying] - 1, threads)]


class RegistersInUse:
    """By register, the group in which a multiply of each thread writes or reads it; `_NONE` for none."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._groups: dict[str, dict[int, NDArray[np.int64]]] = {name: {} for name in _OPERANDS}

    def add(self, used: Sequence[Iterable[int]], threads: Threads, groups: NDArray[np.int64]) -> None:
        """A multiply of threads uses registers, in the order of `_OPERANDS`."""
        for registers, slots in zip(self._groups.values(), used, strict=True):
            for slot in slots:
                registers.setdefault(slot, np.full(self._threads, _NONE))[threads] = groups

    def wait(self, threads: Threads, done: NDArray[np.int64]) -> None:
        """Threads have waited for all groups before `done`."""
        for registers in self._groups.values():
            for groups in registers.values():
                groups[threads[groups[threads] < done]] = _NONE

    def conflict(self, threads: Threads, reads: Iterable[int], writes: Iterable[int]) -> str:
        """What an instruction does too early that reads and writes registers; empty if nothing."""
        looks = [("read", reads, _OPERANDS[0]), *(("written", writes, what) for what in _OPERANDS)]
        for use, slots, what in looks:
            registers = self._groups[what]
            if any(slot in registers and (registers[slot][threads] < _NONE).any() for slot in slots):
                return f"{what} of wgmma {use} before wgmma.wait_group"
        return ""


class Races:
    """The last store and the last load of each byte of shared memory, and who has met whom at barriers."""

    def __init__(self, threads: int, size: int) -> None:
        self._met = np.zeros((threads, threads), dtype=np.int32)
        self._now = 0
        self._accesses: dict[str, tuple[NDArray[Any], ...]] = {
            kind: (
                np.full(size, -1, dtype=np.int32),
                *(np.zeros(size, dtype=dtype) for dtype in (np.int32, np.int32, np.bool_)),
            )
            for kind in ("store", "load")
        }
        self._arrived: dict[tuple[int, ...], NDArray[np.int32]] = {}

    def arrive(self, threads: Threads, barriers: Addresses, phases: NDArray[Any]) -> None:
        """Threads have arrived at phases of mbarriers, the phases given by their parities."""
        self._now += 1
        for thread, *phase in zip(threads.tolist(), barriers.tolist(), phases.tolist(), strict=True):
            times = self._arrived.setdefault(tuple(phase), np.zeros(len(self._met), dtype=np.int32))
            times[thread] = self._now

    def wait(self, threads: Threads, barriers: Addresses, phases: NDArray[Any]) -> None:
        """Threads have found phases of mbarriers complete."""
        for thread, *phase in zip(threads.tolist(), barriers.tolist(), phases.tolist(), strict=True):
            times = self._arrived.get(tuple(phase))
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
