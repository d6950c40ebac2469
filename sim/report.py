"""Tables for the terminal."""

from rich.table import Table

from hdl.config import PRESETS
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
    """Every preset with its sizes."""
    table = Table(title="presets")
    columns = (
        "name",
        "formats",
        "dot-product units",
        "f64 units",
        "registers",
        "queue",
        "address bits",
        "data bits",
        "reads under way",
        "shared KiB",
    )
    for column in columns:
        table.add_column(column)
    for name, config in PRESETS.items():
        table.add_row(
            name,
            " ".join(sorted(config.formats)),
            *(
                str(value)
                for value in (
                    config.dot_product_units,
                    config.double_units,
                    config.registers,
                    config.queue_depth,
                    config.address_bits,
                    config.data_bits,
                    config.outstanding_reads,
                    config.shared_bytes // 1024,
                )
            ),
        )
    return table
