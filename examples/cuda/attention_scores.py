"""P = softmax(Q K^T / sqrt(width)): the scores of attention, with `ex2.approx` and `rcp.approx`.

python examples/cuda/attention_scores.py
python examples/cuda/attention_scores.py --on lockstep --preset small --keys 64
"""

import argparse
from pathlib import Path

import numpy as np

import golden
import openwmma
from golden.simt import SimtError

KERNEL = Path(__file__).with_suffix(".ptx")
MULTIPLY = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"


def attention_scores(q, k, **machine):
    """P, and what the launch did; queries and width are multiples of 16, keys of 32."""
    (queries, width), keys = q.shape, len(k)
    p = np.zeros((queries, keys), np.float32)
    kernel = openwmma.Module(KERNEL).kernel("attention_scores")
    arguments = [q, k, p, keys, width, factor(width)]
    run = kernel.launch(queries // 16, 128, arguments, shared=64 * keys, **machine)
    return p, run


def factor(width):
    """What turns exp(s / sqrt(width)) into 2 to the power of factor * s."""
    return np.float32(np.log2(np.e) / np.sqrt(width))


def expected(q, k):
    """The same by `golden.mma` and `golden.approximate`, with the sums in the order of the kernel."""
    scores = np.zeros((len(q), len(k)), np.float32)
    for x in range(0, q.shape[1], 16):
        for i in range(0, len(q), 16):
            for j in range(0, len(k), 16):
                tile = np.s_[i : i + 16, j : j + 16]
                b = k[j : j + 16, x : x + 16].T
                scores[tile] = golden.mma(MULTIPLY, q[i : i + 16, x : x + 16], b, scores[tile])
    distance = scores - scores.max(axis=1, keepdims=True)
    powers = golden.approximate("ex2.approx.ftz.f32", distance * factor(q.shape[1]))
    total = np.zeros((len(q), 32), np.float32)  # of each lane
    for key in range(0, len(k), 32):
        total = total + powers[:, key : key + 32]
    for mask in (16, 8, 4, 2, 1):
        total = total + total[:, np.arange(32) ^ mask]
    return powers * golden.approximate("rcp.approx.ftz.f32", total[:, :1])


def main(arguments=None):
    """Compute scores of random queries and keys, and compare every bit; 1 if one differs."""
    parser = argparse.ArgumentParser(description="attention scores with softmax")
    parser.add_argument("--on", default="golden", choices=["golden", "rtl", "lockstep"])
    parser.add_argument("--preset", choices=list(openwmma.PRESETS))
    parser.add_argument("--keys", type=int, default=96, help="a multiple of 32")
    options = parser.parse_args(arguments)
    if options.keys < 32 or options.keys % 32:
        parser.error(f"--keys {options.keys}: expected a positive multiple of 32")
    random = np.random.default_rng(2)
    q, k = (random.standard_normal((rows, 32)).astype(np.float16) for rows in (32, options.keys))
    try:
        p, run = attention_scores(q, k, on=options.on, preset=options.preset)
    except SimtError as error:
        parser.error(str(error))
    different = np.count_nonzero(p.view(np.uint32) != expected(q, k).view(np.uint32))
    exact = np.exp(q.astype(float) @ k.astype(float).T / np.sqrt(32))
    exact /= exact.sum(axis=1, keepdims=True)
    print(f"{'blocks':24}{run.blocks}")
    print(f"{'warp instructions':24}{run.warp_instructions}")
    print(f"{'matrix multiplies':24}{run.matrix_instructions}")
    print(f"{'cycles':24}{run.cycles or 'none: golden model'}")
    print(f"{'elements that differ':24}{different} of {p.size}")
    print(f"{'distance from float64':24}{np.abs(p / exact - 1).max():.1e}, relative")
    return int(different != 0)


if __name__ == "__main__":
    raise SystemExit(main())
