"""`openwmma build`: the bitstream of a board, by `boards.flow.flow.build_board`."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from boards.boards import BOARDS
from boards.flow.flow import STEPS, build_board
from openwmma.usage import FAILURE
from openwmma.usage_error import UsageError


def build(
    board: Annotated[str, typer.Option(help=f"One of {', '.join(BOARDS)}.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where it is built: build/BOARD by default.")
    ] = None,
    seed: Annotated[int, typer.Option(min=1, help="Seed of place and route.")] = 1,
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
    return 0 if report.is_met else FAILURE


def _announce(step: str) -> None:
    """A line for each step of a build, as each takes minutes."""
    number = f"{STEPS.index(step) + 1} of {len(STEPS)}"
    print(f"{datetime.now():%H:%M:%S}  {number}: {step}", file=sys.stderr, flush=True)
