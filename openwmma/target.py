"""What the options of the command line say about the machine, and the machine that they mean."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypedDict

from boards.host.board_machine import BoardMachine, open_board
from golden.integers import checked_integer, checked_text, shortened
from golden.machine import Machine
from golden.memory import Memory
from golden.programs.buffers import BASE
from hdl.config import PAGE_BYTES, PRESETS, CoreConfig
from openwmma.core_settings import adjusted_config, require_profile, with_profile
from openwmma.output_files import checked_path, require_outputs, require_suffix
from openwmma.usage_error import UsageError
from sim.capabilities import CapabilityError
from sim.lockstep import LockstepMachine
from sim.machines import Backend, open_machine
from sim.testbench.reference import golden_machine
from sim.trace.trace_file import TraceFile
from sim.waves.layout_files import layout_paths

DEFAULT_PRESET: Final = "small"

DEFAULT_BAUD: Final = 1_000_000
"""That of every board in `boards.boards`."""


_LINKED_BYTES: Final = 256 * 1024
"""Memory of a program that does not say how much it needs, on a board: it is cleared over the link."""


class MachineKind(StrEnum):
    """What executes the commands."""

    GOLDEN = "golden"
    RTL = "rtl"
    BOARD = "board"
    LOCKSTEP = "lockstep"
    CUDA = "cuda"


@dataclass(frozen=True, kw_only=True)
class MachineSource:
    """A machine that can be made."""

    config: CoreConfig
    """Of its core."""
    memory_bytes: int | None
    """The most memory that it can have; None where there is no end."""
    open: Callable[[int], Machine]
    """Makes it, given the bytes of memory that are needed."""
    trace: TraceFile | None = None
    """The trace that it writes when it is closed."""


class MachineOptions(TypedDict, total=False):
    """The options of a machine as functions take them: what `Target` has, but for three."""

    preset: str | None
    profile: str | None
    config: Mapping[str, object]
    """`Target.settings`, as in ``{"shared_bytes": 98304}``."""
    port: str | None
    baud: int
    gpu: int | None
    waves: str | Path | None
    trace: str | Path | None


@dataclass(frozen=True, kw_only=True)
class Target:
    """The options that name a machine; UsageError for options that do not go together."""

    on: MachineKind
    preset: str | None = None
    """Of `PRESETS`; None for ``small``, and on a board for whatever it carries."""
    profile: str | None = None
    """Of `golden.tables.profiles.PROFILES`; None for ``hopper``, and on a board for whatever it carries."""
    waves: Path | None = None
    """Where a simulated core writes its waveform."""
    trace: Path | None = None
    """Where a simulated core writes what its units did, for Perfetto; see docs/how-to/traces.md."""
    port: str | None = None
    """Serial port of a board. In lockstep the board takes the place of the simulated core."""
    baud: int = DEFAULT_BAUD
    """Bits per second of that port."""
    gpu: int | None = None
    """Number of a GPU, 0 by default where `on` is cuda. In lockstep the GPU takes the place of the simulated
    core."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Fields of the preset that are replaced, as `openwmma.core_settings.adjusted_config` takes them; of
    simulated machines only."""

    def __post_init__(self) -> None:
        for name in ("preset", "profile", "port"):
            if getattr(self, name) is not None:
                checked_text(name, getattr(self, name), refuse=_refused)
        if not isinstance(self.settings, Mapping):
            raise UsageError(f"--config {shortened(self.settings)}: expected a mapping of names to values")
        checked_integer("baud", self.baud, 1, (1 << 31) - 1, refuse=_refused)
        if self.preset is not None and self.preset not in PRESETS:
            raise UsageError(f"--preset {self.preset}: expected one of {', '.join(PRESETS)}")
        if self.profile is not None:
            require_profile(self.profile)
        if self.port is None or self.preset is not None:
            self.config  # noqa: B018  raises for a profile that does not go with the preset
        if self.on is MachineKind.BOARD and self.port is None:
            raise UsageError("--on board: expected --port with the board's serial port, as in /dev/ttyUSB0")
        if self.port is not None and self.on not in (MachineKind.BOARD, MachineKind.LOCKSTEP):
            raise UsageError(f"--port: expected --on board or --on lockstep, not --on {self.on.value}")
        if self.on is MachineKind.CUDA and self.gpu is None:
            object.__setattr__(self, "gpu", 0)
        if self.gpu is not None:
            self._require_gpu(self.gpu)
        if self.settings and self.port is not None:
            raise UsageError("--set: expected a simulated core, not one on a board")
        if self.settings:
            self.config  # noqa: B018  raises for settings that do not fit
        for option, path in (("--waves", self.waves), ("--trace", self.trace)):
            if path is not None:
                self._require_simulation(option)
        require_outputs(self.outputs)
        require_suffix("--waves", self.waves, ".fst")
        require_suffix("--trace", self.trace, ".json")

    @classmethod
    def of(cls, on: MachineKind, options: MachineOptions) -> "Target":
        """The target of a function's options; UsageError as of the class."""
        given: dict[str, Any] = {"config": {}, **options}
        given |= {name: checked_path(name, given.get(name)) for name in ("waves", "trace")}
        return cls(on=on, settings=given.pop("config"), **given)

    @property
    def outputs(self) -> list[tuple[str, Path]]:
        """The files that the machine writes, each after what a message about it begins with."""
        files = [(f"--trace {self.trace}", self.trace)] if self.trace is not None else []
        if self.waves is not None:
            paths = (self.waves, *layout_paths(self.waves).values())
            files += [(f"--waves {self.waves}", path) for path in paths]
        return files

    def _require_gpu(self, gpu: int) -> None:
        """UsageError for what does not go with a GPU."""
        checked_integer("gpu", gpu, 0, 255, refuse=_refused)
        if self.on not in (MachineKind.CUDA, MachineKind.LOCKSTEP):
            raise UsageError(f"--gpu: expected --on cuda or --on lockstep, not --on {self.on.value}")
        for option, given in (("--port", self.port), ("--preset", self.preset), ("--set", self.settings)):
            if given:
                raise UsageError(f"{option}: expected a core of this project, not a GPU")

    def _require_simulation(self, option: str) -> None:
        """UsageError for a machine that simulates no core."""
        if self.on in (MachineKind.GOLDEN, MachineKind.CUDA) or self.gpu is not None:
            where = f"--on {self.on.value}" if self.gpu is None else "a GPU"
            raise UsageError(
                f"{option}: expected --on rtl or --on lockstep, which simulate the core, not {where}"
            )
        if self.port is not None:
            raise UsageError(f"{option}: expected a simulated core, not one on a board")

    @property
    def config(self) -> CoreConfig:
        """Of a golden or simulated core, and of a board's where the preset is named."""
        preset = self.preset or DEFAULT_PRESET
        config = adjusted_config(preset, self.settings)
        return config if self.profile is None else with_profile(config, preset, self.profile)

    @contextmanager
    def prepared(self, *, in_step: bool = True) -> Iterator[MachineSource]:
        """Find the board, where it is one, and give its port back in the end.

        A golden machine goes along with lockstep where `in_step`; otherwise it is the core alone, and
        a board has as much memory as it can of what is asked for.

        LinkError when the port cannot be opened or nothing answers, CapabilityError when the board's
        core does not have the preset or the profile that was named, UsageError for a GPU, which takes
        whole kernels.
        """
        if self.gpu is not None:
            raise UsageError("--on cuda: expected a kernel or a multiply, not single commands of a warp")
        if self.port is None:
            config = self.config
            trace = None if self.trace is None else TraceFile(self.trace)
            yield MachineSource(
                config=config,
                memory_bytes=None,
                open=lambda size: open_machine(
                    Backend(self.on.value) if in_step else Backend.RTL,
                    config,
                    size,
                    waves=self.waves,
                    trace=trace,
                ),
                trace=trace,
            )
            return
        board = open_board(self.port, self.config if self.preset else None, self.baud)
        try:
            found = board.profile.name
            if self.profile not in (None, found):
                raise CapabilityError(f"the core has profile {found}, but --profile says {self.profile}")
            yield MachineSource(
                config=board.config,
                memory_bytes=min(board.memory.size, _LINKED_BYTES),
                open=lambda size: open_on_board(
                    board,
                    size if in_step else min(size, board.memory.base + board.memory.size - BASE),
                    lockstep=in_step and self.on is MachineKind.LOCKSTEP,
                ),
            )
        finally:
            board.close()


def _refused(name: str, given: str, allowed: str) -> UsageError:
    return UsageError(f"--{name} {given}: expected {allowed}")


def open_on_board(board: BoardMachine, memory_size: int, *, lockstep: bool = False) -> Machine:
    """Make a core on a board as good as new.

    Parameters
    ----------
    board : BoardMachine
    memory_size : int
        Bytes of global memory that are needed, from `golden.programs.buffers.BASE` on.
    lockstep : bool
        Whether a golden machine goes along with it; it compares the memory that is needed.

    Raises
    ------
    UsageError
        For more memory than the board has.
    """
    memory = board.memory
    if not memory.contains(BASE, memory_size):
        raise UsageError(
            f"expected arrays of at most {max(0, memory.base + memory.size - BASE)} bytes in all, for which "
            f"the board has memory, not {memory_size}"
        )
    used = BASE + memory_size - memory.base
    used += -used % PAGE_BYTES
    board.clear(used)
    board.restrict(used)
    if not lockstep:
        return board
    return LockstepMachine(golden_machine(board.config, Memory(used, memory.base)), board)
