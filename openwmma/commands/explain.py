"""`openwmma explain`: every step of one result, by `openwmma.explaining.explain_text`."""

from pathlib import Path
from typing import Annotated

import typer

from openwmma.core_settings import DEFAULT_PROFILE
from openwmma.explaining import explain_text
from openwmma.explanation_text import explanation_text, html_page, print_wide, svg_picture
from openwmma.options import Force
from openwmma.output_files import require_outputs, require_suffix
from sim.files import write_files


def explain(
    instruction: Annotated[
        str,
        typer.Argument(
            metavar="INSTRUCTION",
            help="PTX without operands: a multiply (wmma.mma, mma, wgmma) or an approximate instruction.",
        ),
    ],
    a: Annotated[str, typer.Option("--a", metavar="VALUES", help="A row of A, values with commas between.")],
    b: Annotated[str | None, typer.Option("--b", metavar="VALUES", help="A column of B.")] = None,
    c: Annotated[
        str | None, typer.Option("--c", metavar="VALUE", help="The element of C, 0 by default.")
    ] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="NIBBLES", help="Metadata of a sparse row of A, as in 0100,1101.")
    ] = None,
    scale_a: Annotated[
        str | None, typer.Option(metavar="BYTES", help="Block scales of the row, as in 0x7f.")
    ] = None,
    scale_b: Annotated[str | None, typer.Option(metavar="BYTES", help="Block scales of the column.")] = None,
    profile: Annotated[
        str, typer.Option(help="Numerics: hopper, another generation, or exact.")
    ] = DEFAULT_PROFILE,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the same as a page of HTML.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a picture.")] = None,
    force: Force = False,
) -> None:
    """Show every step from one row of A, one column of B and one element of C to the element of D.

    In f16, 2048 + 1 is 2048:

        openwmma explain wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 --a 1 --b 1 --c 2048

    A value is a decimal number, raw bits in hexadecimal (0x3c00), inf or nan. Missing values of a row or
    column are zeros. Each line of the ruler is a term: the bits left of the bar are kept, those right of it
    are cut when the terms are aligned. The exact result is the exact sum rounded once.

    An approximate instruction has one operand, or two if it divides:

        openwmma explain ex2.approx.ftz.f32 --a 0.3
    """
    written = [(f"--{name} {path}", path) for name, path in (("html", html), ("svg", svg)) if path]
    require_outputs(written, force=force)
    require_suffix("--html", html, ".html", ".htm")
    require_suffix("--svg", svg, ".svg")
    extra = {"metadata": metadata, "scale_a": scale_a, "scale_b": scale_b}
    found = explain_text(instruction, a, b, c, profile, **extra)
    content = explanation_text(found)
    files = {html: html_page(content, found.title)} if html is not None else {}
    if svg is not None:
        files[svg] = svg_picture(content, found.title)
    write_files(files)
    print_wide(content)
