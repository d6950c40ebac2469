"""Size and speed of the f64 fused multiply-add on an FPGA.

    python -m bench.fma64

prints a table and writes ``build/bench/fma64.json``.
"""

import argparse
from dataclasses import asdict

from rich.console import Console

from bench.measurement import BUILD, number_table, write_results
from boards.flow.ecp5 import ecp5_cost, xilinx_cost
from hdl.fma64.unit import FusedMultiplyAdd64

REQUIRED_MHZ = 80
REQUIRED_COMB = 6_000
REQUIRED_MULTIPLIERS = 10

PEERS = (
    # name, LUT4, CCU2C, MULT18X18D, TRELLIS_COMB, MHz
    ("cvfpu FMA f64", 5761, 433, 9, 6630, 34),
    ("HardFloat FMA f64, combinational", 7782, 422, 9, 8630, None),
)
"""Other open units, through the same tools for the same device."""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, default=3, help="place-and-route runs, seeds 1 and up (default 3)"
    )
    seeds = range(1, parser.parse_args().seeds + 1)
    folder = BUILD / "fma64"
    cost = ecp5_cost(FusedMultiplyAdd64(), folder, seeds)
    xilinx = xilinx_cost(FusedMultiplyAdd64(), folder)
    meets = (
        cost.mhz[0] >= REQUIRED_MHZ
        and cost.median_mhz >= REQUIRED_MHZ
        and cost.placed_comb <= REQUIRED_COMB
        and cost.mult18x18d <= REQUIRED_MULTIPLIERS
    )

    columns = ("LUT4", "CCU2C", "MULT18", "COMB", "FF", "MHz seed 1", "MHz median", "MMAC/s per COMB")
    table = number_table("f64 fused multiply-add, ECP5-85F speed 8, post-route", "unit", *columns)
    table.add_row(
        "openwmma",
        *(str(x) for x in (cost.lut4, cost.ccu2c, cost.mult18x18d, cost.trellis_comb, cost.flip_flops)),
        *(f"{x:.1f}" for x in (cost.mhz[0], cost.median_mhz)),
        f"{cost.median_mhz / cost.placed_comb:.3f}",
        style=None if meets else "red",
    )
    required = (
        f"<= {REQUIRED_MULTIPLIERS}",
        f"<= {REQUIRED_COMB}",
        "",
        f">= {REQUIRED_MHZ}",
        f">= {REQUIRED_MHZ}",
    )
    table.add_row("required", "", "", *required, "", style="dim")
    for name, lut4, ccu2c, multipliers, comb, mhz in PEERS:
        figures = (str(lut4), str(ccu2c), str(multipliers), str(comb), "", str(mhz or "-"), "")
        table.add_row(name, *figures, f"{mhz / comb:.3f}" if mhz else "-")
    console = Console()
    console.print(table)
    console.print(
        f"7-series, after synthesis: {xilinx.lut} LUT, {xilinx.carry4} CARRY4, {xilinx.flip_flops} FF, "
        f"{xilinx.dsp48} DSP48, {xilinx.lut_ram} LUT RAM and {xilinx.shift_registers} SRL cells; "
        f"latency {FusedMultiplyAdd64.latency} cycles"
    )
    figures_by_device = {"ecp5": cost.as_json(), "xc7": asdict(xilinx), "latency": FusedMultiplyAdd64.latency}
    write_results("fma64", figures_by_device)


if __name__ == "__main__":
    main()
