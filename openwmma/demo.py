"""`make demo`: a matrix multiply in PTX, then a CUDA kernel, on golden model and RTL in lockstep."""

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
from golden.programs.execution import Execution, execute
from golden.ptx.program import Entry, parse_module
from hdl.config import PRESETS
from openwmma.launching import KernelRun
from openwmma.modules import Module
from openwmma.report import execution_rows
from openwmma.usage import explain_error
from sim.build import core_verilog
from sim.lockstep import LockstepMachine
from sim.machines import golden_machine
from sim.rtl_machine import RtlMachine

__all__ = ["main", "run_cuda_kernel"]

SIZE = 64
PRESET = "small"
SEED = 2024
EXAMPLES = Path(__file__).parent.parent / "examples"
KERNEL = EXAMPLES / "gemm_f16_f32.ptx"
CUDA_KERNEL = EXAMPLES / "cuda" / "tiled_gemm.ptx"
CUDA_ROWS = 32
"""Rows of A that the CUDA kernel multiplies: one row of blocks."""

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


def run_cuda_kernel(
    a: NDArray[np.float16], b: NDArray[np.float16], waves: Path | None = None
) -> tuple[NDArray[np.float32], KernelRun]:
    """Multiply with the CUDA kernel of `examples/cuda/tiled_gemm.cu`, in lockstep.

    Parameters
    ----------
    a : ndarray of float16, shape (m, k)
        m is a multiple of 32, k of 16.
    b : ndarray of float16, shape (k, n)
        n is a multiple of 32.
    waves : Path or None
        Where the core writes its waveform.

    Returns
    -------
    d : ndarray of float32, shape (m, n)
    run : KernelRun

    Raises
    ------
    sim.mismatch.Mismatch
        When core and golden model differ.
    golden.simt.SimtError
        For shapes that are no such multiples.
    """
    (m, k), n = a.shape, b.shape[1]
    d = np.zeros((m, n), dtype=np.float32)
    kernel = Module(CUDA_KERNEL.read_text(), name=str(CUDA_KERNEL)).kernel("tiled_gemm")
    run = kernel.launch((n // 32, m // 32), 128, [a, b, d, n, k], on="lockstep", preset=PRESET, waves=waves)
    return d, run


def show_cuda_kernel(
    a: NDArray[np.float16], b: NDArray[np.float16], expected: NDArray[np.uint32], console: Console
) -> int:
    """Run the CUDA kernel, print a table, and return how many elements differ from `expected`, as bits."""
    console.print(f"{CUDA_KERNEL.name}: D = A B, {len(a)} x {SIZE} x {SIZE}, as CUDA C++ compiled by NVRTC")
    waves = FOLDER / "tiled_gemm.fst"
    d, run = run_cuda_kernel(a, b, waves)
    differences = int(np.count_nonzero(d.view(np.uint32) != expected))
    table = Table(title="tiled_gemm in lockstep", show_header=False)
    table.add_row("blocks of 4 warps", f"{run.blocks}")
    table.add_row("warp instructions", f"{run.warp_instructions:,}")
    table.add_row("instructions of the core", f"{run.counters.instructions:,}")
    table.add_row("cycles", f"{run.cycles:,}")
    table.add_row("wall time", f"{run.seconds:.3f} s")
    colour = "red" if differences else "green"
    table.add_row("mismatches, RTL and golden.mma alone", f"[{colour}]{differences} of {d.size}[/]")
    table.add_row("waveform (GTKWave, Surfer)", str(waves))
    console.print(table)
    return differences


def main() -> int:
    """Run the demonstration.

    Returns
    -------
    int
        0 when every bit is equal, else 1; for what fails, as of the command line.
    """
    try:
        return _demonstrate()
    except Exception as error:
        code = explain_error(error)
        if code is None:
            raise
        return code


def _demonstrate() -> int:
    console = Console(highlight=False)
    FOLDER.mkdir(parents=True, exist_ok=True)
    verilog_path, waves = FOLDER / "core.v", FOLDER / "gemm_f16_f32.fst"
    console.print(f"{KERNEL.name}: D = A B, {SIZE} x {SIZE} x {SIZE}, f16 matrices, f32 accumulation")
    console.print("every register and every byte of memory is compared after each instruction")
    random = np.random.default_rng(SEED)
    a, b = (random.standard_normal((SIZE, SIZE)).astype(np.float16) for _ in "ab")
    verilog_path.write_text(core_verilog(PRESETS[PRESET]))
    entry = parse_module(KERNEL.read_text(), str(KERNEL)).entry()
    result = run_kernel(entry, a, b, waves, console)
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
    differences["CUDA kernel"] = show_cuda_kernel(a[:CUDA_ROWS], b, expected[:CUDA_ROWS], console)
    return 1 if any(differences.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
