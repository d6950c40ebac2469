"""`make demo`: a matrix multiply in PTX, then a CUDA kernel, on golden model and RTL in lockstep."""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from hdl.config import PRESETS
from openwmma.launching import KernelRun
from openwmma.matrix_product import matmul
from openwmma.modules import Module
from openwmma.report import print_launch
from openwmma.target import MachineKind, Target
from openwmma.usage import explain_error
from sim.build import core_verilog

SIZE = 64
PRESET = "small"
SEED = 2024
EXAMPLES = Path(__file__).parent
KERNELS = {
    EXAMPLES / "gemm_f16_f32.ptx": (SIZE, "a program for one warp"),
    EXAMPLES / "cuda" / "tiled_gemm.ptx": (32, "compiled by NVRTC"),
}
"""The kernels, with the rows of A that each multiplies."""

FOLDER = Path("build") / "demo"


def run_kernel(
    path: Path, a: NDArray[np.float16], b: NDArray[np.float16], target: Target
) -> tuple[NDArray[np.float32], KernelRun]:
    """Multiply two matrices with a kernel.

    Parameters
    ----------
    path : Path
        Of `KERNELS`. The program for one warp multiplies square matrices.
    a : ndarray of float16, shape (m, k)
        m and k are multiples of 16; of the CUDA kernel m is one of 32.
    b : ndarray of float16, shape (k, n)
        n is as m.
    target : Target

    Returns
    -------
    d : ndarray of float32, shape (m, n)
    run : KernelRun

    Raises
    ------
    golden.machine.Difference
        When core and golden model differ.
    """
    (m, k), n = a.shape, b.shape[1]
    d = np.zeros((m, n), dtype=np.float32)
    kernel = Module(path).kernel()
    if len(kernel.parameters) == 4:
        return d, kernel.launch(1, 32, [a, b, d, n], on=target)
    return d, kernel.launch((n // 32, m // 32), 128, [a, b, d, n, k], on=target)


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
    (FOLDER / "core.v").write_text(core_verilog(PRESETS[PRESET]))
    random = np.random.default_rng(SEED)
    a, b = (random.standard_normal((SIZE, SIZE)).astype(np.float16) for _ in "ab")
    console.print("golden model and RTL in lockstep: registers and memory are compared")
    different = 0
    for path, (rows, what) in KERNELS.items():
        waves = FOLDER / f"{path.stem}.fst"
        target = Target(on=MachineKind.LOCKSTEP, preset=PRESET, waves=waves)
        console.print(f"{path.name}: D = A B, {rows} x {SIZE} x {SIZE}, f16 to f32, {what}")
        d, run = run_kernel(path, a[:rows], b, target)
        print_launch(path.stem, target, run)
        wrong = int(np.count_nonzero(d.view(np.uint32) != matmul(a[:rows], b, d_type="f32").view(np.uint32)))
        console.print(f"mismatches, RTL and openwmma.matmul: {wrong} of {d.size}")
        different += wrong
        np.savez(FOLDER / f"{path.stem}.npz", a=a[:rows], b=b, d=d)
    console.print(f"waveforms for GTKWave or Surfer, Verilog of the core, matrices: {FOLDER}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
