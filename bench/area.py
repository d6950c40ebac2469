"""What every preset and every unit takes of an ECP5, and how fast each can be clocked there.

    python -m bench.area [--only NAME ...] [--synthesis] [--config PRESET] [--jobs N]

Cores and units stand alone between registers, as `boards.flow.ecp5` wraps them, and are placed and routed
once; a core takes up to 45 minutes, and with ``--synthesis`` only a few minutes. Preset ``large`` is larger
than any ECP5, and only synthesised. Prints a table and adds what it measured to
``build/bench/area.json``.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Final

from amaranth.lib import wiring
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.measurement import BUILD, number_table, write_results
from boards.flow.ecp5 import Ecp5Cost, ecp5_cost
from hdl.config import PRESETS, CoreConfig
from hdl.control.host import HostInterface
from hdl.control.scoreboard import Scoreboard
from hdl.control.sequencer import Sequencer
from hdl.core import DOT_PRODUCT_MODULE, FMA64_MODULE, Core
from hdl.dot_product.unit import DotProductUnit
from hdl.fma64.unit import FusedMultiplyAdd64
from hdl.memory.load_engine import LoadEngine
from hdl.memory.port import MemoryPort
from hdl.memory.row_addresses import RowAddresses
from hdl.memory.store_engine import StoreEngine
from hdl.multiply.f64.multiplier import F64Multiplier
from hdl.multiply.tile.multiplier import TileMultiplier
from hdl.registers.file import RegisterFile
from hdl.registers.mover import RegisterMover
from hdl.registers.transposer import Transposer

OUTPUT: Final = BUILD / "area.json"
SEEDS: Final = (1,)
CORES: Final = ("tiny", "small", "standard", "large")
"""Presets."""

TOO_LARGE: Final = ("large",)
"""Those larger than the FPGA, which are synthesised only."""

UNITS: Final[dict[str, Callable[[CoreConfig], wiring.Component]]] = {
    "dot-product": lambda config: DotProductUnit(config.dot_product),
    "fma64": lambda config: FusedMultiplyAdd64(config.f64_depth),
    "tile-multiplier": TileMultiplier,
    "f64-multiplier": F64Multiplier,
    "load-engine": LoadEngine,
    "store-engine": StoreEngine,
    "memory-port": MemoryPort,
    "register-file": RegisterFile,
    "register-mover": RegisterMover,
    "transposer": Transposer,
    "row-addresses": RowAddresses,
    "scoreboard": Scoreboard,
    "sequencer": Sequencer,
    "host-interface": HostInterface,
}
"""Every unit that the core instantiates; the scoreboard, which is in the sequencer, by itself as well."""

COLUMNS: Final = ("LUT4", "CCU2C", "LUT RAM", "FF", "area", "DP16KD", "MULT18X18D", "MHz")
"""Area is the larger of TRELLIS_COMB and flip-flops, known where something was placed."""


def measure(name: str, config: CoreConfig, *, place: bool) -> Ecp5Cost:
    """Synthesise, place and route a preset's core or a unit.

    Parameters
    ----------
    name : str
        Of a preset or of a unit.
    config : CoreConfig
        That of a unit.
    place : bool
        Whether it is placed and routed after synthesis.

    Returns
    -------
    Ecp5Cost
    """
    is_core = name in CORES
    component = Core(PRESETS[name]) if is_core else UNITS[name](config)
    is_too_large = name in TOO_LARGE
    return ecp5_cost(
        component,
        BUILD / "area" / name,
        SEEDS if place and not is_too_large else (),
        large=is_core,
        apart=(DOT_PRODUCT_MODULE, FMA64_MODULE) if is_too_large else (),
    )


def table(costs: dict[str, dict[str, Any]], title: str) -> Table:
    """What was measured, a line each."""
    made = number_table(title, "", *COLUMNS)
    for name, cost in costs.items():
        keys = ("lut4", "ccu2c", "lut_ram", "flip_flops", "area", "dp16kd", "mult18x18d")
        cells = ("" if cost[key] is None else cost[key] for key in keys)
        mhz = cost["median_mhz"]
        without = "too large" if name in TOO_LARGE else ""
        made.add_row(name, *map(str, cells), without if mhz is None else f"{mhz:.1f}")
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = (*UNITS, *CORES)
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--synthesis", action="store_true", help="no place and route, so no MHz")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once, 2 GiB each (default: 2)")
    parser.add_argument(
        "--config", choices=tuple(PRESETS), default="small", help="the preset whose units these are"
    )
    options = parser.parse_args(arguments)
    config = PRESETS[options.config]
    costs: dict[str, dict[str, Any]] = {}
    # Both the terminal and a log shall say what takes so long.
    console = Console(stderr=True)
    columns = (SpinnerColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    chosen = options.only or names
    with Progress(*columns, console=console) as progress, ThreadPoolExecutor(options.jobs) as pool:
        task = progress.add_task(", ".join(chosen), total=len(chosen))
        running = {pool.submit(measure, name, config, place=not options.synthesis): name for name in chosen}
        try:
            for future in as_completed(running):
                name = running.pop(future)
                costs[name] = future.result().as_json()
                write(name, costs[name])
                progress.update(task, advance=1, description=", ".join(running.values()))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    costs = {name: costs[name] for name in chosen}
    Console(width=max(100, Console().width)).print(
        table(costs, f"ECP5-85F, speed 8, seed {SEEDS[0]}; units are of preset {options.config}")
    )


def write(name: str, cost: dict[str, Any]) -> None:
    """Add one measurement to the file; what was measured earlier stays."""
    found = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    write_results("area", {**found, name: cost})


if __name__ == "__main__":
    main(sys.argv[1:])
