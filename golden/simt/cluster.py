"""Clusters: blocks that run at the same time, their barrier, and their distributed shared memory."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.ptx.blocks import Terminator
from golden.simt.address_map import RANK_BITS, SHARED, in_block
from golden.simt.arrays import Threads, Values
from golden.simt.tensor_copy import Place, TensorCopies
from golden.simt.waiting import Arrival

_TOLD: Final = 4
"""Blocks whose missing threads a message tells."""


class ClusterOperations(TensorCopies):
    """What a block does with others of its cluster; parameters as for `MemoryAccess`."""

    alive: int
    """Threads that have not ended."""

    def __init__(self, kernel: Any, launch: Any, number: int) -> None:
        super().__init__(kernel, launch, number)
        self.cluster_waits: list[Arrival] = []
        """Threads at ``barrier.cluster.wait``."""
        self._arrived = np.zeros(self.total, np.bool_)
        self._owes = np.zeros(self.total, np.bool_)
        """Threads that have arrived and not waited yet."""

    def arrive_cluster(self, threads: Threads, index: int) -> None:
        """``barrier.cluster.arrive``."""
        if self._owes[threads].any():
            message = "barrier.cluster.arrive, but the thread has not waited for its last arrival"
            self.fault(index, threads, message, int(np.argmax(self._owes[threads])))
        self._arrived[threads] = self._owes[threads] = True
        self.complete_cluster()

    def wait_cluster(
        self, threads: Threads, resume: int, terminator: Terminator
    ) -> list[tuple[int, Threads]]:
        """``barrier.cluster.wait``: the threads that go on at once, and where."""
        if not self._owes[threads].all():
            message = "barrier.cluster.wait, but the thread has not arrived"
            self.fault(terminator.index, threads, message, int(np.argmin(self._owes[threads])))
        waits = self._arrived[threads]
        if waits.any():
            self.cluster_waits.append(Arrival(threads[waits], resume, terminator))
        self._owes[threads[~waits]] = False
        return [] if waits.all() else [(resume, threads[~waits])]

    def complete_cluster(self) -> None:
        """Begin the next phase of the barrier if all threads of the cluster that are left have arrived."""
        blocks: list[Any] = self.peers or [self]
        if not self._missing(blocks):
            self.launch.changed += any(block._arrived.any() for block in blocks)
            for block in blocks:
                block.note_barrier(np.flatnonzero(block._arrived))
                block._arrived[:] = False

    def leave_cluster(self) -> list[tuple[int, Threads]]:
        """The threads that the barrier lets go since they wait, and where they go on."""
        ready = [wait for wait in self.cluster_waits if not self._arrived[wait.threads[0]]]
        self.cluster_waits = [wait for wait in self.cluster_waits if self._arrived[wait.threads[0]]]
        for wait in ready:
            self._owes[wait.threads] = False
        return [(wait.resume, wait.threads) for wait in ready if wait.resume is not None]

    def end_cluster(self, threads: Threads) -> None:
        """Threads have ended: nobody waits for them."""
        self._arrived[threads] = False
        self.complete_cluster()
        if not any(block.alive for block in self.peers):
            self.peers.clear()  # so that the memory of a block is freed with it

    def describe_cluster(self) -> str:
        """Who has not arrived at the barrier at which threads wait, as the end of a message."""
        missing = self._missing(self.peers or [self]) if self.cluster_waits else []
        told = ", ".join(
            f"{count} threads of block {block.geometry.index}" for block, count in missing[:_TOLD]
        )
        return f"; barrier.cluster: {told} have not arrived" if told else ""

    def _missing(self, blocks: Sequence[Any]) -> list[tuple[Any, int]]:
        """The blocks with threads that have not arrived, and how many."""
        counts = [(block, block.alive - int(np.count_nonzero(block._arrived))) for block in blocks]
        return [(block, count) for block, count in counts if count]

    # Addresses

    def map_shared(
        self, space: str, addresses: NDArray[np.uint64], ranks: NDArray[np.uint32]
    ) -> NDArray[np.uint64]:
        """``mapa``: addresses of this block's shared memory in the blocks of some ranks."""
        base = np.uint64(SHARED if space == "generic" else 0)
        mapped = (
            in_block(ranks.astype(np.int64), (addresses - base).astype(np.int64)).astype(np.uint64) + base
        )
        return np.where(ranks == self.geometry.cluster_rank, addresses, mapped)

    def rank_of(self, space: str, addresses: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """``getctarank``: the ranks of the blocks in whose shared memory addresses lie."""
        inside = addresses - np.uint64(SHARED if space == "generic" else 0)
        ranks = (inside >> np.uint64(RANK_BITS)).astype(np.uint32)
        return np.where(ranks == 0, np.uint32(self.geometry.cluster_rank), ranks - np.uint32(1))

    # Stores that complete transactions

    def store_transacted(
        self, to: Place, barrier: Place, size: int, values: Values, operation: Any = None
    ) -> None:
        """``st.async`` and ``red.async``."""
        space, access = to
        if operation is None:
            self.store(space, access, values, size)
        else:
            self.atomic(space, access, (operation, operation), values, size)
        place = barrier[1] if barrier[0] == "shared" else self.to_shared(barrier[1])
        counts = np.full(access.threads.size, size * len(values), np.uint32)
        self.arrive_mbarrier(place, None, counts, "complete_tx", True)


def join(blocks: list[Any]) -> None:
    """Make blocks a cluster, in the order of their ranks.

    They forget each other when all have ended.
    """
    for block in blocks if len(blocks) > 1 else ():
        block.peers = blocks
