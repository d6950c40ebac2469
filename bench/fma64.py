"""Size and speed of the f64 fused multiply-add on an FPGA, at each depth.

    python -m bench.fma64

prints a table and writes ``build/bench/fma64.json``. Area is the larger of TRELLIS_COMB and flip-flops.
"""

import argparse
from typing import Any

from rich.console import Console

from bench.measurement import BUILD, number_table, write_results
from boards.flow.ecp5 import Ecp5Cost, ecp5_cost
from boards.flow.families import FAMILIES, family_cost
from hdl.config import CoreConfig
from hdl.fma64.unit import FusedMultiplyAdd64
from sim.testbench.depths import F64_SETTINGS

REQUIRED_MHZ = 80
REQUIRED_COMB = 6_000
REQUIRED_MULTIPLIERS = 10

PEERS = (
    # name, LUT4, CCU2C, MULT18X18D, TRELLIS_COMB, MHz
    ("cvfpu FMA f64", 5761, 433, 9, 6630, 34),
    ("HardFloat FMA f64, combinational", 7782, 422, 9, 8630, None),
)
"""Other open units, through the same tools for the same device; their flip-flops were not counted."""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, default=3, help="place-and-route runs, seeds 1 and up (default 3)"
    )
    seeds = range(1, parser.parse_args().seeds + 1)
    columns = (
        "cycles",
        "LUT4",
        "CCU2C",
        "MULT18",
        "COMB",
        "FF",
        "area",
        "MHz seed 1",
        "MHz median",
        "MMAC/s/area",
    )
    table = number_table("f64 fused multiply-add, ECP5-85F speed 8, post-route", "unit", *columns)
    report: dict[str, Any] = {}
    for depth in F64_SETTINGS:
        cost = ecp5_cost(FusedMultiplyAdd64(depth), BUILD / f"fma64 {depth}", seeds)
        cells = (depth, cost.lut4, cost.ccu2c, cost.mult18x18d, cost.trellis_comb, cost.flip_flops, cost.area)
        table.add_row(
            "openwmma",
            *map(str, cells),
            *(f"{x:.1f}" for x in (cost.mhz[0], cost.median_mhz)),
            f"{cost.median_mhz / cost.area:.3f}",
            style="red" if depth == CoreConfig.f64_depths[-1] and not _meets(cost) else None,
        )
        report[f"{depth} cycles"] = {"ecp5": cost.as_json(), "latency": depth}
    required = (
        f"<= {REQUIRED_MULTIPLIERS}",
        f"<= {REQUIRED_COMB}",
        "",
        "",
        f">= {REQUIRED_MHZ}",
        f">= {REQUIRED_MHZ}",
    )
    table.add_row("required", "", "", "", *required, "", style="dim")
    for name, lut4, ccu2c, multipliers, comb, mhz in PEERS:
        figures = (lut4, ccu2c, multipliers, comb, "-", f">= {comb}", mhz or "-", "")
        table.add_row(name, "", *map(str, figures), f"<= {mhz / comb:.3f}" if mhz else "-")
    console = Console()
    console.print(table)
    xilinx = family_cost(FusedMultiplyAdd64(), BUILD / "fma64", "xc7")
    found = ", ".join(f"{count} {name}" for name, count in xilinx.items())
    console.print(f"{FAMILIES['xc7'].title}, {CoreConfig.f64_depth} cycles, synthesised: {found}")
    write_results("fma64", {**report, "xc7": xilinx})


def _meets(cost: Ecp5Cost) -> bool:
    """Whether the deepest setting is as small and fast as required."""
    return (
        min(cost.mhz[0], cost.median_mhz) >= REQUIRED_MHZ
        and cost.placed_comb <= REQUIRED_COMB
        and cost.mult18x18d <= REQUIRED_MULTIPLIERS
    )


if __name__ == "__main__":
    main()
