"""`openwmma run`: a PTX kernel on one warp, by `golden.programs.kernel_run.run_program`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from golden.programs.kernel_run import run_program
from golden.ptx.program import parse_module
from openwmma.arguments import parse_argument, parse_output
from openwmma.options import Baud, On, Port, RunPreset, Waves
from openwmma.report import print_result, progress
from openwmma.target import DEFAULT_BAUD, MachineKind, Target
from openwmma.usage import UsageError

__all__ = ["run"]


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE.ptx", help="The PTX module.")],
    arg: Annotated[
        list[str] | None,
        typer.Option(
            "--arg",
            metavar="NAME=VALUE",
            help="A kernel parameter: an .npy file, which is placed in memory, or a number.",
        ),
    ] = None,
    out: Annotated[
        list[str] | None,
        typer.Option(
            "--out",
            metavar="NAME=FILE.npy:TYPE:SHAPE",
            help="An array to write in the end, zeros at the start unless it has an --arg as well.",
        ),
    ] = None,
    entry: Annotated[
        str | None, typer.Option("--entry", help="The kernel, where the module has several.")
    ] = None,
    on: On = MachineKind.GOLDEN,
    preset: RunPreset = None,
    waves: Waves = None,
    port: Port = None,
    baud: Baud = DEFAULT_BAUD,
) -> None:
    """Run a PTX kernel on one warp.

    A matrix multiply, golden model and RTL in lockstep:

        openwmma run examples/gemm_f16_f32.ptx --arg A=a.npy --arg B=b.npy --arg n=64
            --out D=d.npy:f32:64x64 --on lockstep

    Arrays go into memory as they are: float16 for f16, float32 for f32, or raw bits in unsigned integers.
    """
    target = Target(on=on, preset=preset, waves=waves, port=port, baud=baud)
    if not file.is_file():
        raise UsageError(f"expected a PTX module, but there is no file {file}")
    try:
        text = file.read_text()
    except UnicodeDecodeError:
        raise UsageError(f"expected a PTX module, but {file} is not text") from None
    arguments = _unique("--arg", [parse_argument(text) for text in arg or []])
    outputs = [parse_output(text) for text in out or []]
    _unique("--out", [(output.name, path) for output, path in outputs])
    kernel = parse_module(text, str(file)).entry(entry)
    with progress("instructions") as advance, target.prepared() as source:
        result = run_program(
            kernel,
            source.open,
            arguments=arguments,
            outputs=[output for output, _ in outputs],
            registers=source.config.registers,
            on_progress=advance,
        )
    for output, path in outputs:
        np.save(path, result.outputs[output.name])
    print_result(kernel.name, target, result.execution, source.config)


def _unique(option: str, items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in items:
        if name in found:
            raise UsageError(f"{option} {name}: expected once, not twice")
        found[name] = value
    return found
