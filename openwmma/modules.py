"""Modules and kernels as a user launches them: on golden, on the core, or on both in lockstep."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
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
from golden.ptx.source import source_text
from golden.simt.errors import LaunchError
from golden.simt.parallel import run_parallel
from openwmma.cuda_source import compile_file, is_cuda
from openwmma.launch_arrays import ModuleVariables
from openwmma.launch_files import SavedLaunch
from openwmma.launching import Executor, KernelRun, open_executor, require_shared
from openwmma.output_files import checked_path, require_outputs, require_suffix
from openwmma.target import MachineKind, MachineOptions, Target
from openwmma.usage_error import UsageError

Dim3 = int | Sequence[int]


class Module(simt.Module):
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

    Attributes
    ----------
    ptx : str
        The PTX that runs.
    files : tuple of Path
        The files that were read.
    entries : tuple of str
        The names of the kernels, as mangled.

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
        if not isinstance(source, str | Path):
            raise UsageError(f"a module is a path, or PTX as text, not {shortened(source)}")
        label = "<ptx>"
        if isinstance(source, Path) or "\n" not in source:
            path = checked_path("module", source) or Path()
            self.files, label = (path,), str(path)
        if self.files and is_cuda(path):
            text, label = compile_file(path, compile_options), f"{path}.ptx"
        elif compile_options:
            raise UsageError(f"options of the compiler: expected a file that ends in .cu, not {label}")
        else:
            text = source_text(path.read_bytes(), label) if self.files else str(source)
        self.ptx = text
        super().__init__(text, name or label, kernel_type=Kernel)
        self._fresh = {key: self[key].numpy() for key in self.variables}

    @property
    def loaded_variables(self) -> ModuleVariables:
        """The variables by name, each with the contents that it had when the module was loaded."""
        return {key: (self[key], fresh) for key, fresh in self._fresh.items()}

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
        found = super().kernel(entry)
        assert isinstance(found, Kernel)
        return found


class Kernel(simt.Kernel):
    """An entry of a module, as `Module.kernel` returns it.

    Attributes
    ----------
    name, signature : str
        As mangled; readable name and parameters.
    parameters : tuple of str
        The names of the parameters.
    contractions : tuple of Contraction
        The additions that are joined with multiplications: docs/explanation/contraction.md.
    """

    module: Module

    def launch(
        self,
        grid: Dim3 = 1,
        block: Dim3 = 32,
        arguments: Sequence[Any] | Mapping[str, Any] = (),
        shared: int = 0,
        *,
        on: str | MachineKind | Target = MachineKind.GOLDEN,
        trace_file: str | Path | None = None,
        save: str | Path | None = None,
        jobs: int = 1,
        contract: bool = True,
        cluster: Dim3 | None = None,
        **options: Any,
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
        on : str or openwmma.target.Target
            ``golden``, ``rtl``, ``lockstep`` or ``board``: what executes the matrix instructions. With
            ``cuda`` an NVIDIA GPU runs the whole launch. A target stands for all options of the machine.
        trace_file : path or None
            Where the matrix instructions are written with their data, ``*.trace``; see docs/how-to/replay.md.
        save : path or None
            Write the launch to ``save.json``, ``save.npz`` and ``save.ptx``; see
            docs/reference/launch-files.md.
        jobs : int
            Most processes that run blocks; 0 for all cores. See docs/how-to/running-kernels.md.
        contract : bool
            Whether multiplications and additions are joined as the assembler does; see
            docs/explanation/contraction.md.
        **options
            Of the machine: `openwmma.target.MachineOptions`. On golden without ``preset`` and ``config``,
            there are no limits of a core. With a GPU, memory is compared after the launch. And ``check``,
            ``races``, ``limit``, ``on_block`` and ``on_step`` of `golden.simt.grid.LaunchOptions`.

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
        boards.host.link.errors.LinkError
            For a port that cannot be opened, and a board that does not answer.
        """
        machine: Any = {name: options.pop(name) for name in MachineOptions.__annotations__ if name in options}
        try:
            target = on if isinstance(on, Target) else Target.of(_kind(on), machine)
        except UsageError as error:  # which has the spelling of the command line
            raise UsageError(str(error).removeprefix("--")) from None
        shared = checked_integer("shared memory", shared, 0, unit="bytes", refuse=LaunchError.refused)
        if integer_of(jobs) == 0:
            jobs = cores()
        jobs = checked_integer("the number of jobs", jobs, 1, unit="job", refuse=LaunchError.refused)
        contract = checked_object(
            "contract", contract, (bool, np.bool_), "True or False", refuse=LaunchError.refused
        )
        recorded = checked_path("trace_file", trace_file)
        if jobs > 1 and any(
            given is not None for given in (target.port, target.waves, target.trace, recorded)
        ):
            raise LaunchError(f"{jobs} jobs need a machine each: there is one board, one waveform, one trace")
        if recorded is not None:
            require_outputs([*target.outputs, (f"trace_file {recorded}", recorded)])
            require_suffix("trace_file", recorded, ".trace")
        recorder = None
        folder = checked_path("save", save)
        if folder is not None:
            saved = SavedLaunch(
                folder, self, (grid, block), arguments, shared, contract=contract, cluster=cluster
            )
            recorder = saved.record
        compiled = self.compiled if contract else self.uncontracted
        with open_executor(target, compiled, recorded) as executor:
            require_shared(compiled, shared, executor)
            result = super().launch(
                grid,
                block,
                arguments,
                shared,
                engine=executor.engine,
                trace=executor.trace,
                recorder=recorder,
                runner=self._runner(executor, target, contract=bool(contract)),
                jobs=jobs,
                contract=contract,
                cluster=cluster,
                **options,
            )
            return executor.report(result)

    def _runner(self, executor: Executor, target: Target, *, contract: bool) -> simt.Runner:
        """What runs the blocks of a launch: this computer, or a GPU."""
        if executor.gpu is None:
            return run_parallel
        from openwmma.gpu.launches import run_on_gpu  # noqa: PLC0415  an optional package

        compares, ptx = target.on is MachineKind.LOCKSTEP, self.module.ptx
        given: Any = {"gpu": executor.gpu, "module": self.module, "ptx": ptx}
        return partial(run_on_gpu, **given, contract=contract, compares=compares)


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
