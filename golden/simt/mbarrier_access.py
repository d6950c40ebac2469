"""``mbarrier``: barriers in shared memory that count arrivals of threads and transactions of copies.

A phase is complete when no arrival and no transaction is pending; the next one expects as many arrivals.
Each barrier is one word of 64 bits, laid out as Hopper writes it back at ``mbarrier.inval``::

     63    62        43 42  41        21 20         1 0
    phase | -pending   | 0 | -pending    | -expected | 0
          |  arrivals  |   | transactions|  arrivals |
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from golden.simt.address_map import SHARED
from golden.simt.arrays import Access
from golden.simt.memory_access import MemoryAccess

_MAX_COUNT: Final = (1 << 20) - 1
"""Greatest count of arrivals, and of transactions in either direction."""

_BYTES: Final = 8
_RESULT: Final = 0xFFFF_FFFF_0000_0000
"""The part of a state that an arrival returns: phase and pending arrivals. A chip's other half varies."""


@dataclass(frozen=True)
class _State:
    """A barrier between two operations; all counts are those that are still to come."""

    expected: int
    pending: int
    transactions: int = 0
    phase: int = 0

    @property
    def word(self) -> int:
        return (
            (-self.expected & _MAX_COUNT) << 1
            | (-self.transactions & (2 * _MAX_COUNT + 1)) << 21
            | (-self.pending & _MAX_COUNT) << 43
            | self.phase << 63
        )

    def __str__(self) -> str:
        missing = f"{self.pending} of {self.expected} arrivals"
        if self.transactions < 0:
            return f"{missing} are missing, and {-self.transactions} transactions came that none expected"
        return f"{missing} and {self.transactions} transactions are missing"


