"""D = A B on blocks of four warps with shared memory: f16 multiplicands, f32 accumulation.

python examples/cuda/tiled_gemm.py
python examples/cuda/tiled_gemm.py --on lockstep --preset small --size 32
"""

import argparse
from pathlib import Path

import numpy as np

import golden
import openwmma
from golden.simt import SimtError

KERNEL = Path(__file__).with_suffix(".ptx")
MULTIPLY = "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32"


def tiled_gemm(a, b, **machine):
    """D, and what the launch did; rows and columns are multiples of 32, the inner dimension of 16."""
    (m, k), n = a.shape, b.shape[1]
    d = np.zeros((m, n), np.float32)
    kernel = openwmma.Module(KERNEL).kernel("tiled_gemm")
    run = kernel.launch((n // 32, m // 32), 128, [a, b, d, n, k], **machine)
    return d, run


def expected(a, b):
    """The same by `golden.mma` alone: tiles of 16 x 16, the inner dimension in steps of 16."""
    d = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(0, len(b), 16):
        for i in range(0, len(d), 16):
            for j in range(0, d.shape[1], 16):
                tile = np.s_[i : i + 16, j : j + 16]
                d[tile] = golden.mma(MULTIPLY, a[i : i + 16, k : k + 16], b[k : k + 16, j : j + 16], d[tile])
    return d


def main(arguments=None):
    """Multiply random matrices, and compare every bit; 1 if one differs."""
    parser = argparse.ArgumentParser(description="tiled GEMM with shared memory")
    parser.add_argument("--on", default="golden", choices=["golden", "rtl", "lockstep"])
    parser.add_argument("--preset", choices=list(openwmma.PRESETS))
    parser.add_argument("--size", type=int, default=64, help="rows and columns, a multiple of 32")
    options = parser.parse_args(arguments)
    if options.size < 32 or options.size % 32:
        parser.error(f"--size {options.size}: expected a positive multiple of 32")
    random = np.random.default_rng(1)
    a, b = (random.standard_normal((options.size, options.size)).astype(np.float16) for _ in "ab")
    try:
        d, run = tiled_gemm(a, b, on=options.on, preset=options.preset)
    except SimtError as error:
        parser.error(str(error))
    different = np.count_nonzero(d.view(np.uint32) != expected(a, b).view(np.uint32))
    print(f"{'blocks':24}{run.blocks}")
    print(f"{'warp instructions':24}{run.warp_instructions}")
    print(f"{'matrix multiplies':24}{run.matrix_instructions}")
    print(f"{'cycles':24}{run.cycles or 'none: golden model'}")
    print(f"{'elements that differ':24}{different} of {d.size}")
    print(f"{'distance from float64':24}{np.abs(d - a.astype(float) @ b.astype(float)).max():.1e}")
    return int(different != 0)


if __name__ == "__main__":
    raise SystemExit(main())
