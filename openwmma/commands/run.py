"""`openwmma run`: a kernel on a grid of blocks, one warp by default."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from golden.limits import WARP_INSTRUCTIONS
from golden.simt.names import readable
from openwmma.arguments import input_files
from openwmma.input_files import require_input
from openwmma.launch_arguments import parse_extent, prepare_launch
from openwmma.launch_files import saved_files
from openwmma.launch_repeat import read_launches
from openwmma.launching import KernelRun
from openwmma.modules import Module, cores
from openwmma.options import Force, with_options
from openwmma.output_files import require_outputs, require_suffix
from openwmma.report import block_progress, print_contractions, print_launch
from openwmma.roofline import Point, roofline_svg
from openwmma.stepping import Stepper, Stopped
from openwmma.target import MachineKind, Target
from openwmma.terminal import tell
from openwmma.usage import FAILURE
from openwmma.usage_error import UsageError
from sim.files import write_files


class Check(StrEnum):
    """What the memory checker looks for, beyond what is always an error."""

    MEMORY = "memory"
    RACES = "races"


@dataclass(frozen=True, kw_only=True)
class LaunchOptions:
    """How a launch on the command line runs, whatever it launches."""

    jobs: Annotated[int, typer.Option(min=0, help="Processes that run blocks; 0 for all cores.")] = 1
    check: Annotated[
        list[Check] | None,
        typer.Option(
            help="Report reads of bytes never written, and fragments and arrays used as another type; with "
            "races, data races on shared memory."
        ),
    ] = None
    limit: Annotated[int, typer.Option(help="Most warp instructions of a launch.")] = WARP_INSTRUCTIONS
    contract: Annotated[
        bool | None,
        typer.Option(
            "--contract/--no-contract",
            help="Join multiplications and additions as NVIDIA's assembler does (default), or round each.",
        ),
    ] = None
    contractions: Annotated[
        bool, typer.Option("--contractions", help="List the joined ones with their lines; run nothing.")
    ] = False
    step: Annotated[
        bool,
        typer.Option("--step", help="Show registers and fragments after each instruction; h for help."),
    ] = False
    trace_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.trace",
            help="Write the matrix instructions of a launch with their data, for `openwmma replay`.",
        ),
    ] = None
    roofline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.svg", help="Draw the launch against the limits of the core's units and of its bus."
        ),
    ] = None
    target: Target
    force: Force = False

    @property
    def outputs(self) -> list[tuple[str, Path]]:
        """The files that the machine and the launch write."""
        files = ("--trace-file", self.trace_file), ("--roofline", self.roofline)
        own = [(f"{option} {path}", path) for option, path in files if path is not None]
        return [*self.target.outputs, *own]

    def keywords(self) -> dict[str, Any]:
        """Those of `openwmma.modules.Kernel.launch`."""
        target = self.target
        files = target.port, target.waves, target.trace, self.trace_file
        single = any(given is not None for given in files)
        if self.jobs not in (0, 1) and single:
            raise UsageError(f"--jobs {self.jobs}: expected 1 with one board, one waveform or one trace")
        if self.step and (self.jobs != 1 or target.gpu is not None):
            raise UsageError("--step: expected one job on this computer, without --jobs and --gpu")
        require_suffix("--trace-file", self.trace_file, ".trace")
        require_suffix("--roofline", self.roofline, ".svg")
        if self.roofline is not None and (target.on is MachineKind.GOLDEN or target.gpu is not None):
            raise UsageError(
                f"--roofline: expected rtl, lockstep or board, which have cycles, not {target.on.value}"
            )
        return {
            "on": target,
            "trace_file": self.trace_file,
            "jobs": 1 if single else self.jobs or cores(),
            "check": Check.MEMORY in (self.check or ()),
            "races": Check.RACES in (self.check or ()),
            "limit": self.limit,
            **({} if self.contract is None else {"contract": self.contract}),
        }

    def draw(self, runs: Mapping[str, KernelRun]) -> None:
        """Write the plot of launches, by their names."""
        points = [
            Point(name, run.counters, run.config) for name, run in runs.items() if run.config is not None
        ]
        if self.roofline is not None and points:
            write_files({self.roofline: roofline_svg(points)})

    @contextmanager
    def observed(self) -> Iterator[tuple[Callable[[int, int], None] | None, Stepper | None]]:
        """`on_block` and `on_step` of one launch: the bar of blocks that have ended, or a stepper."""
        if self.step:
            stepper = Stepper()
            yield None, stepper
            stepper.tell_missed()
        else:
            with block_progress() as on_block:
                yield on_block, None


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What is launched, as the command line names it."""

    arg: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]VALUE",
            help="A parameter, by name, by number or in order: an .npy file, which is placed in memory, "
            "a number, or a tensor map as in map:a.npy,box=64x64,swizzle=128B. A variable of the module by "
            "name: an .npy file.",
        ),
    ] = None
    out: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE.npy[:TYPE:SHAPE]",
            help="An array to write in the end: a parameter, by name or number, or a variable. It begins as "
            "zeros unless it has an --arg as well.",
        ),
    ] = None
    entry: Annotated[str | None, typer.Option(help="The kernel, where the module has several.")] = None
    grid: Annotated[str | None, typer.Option(metavar="X,Y,Z", help="Blocks of the grid; 1 by default.")] = (
        None
    )
    block: Annotated[str | None, typer.Option(metavar="X,Y,Z", help="Threads of a block; 32 by default.")] = (
        None
    )
    cluster: Annotated[
        str | None, typer.Option(metavar="X,Y,Z", help="Blocks of a cluster; the kernel's by default.")
    ] = None
    shared: Annotated[int, typer.Option(metavar="BYTES", help="Dynamic shared memory of a block.")] = 0
    save: Annotated[
        Path | None, typer.Option(metavar="CASE", help="Write the launch to CASE.json and CASE.npz.")
    ] = None
    compiler_option: Annotated[
        list[str] | None, typer.Option(metavar="OPTION", help="For the compiler of a .cu, as in -arch=sm_80.")
    ] = None

    @property
    def is_named(self) -> bool:
        """Whether any option names a launch; options of the compiler do not."""
        return any(getattr(self, item.name) for item in fields(self) if item.name != "compiler_option")


