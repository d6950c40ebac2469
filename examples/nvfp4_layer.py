"""A linear layer pruned to 2:4 and quantised to NVFP4: cost and error of dense, sparse and NVFP4 multiplies.

    python examples/nvfp4_layer.py

Weights are A, activations B; the products are golden's, to the bit. The rules of `mma.sp` were measured on
an NVIDIA H200, those of NVFP4 by others (docs/explanation/small-formats.md). A core does not execute them
yet, so no cycles are shown; `multiplies` counts the products that are added.
"""

import ml_dtypes
import numpy as np

import golden
from golden import sparsity
from openwmma.block_scaled import block_scaled_matmul

ROWS, DEPTH, TOKENS = 64, 256, 32
DENSE = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
BLOCK = 16
LARGEST = 6.0, 448.0
"""Of e2m1 and of ue4m3."""


def quantised(x):
    """Elements of e2m1, scales of ue4m3 for 16 elements of the last axis, and the global scale."""
    blocks = x.reshape(*x.shape[:-1], -1, BLOCK)
    largest = np.abs(blocks).max(axis=-1)
    whole = largest.max() / (LARGEST[0] * LARGEST[1])
    scales = (largest / LARGEST[0] / whole).astype(ml_dtypes.float8_e4m3fn)
    divisors = np.maximum(scales.astype(np.float32), 2.0**-9)[..., None] * whole
    elements = np.clip(blocks / divisors, -LARGEST[0], LARGEST[0]).astype(ml_dtypes.float4_e2m1fn)
    return elements.reshape(x.shape), scales, whole


def chain(text, weights, activations, depth, **metadata):
    """D of the layer: a chain over k of one instruction, for every tile of 16 rows and 8 columns."""
    result = np.zeros((ROWS, TOKENS), np.float32)
    for row in range(0, ROWS, 16):
        for column in range(0, TOKENS, 8):
            c = np.zeros((16, 8), np.float32)
            for k in range(0, DEPTH, depth):
                part = k * weights.shape[1] // DEPTH, (k + depth) * weights.shape[1] // DEPTH
                a = weights[row : row + 16, slice(*part)]
                b = activations[k : k + depth, column : column + 8]
                nibbles = {name: x[row : row + 16, k // 4 : (k + depth) // 4] for name, x in metadata.items()}
                c = golden.mma(text, a, b, c, **nibbles)
            result[row : row + 16, column : column + 8] = c
    return result


def main():
    """Print a line for each way to compute the layer."""
    random = np.random.default_rng(0)
    weights = random.standard_normal((ROWS, DEPTH)).astype(np.float16)
    activations = random.standard_normal((DEPTH, TOKENS)).astype(np.float16)
    stored, metadata = sparsity.prune(SPARSE, weights)
    pruned = sparsity.expand(SPARSE, stored, metadata).view(np.float16)
    a, scale_a, global_a = quantised(weights.astype(np.float32))
    b, scale_b, global_b = quantised(activations.T.astype(np.float32))
    results = {
        "dense f16": (weights, chain(DENSE, weights, activations, 16), 1),
        "sparse f16": (pruned, chain(SPARSE, stored.view(np.float16), activations, 32, metadata=metadata), 2),
        "NVFP4": (
            weights,
            block_scaled_matmul(a, b.T, scale_a, scale_b.T, d_type="f32", alpha=float(global_a * global_b)),
            1,
        ),
    }
    exact = weights.astype(np.float64) @ activations.astype(np.float64)
    scale = np.sqrt(np.mean(exact**2))
    print(f"{'layer':12}{'multiplies':>12}{'error of layer':>16}{'error of sums':>16}")
    for name, (used, found, saved) in results.items():
        own = used.astype(np.float64) @ activations.astype(np.float64)
        if name == "NVFP4":
            own = (a.astype(np.float64) * np.repeat(scale_a.astype(np.float64), BLOCK, axis=1) * global_a) @ (
                b.astype(np.float64) * np.repeat(scale_b.astype(np.float64), BLOCK, axis=1) * global_b
            ).T
        errors = (np.sqrt(np.mean((found - right) ** 2)) / scale for right in (exact, own))
        print(f"{name:12}{exact.size * DEPTH // saved:12}" + "".join(f"{error:16.2e}" for error in errors))


if __name__ == "__main__":
    main()
