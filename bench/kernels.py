"""How fast whole kernels run: scalar instructions, a block of eight warps on each machine, and memory.

    python -m bench.kernels [PRESET ...]

prints a table and writes ``build/bench/kernels.json``. The presets, by default ``small``, are those on which
the RTL and lockstep are measured. ``bench/data/gemm_block.cu`` is the kernel of eight warps; nvcc 13.0 made
its PTX.
"""

import resource
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.measurement import fastest, named, write_results
from golden.simt import LaunchResult, Module
from golden.simt.golden_engine import GoldenEngine
from golden.simt.machine_engine import MachineEngine
from hdl.config import PRESETS
from sim.machines import Backend, open_machine

ROOT: Final = Path(__file__).parent
SHARED_GEMM: Final = ROOT.parent / "tests" / "data" / "kernels" / "multi_warp.ptx"
SCRATCH: Final = 1 << 16
REPETITIONS: Final = 3
SIZE: Final = 128
REGISTERS: Final = 16_000
THREADS: Final = 1024


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
    """

    kernel: str
    machine: str
    warp_instructions: int
    matrix_instructions: int
    seconds: float

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


def block_gemm(machine: str, engine: GoldenEngine | None, repetitions: int = REPETITIONS) -> Run:
    """One block of eight warps: 128 x 128 x 128."""
    path = ROOT / "data" / "gemm_block.ptx"
    kernel = Module(path.read_text(), path.name).kernel()
    random = np.random.default_rng(2)
    a, b = (random.standard_normal((SIZE, SIZE)).astype(np.float16) for _ in range(2))
    d = np.zeros((SIZE, SIZE), np.float32)
    return best(
        "gemm_block",
        machine,
        lambda: kernel.launch(1, 256, [a, b, d, SIZE, SIZE], engine=engine),
        repetitions,
    )


def best(
    kernel: str, machine: str, launch: Callable[[], LaunchResult], repetitions: int = REPETITIONS
) -> Run:
    """The fastest of several launches, in processor time."""
    seconds, result = fastest(launch, repetitions)
    return Run(kernel, machine, result.warp_instructions, result.matrix_instructions, round(seconds, 3))


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
    presets = named(__doc__, PRESETS, ["small"])
    runs = [shared_gemm(), block_gemm("golden", None)]
    for preset in presets:
        config = PRESETS[preset]
        for backend in (Backend.RTL, Backend.LOCKSTEP):
            machine = open_machine(backend, config, SCRATCH)
            engine = MachineEngine(machine, name=preset, formats=config.formats)
            runs.append(block_gemm(f"{backend.value} {preset}", engine, 1))
            machine.close()
    memory = many_registers()
    table = Table("kernel", "machine", "warp instructions", "matrix", "seconds", "warp instructions/s")
    for run in runs:
        counts = (f"{run.warp_instructions:,}", f"{run.matrix_instructions:,}")
        numbers = (*counts, f"{run.seconds:.2f}", f"{run.rate:,.0f}")
        table.add_row(run.kernel, run.machine, *numbers)
    Console().print(table)
    Console().print(f"{THREADS} threads with {REGISTERS} registers: {memory} MiB")
    write_results("kernels", {"runs": [asdict(run) for run in runs], "mebibytes": memory})


if __name__ == "__main__":
    main()
