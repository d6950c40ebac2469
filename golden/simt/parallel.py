"""Runs the blocks of a grid in several processes, with the memory that one process would leave.

Each process takes a range of the blocks, in their order, on its own copy of device memory, and notes
which bytes it reads that it has not written, and which it writes. If no range reads what an earlier one
writes, every block has read what it would have read in the sequence, and the bytes written, taken over in
the order of the ranges, are as in the sequence. Otherwise, and where a block waits for another,
faults, or looks at a clock, the grid runs again in one process: nothing of device memory has changed.
"""

import itertools
import multiprocessing
import signal
import warnings
from io import StringIO
from multiprocessing.connection import Connection, wait
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.machine import Counters
from golden.simt.block import BlockRun
from golden.simt.compiled import CompiledKernel
from golden.simt.device_memory import Allocation
from golden.simt.grid import LaunchResult, LaunchState, run_grid
from golden.simt.memory_access import Piece

Range = tuple[int, int]
"""The first block, by its place in the order of the grid, and the one after the last."""

_LEAST_BLOCKS: Final = 2
"""Blocks that a process is worth."""

_COUNTS: Final = ("warp_instructions", "thread_instructions", "matrix_instructions", "changed")
"""What a launch counts, by the names of its attributes."""


class _Trace(NamedTuple):
    """The bytes of one buffer that a range of blocks has read before it wrote them, and has written."""

    memory: Allocation
    read: NDArray[np.bool_]
    written: NDArray[np.bool_]


class _Touched(NamedTuple):
    """What a range of blocks has done to a buffer, which lies at an address."""

    address: int
    read: NDArray[np.int64]
    written: NDArray[np.int64]
    """Offsets of bytes."""
    values: NDArray[np.uint8]
    """Of the bytes that have been written."""


class _Outcome(NamedTuple):
    """What a process sends in the end."""

    buffers: list[_Touched]
    counts: dict[str, int]
    """By the names of `_COUNTS`."""
    counters: Counters
    """Of machines that executed the trace of the blocks."""
    printed: str


class _TracedBlock(BlockRun):
    """A block that notes its accesses to global memory in `traces`, by address of the buffer."""

    traces: dict[int, _Trace]

    def note_access(self, piece: Piece, width: int, *, reads: bool = False, writes: bool = False) -> None:
        """Note an access to global memory."""
        if piece.space != "global":
            return
        memory = piece.memory
        if memory.address not in self.traces:
            none = np.zeros(memory.nbytes, np.bool_)
            self.traces[memory.address] = _Trace(memory, none, none.copy())
        trace = self.traces[memory.address]
        places = piece.offsets[:, None] + np.arange(width)
        if reads:
            trace.read[places] |= ~trace.written[places]
        if writes:
            trace.written[places] = True


def run_parallel(kernel: CompiledKernel, launch: LaunchState) -> LaunchResult:
    """Run all blocks of a grid in several processes; KernelFault for what a kernel does wrong.

    One process does it where accesses are checked, and where the system cannot fork. `LaunchState.on_block`
    begins again if the grid has to run again.
    """
    total = launch.blocks
    count = min(launch.jobs, total // _LEAST_BLOCKS)
    can_fork = "fork" in multiprocessing.get_all_start_methods()
    if (
        count < 2
        or not can_fork
        or launch.check
        or launch.races
        or kernel.reads_clock
        or launch.cluster is not None
    ):
        return run_grid(kernel, launch)
    ranges = list(itertools.pairwise(total * place // count for place in range(count + 1)))
    outcomes = _run_processes(kernel, launch, ranges)
    if (
        outcomes is None
        or not _independent(outcomes)
        or sum(outcome.counts["warp_instructions"] for outcome in outcomes) > launch.limit
    ):
        return run_grid(kernel, launch)
    for outcome in outcomes:
        launch.print(outcome.printed)
        for buffer in outcome.buffers:
            allocation = launch.device.find(buffer.address)
            assert allocation is not None
            allocation.bytes[buffer.written] = buffer.values
            if allocation.written is not None:
                allocation.written[buffer.written] = True
        for name, amount in outcome.counts.items():
            setattr(launch, name, getattr(launch, name) + amount)
        if launch.trace is not None:
            launch.trace.counters = outcome.counters + launch.trace.counters
    return launch.result(kernel)


def _run_processes(kernel: CompiledKernel, launch: LaunchState, ranges: list[Range]) -> list[_Outcome] | None:
    """What each process has done; None if one could not do its blocks alone."""
    context = multiprocessing.get_context("fork")
    outcomes: dict[int, _Outcome] = {}
    pipes: dict[Connection, int] = {}
    processes = []
    try:
        for place, blocks in enumerate(ranges):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(kernel, launch, blocks, sender), daemon=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of fork where libraries have threads
                process.start()
            sender.close()
            processes.append(process)
            pipes[receiver] = place
        done = 0
        while pipes:
            for ready in wait(list(pipes)):
                assert isinstance(ready, Connection)
                try:
                    message = ready.recv()
                except EOFError:
                    return None
                if message == "block":
                    done += 1
                    if launch.on_block is not None:
                        launch.on_block(done, launch.blocks)
                elif message is None:
                    return None
                else:
                    outcomes[pipes.pop(ready)] = message
    finally:
        for process in processes:
            process.terminate()
            process.join()
        for pipe in pipes:
            pipe.close()
    return [outcomes[place] for place in range(len(ranges))]


def _work(kernel: CompiledKernel, launch: LaunchState, blocks: Range, sender: Connection) -> None:
    """Run a range of blocks in a process of its own and send what it did; None if that is not possible."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that waits for this one
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    traces: dict[int, _Trace] = {}
    launch.output = printed = StringIO()
    try:
        for number in range(*blocks):
            block = _TracedBlock(kernel, launch, number)
            block.traces = traces
            outcome = block.run()
            while outcome == "paused":
                outcome = block.run()
            if outcome != "done":
                sender.send(None)
                return
            sender.send("block")
        if launch.trace is not None:
            launch.trace.end()
    except Exception:  # noqa: BLE001  raised again by the one process that then runs the grid
        sender.send(None)
        return
    buffers = []
    for address, trace in traces.items():
        written = np.flatnonzero(trace.written)
        buffers.append(_Touched(address, np.flatnonzero(trace.read), written, trace.memory.bytes[written]))
    counts = {name: getattr(launch, name) for name in _COUNTS}
    counters = Counters() if launch.trace is None else launch.trace.counters
    sender.send(_Outcome(buffers, counts, counters, printed.getvalue()))


def _independent(outcomes: list[_Outcome]) -> bool:
    """Whether no range of blocks has read what an earlier one has written."""
    before: dict[int, list[NDArray[np.int64]]] = {}
    for outcome in outcomes:
        for address, read, written, _ in outcome.buffers:
            earlier = before.setdefault(address, [])
            if any(np.intersect1d(read, places, assume_unique=True).size for places in earlier):
                return False
            earlier.append(written)
    return True
