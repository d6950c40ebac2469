"""``python -m regression.fuzz``: a campaign of kind ``fuzz``, or one input that it has saved."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from openwmma.commands.campaign import run_campaign
from regression.fuzz.saved import load
from regression.fuzz.worker import Limits, Worker

app = typer.Typer(add_completion=False)


@app.command()
def main(
    inputs: Annotated[int, typer.Option("--inputs", min=1, help="Inputs to run, in tasks of 500.")] = 10_000,
    seed: Annotated[int | None, typer.Option("--seed", help="Of all inputs; a fresh one by default.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Inputs run at once.")] = 1,
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="DIR", help="Run a saved input again instead.")
    ] = None,
) -> None:
    """Run drawn and damaged inputs, and report those that end in anything but a result or a documented error.

    A hundred thousand inputs:

        python -m regression.fuzz --inputs 100000 --seed 1 --jobs 2
    """
    if replay is None:
        seeded = [] if seed is None else ["--seed", str(seed)]
        sys.exit(run_campaign(["fuzz", "--results", str(inputs), "--jobs", str(jobs), *seeded]))
    with Worker(Limits()) as worker:
        outcome = worker.run(load(replay))
    print(f"{outcome.kind}: {outcome.what}\n{outcome.detail}".rstrip())
    sys.exit(1 if outcome.is_failure else 0)


if __name__ == "__main__":
    app()
