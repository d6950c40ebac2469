"""What a machine must hold while it executes a trace, and how it differs."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from golden.machine import Difference, Machine, Storage
from golden.memory import Memory
from golden.tables.commands import Command, Load, Store
from golden.tables.layouts import LANES
from sim.mismatch import memory_difference, mismatch, register_difference
from sim.replay.addresses import GRANULE
from sim.replay.entries import Entry, stored_lines

_GAP: Final = 16
"""Granules that lie so near are read together."""

_CHUNK: Final = 1 << 24

Origin = tuple[Command | None, str]
"""A command, and its line in the kernel."""


class Expectation:
    """The registers and memories of a machine as the trace has them; zeros at first.

    Of global memory `memory_bytes` are used, of shared memory `shared_bytes`.
    """

    def __init__(self, machine: Machine, memory_bytes: int, shared_bytes: int) -> None:
        self._machine = machine
        self._storages: list[Storage] = [machine.memory]
        if machine.shared is not None:
            self._storages.append(machine.shared)
        sizes = (memory_bytes, shared_bytes)
        self._memories = [np.zeros((-(-size // GRANULE), GRANULE), np.uint8) for size in sizes]
        self._registers = np.zeros((machine.warp_count, machine.register_count, LANES), np.uint32)
        self._writers: list[list[Origin]] = [
            [(None, "")] * machine.register_count for _ in range(machine.warp_count)
        ]
        self._stored: list[tuple[Entry, Command]] = []
        self.executed = 0
        """Commands that the machine has been given."""

    def write(self, is_shared: bool, offset: int, data: NDArray[np.uint8]) -> None:
        """Write bytes into the machine's memory."""
        storage = self._storages[is_shared]
        storage.write(storage.base + offset, data)
        self._memories[is_shared].reshape(-1)[offset : offset + data.size] = data

    def load(self, warp: int, first: int, content: bytes, origin: Origin) -> None:
        """Expect a content in registers."""
        words = np.frombuffer(content, np.uint32).reshape(-1, LANES)
        self._registers[warp, first : first + len(words)] = words
        self._writers[warp][first : first + len(words)] = [origin] * len(words)

    def store(self, entry: Entry, command: Command) -> None:
        """Expect what an entry stores."""
        assert entry.place is not None
        memory = self._memories[entry.place.is_shared].reshape(-1)
        for start, line in zip(entry.starts.tolist(), stored_lines(entry), strict=True):
            memory[start : start + line.size] = line
        self._stored.append((entry, command))

    def compare_registers(self) -> None:
        """Compare all registers; Difference where they differ."""
        found = self._machine.inspect_registers().reshape(self._registers.shape)
        if np.array_equal(found, self._registers):
            return
        warp, register, _ = np.argwhere(found != self._registers)[0].tolist()
        origin = self._writers[warp][register]
        difference = register_difference(origin[0], self._registers[warp], found[warp])
        raise self.mismatch(origin, f"warp {warp}: {difference}" if warp else str(difference))

    def compare_stored(self) -> None:
        """Compare what has been stored since the last time; Difference where it differs."""
        stored, self._stored = self._stored, []
        for is_shared in (False, True):
            own = [
                item for item in stored if item[0].place is not None and item[0].place.is_shared == is_shared
            ]
            if own and not self._is_equal(is_shared, [entry.granules for entry, _ in own]):
                for entry, command in own:
                    if not self._is_equal(is_shared, [entry.granules]):
                        first, last = int(entry.granules.min()), int(entry.granules.max()) + 1
                        self._compare(is_shared, first, last, entry, command)

    def compare_memories(self) -> None:
        """Compare all bytes that the trace uses; Difference where they differ."""
        for is_shared, memory in enumerate(self._memories[: len(self._storages)]):
            step = _CHUNK // GRANULE
            for first in range(0, len(memory), step):
                self._compare(bool(is_shared), first, min(first + step, len(memory)))

    def mismatch(self, origin: Origin, difference: str) -> Difference:
        """A mismatch at a command."""
        found = mismatch(max(0, self.executed - 1), origin[0], difference)
        found.origin = origin[1]
        return found

    def _is_equal(self, is_shared: bool, granules: list[NDArray[np.int64]]) -> bool:
        places = np.unique(np.concatenate(granules))
        storage, expected = self._storages[is_shared], self._memories[is_shared]
        if isinstance(storage, Memory):
            return np.array_equal(storage.data.reshape(-1, GRANULE)[places], expected[places])
        runs = np.split(places, np.flatnonzero(np.diff(places) > _GAP) + 1)
        return all(
            np.array_equal(self._read(is_shared, int(run[0]), int(run[-1]) + 1)[run - run[0]], expected[run])
            for run in runs
        )

    def _read(self, is_shared: bool, first: int, last: int) -> NDArray[np.uint8]:
        """Granules of the machine's memory."""
        storage = self._storages[is_shared]
        found = storage.read(storage.base + first * GRANULE, (last - first) * GRANULE)
        return found.reshape(-1, GRANULE)

    def _compare(
        self,
        is_shared: bool,
        first: int,
        last: int,
        entry: Entry | None = None,
        command: Command | None = None,
    ) -> None:
        """Compare granules, which an entry has stored; Difference where they differ."""
        base = self._storages[is_shared].base + first * GRANULE
        if entry is not None and isinstance(command, Load | Store):
            assert entry.place is not None
            base = command.address - entry.place.offset + first * GRANULE
        found, expected = self._read(is_shared, first, last), self._memories[is_shared][first:last]
        name = "shared memory" if is_shared else "memory"
        difference = memory_difference(command, base, expected.reshape(-1), found.reshape(-1), name)
        if difference is not None:
            raise self.mismatch((command, "" if entry is None else entry.line), difference)
