"""What executes the matrix instructions of a launch, and what a launch reports."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from golden.machine import Counters
from golden.ptx.source import SourceLine
from golden.simt.compiled import CompiledKernel
from golden.simt.errors import LaunchError
from golden.simt.golden_engine import GoldenEngine
from golden.simt.grid import LaunchResult
from golden.simt.machine_engine import MachineEngine, missing_on_core
from golden.tables.matrix_instructions import Instruction, MmaInstruction
from golden.tables.profiles import HOPPER, PROFILES
from hdl.config import CoreConfig
from openwmma.core_settings import presets_with_shared
from openwmma.target import DEFAULT_PRESET, MachineKind, Target

if TYPE_CHECKING:
    from openwmma.gpu.driver import Gpu

__all__ = ["KernelRun", "Stage", "open_stage", "require_shared"]

_SCRATCH_BYTES: Final = 1 << 16
"""Global memory of a machine through which fragments go that are not in shared memory."""


@dataclass(frozen=True, kw_only=True)
class KernelRun(LaunchResult):
    """What a launch did: `golden.simt.grid.LaunchResult`, and what the machine did.

    Parameters
    ----------
    counters : Counters
        Of the machine; zeros on golden. With several jobs, the sum over their machines: cycles depend on
        which fragments a machine still holds, and so on the number of jobs.
    utilisation : float or None
        The share of cycles in which the dot-product units took operands; None without cycles.
    """

    counters: Counters
    utilisation: float | None

    @property
    def cycles(self) -> int:
        """Clock cycles of the core; 0 on golden."""
        return self.counters.cycles


@dataclass(frozen=True, kw_only=True)
class Stage:
    """An engine with the configuration it stands for.

    Parameters
    ----------
    engine : GoldenEngine
    config : CoreConfig or None
        None for the golden model without limits of a core.
    name : str
        For messages.
    on_matrix : callable or None
        To be called before each matrix instruction, with its line.
    gpu : Gpu or None
        The GPU that runs whole launches.
    """

    engine: GoldenEngine
    config: CoreConfig | None
    name: str
    on_matrix: Callable[[SourceLine], None] | None = None
    gpu: "Gpu | None" = None

    def report(self, result: LaunchResult, before: Counters) -> KernelRun:
        """What a launch did, given what the machine had done before it."""
        counters = self.engine.counters - before
        units = self.config.dot_product_units if self.config else 1
        return KernelRun(**vars(result), counters=counters, utilisation=counters.utilisation(units))


class _GoldenCore(GoldenEngine):
    """The golden model with the profile and the formats of a core."""

    def __init__(self, config: CoreConfig, name: str) -> None:
        super().__init__(config.dot_product.profile)
        self._formats = config.formats
        self._name = name

    def missing(self, instruction: Instruction) -> str | None:
        """Why an instruction cannot be executed: what the profile or the core does not have."""
        unknown = super().missing(instruction)
        if unknown is not None or not isinstance(instruction, MmaInstruction):
            return unknown
        has_formats = instruction.family.formats <= self._formats
        return None if has_formats else f"{self._name} has no .{instruction.a_type} multiply"


@contextmanager
def open_stage(target: Target, kernel: CompiledKernel) -> Iterator[Stage]:
    """Make what executes matrix instructions, and give it back in the end.

    On golden without preset and settings, that is the golden model with every instruction of the profile and
    no limits of a core. With them, it has the profile, the formats and the shared memory of that core.

    Parameters
    ----------
    target : Target
    kernel : CompiledKernel
        What will run. A simulated core that cannot execute its matrix instructions is not built.

    Raises
    ------
    LaunchError
        For those instructions.
    """
    if target.gpu is not None:
        from openwmma.gpu.driver import open_gpu  # noqa: PLC0415  an optional package

        with open_gpu(target.gpu) as gpu:
            numerics = PROFILES[target.profile] if target.profile is not None else HOPPER
            yield Stage(engine=GoldenEngine(numerics), config=None, name=gpu.name, gpu=gpu)
        return
    name = f"preset {target.preset or DEFAULT_PRESET}"
    if target.profile is not None:
        name += f", profile {target.profile}"
    if target.settings:
        name += f" with {', '.join(f'{key}={value}' for key, value in target.settings.items())}"
    if target.on is MachineKind.GOLDEN:
        if target.preset is None and not target.settings:
            numerics = PROFILES[target.profile] if target.profile is not None else HOPPER
            yield Stage(engine=GoldenEngine(numerics), config=None, name="golden")
        else:
            config = target.config
            yield Stage(engine=_GoldenCore(config, name), config=config, name=name)
        return
    if target.port is None:
        config = target.config
        kernel.require(lambda item: missing_on_core(item, config.dot_product.profile, config.formats, name))
    # The host reads what each instruction writes, and in lockstep what it reads is compared.
    with target.prepared(registers_each=False) as source:
        if target.port is not None:
            name = "the board's core"
        machine = source.open(_SCRATCH_BYTES)
        try:
            engine = MachineEngine(machine, name=name, formats=source.config.formats)
            on_matrix = None if source.trace is None else source.trace.log.stay
            yield Stage(engine=engine, config=source.config, name=name, on_matrix=on_matrix)
        finally:
            machine.close()


def require_shared(kernel: CompiledKernel, dynamic: int, stage: Stage) -> None:
    """Refuse a kernel whose block needs more shared memory than the core has.

    Raises
    ------
    LaunchError
        With what is needed, what there is, and which presets have it.
    """
    base = kernel.shared_base
    needed = base + max(0, dynamic)
    if stage.config is None or needed <= stage.config.shared_bytes:
        return
    enough = presets_with_shared(needed)
    remedy = f"presets with enough: {', '.join(enough)}" if enough else "no preset has as much"
    raise LaunchError(
        f"{kernel.readable} needs {needed} bytes of shared memory ({base} static, {dynamic} dynamic), "
        f"but {stage.name} has {stage.config.shared_bytes}; {remedy}"
    )
