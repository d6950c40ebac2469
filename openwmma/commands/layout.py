"""`openwmma layout`: the lanes and registers of a fragment, by `openwmma.fragment_grid.fragment_grid`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from openwmma.explanation_text import print_wide
from openwmma.fragment_grid import fragment_grid
from openwmma.layout_svg import layout_svg
from openwmma.layout_text import layout_text
from openwmma.options import Force
from openwmma.output_files import require_outputs, require_suffix
from sim.files import write_files

__all__ = ["layout"]


class MatrixUse(StrEnum):
    """Role of a matrix."""

    A = "a"
    B = "b"
    C = "c"
    D = "d"


def layout(
    use: Annotated[MatrixUse, typer.Argument(metavar="USE", help="The matrix: a, b, c or d.")],
    type: Annotated[str, typer.Argument(metavar="TYPE", help="Element type, as in f16.")],
    shape: Annotated[str, typer.Argument(metavar="SHAPE", help="Of the instruction, as in m16n16k16.")],
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write a picture.")] = None,
    force: Force = False,
) -> None:
    """Show which lane and register of the warp holds each element of a matrix.

    The accumulator of a 16 x 16 multiply:

        openwmma layout c f32 m16n16k16

    `T21 r1` is lane 21, register 1 of the fragment. Lanes of one colour are a quad, four neighbouring lanes.
    """
    if svg is not None:
        require_outputs([(f"--svg {svg}", svg)], force=force)
        require_suffix("--svg", svg, ".svg")
    grid = fragment_grid(use.value, type, shape)
    if svg is not None:
        write_files({svg: layout_svg(grid)})
    print_wide(layout_text(grid, Console().width))
