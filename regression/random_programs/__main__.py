"""``python -m regression.random_programs``: search for a program on which core and golden model differ."""

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from hdl.config import PRESETS
from regression.functional.collector import observe
from regression.functional.model import save_seen
from regression.progress import progress_bar
from regression.random_programs.campaign import Campaign, Verdict
from regression.random_programs.program import Program
from regression.random_programs.running import difference
from regression.random_programs.saving import load_program, save_program
from regression.random_programs.shrink import shrink

app = typer.Typer(add_completion=False)


@app.command()
def main(
    results: Annotated[
        int, typer.Option("--results", help="Elements of D to compute and compare.")
    ] = 100_000,
    preset: Annotated[str, typer.Option("--preset", help=f"One of {', '.join(PRESETS)}.")] = "small",
    seed: Annotated[int, typer.Option("--seed", help="Of the whole run.")] = 1,
    type: Annotated[
        str | None, typer.Option("--type", help="Only multiplies of an A of this type, such as f64.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Programs run at once.")] = 1,
    lockstep_every: Annotated[
        int,
        typer.Option(
            "--lockstep-every", min=0, help="Compare one of so many after each command; 0 for none."
        ),
    ] = 50,
    save: Annotated[Path, typer.Option("--save", help="Folder for a program that fails.")] = Path(
        "build/random_programs"
    ),
    coverage: Annotated[
        Path | None, typer.Option("--coverage", metavar="FILE.json", help="Save what was seen.")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="DIR", help="Run a saved program again instead.")
    ] = None,
) -> None:
    """Run random programs on the Verilated core and compare registers and memory with the golden model.

    A program that fails is shrunk to the shortest that does, and saved as PTX with its memory. Ten million
    results:

        python -m regression.random_programs --results 10000000 --preset small --seed 1 --jobs 2
    """
    if replay is not None:
        sys.exit(_replay(replay))
    if preset not in PRESETS:
        raise typer.BadParameter(f"expected one of {', '.join(PRESETS)}, not {preset}", param_hint="--preset")
    campaign = Campaign(
        preset=preset,
        seed=seed,
        lockstep_every=lockstep_every,
        observe=observe if coverage else None,
        type=type,
    )
    sys.exit(_search(campaign, results, jobs, save, coverage))


def _search(campaign: Campaign, results: int, jobs: int, save: Path, coverage: Path | None) -> int:
    begin = time.perf_counter()
    seen: Counter[tuple[str, str]] = Counter()
    programs = commands = compared = 0
    failed: Verdict | None = None
    with progress_bar(f"{campaign.preset}, seed {campaign.seed}: results", results) as progress:
        for verdict in campaign.run(results, jobs=jobs):
            programs += 1
            commands += verdict.commands
            compared += verdict.results
            seen.update(verdict.seen)
            progress(verdict.results)
            if verdict.difference is not None:
                failed = verdict
    seconds = time.perf_counter() - begin
    print(
        f"preset {campaign.preset}, seed {campaign.seed}: {programs} programs, {commands} commands, "
        f"{compared} results compared in {seconds:.1f} s",
        flush=True,
    )
    if coverage is not None:
        save_seen(coverage, seen, f"random programs, {campaign.preset}, seed {campaign.seed}")
    return 0 if failed is None else _save(campaign, failed, save)


def _save(campaign: Campaign, verdict: Verdict, save: Path) -> int:
    print(f"program {verdict.number} differs: {verdict.difference}", flush=True)
    program = campaign.program(verdict.number)
    lockstep = campaign.is_lockstep(verdict.number)

    def fails(candidate: Program) -> bool:
        return difference(candidate, lockstep=lockstep) is not None

    smallest = len(program.commands)
    with progress_bar("commands left out", smallest) as progress:

        def shrinking(count: int) -> None:
            nonlocal smallest
            progress(max(0, smallest - count))
            smallest = min(smallest, count)

        program = shrink(program, fails, shrinking)
    folder = save / f"{campaign.preset}-{campaign.seed}-{verdict.number}"
    save_program(folder, program, difference(program, lockstep=lockstep) or "")
    print(f"{len(program.commands)} commands are left: {folder / 'program.ptx'}")
    return 1


def _replay(folder: Path) -> int:
    """Run a saved program overlapped and, if that goes well, command by command."""
    if not (folder / "program.json").is_file():
        raise typer.BadParameter(f"expected a folder with program.json, not {folder}", param_hint="--replay")
    program = load_program(folder)
    found = difference(program) or difference(program, lockstep=True)
    print(json.dumps({"preset": program.preset, "seed": program.seed, "difference": found}))
    return 0 if found is None else 1


if __name__ == "__main__":
    app()
