"""The command line: `openwmma run`, `mma`, `verilog`, `build` and `presets`."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from typer.exceptions import TyperException

from boards.boards import BOARDS
from boards.flow.flow import STEPS, build_board
from boards.host.link import BoardRefusal, LinkError, PortError
from golden.arguments import dtype_of
from golden.invalid_argument import InvalidArgument
from golden.ptx.program import parse_module
from golden.ptx.source import PtxError
from golden.resolve import resolve_instruction
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import IllegalInstruction
from hdl.config import PRESETS, CoreConfig
from hdl.verilog.core_verilog import generate
from hdl.verilog.example import generate_example
from hdl.verilog.systemrdl import systemrdl
from sim.arguments import UsageError, load_array, parse_argument, parse_output
from sim.capabilities import CapabilityError
from sim.execution import Execution, ProgramFault
from sim.files import write_files
from sim.machines import Backend
from sim.mismatch import Mismatch
from sim.program import run_program
from sim.report import execution_rows, presets_table
from sim.simulation import SimulationError
from sim.target import DEFAULT_BAUD, DEFAULT_PRESET, Target
from sim.tiles import multiply_tiles
from sim.verilate import BuildError

__all__ = ["app", "main"]

app = typer.Typer(
    help="An open tensor core: run PTX wmma programs on its golden model and on its RTL.",
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
)

On = Annotated[
    Backend,
    typer.Option(
        "--on",
        help="The golden model, the simulated core, the core on a board; in lockstep: the golden model and a "
        "core, compared after each instruction.",
    ),
]
Preset = Annotated[str, typer.Option("--preset", help="Configuration of the core; see `openwmma presets`.")]
RunPreset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        help=f"Configuration of the core, {DEFAULT_PRESET} by default; see `openwmma presets`. "
        "A board knows its own.",
    ),
]
Port = Annotated[
    str | None,
    typer.Option(
        "--port",
        metavar="DEVICE",
        help="Serial port of the board, as in /dev/ttyUSB0; in lockstep it takes the simulated core's place.",
    ),
]
Baud = Annotated[int, typer.Option("--baud", min=1, help="Bits per second that the board was built for.")]
Waves = Annotated[
    Path | None, typer.Option("--waves", metavar="FILE.fst", help="Write a waveform of the simulated core.")
]


@app.command()
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
    on: On = Backend.GOLDEN,
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
    _unique("--out", [(output.name, output) for output in outputs])
    kernel = parse_module(text, str(file)).entry(entry)
    with _progress("instructions", None) as advance, target.prepared() as source:
        result = run_program(
            kernel,
            source.open,
            arguments=arguments,
            outputs=outputs,
            registers=source.config.registers,
            on_progress=advance,
        )
    for output in outputs:
        np.save(output.path, result.outputs[output.name])
    _print_result(kernel.name, target, result.execution, source.config)


@app.command()
def mma(
    instruction: Annotated[
        str,
        typer.Argument(metavar="INSTRUCTION", help="PTX without operands: wmma.mma with all its qualifiers."),
    ],
    a: Annotated[Path, typer.Argument(metavar="A.npy", help="Shape (..., m, k).")],
    b: Annotated[Path, typer.Argument(metavar="B.npy", help="Shape (..., k, n).")],
    c: Annotated[Path, typer.Argument(metavar="C.npy", help="Shape (..., m, n).")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="D.npy", help="The result, shape (..., m, n).")
    ],
    on: On = Backend.GOLDEN,
    preset: RunPreset = None,
    waves: Waves = None,
    port: Port = None,
    baud: Baud = DEFAULT_BAUD,
) -> None:
    """Multiply a batch of tiles, D = A B + C: each loaded, multiplied and stored.

    A thousand tiles on the simulated core:

        openwmma mma wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 a.npy b.npy c.npy -o d.npy --on rtl

    Floating point comes and goes as raw bit patterns in unsigned integers (f16: uint16, f32: uint32); float16
    and float32 arrays are taken as well. Leading axes are the batch.
    """
    target = Target(on=on, preset=preset, waves=waves, port=port, baud=baud)
    parsed = resolve_instruction(instruction)
    operands = [
        _raw_bits(load_array(name, path), type_)
        for name, path, type_ in zip(
            "abc", (a, b, c), (parsed.a_type, parsed.b_type, parsed.c_type), strict=True
        )
    ]
    if not output.parent.is_dir():
        raise UsageError(
            f"--output {output}: expected a file in a folder that exists, not in {output.parent}"
        )
    with _progress("instructions", None) as advance, target.prepared() as source:
        result = multiply_tiles(
            parsed,
            operands,
            source.open,
            advance,
            registers=source.config.registers,
            memory_bytes=source.memory_bytes,
        )
    np.save(output, result.d)
    _print_result(str(parsed), target, result.execution, source.config)


@app.command()
def verilog(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE.v", help="The Verilog file.")],
    preset: Preset = DEFAULT_PRESET,
) -> None:
    """Write the core as one file of plain Verilog-2001, for any simulator and any synthesis.

    Example:

        openwmma verilog --preset small -o core.v

    writes four files, each whole or not at all:

    - `core.v`: the module `openwmma_core` and those inside it; the same preset always gives the same bytes
    - `core.json`: ports, parameters, addresses and constants of the host's registers, all presets
    - `core.rdl`: the host's registers and their fields in SystemRDL, for register tools
    - `core_example.v`: the core with a memory of its own, to compile beside it and to begin from

    The clock is `aclk`, the synchronous reset `aresetn`, active low. `m_axi_` is an AXI4 master to global
    memory, `s_axil_` the AXI4-Lite port by which a host queues commands, `irq` its interrupt.
    """
    config = _preset(preset)
    if not output.parent.is_dir():
        raise UsageError(
            f"--output {output}: expected a file in a folder that exists, not in {output.parent}"
        )
    if output.suffix != ".v":
        raise UsageError(f"--output {output}: expected a file that ends in .v, not {output.name}")
    text, description = generate(config)
    beside, rdl = output.with_suffix(".json"), output.with_suffix(".rdl")
    example = output.with_name(f"{output.stem}_example.v")
    write_files(
        {
            output: text,
            beside: json.dumps(description, indent=2) + "\n",
            rdl: systemrdl(config),
            example: generate_example(description),
        }
    )
    lines = len(text.splitlines())
    Console().print(
        f"{output}: {lines:,} lines; ports and registers in {beside}; SystemRDL in {rdl}; "
        f"an example in {example}",
        highlight=False,
        soft_wrap=True,
    )


@app.command()
def build(
    board: Annotated[str, typer.Option("--board", help=f"One of {', '.join(BOARDS)}.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where it is built: build/BOARD by default.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=1, help="Of place and route.")] = 1,
) -> int:
    """Build a board's bitstream, with a report of what it takes and how fast its clock may be.

    For a ULX3S:

        openwmma build --board ulx3s

    The exit code is 1 where timing is not met. For an Arty the open tools synthesise only; the rest is a
    script for Vivado.
    """
    if board not in BOARDS:
        raise UsageError(f"--board {board}: expected one of {', '.join(BOARDS)}")
    if out is not None and not out.absolute().parent.is_dir():
        raise UsageError(f"--out {out}: expected a folder inside one that exists, not in {out.parent}")
    report = build_board(BOARDS[board], out or Path("build") / board, _announce, seed=seed)
    print(report.as_text(), end="")
    return 0 if report.is_met else 1


@app.command()
def presets() -> None:
    """List the configurations that --preset takes."""
    Console().print(presets_table())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str or None
        None for those of the process.

    Returns
    -------
    int
        0 when all went well, 1 for a difference or a fault, 2 for bad usage.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        outcome = app(args=list(arguments) or ["--help"], prog_name="openwmma", standalone_mode=False)
    except TyperException as error:
        return _complain(error.format_message(), 2)
    except (UsageError, PtxError, IllegalInstruction, InvalidArgument, PortError) as error:
        return _complain(str(error), 2)
    except (
        Mismatch,
        ProgramFault,
        CapabilityError,
        SimulationError,
        BuildError,
        LinkError,
        BoardRefusal,
    ) as error:
        return _complain(str(error), 1)
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}", 2)
    return outcome if isinstance(outcome, int) else 0


def _complain(message: str, code: int) -> int:
    print(f"openwmma: {message}", file=sys.stderr)
    return code


def _preset(name: str) -> CoreConfig:
    if name not in PRESETS:
        raise UsageError(f"--preset {name}: expected one of {', '.join(PRESETS)}")
    return PRESETS[name]


def _unique(option: str, items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in items:
        if name in found:
            raise UsageError(f"{option} {name}: expected once, not twice")
        found[name] = value
    return found


def _raw_bits(array: NDArray[Any], type: str) -> NDArray[Any]:
    """Floating-point arrays of a format that numpy has, as the bit patterns that they are."""
    raw = dtype_of(FORMATS[type])
    return array.view(raw) if array.dtype.kind == "f" and array.dtype.itemsize == raw.itemsize else array


def _announce(step: str) -> None:
    """A line for each step of a build, as each takes minutes."""
    number = f"{STEPS.index(step) + 1} of {len(STEPS)}"
    print(f"{datetime.now():%H:%M:%S}  {number}: {step}", file=sys.stderr, flush=True)


@contextmanager
def _progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, and nothing elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda count: None
        return
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.advance(task, count)


def _print_result(title: str, target: Target, execution: Execution, config: CoreConfig) -> None:
    table = Table(title=f"{title} on {target.on.value}", show_header=False)
    for row in execution_rows(execution, config.dot_product_units):
        table.add_row(*row)
    if target.waves is not None:
        table.add_row("waveform", str(target.waves))
    Console().print(table)
