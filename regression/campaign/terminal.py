"""How far a campaign has come, for a terminal or a log, and its result."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.table import Table as RichTable

from regression.campaign.client import Amount, Standing
from regression.campaign.kind import Kind, Table

_LOG_SECONDS: Final = 30


@contextmanager
def progress(console: Console, kind: Kind, amount: Amount) -> Iterator[Callable[[Standing], None]]:
    """A line that is kept up to date on a terminal; elsewhere a line every half minute.

    What it yields is to be called with the standing.
    """
    began = time.monotonic()
    if console.is_terminal:
        with Live(console=console, refresh_per_second=2, transient=True) as live:
            yield lambda standing: live.update(_line(kind, amount, standing, time.monotonic() - began))
        return
    said = began

    def tell(standing: Standing) -> None:
        nonlocal said
        if time.monotonic() - said >= _LOG_SECONDS:
            said = time.monotonic()
            console.print(_line(kind, amount, standing, said - began), markup=False, highlight=False)

    yield tell


def print_table(console: Console, table: Table) -> None:
    """Print a table."""
    shown = RichTable(*table.header, title=table.title)
    for row in table.rows:
        shown.add_row(*row)
    console.print(shown, markup=False)


def _line(kind: Kind, amount: Amount, standing: Standing, seconds: float) -> str:
    rate = standing.new_results / max(seconds, 1e-9)
    of_tasks = f" of {standing.total}" if standing.total is not None else ""
    parts = [
        f"{kind.name}: {standing.tasks}{of_tasks} tasks",
        f"{standing.results} {kind.unit}",
        f"{rate:.1f} {kind.unit}/s",
        f"{standing.failures} failures",
        f"{standing.workers} workers",
    ]
    if standing.holes is not None:
        parts.append(f"{standing.holes} bins missing")
    left = _seconds_left(amount, standing, seconds, rate)
    if left is not None:
        parts.append(f"{timedelta(seconds=round(left))} left")
    return ", ".join(parts)


def _seconds_left(amount: Amount, standing: Standing, seconds: float, rate: float) -> float | None:
    """The least of what the limits allow; None where none of them can be foretold."""
    new = standing.tasks - standing.resumed
    found = []
    if amount.seconds is not None:
        found.append(amount.seconds - seconds)
    if amount.results is not None and rate:
        found.append((amount.results - standing.results) / rate)
    if standing.total is not None and new:
        found.append((standing.total - standing.tasks) * seconds / new)
    return max(0.0, min(found)) if found else None
