"""How far a long run has come."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal; elsewhere a line now and then.

    Parameters
    ----------
    what : str
    total : int or None
        None where there is no end.

    Yields
    ------
    callable
        To be called with how many more are done.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        done, said = 0, time.monotonic()

        def tell(count: int) -> None:
            nonlocal done, said
            done += count
            if time.monotonic() - said > 30:
                said = time.monotonic()
                print(f"{what}: {done} of {total or 'no end'}", file=sys.stderr, flush=True)

        yield tell
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.advance(task, count)
