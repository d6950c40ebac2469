"""``python -m regression.mutation``: whether the tests of the hardware are strong enough."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from regression.mutation.campaign import try_unit
from regression.mutation.listed import listed_mutants
from regression.mutation.records import Record, RecordFile
from regression.mutation.report import print_report, scores
from regression.mutation.units import Unit, units_named
from sim.testbench.runner import BenchFailure
from sim.verilate import BuildError

BUILD = Path(__file__).parents[2] / "build" / "mutation"


def run(
    units: Annotated[
        list[str] | None, typer.Argument(help="Units to try, by their names in the report; all if none.")
    ] = None,
    mutants: Annotated[
        int | None, typer.Option(help="Mutants of each unit, instead of the number in the table.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the choice of mutants.")] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the outcomes of earlier runs.")] = False,
) -> None:
    """Mutate the netlist of each unit and see whether its tests notice.

    Outcomes are kept in build/mutation/outcomes.jsonl, and a run that was broken off goes on where it ended.
    The exit code is 1 if fewer than 95 % of the mutants that are faults are killed, or if the list of
    equivalent mutants has an entry that is not needed; 2 if a unit fails without a fault.
    """
    console = Console()
    outcomes = BUILD / "outcomes.jsonl"
    if fresh:
        outcomes.unlink(missing_ok=True)
    records = RecordFile(outcomes)
    found: list[Record] = []
    failures: list[str] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for unit in _units(units or []):
            task = progress.add_task(unit.name, total=None)

            def tell(step: str, done: int, total: int, name: str = unit.name, task: TaskID = task) -> None:
                progress.update(task, description=f"{name}: {step}", completed=done, total=total)

            try:
                found += try_unit(unit, records, BUILD, tell, count=mutants, seed=seed)
            except (BenchFailure, BuildError) as error:
                failures.append(f"{unit.name}: {error}")
            progress.update(task, description=unit.name)
            progress.stop_task(task)
    entries = listed_mutants() if mutants is None and seed == 1 else ()
    is_enough = print_report(console, *scores(found, entries))
    for failure in failures:
        console.print(failure, style="red", markup=False, highlight=False)
    if failures:
        raise typer.Exit(2)
    if not is_enough:
        raise typer.Exit(1)


def _units(names: list[str]) -> tuple[Unit, ...]:
    try:
        return units_named(names)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


if __name__ == "__main__":
    typer.run(run)
