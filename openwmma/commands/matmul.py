"""`openwmma matmul`: a matrix product as a GPU computes it, or the rule of one that it has computed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from golden.integers import shortened
from openwmma.arguments import is_file, load_array, parse_number
from openwmma.options import Force, with_options
from openwmma.output_files import array_bytes, require_outputs, require_suffix
from openwmma.terminal import tell
from openwmma.usage_error import UsageError
from sim.files import write_files

Type = Annotated[str | None, typer.Option(help="Of raw bits: f16, bf16, tf32, f64, e4m3, e5m2 or s8.")]
Scale = Annotated[
    str | None,
    typer.Option(metavar="NUMBER|FILE.npy", help="fp8: one number, or float32 for each row or column."),
]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What is computed, as for `openwmma.matmul`."""

    a_type: Type = None
    b_type: Type = None
    d_type: Annotated[
        str | None, typer.Option(help="Type of D; as A and B, but f32, bf16 and s32 of tf32, fp8 and s8.")
    ] = None
    bias: Annotated[Path | None, typer.Option(metavar="BIAS.npy", help="Of the type of D, shape (n,).")] = (
        None
    )
    c: Annotated[
        Path | None, typer.Option("--c", metavar="C.npy", help="Added to A B, as by torch.addmm.")
    ] = None
    alpha: Annotated[float, typer.Option(help="Factor of A B.")] = 1
    beta: Annotated[float, typer.Option(help="Factor of C or of the bias.")] = 1
    activation: Annotated[str | None, typer.Option(help="relu, after C or bias.")] = None
    scale_a: Scale = None
    scale_b: Scale = None

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return [Path(text) for text in (self.bias, self.c, self.scale_a, self.scale_b) if text is not None]

    def keywords(self) -> dict[str, Any]:
        """Those of the functions, with the arrays of the files."""
        arrays = {
            name: None if path is None else load_array(f"--{name}", path)
            for name, path in (("bias", self.bias), ("c", self.c))
        }
        scales = {"scale_a": _scale("--scale-a", self.scale_a), "scale_b": _scale("--scale-b", self.scale_b)}
        return vars(self) | arrays | scales


@dataclass(frozen=True, kw_only=True)
class Order:
    """In which order products are added; of a product that is computed."""

    split_k: Annotated[int, typer.Option(help="Cut k into equal parts, each a sum of its own.")] = 1
    interleaved: Annotated[bool, typer.Option(help="The parts take 32 products in turn.")] = False
    accumulation: Annotated[
        Literal["fast", "precise"], typer.Option(help="fp8: one sum, or one for 128 products.")
    ] = "fast"
    profile: Annotated[str | None, typer.Option(help="Numerics of a generation; of Hopper by default.")] = (
        None
    )


@with_options()
def matmul(
    a: Annotated[Path, typer.Argument(metavar="A.npy", help="Shape (..., m, k).")],
    b: Annotated[Path, typer.Argument(metavar="B.npy", help="Shape (..., k, n).")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="D.npy", help="The product.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(metavar="D.npy", help="An observed product: find the rule that gives it.")
    ] = None,
    *,
    operation: Operation,
    order: Order,
    threads: Annotated[int | None, typer.Option(help="Threads; by default, one for each core.")] = None,
    force: Force = False,
) -> int:
    """Multiply matrices of any size as PyTorch does on a Hopper GPU, to the bit.

    With --compare, look for the rule that gives an observed product:

        openwmma matmul x.npy w.npy --compare y.npy --a-type bf16 --b-type bf16

    The exit code is 1 where no rule gives it.
    """
    from openwmma.matrix_product import matmul as multiply  # noqa: PLC0415  loads numba: others need none
    from openwmma.product_match import match_matmul  # noqa: PLC0415

    if (output is None) == (compare is None):
        raise UsageError("give either -o D.npy or --compare D.npy")
    require_suffix("--output", output, ".npy")
    x, y = load_array("a", a), load_array("b", b)
    call = operation.keywords() | {"threads": threads}
    if output is not None:
        require_outputs([(f"--output {output}", output)], (a, b, *operation.inputs), force=force)
    with Console(stderr=True).status("multiplying"):
        if compare is not None:
            observed = load_array("--compare", compare)
            found = match_matmul(x, y, observed, **call)
            result = None
        else:
            result = multiply(x, y, **vars(order), **call)
    if result is not None and output is not None:
        write_files({output: array_bytes(result)})
        return 0
    tell(found, lines=True)
    return 0 if found else 1


def _scale(option: str, text: str | None) -> Any:
    """The array or the number that an option names."""
    if text is None:
        return None
    if is_file(text):
        return load_array(option, Path(text))
    try:
        return parse_number(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option} {shortened(text)}: expected a number or a file that ends in .npy"
        ) from None
