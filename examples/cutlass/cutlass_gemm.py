"""D = A B by two GEMM kernels of CUTLASS, launched with the library's own parameter structure.

python examples/cutlass/cutlass_gemm.py
python examples/cutlass/cutlass_gemm.py --on lockstep --preset standard --kernel mma_sync

The headers come with the package nvidia-cutlass, the compiler NVRTC with the extra cuda.
"""

import argparse
import importlib.util
import time
from pathlib import Path

import numpy as np

import golden
import openwmma
from golden.simt import SimtError
from openwmma.cuda_source import CompilerError

SOURCE = Path(__file__).with_suffix(".cu")
LAUNCH = np.dtype([(name, np.int32) for name in ("parameter_bytes", "shared", "threads", "x", "y")])
PARAMETERS_LIMIT = 4096
"""Bytes that a CUDA kernel may have as parameters."""

INSTRUCTIONS = {
    "wmma": ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", 16),
    "mma_sync": ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 8),
}
"""What each kernel multiplies with, and its columns; 16 rows, and 16 of the inner dimension."""


def headers():
    """The folder of the headers; None without the package."""
    package = importlib.util.find_spec("cutlass_library")
    for folder in (package.submodule_search_locations or ()) if package is not None else ():
        include = Path(folder) / "source" / "include"
        if (include / "cutlass" / "cutlass.h").is_file():
            return include
    return None


def load():
    """The module with both kernels, compiled by NVRTC."""
    include = headers()
    if include is None:
        raise CompilerError(
            "the headers of CUTLASS are missing; install them with: pip install nvidia-cutlass"
        )
    # Some constexpr functions of the headers name no execution space; NVRTC has no host.
    return openwmma.Module(SOURCE, compile_options=("-I", str(include), "-default-device"))


def cutlass_gemm(module, kernel, a, b, **machine):
    """D, and what the launch did.

    The structure is filled by a kernel with the library's constructor, as a host program would fill it.
    Rows and columns may be any number; the inner dimension is a multiple of 8.
    """
    (m, k), n = a.shape, b.shape[1]
    d = openwmma.device(np.full((m, n), np.nan, np.float32))
    structure = np.zeros(PARAMETERS_LIMIT, np.uint8)
    launch = np.zeros(1, LAUNCH)
    # Column-major B is its transpose in rows.
    left, right = openwmma.device(a), openwmma.device(np.ascontiguousarray(b.T))
    fill = module.kernel(f"{kernel}_parameters")
    fill.launch(1, 1, [structure, launch.view(np.uint8), left, right, d, m, n, k])
    size, shared, threads, x, y = launch[0].tolist()
    gemm = module.kernel(f"{kernel}_gemm")
    run = gemm.launch((x, y), threads, [structure[:size].tobytes()], shared=shared, **machine)
    return d.numpy(), run


def expected(kernel, a, b):
    """The same by `golden.mma` alone: the inner dimension in ascending steps of 16."""
    instruction, columns = INSTRUCTIONS[kernel]
    d = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(0, len(b), 16):
        for i in range(0, len(d), 16):
            for j in range(0, d.shape[1], columns):
                tile = np.s_[i : i + 16, j : j + columns]
                step = a[i : i + 16, k : k + 16], b[k : k + 16, j : j + columns]
                d[tile] = golden.mma(instruction, *step, d[tile])
    return d


def main(arguments=None):
    """Multiply random matrices, and compare every bit; 1 if one differs."""
    parser = argparse.ArgumentParser(description="GEMM kernels of CUTLASS")
    parser.add_argument("--on", default="golden", choices=["golden", "rtl", "lockstep"])
    parser.add_argument("--preset", choices=list(openwmma.PRESETS))
    parser.add_argument("--kernel", choices=list(INSTRUCTIONS), help="one of the two; both by default")
    parser.add_argument("--size", type=int, default=64, help="rows and columns, a multiple of 16")
    options = parser.parse_args(arguments)
    if options.size < 16 or options.size % 16:
        parser.error(f"--size {options.size}: expected a positive multiple of 16")
    random = np.random.default_rng(1)
    a, b = (random.standard_normal((options.size, options.size)).astype(np.float16) for _ in "ab")
    wrong = 0
    try:
        module = load()
        for kernel in [options.kernel] if options.kernel else INSTRUCTIONS:
            start = time.process_time()
            d, run = cutlass_gemm(module, kernel, a, b, on=options.on, preset=options.preset)
            seconds = time.process_time() - start
            different = np.count_nonzero(d.view(np.uint32) != expected(kernel, a, b).view(np.uint32))
            wrong += different
            print(f"{kernel}_gemm")
            print(f"  {'blocks':24}{run.blocks}")
            print(f"  {'warp instructions':24}{run.warp_instructions}")
            print(f"  {'matrix multiplies':24}{run.matrix_instructions}")
            print(f"  {'cycles':24}{run.cycles or 'none: golden model'}")
            print(f"  {'elements that differ':24}{different} of {d.size}")
            print(f"  {'processor time':24}{seconds:.2f} s")
    except (CompilerError, SimtError, ValueError) as error:
        parser.error(str(error))
    return int(wrong != 0)


if __name__ == "__main__":
    raise SystemExit(main())
