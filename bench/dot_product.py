"""Size and speed of the dot-product unit: ECP5 and 7-series, and the rate of its Verilated model.

    python -m bench.dot_product [--seeds N] [--only NAME] [--record]

Area is the larger of TRELLIS_COMB and flip-flops. Prints tables and writes ``build/bench/dot_product.json``.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.measurement import BUILD, fastest, write_results
from boards.flow.ecp5 import Ecp5Cost, ecp5_cost
from boards.flow.families import FAMILIES, family_cost
from hdl.config import PRESETS, DotProductConfig
from hdl.dot_product.unit import DotProductUnit
from sim.testbench.bulk import BulkUnit
from sim.testbench.depths import SETTINGS
from sim.testbench.dot_product_operands import FP8_MODES, MODES, random_batch

OPERATIONS: Final = 1_000_000
DEPTHS: Final = Path(__file__).parents[1] / "docs" / "diagrams" / "data" / "depths.json"

_ALL: Final = PRESETS["standard"].dot_product
_DEPTHS: Final = sorted({*SETTINGS, 10, 12, _ALL.depth})
"""The documentation has a curve of these."""

CONFIGURATIONS: Final = {
    **{f"all formats, {depth}": replace(_ALL, depth=depth) for depth in _DEPTHS},
    "f16": DotProductConfig(),
    "f16 and bf16": DotProductConfig(formats=frozenset({"f16", "bf16"})),
    "all formats but fp8": DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"})),
    "fp8": DotProductConfig(formats=frozenset({"fp8"})),
}
"""By name; all formats at several depths."""

PEERS: Final = (
    # name, terms, LUT4, CCU2C, MULT18X18D, TRELLIS_COMB, MHz; the same tools for the same device. Their
    # flip-flops were not counted, so their area is at least what stands here.
    ("Vortex TCU, f16 only", 4, 3262, 237, 0, 3874, 84),
    ("Vortex TCU, all its formats", 4, 6454, 517, 16, 7822, 63),
    ("cvfpu two-term sum of dot products", 2, 3075, 228, 2, 3530, 29),
)


def most_terms(formats: frozenset[str]) -> int:
    """Products of the densest floating-point format: fp8 has 32, the others 16."""
    return 32 if "fp8" in formats else 16


def simulation_rate(config: DotProductConfig) -> float:
    """Results per second of processor time, on one core, all modes mixed."""
    unit = BulkUnit(DotProductUnit(config))
    modes = [mode for mode in (*MODES, *FP8_MODES) if mode.format in config.formats]
    words = np.concatenate([random_batch(mode, 10_000, seed=1).pack() for mode in modes])
    operands = words[np.random.default_rng(1).integers(0, len(words), OPERATIONS)]
    seconds, _ = fastest(lambda: unit.run(operands), 1)
    return OPERATIONS / seconds


def density(terms: int, mhz: float, area: int) -> float:
    """Million multiply-accumulates per second and unit of area."""
    return terms * mhz / area


def fpga_table(costs: dict[str, Ecp5Cost]) -> Table:
    """Ours beside the peers."""
    columns = ("cycles", "terms", "LUT4", "CCU2C", "MULT18", "COMB", "FF", "area", "MHz seed 1", "median")
    title = "Dot-product units on ECP5-85F, speed 8, after place and route"
    table = Table("unit", *columns, "MMAC/s/area", title=title)
    for name, cost in costs.items():
        config = CONFIGURATIONS[name]
        terms = most_terms(config.formats)
        whole = (config.depth, terms, cost.lut4, cost.ccu2c, cost.mult18x18d, cost.trellis_comb)
        rates = (f"{cost.mhz[0]:.1f}", f"{cost.median_mhz:.1f}")
        figure = density(terms, cost.median_mhz, cost.area)
        table.add_row(
            f"openwmma, {name}", *map(str, (*whole, cost.flip_flops, cost.area)), *rates, f"{figure:.3f}"
        )
    for name, terms, lut4, ccu2c, multipliers, comb, mhz in PEERS:
        cells = ("", terms, lut4, ccu2c, multipliers, comb, "-", f">= {comb}", mhz, "")
        table.add_row(name, *map(str, cells), f"<= {density(terms, mhz, comb):.3f}")
    return table


def main() -> None:
    """Measure, print the tables, write ``build/bench/dot_product.json``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="place-and-route runs of each configuration")
    parser.add_argument("--only", choices=tuple(CONFIGURATIONS), help="one configuration")
    parser.add_argument(
        "--record", action="store_true", help="write the figures of each depth that the documentation draws"
    )
    arguments = parser.parse_args()
    console = Console(width=max(132, Console().width))
    costs: dict[str, Ecp5Cost] = {}
    report: dict[str, Any] = {}
    title = FAMILIES["xc7"].title
    others = Table("unit", *FAMILIES["xc7"].cells, "latency", "simulated results/s", title=title)
    for name, config in CONFIGURATIONS.items():
        if arguments.only not in (None, name):
            continue
        folder = BUILD / f"dot_product {name}".replace(" ", "_").replace(",", "")
        rate = simulation_rate(config)
        costs[name] = ecp5_cost(DotProductUnit(config), folder / "ecp5", range(1, arguments.seeds + 1))
        xilinx = family_cost(DotProductUnit(config), folder / "xc7", "xc7")
        whole = (*xilinx.values(), config.depth)
        others.add_row(f"openwmma, {name}", *map(str, whole), f"{rate:,.0f}")
        report[name] = {
            "ecp5": costs[name].as_json(),
            "xc7": xilinx,
            "latency": config.depth,
            "million_macs_per_area": density(
                most_terms(config.formats), costs[name].median_mhz, costs[name].area
            ),
            "simulated_results_per_second": rate,
        }
    console.print(fpga_table(costs))
    console.print(others)
    write_results("dot_product", report)
    if arguments.record:
        record(costs)


def record(costs: dict[str, Ecp5Cost]) -> None:
    """Write what the documentation draws, for each depth of all formats that was measured."""
    measured = [
        {
            "cycles": CONFIGURATIONS[name].depth,
            "comb": cost.placed_comb,
            "ff": cost.flip_flops,
            "mhz": cost.median_mhz,
        }
        for name, cost in costs.items()
        if CONFIGURATIONS[name].formats == _ALL.formats
    ]
    DEPTHS.write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()
