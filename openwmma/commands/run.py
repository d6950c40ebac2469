"""`openwmma run`: a kernel on a grid of blocks, one warp by default."""

from pathlib import Path
from typing import Annotated

import typer

from golden.limits import WARP_INSTRUCTIONS
from openwmma.commands.run_grid import Check, Launch, LaunchOptions, launch_file, repeat_file
from openwmma.input_files import is_readable
from openwmma.options import Force, machine_options
from openwmma.target import Target
from openwmma.usage_error import UsageError


@machine_options()
def run(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A PTX module, or CUDA C++ that ends in .cu.")
    ] = None,
    arg: Annotated[
        list[str] | None,
        typer.Option(
            "--arg",
            metavar="[NAME=]VALUE",
            help="A parameter, by name, by number or in order: an .npy file, which is placed in memory, "
            "a number, or a tensor map as in map:a.npy,box=64x64,swizzle=128B. A variable of the module by "
            "name: an .npy file.",
        ),
    ] = None,
    out: Annotated[
        list[str] | None,
        typer.Option(
            "--out",
            metavar="NAME=FILE.npy[:TYPE:SHAPE]",
            help="An array to write in the end: a parameter, by name or number, or a variable. It begins as "
            "zeros unless it has an --arg as well.",
        ),
    ] = None,
    entry: Annotated[
        str | None, typer.Option("--entry", help="The kernel, where the module has several.")
    ] = None,
    grid: Annotated[
        str | None, typer.Option("--grid", metavar="X,Y,Z", help="Blocks of the grid; 1 by default.")
    ] = None,
    block: Annotated[
        str | None, typer.Option("--block", metavar="X,Y,Z", help="Threads of a block; 32 by default.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="X,Y,Z", help="Blocks of a cluster; the kernel's by default."),
    ] = None,
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
            help="Report reads of bytes never written, and fragments and arrays used as another type; with "
            "races, data races on shared memory.",
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
    trace_file: Annotated[
        Path | None,
        typer.Option(
            "--trace-file",
            metavar="FILE.trace",
            help="Write the matrix instructions of a launch with their data, for `openwmma replay`.",
        ),
    ] = None,
    roofline: Annotated[
        Path | None,
        typer.Option(
            "--roofline",
            metavar="FILE.svg",
            help="Draw the launch against the limits of the core's units and of its bus.",
        ),
    ] = None,
    *,
    target: Target,
    force: Force = False,
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
    options = LaunchOptions(
        target=target,
        jobs=jobs,
        checks=check or [],
        limit=limit,
        contract=contract,
        contractions=contractions,
        trace_file=trace_file,
        roofline=roofline,
        force=force,
        step=step,
    )
    if launch is not None:
        if file is not None or arg or out or grid or block or cluster or entry or save or shared:
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
    return launch_file(
        file,
        Launch(
            entry=entry,
            grid=grid or "1",
            block=block or "32",
            cluster=cluster,
            shared=shared,
            args=arg or [],
            outs=out or [],
            save=save,
            compiler_options=compiler_option or [],
        ),
        options,
    )
