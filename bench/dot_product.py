"""Size and speed of the dot-product unit: ECP5 and 7-series, and the rate of its Verilated model."""

import argparse
from dataclasses import asdict
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.measurement import BUILD, fastest, write_results
from boards.flow.ecp5 import Ecp5Cost, ecp5_cost, xilinx_cost
from hdl.config import DotProductConfig
from hdl.dot_product.unit import DotProductUnit
from sim.testbench.bulk import BulkUnit
from sim.testbench.dot_product_operands import FP8_MODES, MODES, random_batch

OPERATIONS: Final = 1_000_000

CONFIGURATIONS: Final = {
    "f16": frozenset({"f16"}),
    "f16 and bf16": frozenset({"f16", "bf16"}),
    "all formats but fp8": frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"}),
    "fp8": frozenset({"fp8"}),
    "all formats": frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1", "fp8"}),
}

PEERS: Final = (
    # name, terms, LUT4, CCU2C, MULT18X18D, TRELLIS_COMB, MHz; the same tools for the same device
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


def density(terms: int, mhz: float, comb: int) -> float:
    """Million multiply-accumulates per second and TRELLIS_COMB."""
    return terms * mhz / comb


def fpga_table(costs: dict[str, Ecp5Cost]) -> Table:
    """Ours beside the peers."""
    columns = ("terms", "LUT4", "CCU2C", "MULT18", "COMB", "FF", "MHz seed 1", "MHz median", "MMAC/s/COMB")
    table = Table("unit", *columns, title="Dot-product units on ECP5-85F, speed 8, after place and route")
    for name, cost in costs.items():
        terms = most_terms(CONFIGURATIONS[name])
        whole = (terms, cost.lut4, cost.ccu2c, cost.mult18x18d, cost.trellis_comb, cost.flip_flops)
        rates = (f"{cost.mhz[0]:.1f}", f"{cost.median_mhz:.1f}")
        figure = density(terms, cost.median_mhz, cost.placed_comb)
        table.add_row(f"openwmma, {name}", *map(str, whole), *rates, f"{figure:.3f}")
    for name, terms, lut4, ccu2c, multipliers, comb, mhz in PEERS:
        cells = (terms, lut4, ccu2c, multipliers, comb, "", mhz, "")
        table.add_row(name, *map(str, cells), f"{density(terms, mhz, comb):.3f}")
    return table


def main() -> None:
    """Measure, print the tables, write ``build/bench/dot_product.json``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="place-and-route runs of each configuration")
    parser.add_argument("--only", choices=tuple(CONFIGURATIONS), help="one configuration")
    arguments = parser.parse_args()
    console = Console(width=max(132, Console().width))
    costs: dict[str, Ecp5Cost] = {}
    report: dict[str, Any] = {}
    others = Table("unit", "xc7 LUT", "CARRY4", "FF", "DSP48", "latency", "simulated results/s")
    for name, formats in CONFIGURATIONS.items():
        if arguments.only not in (None, name):
            continue
        config = DotProductConfig(formats=formats)
        folder = BUILD / f"dot_product {name}".replace(" ", "_")
        rate = simulation_rate(config)
        costs[name] = ecp5_cost(DotProductUnit(config), folder / "ecp5", range(1, arguments.seeds + 1))
        xilinx = xilinx_cost(DotProductUnit(config), folder / "xc7")
        whole = (xilinx.lut + xilinx.lut_ram, xilinx.carry4, xilinx.flip_flops, xilinx.dsp48)
        others.add_row(f"openwmma, {name}", *map(str, whole), str(DotProductUnit.latency), f"{rate:,.0f}")
        report[name] = {
            "ecp5": costs[name].as_json(),
            "xc7": asdict(xilinx),
            "latency": DotProductUnit.latency,
            "million_macs_per_comb": density(
                most_terms(formats), costs[name].median_mhz, costs[name].placed_comb
            ),
            "simulated_results_per_second": rate,
        }
    console.print(fpga_table(costs))
    console.print(others)
    write_results("dot_product", report)


if __name__ == "__main__":
    main()
