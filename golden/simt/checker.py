"""Looks for what a kernel must not do although a chip does not stop it.

Reads of bytes that were never written, what `golden.simt.async_checker` looks for, barriers
that part of a block never reaches, masks of lanes that overlap, fragments and arrays that are used as another
type or layout than they were made for, bits of containers that no element uses, and data races on shared
memory. Two accesses of one byte are a race when at least one is a store, the threads are of different warps,
and no barrier in which both took part lies between; atomics do not race with atomics. An arrival at an
``mbarrier`` and a wait that finds its phase complete are such a barrier. Synchronisation through flags in
memory is not understood.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.simt.arrays import Access, Addresses, Threads, Values
from golden.simt.async_checker import AsyncCheckedBlock
from golden.simt.fragment_origins import FragmentOrigins, container_problem, type_problem
from golden.simt.memory_access import Piece
from golden.simt.warp_operations import Masks
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import Instruction, LoadInstruction, MmaInstruction, StoreInstruction


class CheckedBlock(AsyncCheckedBlock):
    """A block whose accesses are checked; parameters as for `BlockRun`."""

    def __init__(self, kernel: Any, launch: Any, number: int) -> None:
        super().__init__(kernel, launch, number)
        size = self.shared.data.size
        for memory in (self.shared, self.local):
            memory.written = np.zeros(memory.data.size, dtype=np.bool_)
        self._races = _Races(self.total, size) if launch.races else None
        self._origins = FragmentOrigins()

    def note_access(self, piece: Piece, width: int, *, reads: bool = False, writes: bool = False) -> None:
        """Check accesses; the bytes of a store count as written."""
        places = piece.offsets[:, None] + np.arange(width)  # of each byte, shape (accesses, width)
        if reads:
            self._require_written(piece, places)
        if piece.memory is self.shared:
            self._check_shared(piece, places, reads=reads, writes=writes)
        if writes and piece.memory.written is not None:
            piece.memory.written[places] = True

    # Fragments

    def load_fragment(
        self, instruction: LoadInstruction, access: Access, strides: NDArray[np.uint32] | None
    ) -> Values:
        """As `MatrixOperations.load_fragment`; the array must hold the type."""
        values = super().load_fragment(instruction, access, strides)
        self._origins.note(instruction, instruction.use, values, access.number)
        memory = self.device.find(int(access.addresses[0]))
        if memory is not None and memory.dtype is not None:
            problem = type_problem(memory.dtype, instruction.type)
            if problem is not None:
                self._report("type", access.number, f"{memory.name}: {problem}")
        return values

    def store_fragment(
        self,
        instruction: StoreInstruction,
        access: Access,
        strides: NDArray[np.uint32] | None,
        registers: Values,
    ) -> None:
        """As `MatrixOperations.store_fragment`; the registers must hold the fragment."""
        self._require_fragments(instruction, {"d": registers}, access.number)
        super().store_fragment(instruction, access, strides, registers)

    def multiply(
        self,
        instruction: MmaInstruction,
        threads: Threads,
        a: Values,
        b: Values,
        c: Values,
        index: int,
        *extra: NDArray[Any],
    ) -> Values:
        """As `MatrixOperations.multiply`; the registers must hold the fragments, and no spare bits."""
        self._require_fragments(instruction, {"a": a, "b": b, "c": c}, index)
        problem = container_problem(instruction, {"a": a, "b": b})
        if problem is not None:
            self._report("container", index, problem)
        values = super().multiply(instruction, threads, a, b, c, index, *extra)
        self._origins.note(instruction, "d", values, index)
        return values

    def _require_fragments(self, instruction: Instruction, used: dict[Use, Values], index: int) -> None:
        found = self._origins.difference(instruction, used)
        if found is not None:
            use, place, number, difference = found
            line = self.kernel.source_line(number).line
            self._report(
                "fragment", index, f"operand {use}: register {place}, from line {line}, {difference}"
            )

    # Barriers

    def arrive_copies(self, access: Access, increment: bool) -> None:
        """As `AsyncCheckedBlock.arrive_copies`, noted for races."""
        threads, addresses, _ = access
        phases = [self.mbarriers[offset].phase for offset in addresses.tolist() if offset in self.mbarriers]
        super().arrive_copies(access, increment)
        if self._races is not None:
            self._races.arrive(threads, addresses, np.array(phases))

    def arrive_mbarrier(self, access: Access, *arguments: Any) -> NDArray[np.uint64]:
        """As `AsyncCheckedBlock.arrive_mbarrier`, noted for races."""
        words = super().arrive_mbarrier(access, *arguments)
        if self._races is not None:
            self._races.arrive(access.threads, access.addresses, words >> np.uint64(63))
        return words

    def wait_mbarrier(self, access: Access, phases: NDArray[Any]) -> NDArray[np.bool_]:
        """As `AsyncCheckedBlock.wait_mbarrier`, noted for races."""
        done = super().wait_mbarrier(access, phases)
        if self._races is not None:
            self._races.wait(access.threads[done], access.addresses[done], phases[done])
        return done

    def note_early_exit(self, index: int) -> None:
        """Report a barrier that opened although threads have ended that never reached it."""
        ended = f"{self.total - self.alive} of {self.total} threads of the block ended"
        self._report("barrier", index, f"{ended} without reaching this barrier")

    def note_masks(self, threads: Threads, masks: Masks, index: int) -> None:
        """Report lanes of a warp that come together with masks that are neither equal nor disjoint."""
        warps = threads >> 5
        for warp in np.unique(warps).tolist():
            taken = 0
            for mask in np.unique(masks[warps == warp]).tolist():
                if taken & mask:
                    lane = (taken & mask).bit_length() - 1
                    message = (
                        f"lane {lane} is in mask {mask:#010x} and in another, of lanes that come together"
                    )
                    self._report("masks", index, message)
                taken |= mask

    def note_barrier(self, threads: Threads) -> None:
        """Note that threads have passed a barrier together."""
        super().note_barrier(threads)
        if self._races is not None:
            self._races.barrier(threads)

    # Reports

    def _check_shared(self, piece: Piece, places: NDArray[np.int64], *, reads: bool, writes: bool) -> None:
        threads, _, index = piece.access
        self.check_async(piece, places, reads=reads, writes=writes)
        if self._races is not None:
            found = self._races.access(threads, places, index, writes=writes, atomic=reads and writes)
            if found is not None:
                position, other, other_index = found
                line = self.kernel.source_line(other_index).line
                with_whom = f"thread {self.coordinates(other)} at line {line}"
                self._report("race", index, f"data race with {with_whom}", piece, position)

    def _require_written(self, piece: Piece, places: NDArray[np.int64]) -> None:
        if piece.memory.written is None:
            return
        missing = ~piece.memory.written[places].all(axis=1)
        if missing.any():
            position = int(np.argmax(missing))
            message = f"read of {places.shape[1]} bytes that were never written"
            self._report("unwritten", piece.access.number, message, piece, position, int(missing.sum()))


class _Races:
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
