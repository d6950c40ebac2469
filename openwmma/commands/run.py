"""`openwmma run`: a kernel on a grid of blocks, one warp by default."""

from pathlib import Path
from typing import Annotated

import typer

from openwmma.commands.run_grid import Launch, LaunchOptions, launch_file, repeat_file
from openwmma.input_files import require_input
from openwmma.options import with_options
from openwmma.usage_error import UsageError


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
