"""One block of a grid while it runs: which of its threads go on, and where.

Threads at the same basic block form a group, whatever their warps; the group with the lowest block number
runs next. So threads that branch apart come together again where the code does, and the lanes of a warp
stay in step. A group leaves this order in four cases:

- It has reached a matrix instruction, which a whole warp executes, and lanes are missing: it waits.
- It has reached a barrier, or a collective of the lanes of a mask.
- It spins: it has gone round a loop without a change of its registers or of memory. It waits for others; if
  it looks at a clock, time is skipped when nobody else can go on.
- It has run for long while others could: they take turns.

"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from golden.ptx.blocks import EXIT, Terminator
from golden.ptx.special_registers import SPECIAL
from golden.simt.arrays import Threads
from golden.simt.cluster import ClusterOperations
from golden.simt.code import DTYPES
from golden.simt.collectives import Collectives
from golden.simt.errors import Deadlock, StepLimit
from golden.simt.waiting import Arrival, Barriers, SpinDetector
from golden.simt.warp_operations import Masks, lane_masks
from golden.simt.warpgroups import WarpgroupOperations

_SLICE: Final = 1024
"""Steps after which another warp gets a turn; after 64 times as many, another group of the same warp."""

_TURN: Final = 1 << 18
"""Steps after which another block of the grid gets a turn."""

_TOGETHER: Final = {32: "warp whose lanes", 128: "warpgroup whose threads"}


class BlockRun(ClusterOperations, WarpgroupOperations):
    """A block of a grid; parameters as for `golden.simt.memory_access.MemoryAccess`."""

    def __init__(self, kernel: Any, launch: Any, number: int) -> None:
        super().__init__(kernel, launch, number)
        self.warps = -(-self.total // 32)
        self.everyone = np.arange(self.total, dtype=np.int64)
        zeros = {bits: np.zeros(self.total, dtype=dtype) for bits, dtype in DTYPES.items()}
        self.registers: list[NDArray[Any]] = [zeros[bits] for bits in kernel.widths]
        self.live = lane_masks(self.everyone, self.warps)
        self.alive = self.total
        self.barriers = Barriers(self)
        self.collectives = Collectives(self)
        self._specials: dict[str, NDArray[Any]] = {}
        self._groups: dict[int, Threads] = {kernel.start: self.everyone} if self.total else {}
        self._incomplete: dict[int, Threads] = {}
        self.spins = SpinDetector(self)
        self.steps = 0
        self.looks_at_clock = 0

    # What runs next

    def run(self) -> Literal["done", "waiting", "paused"]:
        """Run until all threads have ended, wait for another block, or have had their turn; KernelFault."""
        groups, codes, blocks = self._groups, self.kernel.codes, self.kernel.blocks
        pause = self.steps + _TURN
        with np.errstate(all="ignore"):
            while True:
                self.spins.wake()
                if self.cluster_waits and (places := self.leave_cluster()):
                    self.let_go(places)
                if not groups and not self._release():
                    if self.spins.parked or self.cluster_waits:
                        return "waiting"
                    if self.launch.trace is not None:
                        self.launch.trace.end_block(self.number)
                    return "done"
                number = min(groups) if len(groups) == 1 or self.steps % _SLICE else self._fair()
                if self.steps >= pause:
                    return "paused"
                threads = groups.pop(number)
                block = blocks[number]
                if block.whole:
                    complete = self._converged(number, threads, block.whole)
                    if complete is None:
                        continue
                    threads = complete
                everyone = threads.size == self.total
                code = codes[everyone][number] or self.kernel.code(number, everyone)
                if code.meets:
                    self.spins.meet((number, threads))
                outcome = code.run(self, threads)
                self.steps += 1
                terminator = blocks[code.last].terminator
                if terminator is None:
                    self.resume(code.last + 1, threads)
                elif terminator.kind == "branch":
                    self._branch(code.last, threads, terminator, outcome)
                else:
                    self._end_block(code.last, threads, terminator, outcome)
                self._count(threads, code.size, block.first)

    def _fair(self) -> int:
        """The block of code to run once in a while: not the lowest, so that nobody waits for ever."""
        lowest, *others = sorted(self._groups)
        if self.steps % (64 * _SLICE):
            warps = np.unique(self._groups[lowest] >> 5)
            others = [number for number in others if not np.isin(self._groups[number] >> 5, warps).any()]
        return others[self.steps // _SLICE % len(others)] if others else lowest

    def _count(self, threads: Threads, size: int, first: int) -> None:
        warps = self.warps if threads.size == self.total else int(np.count_nonzero(np.diff(threads >> 5))) + 1
        launch = self.launch
        launch.warp_instructions += warps * size
        launch.thread_instructions += threads.size * size
        launch.steps += 1
        if launch.warp_instructions > launch.limit or launch.steps > launch.most_steps:
            over = f"{launch.limit} warp instructions"
            if launch.warp_instructions <= launch.limit:
                over = f"{launch.most_steps} basic blocks, which go with {launch.limit} warp instructions"
            raise StepLimit(
                f"more than {over}, the limit of this launch; limit= in Python and --limit on the command "
                f"line raise it; the warps are at {self.whereabouts()}",
                kernel=self.kernel.readable,
                place=str(self.kernel.source_line(first)),
                block=self.geometry.index,
            )

    def resume(self, number: int, threads: Threads) -> None:
        """Let threads go on at a block."""
        if not threads.size:
            return
        if number == EXIT:
            self._exit(threads)
            return
        waiting = self._incomplete.pop(number, None)
        for others in (self._groups.get(number), waiting):
            if others is not None:
                threads = np.sort(np.concatenate((threads, others)))
        self._groups[number] = threads

    def let_go(self, places: list[tuple[int, Threads]]) -> None:
        """Let threads that have met go on, each group at a block."""
        self.spins.meet(*places)
        for number, threads in places:
            self.resume(number, threads)

    def put(self, slot: int, threads: Threads, values: Any) -> None:
        """Give a register values in some threads."""
        self.registers[slot] = self.registers[slot].copy()
        self.registers[slot][threads] = values

    def _branch(self, number: int, threads: Threads, terminator: Terminator, outcome: Any) -> None:
        (target,) = terminator.targets
        taken = threads.size if terminator.guard is None else np.count_nonzero(outcome)
        if taken == threads.size:
            self._jump(number, target, threads)
        elif not taken:
            self.resume(number + 1, threads)
        else:
            self.resume(number + 1, threads[~outcome])
            self._jump(number, target, threads[outcome])

    def _jump(self, number: int, target: int, threads: Threads) -> None:
        if not EXIT < target <= number or not self.spins.is_spinning(target, threads):
            self.resume(target, threads)

    def _end_block(self, number: int, threads: Threads, terminator: Terminator, outcome: Any) -> None:
        if terminator.kind == "barrier" and terminator.details["mode"] == "cluster":
            self.let_go(self.wait_cluster(threads, number + 1, terminator))
        elif terminator.kind == "barrier":
            self.barriers.arrive(threads, number + 1, terminator, outcome)
        elif terminator.kind == "collective":
            self.collectives.arrive(threads, number + 1, terminator, outcome)
        elif terminator.kind == "indexed":
            choices = np.minimum(outcome[0], len(terminator.targets) - 1)
            for choice in np.unique(choices).tolist():
                self._jump(number, terminator.targets[choice], threads[choices == choice])
        elif terminator.kind == "call":
            self.stack.call(threads, number + 1, terminator, outcome[0])
        elif terminator.kind == "return":
            self.stack.leave(threads)
        else:
            self.fault(terminator.index, threads, "the kernel stopped itself with a trap")

    def _exit(self, threads: Threads) -> None:
        self.live &= ~lane_masks(threads, self.warps)
        self.alive -= threads.size
        self.spins.note_end()
        self.end_cluster(threads)
        self.barriers.check()
        self.collectives.check()

    # Instructions that whole warps or warpgroups execute

    def _converged(self, number: int, threads: Threads, together: int) -> Threads | None:
        """The threads of which all others are here that must be `together`; the others wait."""
        if threads.size == self.total and self.total % together == 0:
            return threads
        here = np.bincount(threads // together)
        waits = (here != together)[threads // together]
        if not waits.any():
            return threads
        self._incomplete[number] = threads[waits]
        complete = threads[~waits]
        return complete if complete.size else None

    def _release(self) -> bool:
        """Find someone who can go on although nobody is ready; False if there is nobody."""
        stuck = bool(self._incomplete or self._waits())
        if not stuck or self.spins.parked or self.cluster_waits:
            return False
        if self.barriers.open_partial():
            return True
        for number, threads in self._incomplete.items():
            step = self.kernel.blocks[number].steps[0]
            what = f"{step.instruction.name} in a {_TOGETHER[step.whole]}"
            self.fault(
                step.index, threads, f"{what} have diverged: all {step.whole} must execute it together"
            )
        raise Deadlock(
            f"the threads that are left wait for others that never come: {self.whereabouts()}",
            kernel=self.kernel.readable,
            block=self.geometry.index,
        )

    def _waits(self) -> list[tuple[int, Threads]]:
        """The barriers and collectives at which threads wait, by their instructions."""
        ledgers: tuple[Mapping[Any, Sequence[Arrival]], ...] = self.barriers.open, self.collectives.open
        lists = (arrivals for ledger in ledgers for arrivals in ledger.values())
        found = (arrival for arrivals in (*lists, self.cluster_waits) for arrival in arrivals)
        return [(item.terminator.index, item.threads) for item in found if item.resume is not None]

    def note_early_exit(self, index: int) -> None:
        """Note that a barrier opened although threads have ended that never reached it."""

    def note_masks(self, threads: Threads, masks: Masks, index: int) -> None:
        """Note the masks of lanes that have come to a collective together."""

    def note_barrier(self, threads: Threads) -> None:
        """Note that threads have passed a barrier together."""

    def whereabouts(self) -> str:
        """Where the threads are that have not ended, warp by warp."""
        places: dict[int, list[int]] = {}
        groups = [*self._groups.items(), *self._incomplete.items()]
        groups += ((target, threads) for (target, _), (threads, _) in self.spins.parked.items())
        at = [(self.kernel.blocks[number].first, threads) for number, threads in groups]
        for index, threads in at + self._waits():
            line = self.kernel.source_line(index).line
            places.setdefault(line, []).extend(np.unique(threads >> 5).tolist())
        written = [f"line {line} (warps {_ranges(sorted(set(places[line])))})" for line in sorted(places)]
        return ", ".join(written) + self.describe_awaited() + self.describe_cluster() or "their end"

    # What the code of blocks calls

    def special(self, name: str, threads: Threads) -> NDArray[Any]:
        """The values of a predefined register."""
        spec = SPECIAL[name]
        dtype = DTYPES[spec.bits]
        if spec.varies:
            value = spec.value(self.geometry, threads, self) & ((1 << spec.bits) - 1)
            return np.full(threads.size, value, dtype)
        if name not in self._specials:
            values = np.asarray(spec.value(self.geometry, self.everyone, self))
            self._specials[name] = np.broadcast_to(values, (self.total,)).astype(dtype)
        found = self._specials[name]
        return found if threads.size == self.total else found[threads]

    def ticks(self) -> int:
        """The clock of the launch."""
        self.looks_at_clock += 1
        return int(self.launch.look_at_clock())


def _ranges(numbers: list[int]) -> str:
    """``0-3, 7``, of ascending numbers."""
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
