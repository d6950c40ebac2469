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
    return [
        ("instructions", f"{counters.instructions:,}"),
        ("cycles", f"{counters.cycles:,}" if counters.cycles else "none: golden model"),
        ("dot-product utilisation", "none: golden model" if share is None else f"{share:.1%}"),
        ("wall time", f"{execution.seconds:.3f} s"),
    ]


def presets_table() -> Table:
    """Every preset with its sizes."""
    table = Table(title="presets")
    columns = (
        "name",
        "formats",
        "dot-product units",
        "registers",
        "queue",
        "address bits",
        "reads under way",
    )
    for column in columns:
        table.add_column(column)
    for name, config in PRESETS.items():
        table.add_row(
            name,
            " ".join(sorted(config.dot_product.formats)),
            *(
                str(value)
                for value in (
                    config.dot_product_units,
                    config.registers,
                    config.queue_depth,
                    config.address_bits,
                    config.outstanding_reads,
                )
            ),
        )
    return table