def pending_count(words: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """``mbarrier.pending_count``: the arrivals that were pending before an arrival, from its result."""
    field = (words >> np.uint64(43)) & np.uint64(_MAX_COUNT)
    return ((np.uint64(_MAX_COUNT + 1) - field) & np.uint64((1 << 32) - 1)).astype(np.uint32)


class MbarrierAccess(MemoryAccess):
    """The barriers in the shared memory of a block."""

    def __init__(self, kernel: Any, launch: Any, number: int) -> None:
        super().__init__(kernel, launch, number)
        self.mbarriers: dict[int, _State] = {}
        """By offset in shared memory, from ``mbarrier.init`` to ``mbarrier.inval``."""
        self.awaited: set[int] = set()
        """The barriers of which the last wait found the phase incomplete."""

    def init_mbarrier(self, access: Access, counts: NDArray[np.uint32]) -> None:
        """``mbarrier.init``."""
        self._require_counts(access, counts)
        offsets = self._offsets("shared", access, _BYTES)
        for offset, count in zip(offsets.tolist(), counts.tolist(), strict=True):
            self._put(offset, _State(count, count))

    def invalidate_mbarrier(self, access: Access) -> None:
        """``mbarrier.inval``."""
        for block, offset in [(block, offset) for _, block, offset, _ in self._states(access)]:
            block.mbarriers.pop(offset, None)
            block.awaited.discard(offset)

    def arrive_mbarrier(
        self,
        access: Access,
        counts: NDArray[np.uint32] | None,
        transactions: NDArray[np.uint32] | None,
        mode: str,
        completes: bool,
    ) -> NDArray[np.uint64]:
        """Arrivals, each after its transactions; the state of the barrier before each of them.

        `counts` are the arrivals of each thread, `transactions` those to expect; None for one and for none.
        The modes are ``"arrive"``, ``"arrive_drop"``, ``"expect_tx"`` and ``"complete_tx"``: the last two
        arrive with nothing, and the last one completes its transactions. `completes` is whether a phase may
        become complete.
        """
        threads = access.threads
        if counts is not None:
            self._require_counts(access, counts)
        amounts = [int(mode.startswith("arrive"))] * threads.size if counts is None else counts.tolist()
        sign = -1 if mode == "complete_tx" else 1
        expected = [0] * threads.size if transactions is None else transactions.tolist()
        words = np.empty(threads.size, dtype=np.uint64)
        for position, block, offset, state in self._states(access):
            refuse = partial(self._refuse, offset, access, position)
            words[position] = state.word & _RESULT
            amount, total = amounts[position], state.transactions + sign * expected[position]
            if amount > state.pending:
                refuse(f"{amount} arrivals, but {state.pending} are pending")
            if abs(total) > _MAX_COUNT:
                refuse(f"{total} transactions, beyond -{_MAX_COUNT} to {_MAX_COUNT}")
            pending = state.pending - amount
            following = state.expected - (amount if mode == "arrive_drop" else 0)
            if pending or total:
                block._put(offset, _State(following, pending, total, state.phase))
                continue
            if not completes:
                refuse("an arrival with .noComplete completes the phase")
            block._put(offset, _State(following, following, phase=state.phase ^ 1))
        return words

    def arrive_copies(self, access: Access, increment: bool) -> None:
        """``cp.async.mbarrier.arrive``: the copies of each thread have landed already."""
        if not increment:
            self.arrive_mbarrier(access, None, None, "arrive", True)
            return
        for position, _, offset, state in self._states(access):
            if state.pending == _MAX_COUNT:
                self._refuse(offset, access, position, f"more than {_MAX_COUNT} arrivals")

    def wait_mbarrier(self, access: Access, phases: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether phases are complete, each given by its parity."""
        done = np.empty(access.threads.size, dtype=np.bool_)
        for position, _, offset, state in self._states(access):
            done[position] = state.phase != int(phases[position])
            if done[position]:
                self.awaited.discard(offset)
            else:
                self.awaited.add(offset)
        return done

    def describe_awaited(self) -> str:
        """What is missing at the barriers at which threads wait, as the end of a message."""
        return "".join(
            f"; mbarrier at {self.describe_shared(offset)}: {self.mbarriers[offset]}"
            for offset in sorted(self.awaited)
        )

    def _put(self, offset: int, state: _State) -> None:
        self.launch.changed += 1
        self.mbarriers[offset] = state
        self.shared.views[_BYTES][offset // _BYTES] = state.word
        if self.shared.written is not None:
            self.shared.written[offset : offset + _BYTES] = True

    def _states(self, access: Access) -> Iterator[tuple[int, Any, int, _State]]:
        """Position of each thread, and block, offset and state of its barrier, when it is asked for."""
        for block, positions, some in self.by_block(access):
            offsets = self._offsets("shared", some, _BYTES).tolist()
            for position, offset in zip(positions.tolist(), offsets, strict=True):
                if offset not in block.mbarriers:
                    self._refuse(offset, access, position, "no mbarrier.init before this operation")
                yield position, block, offset, block.mbarriers[offset]

    def _refuse(self, offset: int, access: Access, position: int, problem: str) -> NoReturn:
        message = f"{problem}, at the mbarrier at {self.describe_shared(offset)}"
        self.fault(access.number, access.threads, message, position, SHARED + offset)

    def _require_counts(self, access: Access, counts: NDArray[np.uint32]) -> None:
        wrong = np.flatnonzero((counts < 1) | (counts > _MAX_COUNT))
        if wrong.size:
            position = int(wrong[0])
            message = f"a count of arrivals is 1 to {_MAX_COUNT}, not {int(counts[position])}"
            self.fault(access.number, access.threads, message, position)

    def to_shared(self, access: Access) -> Access:
        """Accesses of barriers at generic addresses as ones at addresses in shared memory."""
        outside = np.flatnonzero(~self.in_window("shared", access.addresses))
        if outside.size:
            position = int(outside[0])
            place = f"an mbarrier at {access.addresses[position]:#x}"
            self.refuse(access, position, f"{place}, which is not in shared memory")
        return access._replace(addresses=access.addresses - np.uint64(SHARED))
