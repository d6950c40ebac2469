"""A quantised layer: s8 multiplicands, s32 sums, and s8 results by multiplier, shift and zero point.

python examples/cuda/int8_gemm.py
python examples/cuda/int8_gemm.py --on lockstep --preset small --size 32
"""

import argparse
from pathlib import Path

import numpy as np

import openwmma
from golden.simt import SimtError

KERNEL = Path(__file__).with_suffix(".ptx")


def int8_gemm(x, w, bias, multiplier, shift, zero, **machine):
    """The quantised outputs, and what the launch did.

    `x` is int8 (m, k), `w` int8 (n, k), `bias` and `multiplier` int32 (n,);
    m and n are multiples of 32, k of 16.
    """
    (m, k), n = x.shape, len(w)
    q = np.zeros((m, n), np.int8)
    kernel = openwmma.Module(KERNEL).kernel("int8_gemm")
    run = kernel.launch((n // 32, m // 32), 128, [x, w, bias, multiplier, q, n, k, shift, zero], **machine)
    return q, run


def expected(x, w, bias, multiplier, shift, zero):
    """The same in int64."""
    sums = x.astype(np.int64) @ w.T.astype(np.int64) + bias
    scaled = (sums * multiplier + (1 << (shift - 1))) >> shift
    return np.clip(scaled + zero, -128, 127).astype(np.int8)


def main(arguments=None):
    """Quantise random outputs, and compare them all; 1 if one differs."""
    parser = argparse.ArgumentParser(description="int8 GEMM with requantisation")
    parser.add_argument("--on", default="golden", choices=["golden", "rtl", "lockstep"])
    parser.add_argument("--preset", choices=list(openwmma.PRESETS))
    parser.add_argument("--size", type=int, default=64, help="rows and columns, a multiple of 32")
    options = parser.parse_args(arguments)
    if options.size < 32 or options.size % 32:
        parser.error(f"--size {options.size}: expected a positive multiple of 32")
    random = np.random.default_rng(4)
    size = options.size
    x, w = (random.integers(-128, 128, (size, size), dtype=np.int8) for _ in "xw")
    bias = random.integers(-10_000, 10_001, size, dtype=np.int32)
    multiplier = random.integers(1 << 29, 1 << 30, size, dtype=np.int32)  # factors from 1/1024 to 1/512
    layer = (x, w, bias, multiplier, 39, -3)
    try:
        q, run = int8_gemm(*layer, on=options.on, preset=options.preset)
    except SimtError as error:
        parser.error(str(error))
    different = np.count_nonzero(q != expected(*layer))
    print(f"{'blocks':24}{run.blocks}")
    print(f"{'warp instructions':24}{run.warp_instructions}")
    print(f"{'matrix multiplies':24}{run.matrix_instructions}")
    print(f"{'cycles':24}{run.cycles or 'none: golden model'}")
    print(f"{'elements that differ':24}{different} of {q.size}")
    print(f"{'clamped':24}{np.count_nonzero((q == -128) | (q == 127))} of {q.size}")
    return int(different != 0)


if __name__ == "__main__":
    raise SystemExit(main())
