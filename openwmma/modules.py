"""Modules and kernels as a user launches them: on golden, on the core, or on both in lockstep."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import golden.simt.module as simt
from golden.integers import (
    checked_integer,
    checked_object,
    checked_objects,
    checked_text,
    integer_of,
    shortened,
)
from golden.limits import WARP_INSTRUCTIONS
from golden.ptx.contraction.passes import Contraction
from golden.ptx.source import source_text
from golden.simt.buffers import DeviceBuffer
from golden.simt.errors import LaunchError
from golden.simt.module import Runner
from golden.simt.parallel import run_parallel
from openwmma.cuda_source import compile_file, is_cuda
from openwmma.launch_arrays import ModuleVariables
from openwmma.launch_files import SavedLaunch
from openwmma.launching import Executor, KernelRun, open_executor, require_shared
from openwmma.output_files import checked_path, require_outputs
from openwmma.target import DEFAULT_BAUD, MachineKind, Target
from openwmma.usage_error import UsageError

Dim3 = int | Sequence[int]


class Module:
    """A PTX module, or CUDA C++ that is compiled to one.

    Its variables live in device memory from launch to launch, until the module is collected.

    Parameters
    ----------
    source : str or Path
        A path, or PTX as text: what contains a line break. A file that ends in ``.cu`` is compiled first;
        see `openwmma.cuda_source`.
    name : str or None
        File name for messages; the path's unless given.
    compile_options : sequence of str
        For the compiler of CUDA C++, such as ``("-I", "include")``.

    Raises
    ------
    OSError
        For a file that cannot be read.
    golden.ptx.source.PtxError
        For text that is not PTX. What is not supported in an entry is reported when that entry is selected.
    openwmma.cuda_source.CompilerError
        For CUDA C++ that does not compile, or without a compiler.
    """

    def __init__(
        self, source: str | Path, *, name: str | None = None, compile_options: Sequence[str] = ()
    ) -> None:
        checked_objects("compile_options", compile_options, str, "a text")
        if name is not None:
            checked_text("name", name)
        self.files: tuple[Path, ...] = ()
        """The files that were read."""
        if not isinstance(source, str | Path):
            raise UsageError(f"a module is a path, or PTX as text, not {shortened(source)}")
        if isinstance(source, Path) or "\n" not in source:
            path = checked_path("module", source) or Path()
            if is_cuda(path):
                text = compile_file(path, compile_options)
            else:
                text = source_text(path.read_bytes(), str(path))
            label = f"{path}.ptx" if is_cuda(path) else str(path)
            self.files = (path,)
        else:
            text, label = source, "<ptx>"
        self.ptx = text
        """The PTX that runs."""
        self._module = simt.Module(text, name or label)
        self._kernels: dict[str, Kernel] = {}
        self._fresh = {key: self._module[key].numpy() for key in self._module.variables}

    @property
    def loaded(self) -> simt.Module:
        """The module of the golden model, whose variables are these."""
        return self._module

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the kernels, as mangled."""
        return self._module.entries

    @property
    def variables(self) -> ModuleVariables:
        """The variables by name, each with the contents that it had when the module was loaded."""
        return {key: (self._module[key], fresh) for key, fresh in self._fresh.items()}

    def kernel(self, entry: str | None = None) -> "Kernel":
        """A kernel by name.

        Parameters
        ----------
        entry : str or None
            Mangled, as C++ writes it, or without its parameters; None where the module has one kernel.

        Raises
        ------
        LaunchError
            For a name that no kernel has, or several.
        golden.ptx.source.PtxError
            For a kernel that is malformed or not supported.
        """
        found = self._module.kernel(entry)
        return self._kernels.setdefault(found.name, Kernel(self, found))

    def __getitem__(self, name: str) -> DeviceBuffer:
        """The buffer over a ``.global`` or ``.const`` variable; KeyError for another name."""
        return self._module[name]


