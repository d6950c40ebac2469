"""`openwmma presets`: a table of `hdl.config.PRESETS`."""

from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from hdl.config import PRESETS, CoreConfig

_SIZES: dict[str, Callable[[CoreConfig], object]] = {
    "formats": lambda config: " ".join(sorted(config.formats)),
    "dot-product units": lambda config: config.dot_product_units,
    "f64 units": lambda config: config.f64_units,
    "registers of a warp": lambda config: config.registers,
    "warps": lambda config: config.warps,
    "command queue": lambda config: config.queue_depth,
    "address bits": lambda config: config.address_bits,
    "data bits": lambda config: config.data_bits,
    "reads in flight": lambda config: config.outstanding_reads,
    "shared memory, KiB": lambda config: config.shared_bytes // 1024,
}


def presets() -> None:
    """List the configurations that --preset takes."""
    table = Table(title="presets")
    table.add_column("")
    for name in PRESETS:
        table.add_column(name)
    for size, of in _SIZES.items():
        table.add_row(size, *(str(of(config)) for config in PRESETS.values()))
    Console().print(table)