def launch_file(file: Path, launch: Launch, options: LaunchOptions) -> int:
    """Launch a kernel of a file; the exit code. UsageError for options that do not fit."""
    extents = parse_extent("--grid", launch.grid or "1"), parse_extent("--block", launch.block or "32")
    keywords = options.keywords()
    if launch.cluster is not None:
        keywords["cluster"] = parse_extent("--cluster", launch.cluster)
    module = Module(file, compile_options=launch.compiler_option or ())
    kernel = module.kernel(launch.entry)
    if options.contractions:
        print_contractions(readable(kernel.name), kernel.contractions)
        return 0
    given = launch.arg or ()
    inputs = [file, *input_files(given)]
    arguments, outputs = prepare_launch(module, kernel, given, launch.out or (), [file])
    save = launch.save
    others = [] if save is None else [(f"--save {path}", path) for path in saved_files(save)]
    named = [*((f"--out {output.path}", output.path) for output in outputs), *others]
    require_outputs([*named, *options.outputs], force=options.force, updated=inputs)
    require_outputs([*others, *options.outputs], inputs, force=options.force)
    try:
        with options.observed() as (on_block, on_step):
            run = kernel.launch(
                *extents, arguments, launch.shared, save=save, on_block=on_block, on_step=on_step, **keywords
            )
    except Stopped:
        tell("stopped; nothing is written")
        return 0
    write_files({output.path: output.contents() for output in outputs})
    print_launch(readable(kernel.name), options.target, run)
    options.draw({readable(kernel.name): run})
    return _tell_reports(run)


def repeat_file(path: Path, case: str | None, options: LaunchOptions, *, allow_outside: bool = False) -> int:
    """Repeat launches of a launch file and compare; the exit code. UsageError as of `launch_file`."""
    keywords = options.keywords()
    code, runs = 0, dict[str, KernelRun]()
    require_outputs(options.outputs, [path, path.with_suffix(".npz")], force=options.force)
    for launch in read_launches(path, case, allow_outside=allow_outside):
        if options.contractions:
            print_contractions(launch.name, launch.kernel.contractions)
            continue
        try:
            with options.observed() as (on_block, on_step):
                run = launch.launch(on_block=on_block, on_step=on_step, **keywords)
        except Stopped:
            tell("stopped; nothing is compared")
            return code
        print_launch(launch.name, options.target, run)
        runs[launch.name] = run
        code = max(code, _tell_reports(run))
        differences = launch.differences() if launch.is_compared else []
        for difference in differences:
            tell(f"openwmma: {launch.name}: {difference}", error=True)
        if differences:
            code = FAILURE
        elif launch.is_compared:
            tell(f"{launch.name}: memory is as recorded")
    options.draw(runs)
    return code


def _tell_reports(run: KernelRun) -> int:
    for report in run.reports:
        tell(f"openwmma: {report}", error=True)
    return FAILURE if run.reports else 0


@with_options()
def run(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A PTX module, or CUDA C++ that ends in .cu.")
    ] = None,
    launch: Annotated[
        Path | None, typer.Option(metavar="CASE.json", help="Repeat a launch file and compare, not FILE.")
    ] = None,
    case: Annotated[str | None, typer.Option(help="One launch of the launch file, not all.")] = None,
    allow_outside: Annotated[
        bool,
        typer.Option("--allow-outside", help="Let a launch file name PTX outside of its own folder."),
    ] = False,
    *,
    what: Launch,
    options: LaunchOptions,
) -> int:
    """Run a kernel.

    Without a grid and a block, on one warp; golden model and RTL in lockstep:

        openwmma run examples/gemm_f16_f32.ptx --arg A=a.npy --arg B=b.npy --arg n=64
            --out D=d.npy:f32:64x64 --on lockstep

    Arrays go into memory as they are: float16 for f16, float32 for f32, or raw bits in unsigned integers;
    --check memory compares their types.

    A kernel of a CUDA compiler, with its arguments in order:

        openwmma run kernel.ptx --entry gemm --grid 2,2 --block 128 --arg a.npy --arg b.npy --arg d.npy
            --arg 64 --out 2=d.npy --jobs 0
    """
    if launch is not None:
        if file is not None or what.is_named:
            raise UsageError("--launch: expected no file, arguments or grid beside it, which the file has")
        return repeat_file(launch, case, options, allow_outside=allow_outside)
    if allow_outside:
        raise UsageError("--allow-outside: expected --launch with it")
    if file is None:
        raise UsageError("expected a kernel: a PTX file, a file that ends in .cu, or --launch CASE.json")
    if case is not None:
        raise UsageError(f"--case {case}: expected --launch with it")
    require_input(file, "expected a PTX module")
    return launch_file(file, what, options)
