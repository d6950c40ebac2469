"""`make demo`: a matrix multiply in PTX, then a CUDA kernel, on golden model and RTL in lockstep."""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import golden
from hdl.config import PRESETS
from openwmma.launching import KernelRun
from openwmma.modules import Module
from openwmma.usage import explain_error
from sim.build import core_verilog

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


def run_kernel(
    a: NDArray[np.float16], b: NDArray[np.float16], waves: Path | None = None
) -> tuple[NDArray[np.float32], KernelRun]:
    """Multiply square matrices with the PTX program for one warp, in lockstep.

    Parameters
    ----------
    a, b : ndarray of float16, shape (n, n)
        n is a multiple of 16.
    waves : Path or None
        Where the core writes its waveform.

    Returns
    -------
    d : ndarray of float32, shape (n, n)
    run : KernelRun

    Raises
    ------
    golden.machine.Difference
        When core and golden model differ.
    """
    d = np.zeros(a.shape, dtype=np.float32)
    run = Module(KERNEL).kernel().launch(1, 32, [a, b, d, len(a)], on="lockstep", preset=PRESET, waves=waves)
    return d, run


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
    golden.machine.Difference
        When core and golden model differ.
    golden.simt.SimtError
        For shapes that are no such multiples.
    """
    (m, k), n = a.shape, b.shape[1]
    d = np.zeros((m, n), dtype=np.float32)
    kernel = Module(CUDA_KERNEL).kernel("tiled_gemm")
    run = kernel.launch((n // 32, m // 32), 128, [a, b, d, n, k], on="lockstep", preset=PRESET, waves=waves)
    return d, run


def show(
    name: str, run: KernelRun, differences: int, elements: int, files: dict[str, Path], console: Console
) -> None:
    """Print what a launch in lockstep did, and in how many of the elements it differs from `golden.mma`."""
    table = Table(title=f"{name} in lockstep", show_header=False)
    table.add_row("blocks", f"{run.blocks}")
    table.add_row("warp instructions", f"{run.warp_instructions:,}")
    table.add_row("commands of the core", f"{run.counters.instructions:,}")
    table.add_row("cycles", f"{run.cycles:,}")
    table.add_row("dot-product utilisation", f"{run.utilisation or 0:.1%}")
    table.add_row("wall time", f"{run.seconds:.3f} s")
    colour = "red" if differences else "green"
    table.add_row("mismatches, RTL and golden.mma alone", f"[{colour}]{differences} of {elements}[/]")
    for what, path in files.items():
        table.add_row(what, str(path))
    console.print(table)


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
    verilog_path.write_text(core_verilog(PRESETS[PRESET]))
    random = np.random.default_rng(SEED)
    a, b = (random.standard_normal((SIZE, SIZE)).astype(np.float16) for _ in "ab")
    expected = expected_product(a.view(np.uint16), b.view(np.uint16))
    console.print("golden model and RTL in lockstep: registers and memory are compared")
    console.print(f"{KERNEL.name}: D = A B, {SIZE} x {SIZE} x {SIZE}, f16 to f32, one warp")
    d, run = run_kernel(a, b, waves)
    files = {"waveform (GTKWave, Surfer)": waves, "Verilog of the core": verilog_path}
    for name, array in (("a", a), ("b", b), ("d", d)):
        files[f"matrix {name}"] = FOLDER / f"{name}.npy"
        np.save(files[f"matrix {name}"], array)
    wrong = [int(np.count_nonzero(d.view(np.uint32) != expected))]
    show("gemm_f16_f32", run, wrong[0], d.size, files, console)
    console.print(f"{CUDA_KERNEL.name}: D = A B, {CUDA_ROWS} x {SIZE} x {SIZE}, compiled by NVRTC")
    waves = FOLDER / "tiled_gemm.fst"
    d, run = run_cuda_kernel(a[:CUDA_ROWS], b, waves)
    wrong.append(int(np.count_nonzero(d.view(np.uint32) != expected[:CUDA_ROWS])))
    show("tiled_gemm", run, wrong[1], d.size, {"waveform (GTKWave, Surfer)": waves}, console)
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
