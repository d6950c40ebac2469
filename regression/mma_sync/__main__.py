"""``python -m regression.mma_sync``: random results of each family of mma.sync, core against golden model."""

import sys
import time
from typing import Annotated

import typer

from hdl.config import PRESETS
from regression.mma_sync.campaign import FAMILIES, Difference, compare, core_of

app = typer.Typer(add_completion=False)


@app.command()
def main(
    family: Annotated[
        list[str] | None, typer.Option("--family", help=f"One of {', '.join(FAMILIES)}; all if left out.")
    ] = None,
    results: Annotated[int, typer.Option("--results", help="Elements of D, of each family.")] = 10_000_000,
    preset: Annotated[
        str, typer.Option("--preset", help="A core of all families; f64 has its own.")
    ] = "standard",
    seed: Annotated[int, typer.Option("--seed", help="Of the operands.")] = 1,
) -> None:
    """Multiply random tiles on the Verilated core, and compare every bit with the golden model."""
    for name in family or FAMILIES:
        if name not in FAMILIES:
            raise typer.BadParameter(
                f"expected one of {', '.join(FAMILIES)}, not {name}", param_hint="--family"
            )
    if preset not in PRESETS:
        raise typer.BadParameter(f"expected one of {', '.join(PRESETS)}, not {preset}", param_hint="--preset")
    for name in family or FAMILIES:
        begin = said = time.monotonic()
        done = 0
        for found in compare(name, results, config=core_of(name, preset), seed=seed):
            if isinstance(found, Difference):
                print(found)
                sys.exit(1)
            done += found
            if time.monotonic() - said > 30:
                said = time.monotonic()
                print(f"{name}: {done} of {results}", file=sys.stderr, flush=True)
        seconds = time.monotonic() - begin
        print(f"{name}: {done} results compared in {seconds:.0f} s, none differs", flush=True)


if __name__ == "__main__":
    app()
