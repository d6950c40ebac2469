"""Looks for uses of bytes and registers that an asynchronous instruction still reads or writes.

These are copies (``cp.async``, bulk copies) and ``wgmma``. A use is early until a thread has waited for the
group of the instruction, or for the mbarrier on which it completes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from golden.simt.address_map import OFFSET_MASK, SHARED
from golden.simt.arrays import Access, Threads, Values
from golden.simt.block import BlockRun
from golden.simt.memory_access import Piece
from golden.simt.tensor_copy import Landing, Place, Reduction
from golden.simt.tensor_map import CHUNK
from golden.simt.warpgroups import WARPGROUP, WarpgroupMultiply

_NONE: Final = 1 << 62
"""The group of a register that no multiply uses."""

_OPERANDS: Final = ("accumulator", "register of A", "metadata")
"""Registers that an unfinished multiply uses; it writes the first."""

_MET: Final = -1
"""Stands for all writers that have met other threads since."""


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


class AsyncCheckedBlock(BlockRun):
    """A block whose asynchronous instructions are checked; parameters as for `BlockRun`."""

    def __init__(self, kernel: Any, launch: Any, number: int) -> None:
        super().__init__(kernel, launch, number)
        size = self.shared.data.size
        self._copies, self._loads, self._stores, self._multiplies = (
            InFlight(self.total, size) for _ in range(4)
        )
        self._tracked: dict[int, list[tuple[InFlight, NDArray[np.int64]]]] = {}
        """What lands when the phase of a barrier is complete."""
        self._generic = np.zeros(size, dtype=np.int32)
        """Who has written a byte, plus 1, without a proxy fence since; `_MET`."""
        self._asynchronous = False
        self._landing: int | None = None
        self._expected: dict[int, int] = {}
        """The instruction that has last expected bytes, by barrier."""
        self._registers: dict[str, dict[int, NDArray[np.int64]]] = {name: {} for name in _OPERANDS}
        """By register, the group in which a multiply of each thread writes or reads it; `_NONE` for none."""

    def run(self) -> Literal["done", "waiting", "paused"]:
        """As `BlockRun.run`; bytes that a barrier still expects in the end are reported."""
        outcome = super().run()
        for offset, state in self.mbarriers.items() if outcome == "done" else ():
            if state.transactions > 0 and offset in self._expected:
                where = f"the mbarrier at {self.describe_shared(offset)}"
                message = f"{state.transactions} of the bytes expected at {where} never came"
                self._report("expected", self._expected[offset], message)
        return outcome

    def check_async(self, piece: Piece, places: NDArray[np.int64], *, reads: bool, writes: bool) -> None:
        """Check accesses to the block's shared memory against what is in flight."""
        threads = piece.access.threads
        looks: list[tuple[str, NDArray[np.int32], str]] = []
        if self._asynchronous and reads:
            message = "asynchronous read of bytes that were written without fence.proxy.async since"
            looks.append(("proxy", self._generic, message))
        elif reads:
            message = "read of bytes that {} may still be copying"
            looks.append(("flight", self._copies.owner, message.format("cp.async")))
            looks.append(("landing", self._loads.owner, message.format("a bulk copy")))
        if writes:
            message = "write of bytes that an unfinished {} reads"
            looks.append(("multiply", self._multiplies.owner, message.format("wgmma")))
            looks.append(("store", self._stores.owner, message.format("bulk copy")))
        for kind, found, message in looks:
            wrong = (found[places] != 0).any(axis=1)
            if wrong.any():
                position, times = int(np.argmax(wrong)), int(wrong.sum())
                self._report(kind, piece.access.number, message, piece, position, times)
        if writes:
            self._generic[places] = 0 if self._asynchronous else threads[:, None] + 1
            if self._landing is not None:
                self._loads.add(places, threads)
                self._tracked.setdefault(self._landing, []).append((self._loads, places))

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

    # Copies

    def copy_async(self, target: Access, source: Access, size: int, valid: Any) -> None:
        """As `MemoryAccess.copy_async`; the bytes are in flight until their thread has waited for them."""
        super().copy_async(target, source, size, valid)
        self._copies.add(target.addresses.view(np.int64)[:, None] + np.arange(size), target.threads)

    def commit_copies(self, threads: Threads) -> None:
        """``cp.async.commit_group``."""
        self._copies.committed[threads] += 1

    def await_copies(self, threads: Threads, remaining: int | None) -> None:
        """As `MemoryAccess.await_copies`."""
        self._copies.wait(threads, remaining)

    def commit_bulk(self, threads: Threads) -> None:
        """``cp.async.bulk.commit_group``."""
        self._stores.committed[threads] += 1

    def await_bulk(self, threads: Threads, remaining: int, *, reads: bool = False) -> None:
        """``cp.async.bulk.wait_group``."""
        self._stores.wait(threads, remaining)

    def load_async(self, access: Access, user: str = "") -> Values:
        """As `MemoryAccess.load_async`; the bytes are in use until their thread has waited."""
        self._asynchronous = True
        words = super().load_async(access, user)
        self._asynchronous = False
        pending = {"wgmma": self._multiplies, "store": self._stores}.get(user)
        if pending is not None:
            pending.add(access.addresses.view(np.int64)[:, None] + np.arange(CHUNK), access.threads)
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

    # Barriers

    def arrive_copies(self, access: Access, increment: bool) -> None:
        """As `MbarrierAccess.arrive_copies`; a wait for the barrier is one for the copies."""
        super().arrive_copies(access, increment)
        for offset in np.unique(access.addresses).tolist():
            theirs = access.threads[access.addresses == offset]
            self._tracked.setdefault(offset, []).append((self._copies, self._copies.owned(theirs)))

    def arrive_mbarrier(
        self, access: Access, counts: Any, transactions: Any, mode: str, completes: bool
    ) -> NDArray[np.uint64]:
        """As `MbarrierAccess.arrive_mbarrier`, noted."""
        if mode != "complete_tx":
            self._meet(access.threads)
            if transactions is not None:
                self._expected |= dict.fromkeys(access.addresses.tolist(), access.number)
        return super().arrive_mbarrier(access, counts, transactions, mode, completes)

    def wait_mbarrier(self, access: Access, phases: NDArray[Any]) -> NDArray[np.bool_]:
        """As `MbarrierAccess.wait_mbarrier`; the copies that the barrier tracks have landed."""
        done = super().wait_mbarrier(access, phases)
        for offset in np.unique(access.addresses[done]).tolist():
            for pending, places in self._tracked.pop(offset, ()):
                pending.owner[places] = 0
        return done

    def note_barrier(self, threads: Threads) -> None:
        """Note that threads have passed a barrier together."""
        self._meet(threads)

    def _meet(self, threads: Threads) -> None:
        """Others know of what threads have written."""
        written = np.flatnonzero(self._generic > 0)
        self._generic[written[np.isin(self._generic[written] - 1, threads)]] = _MET

    # Multiplies of warpgroups

    def multiply_warpgroups(self, form: WarpgroupMultiply, threads: Threads, *operands: Any) -> Values:
        """As `WarpgroupOperations.multiply_warpgroups`; its registers are in use until a wait."""
        used = form.targets, form.sources, form.metadata
        self.check_registers(threads, form.sources + form.metadata, (), form.index)
        results = super().multiply_warpgroups(form, threads, *operands)
        for registers, slots in zip(self._registers.values(), used, strict=True):
            for slot in slots:
                groups = registers.setdefault(slot, np.full(self.total, _NONE))
                groups[threads] = self._multiplies.committed[threads]
        return results

    def commit_multiplies(self, threads: Threads) -> None:
        """``wgmma.commit_group``."""
        self._multiplies.committed[threads] += 1

    def await_multiplies(self, threads: Threads, remaining: int) -> None:
        """``wgmma.wait_group``."""
        self._multiplies.wait(threads[threads % WARPGROUP == 0], remaining)
        done = self._multiplies.committed[threads] - remaining
        for registers in self._registers.values():
            for groups in registers.values():
                groups[threads[groups[threads] < done]] = _NONE

    def check_registers(
        self, threads: Threads, reads: Iterable[int], writes: Iterable[int], index: int
    ) -> None:
        """Report an instruction that reads or writes registers of an unfinished multiply."""
        looks = [("read", reads, _OPERANDS[0]), *(("written", writes, what) for what in _OPERANDS)]
        for use, slots, what in looks:
            registers = self._registers[what]
            if any(slot in registers and (registers[slot][threads] < _NONE).any() for slot in slots):
                self._report("register", index, f"{what} of wgmma {use} before wgmma.wait_group")
                return
