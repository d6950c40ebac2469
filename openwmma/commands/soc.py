"""`openwmma soc`: C programs for a board's processor, simulated by `boards.soc.simulate`."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from boards.boards import BOARDS, Board
from boards.soc.program import build_program
from boards.soc.simulate import simulate_program
from boards.soc.toolchain import require_soc_tools
from openwmma.options import Force
from openwmma.output_files import require_outputs
from openwmma.terminal import tell
from openwmma.usage_error import UsageError


def soc(
    board: Annotated[str, typer.Option(help=f"One of {', '.join(BOARDS)}.")],
    simulate: Annotated[
        Path | None, typer.Option(metavar="FILE.c", help="Run it; its main returns the exit code.")
    ] = None,
    compile_: Annotated[
        Path | None,
        typer.Option("--compile", metavar="FILE.c", help="Compile it for a board that was built."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE.py ...", help="A Python file that prints data.h, with arguments."),
    ] = None,
    waves: Annotated[
        Path | None, typer.Option(metavar="FILE.vcd", help="Signals of the SoC, from main on.")
    ] = None,
    force: Force = False,
    limit: Annotated[float, typer.Option(min=1, help="Seconds for the program to end.")] = 600.0,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where it is built.")] = Path("build") / "soc",
) -> int:
    r"""Simulate the whole SoC of a board, with processor and core, running a C program.

    For a matrix multiply in s8:

        openwmma soc --board ulx3s --simulate examples/soc/matmul_s8.c \
            --data "examples/soc/matrices.py s8 32 32 32"

    The console of the processor is shown; the exit code is what the program returns. The first run builds
    LiteX's libraries and the simulator, which takes some minutes; later runs build only what has changed.

    With --compile, the program is built for the board itself, to be sent by litex_term.
    """
    if board not in BOARDS:
        raise UsageError(f"--board {board}: expected one of {', '.join(BOARDS)}")
    if (simulate is None) == (compile_ is None):
        raise UsageError("soc: expected either --simulate or --compile")
    option, source = ("--simulate", simulate) if simulate is not None else ("--compile", compile_)
    if source is None or source.suffix != ".c" or not source.is_file():
        raise UsageError(f"{option} {source}: expected a file of C that exists")
    if simulate is None:
        return _compile(BOARDS[board], source, data)
    if waves is not None:
        require_outputs([(f"--waves {waves}", waves)], [simulate], force=force)
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


def _compile(board: Board, source: Path, data: str | None) -> int:
    """Compile a program for the address map of a board's build; its image is beside the report."""
    built = Path("build") / board.name
    if not (built / "software" / "include" / "generated" / "variables.mak").exists():
        raise UsageError(f"--compile {source}: expected {built} from openwmma build --board {board.name}")
    require_soc_tools()
    tell(f"written: {build_program(board, built, source, data, built / 'program')}")
    return 0


def _announce(step: str) -> None:
    print(f"{datetime.now():%H:%M:%S}  {step}", file=sys.stderr, flush=True)


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
