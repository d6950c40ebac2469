"""Looks for what a kernel must not do although a chip does not stop it.

Reads of bytes that were never written, uses of bytes and registers that an asynchronous instruction still
reads or writes (`golden.simt.check_records`), barriers that part of a block never reaches, masks of lanes
that overlap, fragments and arrays that are used as another type or layout than they were made for, bits of
containers that no element uses, and data races on shared memory. Two accesses of one byte are a race when at
least one is a store, the threads are of different warps, and no barrier in which both took part lies between;
atomics do not race with atomics. An arrival at an ``mbarrier`` and a wait that finds its phase complete are
such a barrier. Synchronisation through flags in memory is not understood.

Asynchronous instructions are copies (``cp.async``, bulk copies) and ``wgmma``. A use is early until a thread
has waited for the group of the instruction, or for the mbarrier on which it completes.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from golden.simt.address_map import OFFSET_MASK, SHARED
from golden.simt.arrays import Access, Threads, Values
from golden.simt.block import BlockRun
from golden.simt.check_records import InFlight, Races, RegistersInUse, Report
from golden.simt.fragment_origins import FragmentOrigins, container_problem, type_problem
from golden.simt.memory_access import Piece
from golden.simt.tensor_copy import Landing, Place, Reduction
from golden.simt.tensor_map import CHUNK
from golden.simt.warp_operations import Masks
from golden.simt.warpgroups import WARPGROUP, WarpgroupMultiply
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import Instruction, LoadInstruction, MmaInstruction, StoreInstruction

_MET: Final = -1
"""Stands for all writers that have met other threads since."""


class CheckedBlock(BlockRun):
    """A block whose accesses are checked; parameters as for `BlockRun`."""

    def __init__(self, kernel: Any, launch: Any, number: int) -> None:
        super().__init__(kernel, launch, number)
        size = self.shared.data.size
        for memory in (self.shared, self.local):
            memory.written = np.zeros(memory.data.size, dtype=np.bool_)
        self._races = Races(self.total, size) if launch.races else None
        self._origins = FragmentOrigins()
        self._flying = {kind: InFlight(self.total, size) for kind in ("copy", "load", "store", "multiply")}
        self._registers = RegistersInUse(self.total)
        self._tracked: dict[int, list[tuple[InFlight, NDArray[np.int64]]]] = {}
        """What lands when the phase of a barrier is complete."""
        self._generic = np.zeros(size, dtype=np.int32)
        """Who has written a byte, plus 1, without a proxy fence since; `_MET`."""
        self._asynchronous = False
        self._passed: NDArray[np.bool_] | bool = True
        """Which bytes of a structure that is passed were written."""
        self._landing: int | None = None
        self._expected: dict[int, int] = {}
        """The instruction that has last expected bytes, by barrier."""

    def run(self) -> Literal["done", "waiting", "paused"]:
        """As `BlockRun.run`; bytes that a barrier still expects in the end are reported."""
        outcome = super().run()
        for offset, state in self.mbarriers.items() if outcome == "done" else ():
            if state.transactions > 0 and offset in self._expected:
                where = f"the mbarrier at {self.describe_shared(offset)}"
                message = f"{state.transactions} of the bytes expected at {where} never came"
                self._report("expected", self._expected[offset], message)
        return outcome

    # Accesses

    def note_access(self, piece: Piece, width: int, *, reads: bool = False, writes: bool = False) -> None:
        """Check accesses; the bytes of a store count as written."""
        places = piece.offsets[:, None] + np.arange(width)  # of each byte, shape (accesses, width)
        passing, written = piece.access.number in self.kernel.passing, piece.memory.written
        if reads and passing:  # a structure with its gaps
            self._passed = True if written is None else written[places]
        elif reads and written is not None:
            message = f"read of {width} bytes that were never written"
            self._report_where("unwritten", message, piece, ~written[places])
        if piece.memory is self.shared:
            self._check_flying(piece, places, reads=reads, writes=writes)
            if self._races is not None:
                self._check_race(self._races, piece, places, reads=reads, writes=writes)
        if writes and written is not None:
            written[places] = self._passed if passing else True

    def _check_flying(self, piece: Piece, places: NDArray[np.int64], *, reads: bool, writes: bool) -> None:
        """Check accesses to the block's shared memory against what is in flight."""
        looks: list[tuple[str, NDArray[np.int32], str]] = []
        if self._asynchronous and reads:
            message = "asynchronous read of bytes that were written without fence.proxy.async since"
            looks.append(("proxy", self._generic, message))
        elif reads:
            message = "read of bytes that {} may still be copying"
            looks.append(("flight", self._flying["copy"].owner, message.format("cp.async")))
            looks.append(("landing", self._flying["load"].owner, message.format("a bulk copy")))
        if writes:
            message = "write of bytes that an unfinished {} reads"
            looks.append(("multiply", self._flying["multiply"].owner, message.format("wgmma")))
            looks.append(("store", self._flying["store"].owner, message.format("bulk copy")))
        for kind, found, message in looks:
            self._report_where(kind, message, piece, found[places] != 0)
        if writes:
            threads = piece.access.threads
            self._generic[places] = 0 if self._asynchronous else threads[:, None] + 1
            if self._landing is not None:
                self._flying["load"].add(places, threads)
                self._tracked.setdefault(self._landing, []).append((self._flying["load"], places))

    def _check_race(
        self, races: Races, piece: Piece, places: NDArray[np.int64], *, reads: bool, writes: bool
    ) -> None:
        threads, _, index = piece.access
        found = races.access(threads, places, index, writes=writes, atomic=reads and writes)
        if found is not None:
            position, other, other_index = found
            line = self.kernel.source_line(other_index).line
            with_whom = f"thread {self.coordinates(other)} at line {line}"
            self._report("race", index, f"data race with {with_whom}", piece, position)

    # Fragments

    def load_matrix(self, instruction: Any, access: Access, strides: Any) -> Values:
        """As `MatrixOperations.load_matrix`; the array must hold the type of a fragment."""
        values = super().load_matrix(instruction, access, strides)
        if isinstance(instruction, LoadInstruction):
            self._origins.note(instruction, instruction.use, values, access.number)
            memory = self.device.find(int(access.addresses[0]))
            if memory is not None and memory.dtype is not None:
                problem = type_problem(memory.dtype, instruction.type)
                if problem is not None:
                    self._report("type", access.number, f"{memory.name}: {problem}")
        return values

    def store_matrix(self, instruction: Any, access: Access, strides: Any, registers: Values) -> None:
        """As `MatrixOperations.store_matrix`; the registers must hold the fragment."""
        if isinstance(instruction, StoreInstruction):
            self._require_fragments(instruction, {"d": registers}, access.number)
        super().store_matrix(instruction, access, strides, registers)

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

    # Reports

    def _place(self, piece: Piece, position: int) -> str:
        """Where an access lies, for a message."""
        address = int(piece.access.addresses[position])
        if piece.space == "local":
            return f"byte {address} of local memory"
        return self.describe_shared(address) if piece.space == "shared" else self.device.describe(address)

    def _report(
        self,
        kind: str,
        index: int,
        message: str,
        piece: Piece | None = None,
        position: int = 0,
        times: int = 1,
    ) -> None:
        """Note what an instruction did, and the access of it that did so first."""
        reports = self.launch.reports
        before = reports.get((kind, index))
        if before is not None:
            reports[kind, index] = replace(before, times=before.times + times)
            return
        thread = address = None
        if piece is not None:
            thread = self.coordinates(int(piece.access.threads[position]))
            address = int(piece.access.addresses[position]) + (SHARED if piece.space == "shared" else 0)
            message = f"{message}: {self._place(piece, position)} at {address:#x}"
        place, block = str(self.kernel.source_line(index)), self.geometry.index
        reports[kind, index] = Report(message, self.kernel.readable, place, block, thread, address, times)

    def _report_where(self, kind: str, message: str, piece: Piece, bytes_: NDArray[np.bool_]) -> None:
        """Note the accesses with bytes for which something holds, if there are any."""
        wrong = bytes_.any(axis=1)
        if wrong.any():
            times = int(wrong.sum())
            self._report(kind, piece.access.number, message, piece, int(np.argmax(wrong)), times)

    # Asynchronous instructions

    def copy_async(self, target: Access, source: Access, size: int, valid: Any) -> None:
        """As `MemoryAccess.copy_async`; the bytes are in flight until their thread has waited for them."""
        super().copy_async(target, source, size, valid)
        self._flying["copy"].add(target.addresses.view(np.int64)[:, None] + np.arange(size), target.threads)

    def commit_group(self, threads: Threads, *, kind: str) -> None:
        """As `MemoryAccess.commit_group`, noted."""
        self._flying[kind].committed[threads] += 1

    def await_groups(self, threads: Threads, remaining: int | None, *, kind: str) -> None:
        """As `MemoryAccess.await_groups`, noted."""
        pending = self._flying[kind]
        if kind == "multiply":
            assert remaining is not None
            self._registers.wait(threads, pending.committed[threads] - remaining)
            threads = threads[threads % WARPGROUP == 0]
        pending.wait(threads, remaining)

    def load_async(self, access: Access, user: str = "") -> Values:
        """As `MemoryAccess.load_async`; the bytes are in use until their thread has waited."""
        self._asynchronous = True
        words = super().load_async(access, user)
        self._asynchronous = False
        if user:
            self._flying[user].add(
                access.addresses.view(np.int64)[:, None] + np.arange(CHUNK), access.threads
            )
        return words

    def _write(self, to: Place, words: Values, reduction: Reduction | None, landing: Landing | None) -> None:
        self._asynchronous = True
        self._landing = None if landing is None else int(landing.barrier.addresses[0]) & OFFSET_MASK
        super()._write(to, words, reduction, landing)
        self._asynchronous, self._landing = False, None

    def fence_proxy(self, threads: Threads) -> None:
        """``fence.proxy.async``: of what threads have written, or others that have met some."""
        written = np.flatnonzero(self._generic)
        writers = self._generic[written]
        self._generic[written[(writers == _MET) | np.isin(writers - 1, threads)]] = 0

    def multiply_warpgroups(self, form: WarpgroupMultiply, threads: Threads, *operands: Any) -> Values:
        """As `WarpgroupOperations.multiply_warpgroups`; its registers are in use until a wait."""
        self.check_registers(threads, form.sources + form.metadata, (), form.index)
        results = super().multiply_warpgroups(form, threads, *operands)
        groups = self._flying["multiply"].committed[threads]
        self._registers.add((form.targets, form.sources, form.metadata), threads, groups)
        return results

    def check_registers(
        self, threads: Threads, reads: Iterable[int], writes: Iterable[int], index: int
    ) -> None:
        """Report an instruction that reads or writes registers of an unfinished multiply."""
        conflict = self._registers.conflict(threads, reads, writes)
        if conflict:
            self._report("register", index, conflict)

    # Barriers

    def arrive_copies(self, access: Access, increment: bool) -> None:
        """As `MbarrierAccess.arrive_copies`; a wait for the barrier is one for the copies."""
        threads, addresses, _ = access
        phases = [self.mbarriers[offset].phase for offset in addresses.tolist() if offset in self.mbarriers]
        super().arrive_copies(access, increment)
        copies = self._flying["copy"]
        for offset in np.unique(addresses).tolist():
            owned = copies.owned(threads[addresses == offset])
            self._tracked.setdefault(offset, []).append((copies, owned))
        if self._races is not None:
            self._races.arrive(threads, addresses, np.array(phases))

    def arrive_mbarrier(
        self, access: Access, counts: Any, transactions: Any, mode: str, completes: bool
    ) -> NDArray[np.uint64]:
        """As `MbarrierAccess.arrive_mbarrier`, noted."""
        if mode != "complete_tx":
            self._meet(access.threads)
            if transactions is not None:
                self._expected |= dict.fromkeys(access.addresses.tolist(), access.number)
        words = super().arrive_mbarrier(access, counts, transactions, mode, completes)
        if self._races is not None:
            self._races.arrive(access.threads, access.addresses, words >> np.uint64(63))
        return words

    def wait_mbarrier(self, access: Access, phases: NDArray[Any]) -> NDArray[np.bool_]:
        """As `MbarrierAccess.wait_mbarrier`; the copies that the barrier tracks have landed."""
        done = super().wait_mbarrier(access, phases)
        for offset in np.unique(access.addresses[done]).tolist():
            for pending, places in self._tracked.pop(offset, ()):
                pending.owner[places] = 0
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
        self._meet(threads)
        if self._races is not None:
            self._races.barrier(threads)

    def _meet(self, threads: Threads) -> None:
        """Others know of what threads have written."""
        written = np.flatnonzero(self._generic > 0)
        self._generic[written[np.isin(self._generic[written] - 1, threads)]] = _MET
