"""`openwmma layout`: lanes and registers of a fragment, or where a descriptor of `wgmma` finds elements."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console

from golden.integers import parsed_integer, shortened
from golden.tables.instruction_set import Use
from openwmma.explanation_text import print_wide, svg_picture
from openwmma.fragment_grid import descriptor_grid, fragment_grid, metadata_grid, scale_grid
from openwmma.layout_drawing import layout_table
from openwmma.options import Force
from openwmma.output_files import require_outputs, require_suffix
from openwmma.usage_error import UsageError
from sim.files import write_files


class MatrixUse(StrEnum):
    """Role of a matrix."""

    A = "a"
    B = "b"
    C = "c"
    D = "d"
    METADATA = "metadata"
    SCALE_A = "scale_a"
    SCALE_B = "scale_b"


def layout(
    use: Annotated[
        MatrixUse, typer.Argument(metavar="USE", help="The matrix: a, b, c, d, metadata, scale_a or scale_b.")
    ],
    type: Annotated[
        str, typer.Argument(metavar="TYPE", help="Element type, as in f16; of scales 1X, 2X or 4X.")
    ],
    shape: Annotated[
        str | None,
        typer.Argument(metavar="SHAPE", help="Shape of the instruction, as in m16n16k16; none for scales."),
    ] = None,
    sparse: Annotated[bool, typer.Option("--sparse", help="The stored A of mma.sp, half of its k.")] = False,
    selector: Annotated[
        int, typer.Option(metavar="NUMBER", help="Sparsity selector: which lanes hold metadata.")
    ] = 0,
    byte_id: Annotated[int, typer.Option(metavar="NUMBER", help="First byte with scales.")] = 0,
    thread_id: Annotated[int, typer.Option(metavar="NUMBER", help="Lanes of a quad with scales.")] = 0,
    descriptor: Annotated[
        str | None,
        typer.Option(metavar="BITS", help="Of A or B of wgmma: addresses in shared memory, not lanes."),
    ] = None,
    transposed: Annotated[
        bool, typer.Option("--transposed", help="With --descriptor: m or n is contiguous, not k.")
    ] = False,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a picture.")] = None,
    force: Force = False,
) -> None:
    """Show which lane and register of the warp holds each element of a matrix.

    The accumulator of a 16 x 16 multiply:

        openwmma layout c f32 m16n16k16

    The metadata of a sparse multiply, and the scales of B in an NVFP4 multiply:

        openwmma layout metadata f16 m16n8k32 --selector 1

        openwmma layout scale_b 4X

    `T21 r1` is lane 21, register 1 of the fragment. Lanes of one colour are a quad, four neighbouring lanes.
    The rows of A of wgmma in shared memory, with a swizzle of 128 bytes:

        openwmma layout a f16 m64n64k16 --descriptor 0x4000004000010000
    """
    is_scale = use in (MatrixUse.SCALE_A, MatrixUse.SCALE_B)
    is_metadata = use is MatrixUse.METADATA
    for option, given, takes, expected in (
        (f"SHAPE {shape}", shape is not None, not is_scale, "no shape with scales"),
        ("--descriptor", descriptor is not None, not is_scale and not is_metadata, "a or b with it"),
        ("--transposed", transposed, descriptor is not None, "--descriptor with it"),
        ("--sparse", sparse, not is_scale and not is_metadata and descriptor is None, "a, b, c or d with it"),
        ("--selector", selector, is_metadata, "metadata with it"),
        ("--byte-id", byte_id, is_scale, "scale_a or scale_b with it"),
        ("--thread-id", thread_id, is_scale, "scale_a or scale_b with it"),
    ):
        if given and not takes:
            raise UsageError(f"{option}: expected {expected}")
    if svg is not None:
        require_outputs([(f"--svg {svg}", svg)], force=force)
        require_suffix("--svg", svg, ".svg")
    if is_scale:
        grid = scale_grid(use.value[-1], type, byte_id, thread_id)
    elif shape is None:
        raise UsageError("SHAPE: expected the shape of the instruction, as in m16n16k16")
    elif is_metadata:
        grid = metadata_grid(type, shape, selector)
    elif descriptor is None:
        grid = fragment_grid(cast(Use, use.value), type, shape, sparse=sparse)
    else:
        bits = parsed_integer(descriptor)
        if bits is None:
            raise UsageError(f"--descriptor {shortened(descriptor)}: expected an integer of 64 bits")
        grid = descriptor_grid(cast(Use, use.value), type, shape, bits, transposed=transposed)
    if svg is not None:
        write_files({svg: svg_picture(layout_table(grid), grid.title)})
    print_wide(layout_table(grid, Console().width))
