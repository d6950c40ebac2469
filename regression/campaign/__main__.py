"""``openwmma campaign``: independent tasks of verification on all cores, or on a Dask cluster."""

import os
import random
import re
import signal
import sys
from contextlib import closing
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from openwmma.usage import FAILURE, INTERRUPTED, MISUSE, complain, explain_error, explain_option
from openwmma.usage_error import UsageError
from regression.campaign.client import Amount, Campaign
from regression.campaign.cluster import connected, perform
from regression.campaign.kind import Case, Kind, Outcome, Task
from regression.campaign.kinds import KINDS
from regression.campaign.report import Result, progress, write_report
from regression.campaign.store import Store
from regression.identity import ROOT, identity

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")

BUILD: Final = ROOT / "build" / "campaigns"

_MOST: Final = (1 << 63) - 1
"""That the store holds."""

_MAX_SECONDS: Final = 3650 * 86400

_SAVED: Final = 5
"""Different failures that are made smaller; the others have the command of their task."""

_SHOWN: Final = 20
"""Holes and failures on the terminal."""

_TIME: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


_HELP: Final = """Run a campaign: many independent tasks, each recorded as soon as it has ended.

The same command resumes a campaign that was broken off, with the seed that it printed. The exit code is 1
for a failure, 2 for a campaign that could not go on.

    openwmma campaign random --results 10000000 --seed 1

The kinds of campaign:

""" + "\n".join(f"- {name}: {what}" for name, (_, what) in KINDS.items())


@app.command(help=_HELP)
def campaign(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(KINDS)}.")],
    results: Annotated[
        int | None,
        typer.Option("--results", min=1, max=_MOST, help="Results to reach; of every run together."),
    ] = None,
    time: Annotated[
        str | None, typer.Option("--time", help="Begin no further task after this time, as in 90s, 30m, 8h.")
    ] = None,
    until_covered: Annotated[
        bool, typer.Option("--until-covered", help="End when every bin of coverage was seen.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, max=_MOST, help="Of all random choices; a fresh one by default."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="Worker processes on this machine; all cores by default.")
    ] = os.cpu_count() or 1,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="Use this Dask cluster instead.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="FILE", help="Where outcomes are recorded.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FOLDER", help="For the pages and JUnit XML.")
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="TASK", help="Run one task here and record nothing.")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option("--preset", help="A preset of the core (random, results, functional, kernels)."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A field of the preset to replace (random, functional)."
        ),
    ] = None,
    type: Annotated[
        str | None, typer.Option("--type", help="Only multiplies of an A of this type (random).")
    ] = None,
    family: Annotated[list[str] | None, typer.Option("--family", help="Only these (results, fuzz).")] = None,
    unit: Annotated[list[str] | None, typer.Option("--unit", help="Only these (mutation).")] = None,
    mutants: Annotated[int | None, typer.Option("--mutants", min=1, help="Of a unit (mutation).")] = None,
    marks: Annotated[str | None, typer.Option("--marks", help="As pytest's -m (tests).")] = None,
    path: Annotated[
        list[str] | None, typer.Option("--path", help="Only these files (coverage, tests).")
    ] = None,
    changed_since: Annotated[
        str | None,
        typer.Option("--changed-since", metavar="REV", help="Only changes since this revision (coverage)."),
    ] = None,
    launch: Annotated[list[str] | None, typer.Option("--launch", help="A launch file (kernels).")] = None,
    on: Annotated[str | None, typer.Option("--on", help="As --on of openwmma run (kernels).")] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Numerics of a generation (chip).")] = None,
) -> int:
    """Run a campaign of one kind; `_HELP` is its help."""
    given = {
        "preset": preset,
        "set": settings,
        "type": type,
        "family": family,
        "unit": unit,
        "mutants": mutants,
        "marks": marks,
        "path": path,
        "changed-since": changed_since,
        "launch": launch,
        "on": on,
        "profile": profile,
    }
    chosen = _kind(kind, seed, {name: value for name, value in given.items() if value not in (None, [])})
    if only is not None:
        return _single(chosen, only)
    seconds = None if time is None else _seconds(time)
    if until_covered and not chosen.has_coverage:
        raise UsageError(f"--until-covered: expected a kind with coverage, such as functional, not {kind}")
    if results is None and seconds is None and not until_covered:
        results = chosen.amount
        until_covered = chosen.has_coverage
    amount = Amount(results=results, seconds=seconds, until_covered=until_covered)
    place = store or BUILD / f"{kind}.sqlite"
    folder = report or BUILD / kind
    return _run(chosen, amount, place, folder, scheduler, jobs)


