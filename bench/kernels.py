"""How fast whole kernels run: scalar instructions, a block of eight warps on each machine, and memory.

    python -m bench.kernels [PRESET ...]

prints a table and writes ``build/bench/kernels.json``. The presets, by default ``standard``, are those on
which the RTL and lockstep are measured, `standard` with 2 and 8 warps too. Cycles are those in which the core
had a command; what the host writes into shared memory in between takes no cycle in a simulation.
``bench/data/gemm_block.cu`` is the kernel of eight warps; nvcc 13.0 made its PTX.
"""

import resource
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

import openwmma
from bench.measurement import fastest, named, write_results
from golden.simt import LaunchResult, Module
from hdl.config import PRESETS
from openwmma.launching import KernelRun

ROOT: Final = Path(__file__).parent
SHARED_GEMM: Final = ROOT.parent / "tests" / "data" / "kernels" / "multi_warp.ptx"
REPETITIONS: Final = 3
SIZE: Final = 128
REGISTERS: Final = 16_000
THREADS: Final = 1024
WARPS: Final = (2, 8)


@dataclass(frozen=True)
class Run:
    """One launch.

    Parameters
    ----------
    kernel, machine : str
    warp_instructions : int
    matrix_instructions : int
    seconds : float
        Processor time of the best repetition, compilation of the kernel included in the first.
    cycles : int
        Of the core; 0 on golden.
    utilisation : float or None
        The share of cycles in which its units took operands.
    """

    kernel: str
    machine: str
    warp_instructions: int
    matrix_instructions: int
    seconds: float
    cycles: int = 0
    utilisation: float | None = None

    @property
    def rate(self) -> float:
        """Warp instructions per second."""
        return self.warp_instructions / self.seconds


def shared_gemm() -> Run:
    """`gemm_shared` of the captured kernels: tiles of 64 x 64 through shared memory, mostly scalar."""
    kernel = Module(SHARED_GEMM.read_text(), SHARED_GEMM.name).kernel("gemm_shared")
    random = np.random.default_rng(1)
    a, b = (random.standard_normal((SIZE, SIZE)).astype(np.float16) for _ in range(2))
    d = np.zeros((SIZE, SIZE), np.float32)
    return best("gemm_shared", "golden", lambda: kernel.launch((2, 2), 128, [a, b, d, SIZE, SIZE, SIZE]))


def block_gemm(on: str, preset: str | None = None, warps: int | None = None, **options: Any) -> Run:
    """One block of eight warps: 128 x 128 x 128."""
    path = ROOT / "data" / "gemm_block.ptx"
    kernel = openwmma.Module(path).kernel()
    random = np.random.default_rng(2)
    a, b = (random.standard_normal((SIZE, SIZE)).astype(np.float16) for _ in range(2))
    d = np.zeros((SIZE, SIZE), np.float32)
    machine = f"{on} {preset}" if preset else on
    if warps is not None:
        machine, options["config"] = f"{machine}, {warps} warps", {"warps": warps}
    arguments = [a, b, d, SIZE, SIZE]
    return best(
        "gemm_block", machine, lambda: kernel.launch(1, 256, arguments, on=on, preset=preset, **options)
    )


def best(
    kernel: str, machine: str, launch: Callable[[], LaunchResult], repetitions: int = REPETITIONS
) -> Run:
    """The fastest of several launches, in processor time."""
    seconds, result = fastest(launch, repetitions)
    counts = result.warp_instructions, result.matrix_instructions
    cycles, busy = (result.cycles, result.utilisation) if isinstance(result, KernelRun) else (0, None)
    return Run(kernel, machine, *counts, round(seconds, 4), cycles, busy)


def many_registers() -> float:
    """Peak memory of this process in MiB after a block of 1 024 threads with 16 000 live registers."""
    registers = range(1, REGISTERS)
    text = [
        ".version 8.0 .target sm_90 .address_size 64 .entry k(.param .u64 a) {",
        f".reg .b32 %r<{REGISTERS}>; .reg .b64 %rd<2>; mov.u32 %r0, %tid.x;",
        *(f"add.u32 %r{i}, %r{i - 1}, {i};" for i in registers),
        "bar.sync 0;",
        *(f"add.u32 %r0, %r0, %r{i};" for i in registers),
        "ld.param.u64 %rd0, [a]; st.global.u32 [%rd0], %r0; ret; }",
    ]
    Module("\n".join(text)).kernel().launch(1, THREADS, [np.zeros(1, np.uint32)])
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def main() -> None:
    """Measure everything, print it and write it."""
    presets = named(__doc__, PRESETS, ["standard"])
    runs = [shared_gemm(), block_gemm("golden")]
    with NamedTemporaryFile(suffix=".trace") as file:
        runs.append(replace(block_gemm("golden", trace_file=file.name), machine="golden, traced"))
    runs += [block_gemm(on, preset) for preset in presets for on in ("rtl", "lockstep")]
    runs += [block_gemm("rtl", "standard", warps) for warps in WARPS if "standard" in presets]
    memory = many_registers()
    table = Table("kernel", "machine", "warp instr.", "matrix", "seconds", "warp instr./s", "cycles", "busy")
    for run in runs:
        counts = (f"{run.warp_instructions:,}", f"{run.matrix_instructions:,}")
        busy = "" if run.utilisation is None else f"{run.utilisation:.1%}"
        numbers = (*counts, f"{run.seconds:.3f}", f"{run.rate:,.0f}", f"{run.cycles:,}", busy)
        table.add_row(run.kernel, run.machine, *numbers)
    Console().print(table)
    Console().print(f"{THREADS} threads with {REGISTERS} registers: {memory} MiB")
    write_results("kernels", {"runs": [asdict(run) for run in runs], "mebibytes": memory})


if __name__ == "__main__":
    main()
