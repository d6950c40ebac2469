"""How long whole launches take on the golden model and in lockstep with the simulated core.

    python -m bench.kernel_launches [PRESET ...]

prints the table of docs/reference/kernels.md and writes ``build/bench/kernel_launches.json``. Lockstep is
measured on the presets, by default ``small`` and ``standard``. The name ``hopper`` in place of presets
measures a product through ``wgmma`` side by side with the same one through ``mma.sync``, and nothing else.
The kernels of CUTLASS need the packages of
``examples/cutlass/cutlass_gemm.py``; without them they have no rows.
"""

import runpy
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.measurement import fastest, named, write_results
from golden.simt.errors import LaunchError
from golden.simt.tensor_map import tensor_map
from hdl.config import PRESETS
from openwmma.cuda_source import CompilerError
from openwmma.launch_repeat import read_launches
from openwmma.launching import KernelRun
from openwmma.modules import Module

ROOT: Final = Path(__file__).parents[1]
CAPTURED: Final = ROOT / "tests" / "data" / "kernels"
CASES: Final = ("single_warp.gemm_tile", "families.gemm_tf32", "mma_sync.igemm")
_HOPPER: Final = "hopper"
REPETITIONS: Final = 3
"""Of a launch on golden."""

Launch = Callable[..., KernelRun]


@dataclass
class Times:
    """One kernel.

    Parameters
    ----------
    kernel : str
    warp_instructions : int
    matrix_instructions : int
    seconds : dict of str to float or None
        Processor time by machine; None where the preset has not enough shared memory.
    """

    kernel: str
    warp_instructions: int
    matrix_instructions: int
    seconds: dict[str, float | None] = field(default_factory=dict)


def matrices(size: int) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    """Two square matrices of random elements."""
    random = np.random.default_rng(1)
    a, b = (random.standard_normal((size, size)).astype(np.float16) for _ in "ab")
    return a, b


def captured(case: str, **machine: Any) -> KernelRun:
    """A launch of those whose result on a chip is recorded."""
    launches = read_launches(CAPTURED / "public_kernels.json")
    run = next(launch for launch in launches if launch.name == case).launch(**machine)
    assert isinstance(run, KernelRun)
    return run


def example(name: str, size: int, **machine: Any) -> KernelRun:
    """An example of ``examples/cuda`` that multiplies two matrices of f16."""
    function = runpy.run_path(str(ROOT / "examples" / "cuda" / f"{name}.py"))[name]
    run = function(*matrices(size), **machine)[1]
    assert isinstance(run, KernelRun)
    return run


def hgemm(**machine: Any) -> KernelRun:
    """One block of 64 x 64 x 64 with 128 threads: cp.async, ldmatrix and mma.sync."""
    d = np.zeros((64, 64), np.float32)
    kernel = Module(CAPTURED / "mma_sync.ptx").kernel("hgemm")
    return kernel.launch(1, 128, [*matrices(64), d, 64, 64, 64], **machine)


def side_by_side(size: int) -> Mapping[str, Launch]:
    """A product of two square matrices through ``mma.sync``, and through ``wgmma`` and tensor copies."""

    def synchronous(**machine: Any) -> KernelRun:
        d = np.zeros((size, size), np.float32)
        kernel = Module(CAPTURED / "mma_sync.ptx").kernel("hgemm")
        return kernel.launch((size // 64,) * 2, 128, [*matrices(size), d, *(size,) * 3], **machine)

    def asynchronous(**machine: Any) -> KernelRun:
        a, b, d = (array.view(np.uint16) for array in (*matrices(size), np.zeros((size, size), np.float16)))
        maps = [
            tensor_map(array, (64, rows), type="BFLOAT16", swizzle="128B")
            for array, rows in ((a, 128), (b, 64), (d, 64))
        ]
        kernel = Module(CAPTURED / "hopper.ptx").kernel("gemm_bf16_specialised")
        return kernel.launch((size // 64, size // 128), 384, [*maps, size], shared=90112, **machine)

    kernels = {"hgemm": synchronous, "gemm_bf16_specialised": asynchronous}
    return {f"{name}, {size} x {size} x {size}": launch for name, launch in kernels.items()}


def cutlass_launches() -> Mapping[str, Launch]:
    """The two kernels of CUTLASS, 64 x 64 x 64; none without the packages they need."""
    script = runpy.run_path(str(ROOT / "examples" / "cutlass" / "cutlass_gemm.py"))
    try:
        ptx = script["load"]().ptx
    except CompilerError as error:
        print(error)
        return {}

    def launch(kernel: str, **machine: Any) -> KernelRun:
        run = script["cutlass_gemm"](Module(ptx), kernel, *matrices(64), **machine)[1]
        assert isinstance(run, KernelRun)
        return run

    return {f"cutlass {kernel}_gemm": partial(launch, kernel) for kernel in script["INSTRUCTIONS"]}


def measured(kernel: str, launch: Launch, presets: list[str]) -> Times:
    """Processor time of a launch on golden, the best of several, and of one in lockstep on each preset.

    Each launch loads the PTX anew and opens its machine within the measured time; C++ is compiled before.
    """
    seconds: dict[str, float | None] = {}
    seconds["golden"], run = fastest(launch, REPETITIONS)
    for preset in presets:
        try:
            seconds[preset], _ = fastest(partial(launch, on="lockstep", preset=preset), 1)
        except LaunchError:
            seconds[preset] = None
    return Times(kernel, run.warp_instructions, run.matrix_instructions, seconds)


def main() -> None:
    """Measure everything, print it and write it."""
    presets = named(__doc__, (*PRESETS, _HOPPER), ["small", "standard"])
    large = side_by_side(512)
    if _HOPPER in presets:
        seconds = [fastest(launch, REPETITIONS)[0] for launch in large.values()]
        for kernel, each in zip(large, seconds, strict=True):
            print(f"{kernel}: {each:.2f} s")
        print(f"wgmma takes {seconds[1] / seconds[0]:.2f} times as long as mma.sync")
        return
    launches: dict[str, Launch] = {case: partial(captured, case) for case in CASES}
    launches["tiled_gemm"] = partial(example, "tiled_gemm", 32)
    launches["mma_sync.hgemm"] = hgemm
    launches.update(cutlass_launches())
    table = Table("kernel", "warp instructions", "matrix", "golden", *presets)
    rows = []
    for kernel, launch in {**launches, **large}.items():
        times = measured(kernel, launch, [] if kernel in large else presets)
        rows.append(asdict(times))
        shown = ("-" if value is None else f"{value:.2f} s" for value in times.seconds.values())
        table.add_row(kernel, f"{times.warp_instructions:,}", f"{times.matrix_instructions:,}", *shown)
    Console().print(table)
    write_results("kernel_launches", rows)


if __name__ == "__main__":
    main()