def _kind(name: str, seed: int | None, given: dict[str, Any]) -> Kind:
    if name not in KINDS:
        raise UsageError(f"expected a kind of campaign, one of {', '.join(KINDS)}, not {name}")
    found: type[Kind] = resolve_name(KINDS[name][0])
    for option in given:
        if option not in found.options:
            takes = ", ".join(f"--{item}" for item in found.options) or "no option of a kind"
            raise UsageError(f"--{option}: {name} takes {takes}")
    fresh = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    kind = found(fresh, {**found.options, **given})
    kind.require()
    return kind


def _seconds(text: str) -> float:
    match = _TIME.fullmatch(text)
    if match is None:
        raise UsageError(f"--time: expected a number with s, m, h or d, as in 30m, not {text}")
    seconds = float(match[1]) * _UNITS[match[2]]
    if seconds > _MAX_SECONDS:
        raise UsageError(f"--time: expected at most ten years, 3650d, not {text}")
    return seconds


def _single(kind: Kind, key: str) -> int:
    """Run a task in this process; of tasks without end, one of the first million is found."""
    task = next((task for task in islice(kind.tasks(), 1_000_000) if task.key == key), None)
    if task is None:
        raise UsageError(f"--only: {kind.name} has no task {key}")
    outcome = perform(kind, task)
    for case in outcome.cases:
        print(f"{case.name}: {case.failure or 'passed'}")
    return FAILURE if outcome.failures else 0


def _run(kind: Kind, amount: Amount, place: Path, folder: Path, scheduler: str | None, jobs: int) -> int:
    console, errors = (
        Console(stderr=stderr, soft_wrap=True, markup=False, highlight=False) for stderr in (False, True)
    )
    with closing(Store(place, kind, identity())) as recorded:
        work = Campaign(kind, recorded, amount)
        console.print(f"{kind.name}: seed {kind.seed}, store {place}, {work.tasks} tasks recorded")
        for sentence in recorded.damaged.values():
            errors.print(sentence)
        try:
            if work.has_tasks():
                cluster = connected(scheduler, jobs, type(kind).__module__)
                with cluster as client, progress(errors, work) as tell:
                    work.run(client, errors.print, tell)
        except KeyboardInterrupt:
            errors.print(f"interrupted; {work.tasks} tasks are recorded, and --seed {kind.seed} resumes")
            return INTERRUPTED
        told = len(recorded.damaged)
        outcomes = list(recorded.outcomes())
        result = Result(
            kind=kind,
            identity=identity(),
            outcomes=outcomes,
            failures=_saved(kind, outcomes, folder),
            verdict=kind.verdict(outcomes),
            history=recorded.history(),
        )
        for sentence in list(recorded.damaged.values())[told:]:
            errors.print(sentence)
    write_report(folder, result)
    _print(console, result, folder)
    return FAILURE if result.failures or result.verdict.failures else 0


def _saved(kind: Kind, outcomes: list[tuple[Task, Outcome]], folder: Path) -> list[Case]:
    """All failures; of those that say the same, the first is made smaller."""
    told: set[str] = set()
    found = []
    for task, outcome in outcomes:
        for case in outcome.failures:
            is_new = case.failure not in told and len(told) < _SAVED
            found.append(kind.save(case, task, folder) if is_new else case)
            told.add(case.failure)
    return found


def _print(console: Console, result: Result, folder: Path) -> None:
    for table in result.verdict.tables:
        shown = Table(*table.header, title=table.title)
        for row in table.rows:
            shown.add_row(*row)
        console.print(shown, markup=False)
    for case in result.failures[:_SHOWN]:
        console.print(f"{case.name}: {case.failure}\n    {case.command}")
    for hole in result.verdict.holes[:_SHOWN]:
        console.print(f"not covered: {hole}")
    for line in (*result.verdict.lines, *result.verdict.failures):
        console.print(line)
    kind = result.kind
    total = sum(outcome.results for _, outcome in result.outcomes)
    console.print(
        f"{kind.name}, seed {kind.seed}: {len(result.outcomes)} tasks, {total} {kind.unit}, "
        f"{len(result.failures)} failures; report {folder / 'index.html'}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, of this process if none is given; the exit code."""
    if arguments is None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        outcome = app(arguments, prog_name="openwmma campaign", standalone_mode=False)
    except typer.exceptions.TyperException as error:
        return complain(explain_option(error), MISUSE)
    except Exception as error:
        code = explain_error(error)
        if code is None:
            raise
        return code
    return outcome if isinstance(outcome, int) else 0


if __name__ == "__main__":
    sys.exit(main())
