"""`openwmma matmul`: a matrix product as a GPU computes it, or the rule of one that it has computed."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from openwmma.arguments import load_array
from openwmma.output_files import array_bytes, require_outputs
from openwmma.terminal import tell
from openwmma.usage_error import UsageError
from sim.files import write_files

__all__ = ["matmul"]

Type = Annotated[str | None, typer.Option(help="f16, bf16, tf32, f64, e4m3, e5m2 or s8, for raw bits.")]


def matmul(
    a: Annotated[Path, typer.Argument(metavar="A.npy", help="Shape (..., m, k).")],
    b: Annotated[Path, typer.Argument(metavar="B.npy", help="Shape (..., k, n).")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="D.npy", help="The product.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(metavar="D.npy", help="An observed product: find the rule that gives it.")
    ] = None,
    a_type: Type = None,
    b_type: Type = None,
    d_type: Annotated[str | None, typer.Option(help="Type of D.")] = None,
    split_k: Annotated[int, typer.Option(help="Parts of k that are added in f32.")] = 1,
    interleaved: Annotated[bool, typer.Option(help="Parts of k take 32 products in turn.")] = False,
    accumulation: Annotated[Literal["fast", "precise"], typer.Option(help="Of fp8.")] = "fast",
    profile: Annotated[str | None, typer.Option(help="Another generation than Hopper.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads; by default, one for each core.")] = None,
) -> int:
    """Multiply matrices of any size as PyTorch does on a Hopper GPU, to the bit.

    With --compare, look for the rule that gives an observed product; exit code 1 where there is none:

        openwmma matmul x.npy w.npy --compare y.npy --a-type bf16 --b-type bf16
    """
    from openwmma.matrix_product import matmul as multiply  # noqa: PLC0415  loads numba: others need none
    from openwmma.product_match import match_matmul  # noqa: PLC0415

    if (output is None) == (compare is None):
        raise UsageError("give either -o D.npy or --compare D.npy")
    x, y = load_array("A.npy", a), load_array("B.npy", b)
    if output is not None:
        require_outputs([(f"--output {output}", output)], (a, b))
    with Console(stderr=True).status("multiplying"):
        if compare is not None:
            observed = load_array("--compare", compare)
            found = match_matmul(x, y, observed, a_type=a_type, b_type=b_type, d_type=d_type, threads=threads)
            result = None
        else:
            result = multiply(
                x,
                y,
                a_type=a_type,
                b_type=b_type,
                d_type=d_type,
                split_k=split_k,
                interleaved=interleaved,
                accumulation=accumulation,
                profile=profile,
                threads=threads,
            )
    if result is not None and output is not None:
        write_files({output: array_bytes(result)})
        return 0
    tell(found, lines=True)
    return 0 if found else 1
