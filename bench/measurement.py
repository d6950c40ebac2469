"""What the benchmarks share: processor time, tables of numbers, and files of results."""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from rich.table import Table

BUILD: Final = Path(__file__).parents[1] / "build" / "bench"
"""Folder of the results."""

_Result = TypeVar("_Result")


def fastest(work: Callable[[], _Result], repetitions: int) -> tuple[float, _Result]:
    """Seconds of processor time of the fastest of several runs, and what the last one returned.

    Parameters
    ----------
    work : callable
    repetitions : int
        At least 1.
    """
    seconds = []
    for _ in range(repetitions):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return min(seconds), result


def named(description: str | None, known: Iterable[str], default: Sequence[str] = ()) -> list[str]:
    """Read the names on the command line, or end the process with what is wrong with them.

    Parameters
    ----------
    description : str or None
        What ``--help`` says.
    known : iterable of str
        The names that there are.
    default : sequence of str
        Those that no name stands for; all if empty.
    """
    names = list(known)
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    chosen: list[str] = parser.parse_args().names
    unknown = sorted(set(chosen) - set(names))
    if unknown:
        parser.error(f"names must be among {', '.join(names)}, not {', '.join(unknown)}")
    return chosen or list(default) or names


def number_table(title: str, name: str, *columns: str) -> Table:
    """A table whose first column is a name, and whose other columns are numbers, flush right."""
    table = Table(name, title=title)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def write_results(name: str, results: Any) -> None:
    """Write the results of a benchmark to ``build/bench``, as JSON."""
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / f"{name}.json").write_text(json.dumps(results, indent=2) + "\n")
