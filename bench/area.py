"""What every preset and every unit takes of an ECP5, and how fast each can be clocked there.

    python -m bench.area [--only NAME ...] [--family FAMILY] [--synthesis] [--config PRESET] [--jobs N]

Cores and units stand alone between registers, as `boards.flow.ecp5` wraps them, and are placed and routed
once; a core takes up to 45 minutes, and with ``--synthesis`` only a few minutes. Preset ``large`` is larger
than any ECP5, and only synthesised, and so is everything for Xilinx. Prints a table and adds what it measured
to ``build/bench/area.json``.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from typing import Any, Final

from amaranth.lib import wiring
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.measurement import BUILD, number_table, write_results
from boards.flow.ecp5 import ecp5_cost
from boards.flow.families import FAMILIES, family_cost
from golden.tables.profiles import PROFILES
from hdl.config import PRESETS, CoreConfig
from hdl.control.host import HostInterface
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
from hdl.omma.unit import GroupSumUnit
from hdl.registers.file import RegisterFile
from hdl.registers.mover import RegisterMover
from sim.testbench.with_banks import WithBanks

OUTPUT: Final = BUILD / "area.json"
SEEDS: Final = (1,)
SMALL: Final = PRESETS["small"]
BLACKWELL: Final = replace(SMALL.dot_product, profile=PROFILES["blackwell"])
SCALED: Final = replace(BLACKWELL, formats=BLACKWELL.formats | {"fp6", "fp4"}, block_scale=True)
CORES: Final = {
    **PRESETS,
    "small-sparse": replace(SMALL, sparse=True),
    "small-blackwell": replace(SMALL, dot_product=BLACKWELL),
    "small-block-scale": replace(SMALL, dot_product=SCALED),
    "small-mxf4": replace(SMALL, dot_product=BLACKWELL, mxf4=True),
}
"""Presets, and some with options that cost nothing when off."""

TOO_LARGE: Final = ("large",)
"""Those larger than the FPGA, which are synthesised only."""

UNITS: Final[dict[str, Callable[[CoreConfig], wiring.Component]]] = {
    "dot-product": lambda config: DotProductUnit(config.dot_product),
    "fma64": lambda config: FusedMultiplyAdd64(config.f64_depth),
    "group-sums": lambda config: GroupSumUnit(config.dot_product.depth),
    "tile-multiplier": TileMultiplier,
    "f64-multiplier": F64Multiplier,
    "load-engine": lambda config: WithBanks(config, LoadEngine(config)),
    "store-engine": lambda config: WithBanks(config, StoreEngine(config)),
    "memory-port": MemoryPort,
    "register-file": RegisterFile,
    "register-mover": RegisterMover,
    "row-addresses": RowAddresses,
    "sequencer": Sequencer,
    "host-interface": HostInterface,
}
"""Every unit that a core may instantiate; each engine has a memory of banks."""

COLUMNS: Final = {
    "LUT4": "lut4",
    "CCU2C": "ccu2c",
    "LUT RAM": "lut_ram",
    "FF": "flip_flops",
    "area": "area",
    "DP16KD": "dp16kd",
    "MULT18X18D": "mult18x18d",
    "MHz": "median_mhz",
}
"""Of an ECP5. Area is the larger of TRELLIS_COMB and flip-flops, known where something was placed."""


def measure(name: str, config: CoreConfig, family: str, *, place: bool) -> dict[str, Any]:
    """Synthesise, place and route a preset's core or a unit.

    Parameters
    ----------
    name : str
        Of a preset or of a unit.
    config : CoreConfig
        The configuration of a unit.
    family : str
        ``ecp5``, or one of `FAMILIES`.
    place : bool
        Whether it is placed and routed after synthesis, where that is possible.

    Returns
    -------
    dict
        `COLUMNS`, or the cells of the family, and MHz if it was placed.
    """
    is_core = name in CORES
    component = Core(CORES[name]) if is_core else UNITS[name](config)
    is_too_large = name in TOO_LARGE
    apart = (DOT_PRODUCT_MODULE, FMA64_MODULE) if is_too_large else ()
    place = place and not is_too_large
    if family != "ecp5":
        seed = SEEDS[0] if place and FAMILIES[family].place else None
        return family_cost(component, BUILD / "area" / f"{name} {family}", family, seed=seed, apart=apart)
    folder = BUILD / "area" / name
    cost = ecp5_cost(component, folder, SEEDS if place else (), large=is_core, apart=apart).as_json()
    return {column: cost[key] for column, key in COLUMNS.items()}


def table(costs: dict[str, dict[str, Any]], title: str) -> Table:
    """What was measured, a line each."""
    columns = list(dict.fromkeys(column for cost in costs.values() for column in cost))
    made = number_table(title, "", *columns)
    for name, cost in costs.items():
        cells = (cost.get(column) for column in columns)
        made.add_row(name, *("" if cell is None else str(cell) for cell in cells))
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = (*UNITS, *CORES)
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument(
        "--family",
        choices=("ecp5", *FAMILIES),
        default="ecp5",
        help="of FPGA: ECP5-85F of speed grade 8 (default), Xilinx 7 series, UltraScale+, Gowin GW5AST",
    )
    parser.add_argument(
        "--synthesis", action="store_true", help="packed, but not placed and routed, so no MHz"
    )
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
        running = {
            pool.submit(measure, name, config, options.family, place=not options.synthesis): name
            for name in chosen
        }
        try:
            for future in as_completed(running):
                name = running.pop(future)
                costs[name] = future.result()
                write(f"{name}, {options.family}", costs[name])
                progress.update(task, advance=1, description=", ".join(running.values()))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    costs = {name: costs[name] for name in chosen}
    title = FAMILIES[options.family].title if options.family in FAMILIES else "ECP5-85F, speed 8"
    Console(width=max(100, Console().width)).print(
        table(costs, f"{title}, seed {SEEDS[0]}; units are of preset {options.config}")
    )


def write(name: str, cost: dict[str, Any]) -> None:
    """Add one measurement to the file; what was measured earlier stays."""
    found = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    write_results("area", {**found, name: cost})


if __name__ == "__main__":
    main(sys.argv[1:])
