"""Writes the trace of a launch: what its matrix instructions read and write, block after block.

The memory of the machine that will execute the trace, the *mirror*, holds zeros at first. What the host
writes goes there when a matrix instruction reads it: before a load, the bytes around it that differ from the
mirror are recorded as written. So no store of the host needs to be watched.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import IO, Final

import numpy as np
from numpy.typing import NDArray

from golden.machine import Counters
from golden.simt.address_map import GLOBAL, SHARED
from golden.simt.arrays import Addresses, Threads, Words
from golden.simt.device_memory import Allocation
from golden.simt.memory_access import MemoryAccess
from golden.simt.trace_file import Head, Kind, TraceWriter
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import Instruction, MmaInstruction, MoveInstruction

_NEAR_BYTES: Final = 1 << 16
"""Accesses to global memory within so many bytes are compared with the mirror as a whole."""

_PAGE_BITS: Final = 12
"""The unit in which the mirror is brought up to date has ``1 << 12`` bytes."""

_GAP: Final = 8
"""Words of 64 bits: where fewer are equal between those that differ, they are recorded together."""

_NONE: Final = -1


Progress = Callable[[int, int], None]
"""Called after each block with the number of those that have ended, and of all."""


class TraceRecorder:
    """Records the matrix instructions of a launch to a binary file."""

    def __init__(self, file: IO[bytes], profile: str) -> None:
        self._writer = TraceWriter(file)
        self._profile = profile
        self._mirrors: dict[int, Allocation] = {}
        self._changed = -1
        self._compared: set[tuple[int, ...]] = set()
        """Pages compared since memory last changed: block, address of the memory, the first, and the end."""
        self.counters = Counters()
        """What machines have done that executed the trace."""

    def begin(self, kernel: str, shared_bytes: int) -> None:
        """Write what the trace is of."""
        self._changed = -1
        self._writer.begin(Head(kernel, self._profile, shared_bytes))

    def reporting(self, on_block: Progress | None, blocks: int) -> Progress | None:
        """What a launch of so many blocks calls after each, given what is to be called."""
        return on_block

    @staticmethod
    def missing(instruction: Instruction) -> str | None:
        """Why an instruction cannot be recorded; None if it can."""
        is_unknown = isinstance(instruction, MmaInstruction) and instruction.mnemonic == "wgmma.sp"
        return f"a trace has no {instruction}" if is_unknown else None

    def matrix(
        self,
        block: MemoryAccess,
        index: int,
        instruction: Instruction | MoveInstruction,
        threads: Threads,
        fragments: Sequence[Words | None],
        addresses: Addresses | None = None,
        strides: NDArray[np.uint32] | None = None,
    ) -> None:
        """Record an instruction of whole warps, by its number in the kernel.

        `fragments` are a, b, c and d; the rest is as in `golden.simt.trace_file.RECORD`.
        """
        texts = block.kernel.traced.get(index)
        if texts is None:
            texts = block.kernel.traced[index] = str(instruction), str(block.kernel.source_line(index))
        arrays = threads[::LANES], *fragments, addresses, strides
        self._writer.record(Kind.MATRIX, block.number, texts, arrays)

    def reads(self, block: MemoryAccess, places: Addresses, size: int) -> None:
        """Bring the mirror up to date before a load; `places` has shape (warps, ...)."""
        for memory, mirror, some, first, last in self._mirrored(block, places, size):
            if memory is block.shared or last - first <= _NEAR_BYTES:
                pages = first >> _PAGE_BITS, (last - 1 >> _PAGE_BITS) + 1
                if self._changed != block.launch.changed:
                    self._changed = block.launch.changed
                    self._compared.clear()
                if (key := (block.number, memory.address, *pages)) not in self._compared:
                    self._compared.add(key)
                    self._update(memory, mirror, *pages)
                continue
            elements = _elements(memory, some, size)
            if not np.array_equal(memory.views[size][elements], mirror.views[size][elements]):
                numbers = np.unique(elements * size >> _PAGE_BITS)
                for run in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1):
                    self._update(memory, mirror, int(run[0]), int(run[-1]) + 1)

    def writes(self, block: MemoryAccess, places: Addresses, size: int) -> None:
        """Have the mirror change as the memory has by a store."""
        for memory, mirror, some, *_ in self._mirrored(block, places, size):
            elements = _elements(memory, some, size)
            mirror.views[size][elements] = memory.views[size][elements]

    def end_block(self, number: int) -> None:
        """Record the end of a block."""
        self._writer.record(Kind.END, number)

    def end(self) -> None:
        """Write the rest of the file."""
        self._writer.end([(mirror.address, mirror.nbytes) for key, mirror in self._mirrors.items() if key])

    def _mirrored(
        self, block: MemoryAccess, places: Addresses, size: int
    ) -> Iterator[tuple[Allocation, Allocation, Addresses, int, int]]:
        """The memories in which places lie, each with its mirror and these places.

        Where their bytes begin and end in the memory follows.
        The places of a warp all lie in one memory, or have no mirror.
        """
        first, last = int(np.minimum.reduce(places, None)), int(np.maximum.reduce(places, None)) + size
        memory = block.shared if first < GLOBAL else block.device.find(first)
        base = memory.address or SHARED if memory is not None else 0
        if memory is not None and base <= first < last <= base + memory.nbytes:
            mirror = self._mirrors.get(memory.address)
            if mirror is None:
                mirror = self._mirrors[memory.address] = Allocation(
                    memory.address, memory.nbytes, memory.name
                )
            yield memory, mirror, places, first - base, last - base
        elif places.ndim > 1:
            for warp in places:
                yield from self._mirrored(block, warp.reshape(-1), size)

    def _update(self, memory: Allocation, mirror: Allocation, first: int, last: int) -> None:
        """Record what differs from the mirror in a range of pages."""
        page = (1 << _PAGE_BITS) // 8
        now, before = (item.views[8][first * page : last * page] for item in (memory, mirror))
        places = (now != before).nonzero()[0]
        if not places.size:
            return
        breaks = (places[1:] - places[:-1] > _GAP).nonzero()[0]
        starts = [int(places[0]), *places[breaks + 1].tolist()]
        ends = [*places[breaks].tolist(), int(places[-1])]
        base = (memory.address or SHARED) + 8 * first * page
        for start, end in zip(starts, ends, strict=True):
            part = slice(start, end + 1)
            before[part] = now[part]
            arrays = None, now[part].copy(), None, None, None, np.array(base + 8 * start, "<u8"), None
            self._writer.record(Kind.WRITE, arrays=arrays)


def _elements(memory: Allocation, places: Addresses, size: int) -> NDArray[np.int64]:
    """The numbers of the elements of `size` bytes at some places."""
    return (places - np.uint64(memory.address or SHARED)).view(np.int64) >> size.bit_length() - 1
