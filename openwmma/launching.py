"""What executes the matrix instructions of a launch, and what a launch reports."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Final

from boards.host.link.errors import LinkError
from golden.machine import Counters, Machine
from golden.simt.compiled import CompiledKernel
from golden.simt.errors import LaunchError
from golden.simt.grid import GoldenEngine, LaunchResult
from golden.simt.trace_recorder import TraceRecorder
from golden.tables.matrix_instructions import Instruction
from golden.tables.profiles import HOPPER, PROFILES
from hdl.config import CoreConfig
from openwmma.core_settings import presets_with_shared
from openwmma.target import DEFAULT_PRESET, MachineKind, Target
from sim.files import written_whole
from sim.replay.replay import Follower, Player, missing_on_core
from sim.replay.replayer import ReplayCounters

if TYPE_CHECKING:
    from openwmma.gpu.driver import Gpu

_SPOOLED_BYTES: Final = 1 << 26
"""Of a trace in memory; a longer one goes to a temporary file."""


@dataclass(frozen=True, kw_only=True)
class KernelRun(LaunchResult):
    """What a launch did: `golden.simt.grid.LaunchResult`, and what the machine did."""

    counters: Counters
    """Of the core, which executes matrix instructions alone; zeros on golden. With several jobs, the sum over
    their cores: cycles depend on which fragments a core still holds, and so on the number of jobs."""
    config: CoreConfig | None
    """Of the core; None for the golden model without limits of a core, and for a GPU."""

    @property
    def utilisation(self) -> float | None:
        """The share of cycles in which the dot-product units took operands; None without cycles."""
        return self.counters.utilisation(self.config.dot_product_units if self.config else 1)

    @property
    def cycles(self) -> int:
        """Clock cycles of the core; 0 on golden."""
        return self.counters.cycles


@dataclass(frozen=True, kw_only=True)
class Executor:
    """An engine with the configuration it stands for."""

    engine: GoldenEngine
    config: CoreConfig | None
    """None for the golden model without limits of a core."""
    name: str
    """For messages."""
    trace: TraceRecorder | None = None
    """Records the matrix instructions, and may have a core execute them."""
    gpu: "Gpu | None" = None
    """The GPU that runs whole launches."""

    def report(self, result: LaunchResult) -> KernelRun:
        """What a launch did."""
        counters = ReplayCounters() if self.trace is None else self.trace.counters
        return KernelRun(**vars(result), counters=counters, config=self.config)


class GoldenCore(GoldenEngine):
    """The golden model with the profile and the formats of a core."""

    def __init__(self, config: CoreConfig, name: str) -> None:
        super().__init__(config.dot_product.profile)
        self._config = config
        self._name = name

    def missing(self, instruction: Instruction) -> str | None:
        """As `sim.replay.replay.missing_on_core`."""
        return missing_on_core(self._config, self._name, instruction)


@contextmanager
def open_executor(
    target: Target, kernel: CompiledKernel, trace_file: Path | None = None
) -> Iterator[Executor]:
    """Make what executes matrix instructions, and give it back in the end.

    On golden without preset and settings, that is the golden model with every instruction of the profile
    and no limits of a core. With them, it has the profile, the formats and the shared memory of that
    core. On a core golden computes the launch, and the core executes its trace. A simulated core that
    cannot execute the matrix instructions of the kernel is not built: LaunchError.
    """
    if target.gpu is not None:
        from openwmma.gpu.driver import open_gpu  # noqa: PLC0415  an optional package

        if trace_file is not None:
            raise LaunchError("a trace of matrix instructions needs golden or a core, not a GPU")
        with open_gpu(target.gpu) as gpu:
            numerics = PROFILES[target.profile] if target.profile is not None else HOPPER
            yield Executor(engine=GoldenEngine(numerics), config=None, name=gpu.name, gpu=gpu)
        return
    if target.on is MachineKind.GOLDEN:
        config, name, numerics = None, "golden", PROFILES[target.profile] if target.profile else HOPPER
        if target.preset is not None or target.settings:
            config, name = target.config, core_name(target)
            numerics = config.dot_product.profile
        engine = GoldenEngine(numerics) if config is None else GoldenCore(config, name)
        with _opened_file(trace_file) as file:
            trace = None if trace_file is None else TraceRecorder(file, numerics.name)
            yield Executor(engine=engine, config=config, name=name, trace=trace)
        return
    with open_player(target, kernel) as player, _opened_file(trace_file) as file:
        numerics = player.config.dot_product.profile
        follower = Follower(player, numerics.name, file)
        yield Executor(engine=GoldenEngine(numerics), config=player.config, name=player.name, trace=follower)


def core_name(target: Target) -> str:
    """What messages call a core that is no board's."""
    name = f"preset {target.preset or DEFAULT_PRESET}"
    if target.profile is not None:
        name += f", profile {target.profile}"
    if target.settings:
        name += f" with {', '.join(f'{key}={value}' for key, value in target.settings.items())}"
    return name


@contextmanager
def open_player(target: Target, kernel: CompiledKernel | None = None) -> Iterator[Player]:
    """What executes traces on a core; LaunchError as of `open_executor`.

    LinkError for a board that does not answer, with the block that it was to execute.
    """
    with target.prepared(in_step=False) as source:

        def opened(size: int) -> AbstractContextManager[Machine]:
            machine = source.open(size)
            return closing(machine) if target.port is None else nullcontext(machine)

        player = Player(
            source.config,
            opened,
            name=core_name(target) if target.port is None else "the board's core",
            compares_each=target.on is MachineKind.LOCKSTEP,
            on_command=None if source.trace is None else source.trace.log.place,
        )
        if kernel is not None:
            kernel.require(player.missing)
        try:
            yield player
        except LinkError as error:
            if player.block < 0:
                raise
            where = f"block {player.block} was being executed; the launch can be repeated"
            raise LinkError(f"{error}; {where}") from error


@contextmanager
def _opened_file(path: Path | None) -> Iterator[IO[bytes]]:
    """A file for a trace: in memory while it is small, or one that takes its place when it is whole."""
    if path is None:
        with SpooledTemporaryFile(_SPOOLED_BYTES) as spooled:
            yield spooled
        return
    with written_whole(path) as file:
        yield file


def require_shared(kernel: CompiledKernel, dynamic: int, executor: Executor) -> None:
    """Refuse a kernel whose block needs more shared memory than the core has.

    The LaunchError says what is needed, what there is, and which presets have it.
    """
    base = kernel.shared_base
    needed = base + max(0, dynamic)
    if executor.config is None or needed <= executor.config.shared_bytes:
        return
    enough = presets_with_shared(needed)
    remedy = f"presets with enough: {', '.join(enough)}" if enough else "no preset has as much"
    raise LaunchError(
        f"{kernel.readable} needs {needed} bytes of shared memory ({base} static, {dynamic} dynamic), "
        f"but {executor.name} has {executor.config.shared_bytes}; {remedy}"
    )
