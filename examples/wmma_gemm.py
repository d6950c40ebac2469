"""D = alpha A B + beta C with the WMMA API: half multiplicands, float accumulators, tiles of 16 x 16 x 16.

python examples/wmma_gemm.py
python examples/wmma_gemm.py --on lockstep --preset standard
"""

import argparse

import numpy as np

from openwmma import wmma

TILE = 16


def gemm(a, b, c, alpha, beta, **machine):
    """Multiply on one warp; rows, columns and inner dimension are multiples of 16.

    Returns D, the number of instructions, and the program in PTX.
    """
    (rows, inner), columns = a.shape, b.shape[1]
    d = np.zeros((rows, columns), np.float32)
    with wmma.warp(**machine) as warp:
        a_frag = wmma.fragment(wmma.matrix_a, TILE, TILE, TILE, wmma.half, wmma.row_major)
        b_frag = wmma.fragment(wmma.matrix_b, TILE, TILE, TILE, wmma.half, wmma.row_major)
        c_frag = wmma.fragment(wmma.accumulator, TILE, TILE, TILE, wmma.float32)
        acc_frag = wmma.fragment(wmma.accumulator, TILE, TILE, TILE, wmma.float32)
        for i in range(0, rows, TILE):
            for j in range(0, columns, TILE):
                wmma.fill_fragment(acc_frag, 0.0)
                for k in range(0, inner, TILE):
                    wmma.load_matrix_sync(a_frag, a[i:, k:])
                    wmma.load_matrix_sync(b_frag, b[k:, j:])
                    wmma.mma_sync(acc_frag, a_frag, b_frag, acc_frag)
                wmma.load_matrix_sync(c_frag, c[i:, j:], layout=wmma.mem_row_major)
                c_frag.x[:] = alpha * acc_frag.x + beta * c_frag.x
                wmma.store_matrix_sync(d[i:, j:], c_frag, wmma.mem_row_major)
    return d, warp.counters.instructions, warp.ptx()


def main():
    """Multiply random matrices, and print how far the result is from float64."""
    parser = argparse.ArgumentParser(description="D = alpha A B + beta C with the WMMA API")
    parser.add_argument("--on", default="golden", choices=["golden", "rtl", "lockstep"])
    parser.add_argument("--preset", default="small")
    parser.add_argument("--size", type=int, default=64, help="rows and columns of all matrices")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    size = (options.size, options.size)
    a, b = (random.standard_normal(size).astype(np.float16) for _ in "ab")
    c = random.standard_normal(size).astype(np.float32)
    d, instructions, _ = gemm(a, b, c, 1.5, -0.5, on=options.on, preset=options.preset)
    exact = 1.5 * (a.astype(float) @ b.astype(float)) - 0.5 * c
    print(f"{instructions} instructions on {options.on}")
    print(f"greatest distance from float64: {np.abs(d - exact).max():.1e}")


if __name__ == "__main__":
    main()
