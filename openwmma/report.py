"""What the terminal shows of an execution: its progress and a table of its counters."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from golden.programs.execution import Execution
from golden.ptx.contraction.passes import Contraction
from hdl.config import CoreConfig
from openwmma.launching import KernelRun
from openwmma.target import Target
from openwmma.terminal import plain, tell

__all__ = ["block_progress", "execution_rows", "print_contractions", "print_launch", "print_result"]
__all__ += ["progress"]


def execution_rows(execution: Execution, units: int) -> list[tuple[str, str]]:
    """What an execution took: names and values for two columns.

    Parameters
    ----------
    execution : Execution
    units : int
        Dot-product units of the core.
    """
    counters = execution.counters
    share = counters.utilisation(units)
    rows = [
        ("instructions", f"{counters.instructions:,}"),
        ("cycles", f"{counters.cycles:,}" if counters.cycles else "none: golden model"),
        ("dot-product utilisation", "none: golden model" if share is None else f"{share:.1%}"),
    ]
    if counters.cycles:
        causes = {
            "waiting for registers": counters.stall_registers,
            "waiting for memory": counters.stall_memory,
            "waiting for a unit": counters.stall_unit,
            "waiting for the host": counters.stall_empty,
        }
        rows += [
            (name, f"{cycles:,} cycles, {cycles / counters.cycles:.1%}") for name, cycles in causes.items()
        ]
    return [*rows, ("wall time", f"{execution.seconds:.3f} s")]


def print_result(title: str, target: Target, execution: Execution, config: CoreConfig) -> None:
    """Print a table of what an execution took."""
    table = Table(title=plain(f"{title} on {target.on.value}"), show_header=False)
    for row in execution_rows(execution, config.dot_product_units):
        table.add_row(*row)
    _add_files(table, target)
    Console().print(table)


def print_launch(title: str, target: Target, run: KernelRun) -> None:
    """Print a table of what a launch did, and its notes."""
    table = Table(title=plain(f"{title} on {target.on.value}"), show_header=False)
    table.add_row("blocks", f"{run.blocks:,}")
    table.add_row("warp instructions", f"{run.warp_instructions:,}")
    table.add_row("matrix multiplies", f"{run.matrix_instructions:,}")
    table.add_row("cycles", f"{run.cycles:,}" if run.cycles else "none: golden model")
    share = "none: golden model" if run.utilisation is None else f"{run.utilisation:.1%}"
    table.add_row("dot-product utilisation", share)
    table.add_row("wall time", f"{run.seconds:.3f} s")
    _add_files(table, target)
    console = Console()
    console.print(table)
    for note in run.notes:
        tell(f"note: {note}")


def print_contractions(title: str, contractions: Sequence[Contraction]) -> None:
    """Print which additions are joined with which multiplications."""
    print(f"{title}: {len(contractions)} joined")
    for item in contractions:
        print(f"  {item}")


def _add_files(table: Table, target: Target) -> None:
    for name, path in (("waveform", target.waves), ("trace", target.trace)):
        if path is not None:
            table.add_row(name, plain(path))


@contextmanager
def block_progress() -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar over the blocks of a grid on a terminal, and nothing elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("blocks"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("blocks", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, and nothing elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda count: None
        return
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda count: bar.advance(task, count)
