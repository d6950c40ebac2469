"""A layer pruned to 2:4 and quantised to NVFP4: dense, sparse and NVFP4 multiplies on golden and on a core.

    python examples/nvfp4_layer.py

Weights are A, activations B. Every result of the simulated core must have golden's bits. A line for each
product shows the cycles of a core with one dot-product unit, where each multiply waits for the one before,
and two errors: of the layer, and of the sums alone, with the operands as they are used.

The rules of `mma.sp` were measured on an NVIDIA H200, those of NVFP4 by others
(docs/explanation/small-formats.md).
"""

import ml_dtypes
import numpy as np

from golden import sparsity
from golden.resolve import resolve_instruction
from openwmma import Backend, multiply_tiles, open_machine
from openwmma.core_settings import adjusted_config

ROWS, DEPTH, TOKENS = 32, 128, 16
DENSE, SPARSE, NVFP4 = (
    resolve_instruction(text)
    for text in (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
    )
)
CORE = adjusted_config(
    "tiny",
    {"profile": "blackwell", "formats": "f16,fp8,fp6,fp4", "sparse": True, "mxf4": True, "block_scale": True},
)
"""It has every form with 2:4 sparsity or block scales; the layer needs f16, fp4, sparse and mxf4."""

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


def dequantised(elements, scales, whole):
    """The values that a product of NVFP4 multiplies."""
    return elements.astype(np.float64) * np.repeat(scales.astype(np.float64), BLOCK, axis=-1) * whole


def tiles(array, use, steps):
    """What each multiply takes of an array: shape (steps, tiles down, tiles across, ...)."""
    if use in ("b", "scale_b"):
        parts = array.reshape(steps, -1, 1, TOKENS // 8, 8).transpose(0, 2, 3, 1, 4)
    else:
        parts = array.reshape(ROWS // 16, 1, 16, steps, -1).transpose(3, 0, 1, 2, 4)
    return np.broadcast_to(parts, (steps, ROWS // 16, TOKENS // 8, *parts.shape[3:]))


def layer(instruction, operands, backend):
    """D and the cycles of the machine: a chain over k of one instruction for each tile of 16 x 8."""
    steps = DEPTH // instruction.shape.k
    parts = {use: tiles(array, use, steps) for use, array in operands.items()}
    d, cycles = np.zeros((ROWS // 16, TOKENS // 8, 16, 8), np.uint32), 0
    for step in range(steps):
        run = multiply_tiles(
            instruction,
            (parts["a"][step], parts["b"][step], d),
            lambda size: open_machine(backend, CORE, size),
            side={name: parts[name][step] for name in instruction.side_registers},
            registers=CORE.registers,
        )
        d, cycles = run.d, cycles + run.execution.counters.cycles
    return d.swapaxes(1, 2).reshape(ROWS, TOKENS), cycles


def main():
    """Print a line for each way to compute the layer."""
    random = np.random.default_rng(0)
    weights = random.standard_normal((ROWS, DEPTH)).astype(np.float16)
    activations = random.standard_normal((DEPTH, TOKENS)).astype(np.float16)
    stored, metadata = sparsity.prune(SPARSE, weights)
    pruned = sparsity.expand(SPARSE, stored, metadata).view(np.float16)
    a, scale_a, global_a = quantised(weights.astype(np.float32))
    b, scale_b, global_b = quantised(activations.T.astype(np.float32))
    products = {
        "dense f16": (DENSE, {"a": weights, "b": activations}, (weights, activations)),
        "sparse f16": (SPARSE, {"a": stored, "b": activations, "metadata": metadata}, (pruned, activations)),
        "NVFP4": (
            NVFP4,
            {"a": a, "b": b.T, "scale_a": scale_a, "scale_b": scale_b.T},
            (dequantised(a, scale_a, global_a), dequantised(b, scale_b, global_b).T),
        ),
    }
    exact = weights.astype(np.float64) @ activations.astype(np.float64)
    size = np.sqrt(np.mean(exact**2))
    titles = ("multiplies", "equal bits", "cycles", "error of layer", "error of sums")
    print(f"{'layer':10}" + "".join(f"{title:>{len(title) + 2}}" for title in titles))
    for name, (instruction, operands, used) in products.items():
        expected, _ = layer(instruction, operands, Backend.GOLDEN)
        found, cycles = layer(instruction, operands, Backend.RTL)
        equal = np.count_nonzero(found == expected)
        if equal != found.size:
            raise SystemExit(
                f"{name}: {found.size - equal} of {found.size} results of the core are not golden's"
            )
        values = found.view(np.float32) * np.float32(global_a * global_b if instruction is NVFP4 else 1)
        own = used[0].astype(np.float64) @ used[1].astype(np.float64)
        errors = (f"{np.sqrt(np.mean((values - right) ** 2)) / size:.2e}" for right in (exact, own))
        multiplies = exact.size * operands["a"].shape[1]
        columns = (multiplies, f"{equal}/{found.size}", cycles, *errors)
        print(f"{name:10}" + "".join(f"{x:>{len(t) + 2}}" for t, x in zip(titles, columns, strict=True)))


if __name__ == "__main__":
    main()
