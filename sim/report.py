"""Tables for the terminal."""

from collections.abc import Callable

from rich.table import Table

from hdl.config import PRESETS, CoreConfig
from sim.execution import Execution

__all__ = ["execution_rows", "presets_table", "utilisation"]


def utilisation(execution: Execution, units: int) -> float | None:
    """The share of the dot-product units' cycles in which they took operands; None without cycles."""
    counters = execution.counters
    return counters.dot_product_cycles / (counters.cycles * units) if counters.cycles else None


def execution_rows(execution: Execution, units: int) -> list[tuple[str, str]]:
    """What an execution took: names and values for two columns.

    Parameters
    ----------
    execution : Execution
    units : int
        Dot-product units of the core.
    """
    counters = execution.counters
    share = utilisation(execution, units)
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


def presets_table() -> Table:
    """Every preset with its sizes, a column each."""
    table = Table(title="presets")
    table.add_column("")
    for name in PRESETS:
        table.add_column(name)
    sizes: dict[str, Callable[[CoreConfig], object]] = {
        "formats": lambda config: " ".join(sorted(config.formats)),
        "dot-product units": lambda config: config.dot_product_units,
        "f64 units": lambda config: config.f64_units,
        "registers": lambda config: config.registers,
        "command queue": lambda config: config.queue_depth,
        "address bits": lambda config: config.address_bits,
        "data bits": lambda config: config.data_bits,
        "reads under way": lambda config: config.outstanding_reads,
        "shared memory, KiB": lambda config: config.shared_bytes // 1024,
    }
    for size, of in sizes.items():
        table.add_row(size, *(str(of(config)) for config in PRESETS.values()))
    return table