class Kernel:
    """An entry of a module.

    Parameters
    ----------
    module : Module
    kernel : golden.simt.Kernel
    """

    def __init__(self, module: Module, kernel: simt.Kernel) -> None:
        self._module = module
        self._kernel = kernel

    @property
    def name(self) -> str:
        """The name as mangled."""
        return self._kernel.name

    @property
    def signature(self) -> str:
        """Readable name and parameters."""
        return self._kernel.signature

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(parameter.name for parameter, _ in self._kernel.compiled.parameters)

    @property
    def contractions(self) -> tuple[Contraction, ...]:
        """The additions that are joined with multiplications: docs/explanation/contraction.md."""
        return self._kernel.contractions

    def launch(
        self,
        grid: Dim3 = 1,
        block: Dim3 = 32,
        arguments: Sequence[Any] | Mapping[str, Any] = (),
        shared: int = 0,
        *,
        on: str | MachineKind = MachineKind.GOLDEN,
        preset: str | None = None,
        profile: str | None = None,
        config: Mapping[str, object] = MappingProxyType({}),
        port: str | None = None,
        baud: int = DEFAULT_BAUD,
        gpu: int | None = None,
        waves: str | Path | None = None,
        trace: str | Path | None = None,
        trace_file: str | Path | None = None,
        jobs: int = 1,
        check: bool = False,
        races: bool = False,
        limit: int = WARP_INSTRUCTIONS,
        contract: bool = True,
        cluster: Dim3 | None = None,
        save: str | Path | None = None,
        on_block: Callable[[int, int], None] | None = None,
        on_step: Callable[..., None] | None = None,
    ) -> KernelRun:
        """Run the kernel on a grid.

        Parameters
        ----------
        grid, block, cluster : int or sequence of up to three int
            Blocks of the grid, threads of a block, and blocks of a cluster, along x, y and z; the cluster is
            None for those that the kernel is compiled for.
        arguments : sequence, or mapping of str to value
            By position or by name. A pointer takes an array, which is updated in place, a buffer of
            `openwmma.device` or `openwmma.empty`, or an address. A scalar takes a number, which becomes one
            of the parameter's type. A structure takes `bytes`, a numpy structured scalar or a
            `ctypes.Structure` of its size.
        shared : int
            Bytes of dynamic shared memory.
        on : str
            ``golden``, ``rtl``, ``lockstep`` or ``board``: what executes the matrix instructions. With
            ``cuda`` an NVIDIA GPU runs the whole launch.
        preset : str or None
            Configuration of the core, of `openwmma.PRESETS`; ``small`` by default. On golden without
            `preset` and `config`, there are no limits of a core.
        profile : str or None
            Numerics of a generation, of `golden.tables.profiles.PROFILES`; ``hopper`` by default.
        config : mapping of str to value
            Fields of the preset to replace, as in ``{"shared_bytes": 98304}``.
        port, baud
            Of a board; in lockstep the board takes the place of the simulated core.
        gpu : int or None
            Number of a GPU; in lockstep the GPU takes the place of the simulated core. Memory is compared
            after the launch.
        waves : path or None
            Where a simulated core writes its waveform.
        trace : path or None
            Where a simulated core writes what its units did, for Perfetto; see docs/how-to/traces.md.
        trace_file : path or None
            Where the matrix instructions are written with their data; see docs/how-to/replay.md.
        jobs : int
            Most processes that run blocks; 0 for all cores. See docs/how-to/running-kernels.md.
        check, races : bool
            Whether to look for reads of bytes never written or still being copied, and for data races on
            shared memory too.
        limit : int
            Most warp instructions; more is an error.
        contract : bool
            Whether multiplications and additions are joined as the assembler does; see
            docs/explanation/contraction.md.
        save : path or None
            Write the launch to ``save.json``, ``save.npz`` and ``save.ptx``; see
            docs/reference/launch-files.md.
        on_block : callable or None
            Called after each block with the number of those that have ended, and of all.
        on_step : callable or None
            Called after each instruction, as `openwmma.stepping.Stepper`; with one job.

        Returns
        -------
        KernelRun

        Raises
        ------
        LaunchError
            For a grid, a block, shared memory or arguments that do not fit.
        openwmma.usage_error.UsageError
            For a machine that does not exist. Both are `ValueError`.
        golden.simt.KernelFault
            For what the kernel does wrong.
        golden.machine.Difference
            In lockstep, when core and golden model differ.
        boards.host.errors.LinkError
            For a port that cannot be opened, and a board that does not answer.
        """
        try:
            target = Target(
                on=_kind(on),
                preset=preset,
                profile=profile,
                waves=checked_path("waves", waves),
                trace=checked_path("trace", trace),
                port=port,
                baud=baud,
                gpu=gpu,
                settings=config,
            )
        except UsageError as error:  # which has the spelling of the command line
            raise UsageError(str(error).removeprefix("--")) from None
        shared = checked_integer("shared memory", shared, 0, unit="bytes", refuse=LaunchError.refused)
        if integer_of(jobs) == 0:
            jobs = cores()
        jobs = checked_integer("the number of jobs", jobs, 1, unit="job", refuse=LaunchError.refused)
        for name, flag in (("check", check), ("races", races), ("contract", contract)):
            checked_object(name, flag, (bool, np.bool_), "True or False", refuse=LaunchError.refused)
        recorded = checked_path("trace_file", trace_file)
        if jobs > 1 and any(given is not None for given in (port, waves, trace, recorded)):
            raise LaunchError(f"{jobs} jobs need a machine each: there is one board, one waveform, one trace")
        if recorded is not None:
            require_outputs([*target.outputs, (f"trace_file {recorded}", recorded)])
        if cluster is not None and target.on is MachineKind.CUDA:
            raise LaunchError("on cuda a cluster must be the kernel's own, by .reqnctapercluster")
        recorder = None
        folder = checked_path("save", save)
        if folder is not None:
            recorder = SavedLaunch(
                folder, self._module.ptx, self._kernel, (grid, block), arguments, shared,
                self._module.variables, self._module.files, contract=contract, cluster=cluster,
            ).record  # fmt: skip
        compiled = self._kernel.compiled if contract else self._kernel.uncontracted
        with open_executor(target, compiled, recorded) as executor:
            require_shared(compiled, shared, executor)
            result = self._kernel.launch(
                grid,
                block,
                arguments,
                shared,
                engine=executor.engine,
                check=check,
                races=races,
                limit=limit,
                contract=contract,
                cluster=cluster,
                jobs=jobs,
                on_block=on_block,
                trace=executor.trace,
                on_step=on_step,
                recorder=recorder,
                runner=self._runner(executor, target, contract=bool(contract)),
            )
            return executor.report(result)

    def _runner(self, executor: Executor, target: Target, *, contract: bool) -> Runner:
        """What runs the blocks of a launch: this computer, or a GPU."""
        if executor.gpu is None:
            return run_parallel
        from openwmma.gpu.launches import GpuGrid  # noqa: PLC0415  an optional package

        lockstep = target.on is MachineKind.LOCKSTEP
        return GpuGrid(
            executor.gpu, self._module.loaded, self._module.ptx, lockstep=lockstep, contract=contract
        )

    def __getitem__(self, extents: tuple[Any, ...]) -> Callable[..., KernelRun]:
        """``kernel[grid, block](...)`` or ``kernel[grid, block, shared](...)``: a launch on golden."""
        if not isinstance(extents, tuple) or not 2 <= len(extents) <= 3:
            raise LaunchError(f"write kernel[grid, block] or kernel[grid, block, shared], not {extents!r}")
        grid, block, shared = (*extents, 0)[:3]

        def launch(*arguments: Any, **options: Any) -> KernelRun:
            return self.launch(grid, block, arguments, shared, **options)

        return launch

    def __repr__(self) -> str:
        return f"<kernel {self.signature}>"


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _kind(name: str | MachineKind) -> MachineKind:
    try:
        return MachineKind(checked_text("on", name, refuse=LaunchError.refused))
    except ValueError as error:
        if isinstance(error, LaunchError):
            raise
        raise LaunchError(f"on {shortened(repr(name))}: expected one of {', '.join(MachineKind)}") from None
