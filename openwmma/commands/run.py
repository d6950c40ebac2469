"""`openwmma run`: a kernel.

Without a grid or a block, that is a PTX program for one warp, by
`golden.programs.kernel_run.run_program`, whose commands the core overlaps. With one of them, or for CUDA C++
or a launch file, it is a launch by `openwmma.commands.run_grid`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from golden.limits import WARP_INSTRUCTIONS
from golden.programs.kernel_run import Output, run_program
from golden.ptx.program import parse_module
from golden.ptx.source import source_text
from openwmma.arguments import input_files, parse_argument, parse_output
from openwmma.commands.run_grid import Check, LaunchOptions, launch_file, repeat_file
from openwmma.core_settings import parse_settings
from openwmma.cuda_source import is_cuda
from openwmma.input_files import is_readable
from openwmma.options import (
    Baud,
    Force,
    GpuNumber,
    On,
    Port,
    RunPreset,
    RunProfile,
    Settings,
    SettingsFile,
    Trace,
    Waves,
)
from openwmma.output_files import array_bytes, require_outputs
from openwmma.report import print_contractions, print_result, progress
from openwmma.target import DEFAULT_BAUD, MachineKind, Target
from openwmma.usage import UsageError
from sim.files import write_files

__all__ = ["run"]


def run(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A PTX module, or CUDA C++ that ends in .cu.")
    ] = None,
    arg: Annotated[
        list[str] | None,
        typer.Option(
            "--arg",
            metavar="[NAME=]VALUE",
            help="A kernel parameter: an .npy file, which is placed in memory, or a number. By position in a "
            "launch with a grid or a block.",
        ),
    ] = None,
    out: Annotated[
        list[str] | None,
        typer.Option(
            "--out",
            metavar="NAME=FILE.npy[:TYPE:SHAPE]",
            help="An array to write in the end, zeros at the start unless it has an --arg as well. In a "
            "launch NAME may be a position.",
        ),
    ] = None,
    entry: Annotated[
        str | None, typer.Option("--entry", help="The kernel, where the module has several.")
    ] = None,
    grid: Annotated[str | None, typer.Option("--grid", metavar="X,Y,Z", help="Blocks of the grid.")] = None,
    block: Annotated[str | None, typer.Option("--block", metavar="X,Y,Z", help="Threads of a block.")] = None,
    shared: Annotated[
        int, typer.Option("--shared", metavar="BYTES", help="Dynamic shared memory of a block.")
    ] = 0,
    launch: Annotated[
        Path | None,
        typer.Option("--launch", metavar="CASE.json", help="Repeat a launch file and compare, not FILE."),
    ] = None,
    case: Annotated[
        str | None, typer.Option("--case", help="One launch of the launch file, not all.")
    ] = None,
    allow_outside: Annotated[
        bool,
        typer.Option("--allow-outside", help="Let a launch file name PTX outside of its own folder."),
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="CASE", help="Write the launch to CASE.json and CASE.npz."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=0, help="Processes that run blocks; 0 for all cores.")
    ] = 1,
    check: Annotated[
        list[Check] | None,
        typer.Option(
            "--check",
            help="Report reads of bytes never written; with races, data races on shared memory too.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", help="Most warp instructions of a launch.")
    ] = WARP_INSTRUCTIONS,
    contract: Annotated[
        bool | None,
        typer.Option(
            "--contract/--no-contract",
            help="Join multiplications and additions as NVIDIA's assembler does (default), or round each.",
        ),
    ] = None,
    contractions: Annotated[
        bool, typer.Option("--contractions", help="List the joined ones with their lines; run nothing.")
    ] = False,
    step: Annotated[
        bool,
        typer.Option("--step", help="Show registers and fragments after each instruction; h for help."),
    ] = False,
    compiler_option: Annotated[
        list[str] | None,
        typer.Option(
            "--compiler-option", metavar="OPTION", help="For the compiler of a .cu, as in -arch=sm_80."
        ),
    ] = None,
    settings: Settings = None,
    config: SettingsFile = None,
    on: On = MachineKind.GOLDEN,
    preset: RunPreset = None,
    profile: RunProfile = None,
    waves: Waves = None,
    trace: Trace = None,
    trace_file: Annotated[
        Path | None,
        typer.Option(
            "--trace-file",
            metavar="FILE.trace",
            help="Write the matrix instructions of a launch with their data, for `openwmma replay`.",
        ),
    ] = None,
    port: Port = None,
    baud: Baud = DEFAULT_BAUD,
    gpu: GpuNumber = None,
    force: Force = False,
) -> int:
    """Run a kernel.

    A PTX program for one warp, golden model and RTL in lockstep:

        openwmma run examples/gemm_f16_f32.ptx --arg A=a.npy --arg B=b.npy --arg n=64
            --out D=d.npy:f32:64x64 --on lockstep

    Arrays go into memory as they are: float16 for f16, float32 for f32, or raw bits in unsigned integers.

    A kernel of a CUDA compiler on a grid of blocks, with its arguments by position:

        openwmma run kernel.ptx --entry gemm --grid 2,2 --block 128 --arg a.npy --arg b.npy --arg d.npy
            --arg 64 --out 2=d.npy --jobs 0
    """
    target = Target(
        on=on,
        preset=preset,
        profile=profile,
        waves=waves,
        trace=trace,
        port=port,
        baud=baud,
        gpu=gpu,
        settings=parse_settings(settings, config),
    )
    options = LaunchOptions(
        target=target,
        jobs=jobs,
        checks=check or [],
        limit=limit,
        contract=contract,
        contractions=contractions,
        trace_file=trace_file,
        force=force,
        step=step,
    )
    if launch is not None:
        if file is not None or arg or out or grid or block or entry or save or shared:
            raise UsageError("--launch: expected no file, arguments or grid beside it, which the file has")
        return repeat_file(launch, case, options, allow_outside=allow_outside)
    if allow_outside:
        raise UsageError("--allow-outside: expected --launch with it")
    if file is None:
        raise UsageError("expected a kernel: a PTX file, a file that ends in .cu, or --launch CASE.json")
    if case is not None:
        raise UsageError(f"--case {case}: expected --launch with it")
    if not is_readable(file):
        raise UsageError(f"expected a PTX module, but there is no file {file}")
    if grid is not None or block is not None or is_cuda(file) or target.gpu is not None or step:
        return launch_file(
            file,
            options,
            entry=entry,
            grid=grid,
            block=block,
            shared=shared,
            args=arg or [],
            outs=out or [],
            save=save,
            compiler_options=compiler_option or [],
        )
    given = {"shared": shared != 0, "save": save is not None, "jobs": jobs != 1, "check": bool(check)}
    _require_launch(**given, **{"trace-file": trace_file is not None})
    text = source_text(file.read_bytes(), str(file))
    arguments = _unique("--arg", [parse_argument(text) for text in arg or []])
    outputs = [parse_output(text) for text in out or []]
    _unique("--out", [(output.name, path) for output, path in outputs])
    kernel = parse_module(text, str(file)).entry(entry, contract=contract is not False)
    if contractions:
        print_contractions(kernel.name, kernel.contractions)
        return 0
    _require_files(file, arg or [], out or [], outputs, target, force=force)
    with progress("instructions") as advance, target.prepared() as source:
        result = run_program(
            kernel,
            source.open,
            arguments=arguments,
            outputs=[output for output, _ in outputs],
            registers=source.config.registers,
            on_progress=advance,
            on_command=(lambda place: None) if source.trace is None else source.trace.log.place,
        )
    write_files({path: array_bytes(result.outputs[output.name]) for output, path in outputs})
    print_result(kernel.name, target, result.execution, source.config)
    return 0


def _require_files(
    source: Path,
    args: Sequence[str],
    outs: Sequence[str],
    outputs: Sequence[tuple[Output, Path]],
    target: Target,
    *,
    force: bool,
) -> None:
    """Refuse outputs that cannot be written, or overwrite an input; an array may replace its own file."""
    named = [(f"--out {text}", path) for text, (_, path) in zip(outs, outputs, strict=True)]
    require_outputs([*named, *target.outputs], [source])
    require_outputs(target.outputs, input_files(args))
    for option, (output, _) in zip(named, outputs, strict=True):
        require_outputs([option], input_files(text for text in args if text.partition("=")[0] != output.name))
    require_outputs([*named, *target.outputs], force=force, updated=input_files(args))


def _require_launch(**given: bool) -> None:
    for option, is_given in given.items():
        if is_given:
            raise UsageError(f"--{option}: expected --grid or --block with it")


def _unique(option: str, items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in items:
        if name in found:
            raise UsageError(f"{option} {name}: expected once, not twice")
        found[name] = value
    return found
