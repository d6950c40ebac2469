"""`openwmma soc`: a C program on a board's processor, in simulation, by `boards.soc.simulate`."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from boards.boards import BOARDS
from boards.soc.simulate import simulate_program
from openwmma.output_files import require_outputs
from openwmma.usage import UsageError

__all__ = ["soc"]


def soc(
    board: Annotated[str, typer.Option("--board", help=f"One of {', '.join(BOARDS)}.")],
    simulate: Annotated[
        Path,
        typer.Option("--simulate", metavar="FILE.c", help="The program; its main returns the exit code."),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="FILE.py ...", help="A Python file that prints data.h, with arguments."
        ),
    ] = None,
    waves: Annotated[
        Path | None, typer.Option("--waves", metavar="FILE.vcd", help="Signals of the SoC, from main on.")
    ] = None,
    limit: Annotated[float, typer.Option("--limit", min=1, help="Seconds for the program to end.")] = 600.0,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where it is built.")] = Path("build")
    / "soc",
) -> int:
    r"""Simulate the whole SoC of a board, with processor, memory controller and core, running a C program.

    For a matrix multiply in s8:

        openwmma soc --board ulx3s --simulate examples/soc/matmul_s8.c \
            --data "examples/soc/matrices.py s8 32 32 32"

    The console of the processor is shown; the exit code is that of the program. The first run builds LiteX's
    libraries and the simulator, which takes some minutes; later ones only what has changed.
    """
    if board not in BOARDS:
        raise UsageError(f"--board {board}: expected one of {', '.join(BOARDS)}")
    if simulate.suffix != ".c" or not simulate.is_file():
        raise UsageError(f"--simulate {simulate}: expected a file of C that exists")
    if waves is not None:
        require_outputs([(f"--waves {waves}", waves)], [simulate])
    return simulate_program(
        BOARDS[board],
        simulate,
        out,
        data=data,
        waves=waves,
        limit=limit,
        on_step=_announce,
        on_output=_show,
    )


def _announce(step: str) -> None:
    print(f"{datetime.now():%H:%M:%S}  {step}", file=sys.stderr, flush=True)


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
