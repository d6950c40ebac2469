"""What the terminal shows of an execution: its progress and a table of its counters."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

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

from golden.machine import Counters
from golden.programs.execution import Execution
from golden.ptx.contraction.passes import Contraction
from hdl.config import CoreConfig
from openwmma.launching import KernelRun
from openwmma.target import Target
from openwmma.terminal import plain, tell
from sim.replay.replayer import ReplayCounters


def _counter_rows(counters: Counters, config: CoreConfig | None) -> list[tuple[str, str]]:
    """Cycles, the share in which the dot-product units took operands, and why the warps waited."""
    share = counters.utilisation(config.dot_product_units if config else 1)
    warps = config.warps if config else 1
    rows = [
        ("cycles", f"{counters.cycles:,}" if counters.cycles else "none: golden model"),
        ("dot-product utilisation", "none: golden model" if share is None else f"{share:.1%}"),
    ]
    if counters.cycles:
        causes = {
            "waiting for registers": counters.stall_registers,
            "waiting for memory": counters.stall_memory,
            "waiting for a unit": counters.stall_unit,
            "waiting for the host": counters.queue_empty_cycles,
        }
        rows += [
            (name, f"{cycles:,} cycles, {cycles / counters.cycles / warps:.1%}")
            for name, cycles in causes.items()
        ]
    return rows


def _replay_rows(counters: ReplayCounters) -> list[tuple[str, str]]:
    """What a core did for a launch beside the matrix instructions of the kernel."""
    return [
        ("commands of the core", f"{counters.instructions:,}"),
        ("data beats read, written", f"{counters.read_beats:,}, {counters.write_beats:,}"),
        ("fragments loaded again", f"{counters.reloads:,}"),
        ("fragments of the host", f"{counters.pushed:,}"),
        ("bytes written by the host", f"{counters.written_bytes:,}"),
        ("waits for the end of all commands", f"{counters.waits:,}"),
        ("scalar code and host writes", "take no cycles: the cycles are a lower bound"),
    ]


def print_result(title: str, target: Target, execution: Execution, config: CoreConfig) -> None:
    """Print a table of what an execution took."""
    counters = execution.counters
    rows = [("instructions", f"{counters.instructions:,}"), *_counter_rows(counters, config)]
    _print(title, target, [*rows, ("wall time", f"{execution.seconds:.3f} s")])


def print_launch(title: str, target: Target, run: KernelRun) -> None:
    """Print a table of what a launch did, and its notes."""
    rows = [
        ("blocks", f"{run.blocks:,}"),
        ("warp instructions", f"{run.warp_instructions:,}"),
        ("matrix multiplies", f"{run.matrix_instructions:,}"),
        *_counter_rows(run.counters, run.config),
    ]
    if isinstance(run.counters, ReplayCounters) and run.cycles:
        rows += _replay_rows(run.counters)
    _print(title, target, [*rows, ("wall time", f"{run.seconds:.3f} s")])
    for note in run.notes:
        tell(f"note: {note}")


def print_replay(kernel: str, target: Target, counters: ReplayCounters, config: CoreConfig) -> None:
    """Print a table of what a core did to execute a trace."""
    rows = [*_counter_rows(counters, config), *_replay_rows(counters)]
    _print(f"the trace of {kernel}", target, rows)


def _print(title: str, target: Target, rows: Sequence[tuple[str, str]]) -> None:
    """Print names and values in two columns, and the files that the machine has written."""
    table = Table(title=plain(f"{title} on {target.on.value}"), show_header=False)
    for row in rows:
        table.add_row(*row)
    for name, path in (("waveform", target.waves), ("trace", target.trace)):
        if path is not None:
            table.add_row(name, plain(path))
    Console().print(table)


def print_contractions(title: str, contractions: Sequence[Contraction]) -> None:
    """Print which additions are joined with which multiplications."""
    print(f"{title}: {len(contractions)} joined")
    for item in contractions:
        print(f"  {item}")


@contextmanager
def _bar(what: str) -> Iterator[Callable[..., None] | None]:
    """What updates a progress bar on a terminal; None elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        yield partial(bar.update, bar.add_task(what, total=None))


@contextmanager
def block_progress() -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar over the blocks of a grid on a terminal, and nothing elsewhere."""
    with _bar("blocks") as update:
        yield None if update is None else lambda done, total: update(completed=done, total=total)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, and nothing elsewhere."""
    with _bar(what) as update:
        yield lambda count: None if update is None else update(advance=count)
