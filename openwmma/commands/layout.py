"""`openwmma layout`: lanes and registers of a fragment, or where a descriptor of `wgmma` finds elements."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from golden.integers import parsed_integer, shortened
from openwmma.descriptor_grid import descriptor_grid
from openwmma.explanation_text import print_wide
from openwmma.fragment_grid import fragment_grid
from openwmma.layout_svg import layout_svg
from openwmma.layout_text import layout_text
from openwmma.options import Force
from openwmma.output_files import require_outputs, require_suffix
from openwmma.usage import UsageError
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
    descriptor: Annotated[
        str | None,
        typer.Option(metavar="BITS", help="Of A or B of wgmma: addresses in shared memory, not lanes."),
    ] = None,
    transposed: Annotated[
        bool, typer.Option("--transposed", help="With --descriptor: m or n is contiguous, not k.")
    ] = False,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write a picture.")] = None,
    force: Force = False,
) -> None:
    """Show which lane and register of the warp holds each element of a matrix.

    The accumulator of a 16 x 16 multiply:

        openwmma layout c f32 m16n16k16

    `T21 r1` is lane 21, register 1 of the fragment. Lanes of one colour are a quad, four neighbouring lanes.
    The rows of A of wgmma in shared memory, with a swizzle of 128 bytes:

        openwmma layout a f16 m64n64k16 --descriptor 0x4000004000010000
    """
    if transposed and descriptor is None:
        raise UsageError("--transposed: expected --descriptor with it")
    if svg is not None:
        require_outputs([(f"--svg {svg}", svg)], force=force)
        require_suffix("--svg", svg, ".svg")
    if descriptor is None:
        grid = fragment_grid(use.value, type, shape)
    else:
        bits = parsed_integer(descriptor)
        if bits is None:
            raise UsageError(f"--descriptor {shortened(descriptor)}: expected an integer of 64 bits")
        grid = descriptor_grid(use.value, type, shape, bits, transposed=transposed)
    if svg is not None:
        write_files({svg: layout_svg(grid)})
    print_wide(layout_text(grid, Console().width))
