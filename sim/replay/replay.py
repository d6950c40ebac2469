"""A trace on a machine, and once more entry by entry where they differ."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO, Final

from golden.machine import Difference, Machine
from golden.memory import Memory
from golden.simt.errors import LaunchError
from golden.simt.grid import GoldenEngine
from golden.simt.trace_file import TraceReader
from golden.simt.trace_recorder import Progress, TraceRecorder
from golden.tables.instruction_set import CORE_FAMILIES, CORE_NARROW_FAMILIES, multiplicand_formats
from golden.tables.matrix_instructions import Instruction, MmaInstruction, MoveInstruction, warp_tile
from hdl.config import CoreConfig
from sim.replay.addresses import memory_bytes
from sim.replay.entries import parsed
from sim.replay.replayer import ReplayCounters, Replayer, ReplayOptions
from sim.testbench.reference import golden_machine

_BASE: Final = 0x1000
"""Where the global memory of every machine begins."""


def missing_on_core(config: CoreConfig, name: str, instruction: Instruction) -> str | None:
    """Why a core of this name cannot execute an instruction; None if it can."""
    if isinstance(instruction, MmaInstruction):
        instruction = warp_tile(instruction)
        if instruction.family not in (*CORE_FAMILIES, *CORE_NARROW_FAMILIES):
            return f"{name} does not execute {instruction}, which runs on golden alone"
        problem = GoldenEngine(config.dot_product.profile).missing(instruction)
        if problem is not None:
            return problem
        what, needed = instruction.summary, instruction.family.formats
    else:
        what = f".{instruction.type} multiply"
        needed = multiplicand_formats((instruction.type,) if instruction.use in "ab" else ())
    return None if needed <= config.formats else f"{name} has no {what}"


@dataclass
class Player(ReplayOptions):
    """Executes traces on machines of one configuration."""

    config: CoreConfig
    opened: Callable[[int], AbstractContextManager[Machine]]
    """From bytes of global memory to a context with a fresh machine, which has as many if it can."""
    name: str = field(default="this core", kw_only=True)
    """For messages."""
    block: int = field(default=-1, init=False)
    """The block that is executed."""

    def missing(self, instruction: Instruction) -> str | None:
        """As `missing_on_core`."""
        return missing_on_core(self.config, self.name, instruction)

    def play(self, trace: TraceReader, on_block: Callable[[int], None] | None = None) -> ReplayCounters:
        """Execute a trace; `on_block` is called after each block with the number of those that have ended.

        LaunchError for a trace that the core cannot execute. Difference where core and trace differ: the
        first entry at fault where the entries, one by one, differ as well.
        """
        self._require(trace)
        try:
            return self._run(trace, False, on_block)
        except Difference as overlapping:
            try:
                self._run(trace, True, None)
            except Difference as mismatch:
                raise mismatch from None
            overlapping.difference += "; where each command ends before the next begins, nothing differs"
            raise

    def _run(
        self, trace: TraceReader, serial: bool, on_block: Callable[[int], None] | None
    ) -> ReplayCounters:
        able = golden_machine(self.config, Memory(64))
        with self.opened(memory_bytes(trace.segments, _BASE)) as machine:
            replayer = Replayer(machine, able, trace, self, serial=serial, on_block=on_block)
            try:
                return replayer.run()
            finally:
                self.block = replayer.block

    def _require(self, trace: TraceReader) -> None:
        head, config = trace.head, self.config
        profile = config.dot_product.profile.name
        if head.profile != profile:
            raise LaunchError(f"the trace of {head.kernel} has profile {head.profile}, {self.name} {profile}")
        if head.shared_bytes > config.shared_bytes:
            raise LaunchError(
                f"the trace of {head.kernel} needs {head.shared_bytes} bytes of shared memory, but "
                f"{self.name} has {config.shared_bytes}"
            )
        for part in trace.parts():
            for number in set(part.records["instruction"].tolist()) - {-1}:
                instruction = parsed(part.texts[number])
                problem = None if isinstance(instruction, MoveInstruction) else self.missing(instruction)
                if problem is not None:
                    raise LaunchError(f"{problem}, needed by the trace of {head.kernel}")


class Follower(TraceRecorder):
    """Records a launch, and has its trace executed in the end.

    `profile` has the numerics of the launch. The file of the trace is empty, to be written and read.
    """

    def __init__(self, player: Player, profile: str, file: IO[bytes]) -> None:
        super().__init__(file, profile)
        self._player = player
        self._file = file
        self.counters = ReplayCounters()
        self._on_block: Callable[[int], None] | None = None

    def reporting(self, on_block: Progress | None, blocks: int) -> Progress | None:
        """Report blocks when the core has executed them."""
        if on_block is not None:
            self._on_block = lambda done: on_block(done, blocks)
        return None

    def end(self) -> None:
        """Write the rest of the trace and execute it, unless other processes have executed its blocks."""
        super().end()
        if self.counters == ReplayCounters():
            self._file.seek(0)
            self.counters = self._player.play(TraceReader(self._file), self._on_block)
