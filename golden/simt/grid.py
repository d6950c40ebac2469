"""Runs the blocks of a grid, one after the other; those that wait for others give way."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, Final

import numpy as np

from golden.integers import checked_integer, checked_object, integer_of, listed, shortened
from golden.invalid_argument import InvalidArgument
from golden.limits import STEPS, WAITING_BYTES, WARP_INSTRUCTIONS
from golden.ptx.special_registers import coordinates
from golden.resolve import resolve_profile
from golden.simt.block import BlockRun
from golden.simt.buffers import DeviceBuffer, device
from golden.simt.check_records import Report
from golden.simt.checker import CheckedBlock
from golden.simt.cluster import join
from golden.simt.compiled import CompiledKernel
from golden.simt.device_memory import DeviceMemory
from golden.simt.errors import Deadlock, LaunchError
from golden.simt.trace_recorder import TraceRecorder
from golden.tables.matrix_instructions import Instruction, MmaInstruction
from golden.tables.profiles import HOPPER, ExactProfile, Profile


class GoldenEngine:
    """The numerics of a launch, and what it may execute."""

    def __init__(self, profile: Profile | ExactProfile = HOPPER) -> None:
        self.profile = profile

    def missing(self, instruction: Instruction) -> str | None:
        """Why an instruction cannot be executed; None if it can. Asked before a kernel starts.

        The golden model does not execute what the generation of its profile does not have.
        """
        if isinstance(instruction, MmaInstruction):
            try:
                resolve_profile(self.profile, instruction)
            except InvalidArgument as error:
                return str(error)
        return None


_TOLD: Final = 4
"""Blocks whose lines a message about a deadlock gives."""

_LONGEST_LOOK: Final = 4096
"""Most ticks that pass at a look at a clock: about a look at memory on a chip, in nanoseconds."""

_FIRST_SKIP: Final = 1 << 10
_LAST_SKIP: Final = 1 << 62
"""Ticks that are skipped where nobody can go on before."""

Dim3 = int | Sequence[int]
"""Of a grid or a block, along x, y and z."""

_Waiting = tuple[BlockRun, int]
"""A block that gave way, and the changes of memory until then if it waits for others."""


@dataclass(frozen=True, kw_only=True)
class LaunchResult:
    """What a launch did."""

    blocks: int
    warp_instructions: int
    """Instructions, each counted once for each warp with lanes that execute it."""
    thread_instructions: int
    matrix_instructions: int
    """Matrix multiplies of a warp."""
    seconds: float
    """Wall time."""
    notes: tuple[str, ...] = ()
    """What does not change results, but is worth knowing: loads that were removed."""
    reports: tuple[Report, ...] = ()
    """What the memory checker found."""


@dataclass(kw_only=True)
class LaunchOptions:
    """How a launch runs, and what it looks for; LaunchError for a value that does not fit."""

    engine: GoldenEngine = field(default_factory=GoldenEngine)
    """What executes matrix instructions."""
    check: bool = False
    """Whether to look for reads of bytes that were never written, or are still being copied."""
    races: bool = False
    """Whether to look for data races on shared memory too."""
    limit: int = WARP_INSTRUCTIONS
    """Most warp instructions, and in proportion most steps (`golden.limits.STEPS`); more is an error."""
    jobs: int = 1
    """Most processes that run blocks; memory is the same for any number. See `golden.simt.parallel`."""
    on_block: Callable[[int, int], None] | None = None
    """Called after each block with the number of those that have ended, and of all."""
    trace: TraceRecorder | None = None
    """Where matrix instructions are recorded."""
    on_step: Callable[..., None] | None = None
    """Called after each instruction with the `BlockRun`, the statement, the threads that execute it, the
    numbers of the registers that it writes, and their values in these threads; with one job."""

    def __post_init__(self) -> None:
        refuse = LaunchError.refused
        for name in ("check", "races"):
            checked_object(name, getattr(self, name), (bool, np.bool_), "True or False", refuse=refuse)
        for name in ("on_block", "on_step"):
            if not callable(hook := getattr(self, name)):
                checked_object(name, hook, type(None), "a function or None", refuse=refuse)
        self.jobs = checked_integer("the number of jobs", self.jobs, 1, unit="job", refuse=refuse)
        self.limit = checked_integer("the limit", self.limit, 1, unit="instruction", refuse=refuse)


@dataclass(kw_only=True)
class LaunchState(LaunchOptions):
    """What the blocks of a launch share."""

    device: DeviceMemory
    parameters: bytes
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int
    """Bytes of dynamic shared memory."""
    cluster: tuple[int, int, int] | None = None
    """Blocks of a cluster; None where there are none."""
    output: IO[str] | None = None
    """Where the kernel prints; None for standard output."""
    changed: int = 0
    warp_instructions: int = 0
    thread_instructions: int = 0
    matrix_instructions: int = 0
    steps: int = 0
    reports: dict[tuple[str, int], Report] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)
    _last_change: int = 0
    _looks: int = 0
    _waited: int = 0
    _skip: int = 0
    _last_skip: int = -1

    @cached_property
    def workspace(self) -> DeviceBuffer:
        """What ``grid.sync`` of a cooperative launch counts arrivals in."""
        return device(np.zeros(4, np.uint32), name="the workspace of the grid", memory=self.device)

    def print(self, text: str) -> None:
        """Print as it is."""
        print(text, end="", file=self.output)

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return math.prod(self.grid)

    def cluster_blocks(self, number: int) -> list[int]:
        """The numbers of the blocks of a cluster, by its number, in the order of their ranks."""
        cluster = self.cluster or (1, 1, 1)
        (wide, high, deep), (columns, rows, _) = cluster, self.grid
        x, y, z = coordinates(number, (columns // wide, rows // high, 1))
        first = (x * wide, y * high, z * deep)
        found = []
        for rank in range(math.prod(cluster)):
            i, j, k = (at + own for at, own in zip(first, coordinates(rank, cluster), strict=True))
            found.append(i + columns * (j + rows * k))
        return found

    @property
    def most_steps(self) -> int:
        """Most basic blocks that are executed."""
        return max(STEPS, STEPS * self.limit // WARP_INSTRUCTIONS)

    def look_at_clock(self) -> int:
        """The time in ticks: warp instructions, and more for each look since memory last changed.

        So a loop that waits for a time ends soon, even where its registers change in every round.
        """
        if self.changed != self._last_change:
            self._last_change, self._looks = self.changed, 0
        self._looks += 1
        self._waited += min(self._looks, _LONGEST_LOOK)
        return self.warp_instructions + self._waited

    def skip_time(self) -> bool:
        """Let time pass and wake all threads that wait; twice as much as before if that had no effect.

        False after so long that no thread waits for a time.
        """
        self._skip = 2 * self._skip if self.changed == self._last_skip else _FIRST_SKIP
        self._waited += self._skip
        self.changed += 1
        self._last_skip = self.changed
        return self._skip < _LAST_SKIP

    def result(self, kernel: CompiledKernel) -> LaunchResult:
        """What the launch did, after its end."""
        return LaunchResult(
            blocks=self.blocks,
            warp_instructions=self.warp_instructions,
            thread_instructions=self.thread_instructions,
            matrix_instructions=self.matrix_instructions,
            seconds=time.perf_counter() - self.started,
            notes=tuple(f"removed, as nobody uses what it loads: {line}" for line in kernel.unused_loads),
            reports=tuple(self.reports.values()),
        )


def run_grid(kernel: CompiledKernel, launch: LaunchState) -> LaunchResult:
    """Run all blocks of a grid; KernelFault for what a kernel does wrong."""
    total, done = launch.blocks, 0
    kind = CheckedBlock if launch.check or launch.races else BlockRun

    def proceed(run: BlockRun, unfinished: list[_Waiting]) -> None:
        nonlocal done
        outcome = run.run()
        if outcome != "done":
            unfinished.append((run, launch.changed if outcome == "waiting" else -1))
            return
        done += 1
        if launch.on_block is not None:
            launch.on_block(done, total)

    one = kernel.block_bytes(math.prod(launch.block), kernel.shared_base + launch.dynamic_shared)
    size = math.prod(launch.cluster or ())
    most = max(size, WAITING_BYTES // one)
    started = 0
    waiting: list[_Waiting] = []
    while started < total or waiting:
        while started < total and len(waiting) + size <= most:
            runs = [kind(kernel, launch, number) for number in launch.cluster_blocks(started // size)]
            join(runs)
            started += size
            for run in runs:
                proceed(run, waiting)
        progress = not waiting
        left: list[_Waiting] = []
        for run, changed in reversed(waiting):
            if changed == launch.changed:
                left.append((run, changed))
                continue
            progress = True
            proceed(run, left)
        waiting = left  # in the other direction next time: chains of blocks may run either way
        if not progress and not (any(run.spins.timed for run, _ in waiting) and launch.skip_time()):
            raise _deadlock(kernel, [run for run, _ in waiting], total - started)
    return launch.result(kernel)


def extent(what: str, given: Dim3, most: tuple[int, int, int]) -> tuple[int, int, int]:
    """A grid or a block with its three extents; LaunchError for what is none."""
    values = listed(given)
    if values is None or not 1 <= len(values) <= 3 or None in map(integer_of, values):
        raise LaunchError(f"{what} takes one to three integers, not {shortened(given)}")
    x, y, z = (
        checked_integer(f"{what}.{axis}", value, 1, bound, refuse=LaunchError.refused)
        for axis, value, bound in zip("xyz", [*values, 1, 1], most, strict=False)
    )
    return x, y, z


def _deadlock(kernel: CompiledKernel, waiting: list[BlockRun], behind: int) -> Deadlock:
    waiting = sorted(waiting, key=lambda run: run.geometry.index[::-1])
    told = [f"block {run.geometry.index} at {run.whereabouts()}" for run in waiting[:_TOLD]]
    more = f", and {len(waiting) - _TOLD} more" if len(waiting) > _TOLD else ""
    verb = "wait" if any(run.cluster_waits for run in waiting) else "loop"
    who = f"a block {verb}s" if len(waiting) == 1 else f"{len(waiting)} blocks {verb}"
    why = "nothing is left to make one"
    if behind:
        why = f"the {behind} blocks behind them cannot start, as no more fit in {WAITING_BYTES} bytes"
    return Deadlock(f"{who} without a change, and {why}: {'; '.join(told)}{more}", kernel=kernel.readable)
