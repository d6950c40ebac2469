"""`make demo`: a 64 x 64 x 64 matrix multiply in PTX, on golden model and RTL in lockstep."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import golden
from golden.memory import Memory
from golden.programs.buffers import BASE, Buffers
from golden.programs.execution import Execution, ProgramFault, execute
from golden.ptx.program import Entry, parse_module
from hdl.config import PRESETS
from openwmma.report import execution_rows
from sim.build import core_verilog
from sim.lockstep import LockstepMachine
from sim.machines import golden_machine
from sim.mismatch import Mismatch
from sim.rtl_machine import RtlMachine

__all__ = ["main"]

SIZE = 64
PRESET = "small"
SEED = 2024
KERNEL = Path(__file__).parent.parent / "examples" / "gemm_f16_f32.ptx"
FOLDER = Path("build") / "demo"
INSTRUCTION = "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32"


@dataclass(frozen=True)
class DemoRun:
    """What both machines computed, and what it took.

    Parameters
    ----------
    golden, rtl : ndarray of uint32
        D as it lies in the memory of each.
    execution : Execution
    """

    golden: NDArray[np.uint32]
    rtl: NDArray[np.uint32]
    execution: Execution


def expected_product(a: NDArray[np.uint16], b: NDArray[np.uint16]) -> NDArray[np.uint32]:
    """The same matrix multiply by `golden.mma` alone: no PTX, no registers, no memory.

    Parameters
    ----------
    a, b : ndarray of uint16, shape (n, n)
        Bit patterns of f16.

    Returns
    -------
    ndarray of uint32, shape (n, n)
        Bit patterns of f32.
    """
    count = len(a) // 16
    a_tiles = a.reshape(count, 16, count, 16).swapaxes(1, 2)
    b_tiles = b.reshape(count, 16, count, 16).swapaxes(1, 2)
    d_tiles = np.zeros((count, count, 16, 16), dtype=np.uint32)
    for k in range(count):
        rows = np.broadcast_to(a_tiles[:, k, None], d_tiles.shape)
        columns = np.broadcast_to(b_tiles[None, k], d_tiles.shape)
        d_tiles = golden.mma(INSTRUCTION, rows, columns, d_tiles)
    return d_tiles.swapaxes(1, 2).reshape(a.shape)


def run_kernel(entry: Entry, a: NDArray[Any], b: NDArray[Any], waves: Path, console: Console) -> DemoRun:
    """Run the kernel on both machines, and read D from the memory of each."""
    config = PRESETS[PRESET]
    buffers = Buffers({"A": a.nbytes, "B": b.nbytes, "D": 4 * SIZE * SIZE})
    arguments = {**buffers.addresses, "n": SIZE}
    commands = list(entry.commands(arguments, registers=config.registers))
    ours = golden_machine(config, Memory(buffers.memory_size, BASE))
    theirs = RtlMachine(config, Memory(buffers.memory_size, BASE), waves=waves)
    machine = LockstepMachine(ours, theirs)
    try:
        buffers.write(machine.memory, "A", a)
        buffers.write(machine.memory, "B", b)
        columns = (TextColumn("in lockstep"), BarColumn(), MofNCompleteColumn(), TextColumn("instructions"))
        with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
            task = progress.add_task("", total=len(commands))
            execution = execute(machine, commands, lambda count: progress.advance(task, count))
        golden_d, rtl_d = (
            buffers.read(side.memory, "D").view("<u4").reshape(SIZE, SIZE) for side in (ours, theirs)
        )
    finally:
        machine.close()
    return DemoRun(golden_d, rtl_d, execution)


def main() -> int:
    """Run the demonstration.

    Returns
    -------
    int
        0 when every bit is equal, else 1.
    """
    console = Console(highlight=False)
    FOLDER.mkdir(parents=True, exist_ok=True)
    verilog_path, waves = FOLDER / "core.v", FOLDER / "gemm_f16_f32.fst"
    console.print(f"{KERNEL.name}: D = A B, {SIZE} x {SIZE} x {SIZE}, f16 matrices, f32 accumulation")
    console.print("every register and every byte of memory is compared after each instruction")
    random = np.random.default_rng(SEED)
    a, b = (random.standard_normal((SIZE, SIZE)).astype(np.float16) for _ in "ab")
    verilog_path.write_text(core_verilog(PRESETS[PRESET]))
    entry = parse_module(KERNEL.read_text(), str(KERNEL)).entry()
    try:
        result = run_kernel(entry, a, b, waves, console)
    except (Mismatch, ProgramFault) as error:
        console.print(f"[red]{error}[/red]")
        return 1
    expected = expected_product(a.view(np.uint16), b.view(np.uint16))
    for name, array in (("a", a), ("b", b), ("d", result.rtl.view(np.float32))):
        np.save(FOLDER / f"{name}.npy", array)
    differences = {
        "mismatches, RTL and golden machine": int(np.count_nonzero(result.rtl != result.golden)),
        "mismatches, RTL and golden.mma alone": int(np.count_nonzero(result.rtl != expected)),
    }
    table = Table(title="gemm_f16_f32 in lockstep", show_header=False)
    for name, value in execution_rows(result.execution, PRESETS[PRESET].dot_product_units):
        table.add_row(name, value)
    for name, count in differences.items():
        table.add_row(name, f"[{'red' if count else 'green'}]{count} of {expected.size}[/]")
    table.add_row("matrices", f"{FOLDER}/a.npy, b.npy, d.npy")
    table.add_row("waveform (GTKWave, Surfer)", str(waves))
    table.add_row("Verilog of the core", str(verilog_path))
    console.print(table)
    return 1 if any(differences.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
