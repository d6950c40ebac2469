"""``python -m regression.fuzz``: search for an input that does harm."""

import random
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from regression.fuzz.campaign import Campaign, Finding, Tally, command
from regression.fuzz.kinds import KINDS, SCHEDULE
from regression.fuzz.reducing import load, save, shrink
from regression.fuzz.workers import Task, run_tasks
from regression.progress import progress_bar

app = typer.Typer(add_completion=False)


@app.command()
def main(
    inputs: Annotated[int, typer.Option("--inputs", min=1, help="Inputs to run.")] = 10_000,
    seed: Annotated[int | None, typer.Option("--seed", help="Of all inputs; a fresh one by default.")] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help=f"Only inputs of a kind: {', '.join(KINDS)}.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Inputs run at once.")] = 1,
    minutes: Annotated[
        float | None, typer.Option("--minutes", help="Begin no further input after this time.")
    ] = None,
    endless: Annotated[bool, typer.Option("--endless", help="Go on until Ctrl-C.")] = False,
    only: Annotated[int | None, typer.Option("--only", help="Run the input of this number alone.")] = None,
    save_to: Annotated[Path, typer.Option("--save", help="Folder for inputs that fail.")] = Path(
        "build/fuzz"
    ),
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="DIR", help="Run a saved input again instead.")
    ] = None,
    shrinking: Annotated[
        float, typer.Option("--shrink", min=0, help="Seconds to shrink a failing input.")
    ] = 60,
) -> None:
    """Run drawn and damaged inputs, and report those that end in anything but a result or a documented error.

    A hundred thousand inputs:

        python -m regression.fuzz --inputs 100000 --seed 1 --jobs 2
    """
    unknown = [name for name in kind or () if name not in KINDS]
    if unknown:
        raise typer.BadParameter(f"expected one of {', '.join(KINDS)}, not {unknown[0]}", param_hint="--kind")
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    campaign = Campaign(seed=seed, kinds=tuple(kind) if kind else SCHEDULE)
    if replay is not None or only is not None:
        sys.exit(_single(campaign, load(replay) if replay is not None else campaign.task(only or 0)))
    tally = Tally()
    begin = time.monotonic()
    total = None if endless else inputs
    try:
        with progress_bar(f"seed {seed}: inputs", total) as progress:
            for task, outcome in campaign.run(
                total, jobs=jobs, seconds=None if minutes is None else 60 * minutes
            ):
                if outcome.is_failure and outcome.what not in tally.findings:
                    print(f"\n{outcome.what}\n  {command(task)}", file=sys.stderr, flush=True)
                tally.add(task, outcome)
                progress(1)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    print(tally.table())
    ran = sum(tally.counts.values())
    print(f"seed {seed}: {ran} inputs in {time.monotonic() - begin:.0f} s, outcomes {tally.digest}")
    for finding in tally.findings.values():
        _report(campaign, finding, save_to, shrinking)
    sys.exit(1 if tally.findings else 0)


def _single(campaign: Campaign, task: Task) -> int:
    [(_, outcome)] = run_tasks([task], limits=campaign.limits, prepare=campaign.prepare)
    print(f"{outcome.kind}: {outcome.what}\n{outcome.detail}".rstrip())
    return 1 if outcome.is_failure else 0


def _report(campaign: Campaign, finding: Finding, folder: Path, seconds: float) -> None:
    files, outcome = shrink(finding.task, finding.outcome, campaign.limits, seconds, campaign.prepare)
    place = save(folder, finding.task, files, outcome)
    print(f"\n{finding.times} x {finding.outcome.what}")
    print("\n".join(f"    {line}" for line in outcome.detail.splitlines()))
    print(f"  {command(finding.task)}\n  python -m regression.fuzz --replay {place}")


if __name__ == "__main__":
    app()
