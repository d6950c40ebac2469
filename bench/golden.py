"""How fast the golden model multiplies, each instruction on one core, one on two, and the memory it takes.

    python -m bench.golden

prints a table and writes ``build/bench/golden.json``.
"""

import platform
import resource
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import golden
from bench.measurement import fastest, number_table, write_results
from golden.arguments import dtype_of
from golden.block_scales import uses_of_scales
from golden.resolve import resolve_instruction
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import USES
from golden.tables.matrix_instructions import MmaInstruction

BATCH_TILES = 100_000
MEMORY_LIMIT_MB = 500
REPETITIONS = 9
TURNS = 10
LEAST_GAIN = 1.8

_WMMA = "wmma.mma.sync.aligned.row.col"
_MMA = "mma.sync.aligned"
CASES = (
    (f"{_WMMA}.m16n16k16.f32.f32", 8_000, 120_000),
    (f"{_WMMA}.m16n16k16.f32.f16", 8_000, 120_000),
    (f"{_WMMA}.m16n16k16.f16.f16", 8_000, 120_000),
    (f"{_WMMA}.m16n16k16.f16.f32", 8_000, 120_000),
    (f"{_WMMA}.m16n16k16.f32.bf16.bf16.f32", 8_000, 120_000),
    (f"{_WMMA}.m16n16k8.f32.tf32.tf32.f32", 8_000, 150_000),
    (f"{_WMMA}.m8n8k4.rn.f64.f64.f64.f64", 8_000, 68_000),
    (f"{_WMMA}.m8n8k4.rz.f64.f64.f64.f64", 8_000, 68_000),
    (f"{_WMMA}.m8n8k4.rm.f64.f64.f64.f64", 8_000, 68_000),
    (f"{_WMMA}.m8n8k4.rp.f64.f64.f64.f64", 8_000, 68_000),
    (f"{_WMMA}.m16n16k16.s32.s8.s8.s32", 50_000, 1_200_000),
    (f"{_WMMA}.m16n16k16.s32.s8.s8.s32.satfinite", 50_000, 1_200_000),
    (f"{_WMMA}.m8n8k32.s32.s4.s4.s32", 50_000, 1_500_000),
    ("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", 50_000, 800_000),
    ("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", 50_000, 800_000),
    (f"{_MMA}.m16n8k16.row.col.f32.f16.f16.f32", 8_000, 300_000),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 8_000, 200_000),
    (f"{_MMA}.m16n8k32.row.col.s32.s8.s8.s32", 50_000, 1_500_000),
    (f"{_MMA}.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0", 8_000, 150_000),
    (
        f"{_MMA}.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
        8_000,
        300_000,
    ),
)
"""Instruction, tiles of one measurement, and the rate that must be reached (f64: 3 times commit 9abea49)."""


@dataclass(frozen=True)
class Rate:
    """One line of the table.

    Parameters
    ----------
    instruction : str
    tiles_per_second : float
        Whole instructions per second of processor time, of all threads together.
    required : int
        Least rate.
    """

    instruction: str
    tiles_per_second: float
    required: int


def random_operands(
    instruction: MmaInstruction, tiles: int, random: np.random.Generator
) -> tuple[list[NDArray[Any]], dict[str, Any]]:
    """Uniform bit patterns (values for integers) for every operand, specials and subnormals included.

    The second result has metadata, scales and the profile by their names in `golden.mma`.
    """

    def operand(use: Any) -> NDArray[Any]:
        element = FORMATS[instruction.types[use]]
        extent = (tiles, *instruction.extent(use))
        if isinstance(element, FloatFormat):
            return random.integers(0, 1 << element.bits, extent, dtype_of(element))
        return random.integers(element.minimum, element.maximum, extent, dtype_of(element), endpoint=True)

    named: dict[str, Any] = {"profile": "blackwell"} if instruction.kind else {}
    if instruction.is_sparse:
        nibbles = np.array(instruction.sparsity.nibbles, np.uint8)
        named["metadata"] = random.choice(nibbles, (tiles, instruction.shape.m, instruction.sparsity.groups))
    for use in uses_of_scales(instruction):
        named[f"scale_{use}"] = random.integers(0, 256, (tiles, *instruction.scale_extent(use)), np.uint8)
    return [operand(use) for use in USES[:3]], named


def measure(text: str, tiles: int, required: int) -> Rate:
    """The best of several runs over one batch."""
    instruction = resolve_instruction(text)
    operands, named = random_operands(instruction, tiles, np.random.default_rng(1))
    golden.mma(instruction, *operands, **named)
    seconds, _ = fastest(lambda: golden.mma(instruction, *operands, **named), REPETITIONS)
    return Rate(text, tiles / seconds, required)


def peak_megabytes() -> float:
    """The most memory this process has held, arguments and results included."""
    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kibibytes / 1024 if platform.system() != "Darwin" else kibibytes / 1024**2


def batch_megabytes(text: str) -> float:
    """Peak memory after one batch of `BATCH_TILES` tiles."""
    instruction = resolve_instruction(text)
    operands, _ = random_operands(instruction, BATCH_TILES, np.random.default_rng(2))
    golden.mma(instruction, *operands)
    return peak_megabytes()


def gain_of_two_threads(text: str) -> float:
    """How many times as fast two threads are as one, each at its best of many turns."""
    instruction = resolve_instruction(text)
    operands, _ = random_operands(instruction, BATCH_TILES, np.random.default_rng(2))
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for threads in (1, 2) * TURNS:
        start = time.perf_counter()
        golden.mma(instruction, *operands, threads=threads)
        seconds[threads].append(time.perf_counter() - start)
    return min(seconds[1]) / min(seconds[2])


def main() -> None:
    """Measure, print, write."""
    memory = batch_megabytes(CASES[0][0])  # first, before the process has held more
    rates = [measure(*case) for case in CASES]
    gain = gain_of_two_threads(CASES[0][0])

    table = number_table("Golden model, one core", "instruction", "tiles/s", "required")
    for rate in rates:
        style = None if rate.tiles_per_second >= rate.required else "red"
        table.add_row(
            rate.instruction.replace(".sync.aligned.row.col", ""),
            f"{rate.tiles_per_second:,.0f}",
            f"{rate.required:,}",
            style=style,
        )
    table.add_section()
    style = None if memory < MEMORY_LIMIT_MB else "red"
    table.add_row(
        f"memory, {BATCH_TILES:,} tiles of the first",
        f"{memory:.0f} MB",
        f"< {MEMORY_LIMIT_MB} MB",
        style=style,
    )
    style = None if gain >= LEAST_GAIN else "red"
    table.add_row("two threads, the same", f"{gain:.2f} times", f"{LEAST_GAIN} times", style=style)
    Console().print(table)

    report = {
        "rates": [asdict(rate) for rate in rates],
        "gain_of_two_threads": gain,
        "batch_tiles": BATCH_TILES,
        "peak_megabytes": memory,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    write_results("golden", report)


if __name__ == "__main__":
    main()
