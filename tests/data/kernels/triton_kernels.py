"""The kernels of ``triton.json``, in Triton, and how their PTX is made.

    pip install triton==3.9.0
    python tests/data/kernels/triton_kernels.py FOLDER

writes the PTX for compute capability 8.0, without the lines that only name places in the source. What the
launches left in memory was captured from an NVIDIA H100, whose driver compiled this PTX.
"""

# ruff: noqa: N803  compile-time constants have capital letters

import re
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(
    a, b, c, m, n, k, a_row, a_column, b_row, b_column, c_row, c_column,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUM: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(n, N)
    rows = (tl.program_id(0) // across) * M + tl.arange(0, M)
    columns = (tl.program_id(0) % across) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    a += rows[:, None] * a_row + inner[None, :] * a_column
    b += inner[:, None] * b_row + columns[None, :] * b_column
    total = tl.zeros((M, N), dtype=SUM)
    for step in range(0, tl.cdiv(k, K)):
        here = inner + step * K < k
        tile_a = tl.load(a, mask=(rows[:, None] < m) & here[None, :], other=0)
        tile_b = tl.load(b, mask=here[:, None] & (columns[None, :] < n), other=0)
        total = tl.dot(tile_a, tile_b, total, out_dtype=SUM)
        a += K * a_column
        b += K * b_row
    c += rows[:, None] * c_row + columns[None, :] * c_column
    tl.store(c, total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def softmax(out, x, n, stride, N: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, N)
    values = tl.load(x + row * stride + column, mask=column < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * stride + column, powers / tl.sum(powers, 0), mask=column < n)


@triton.jit
def layer_norm(x, y, w, b, n, epsilon, N: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, N)
    there = column < n
    values = tl.load(x + row * n + column, mask=there, other=0.0).to(tl.float32)
    centred = tl.where(there, values - tl.sum(values, 0) / n, 0.0)
    scale = tl.math.rsqrt(tl.sum(centred * centred, 0) / n + epsilon)
    result = centred * scale * tl.load(w + column, mask=there) + tl.load(b + column, mask=there)
    tl.store(y + row * n + column, result, mask=there)


@triton.jit
def attention(q, k, v, o, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows, inner = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    tile_q = tl.load(q + rows[:, None] * D + inner[None, :])
    most = tl.full((M,), -float("inf"), tl.float32)
    weight = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, D), tl.float32)
    for start in range(0, length, N):
        columns = start + tl.arange(0, N)
        tile_k = tl.load(k + columns[:, None] * D + inner[None, :])
        tile_v = tl.load(v + columns[:, None] * D + inner[None, :])
        scores = tl.dot(tile_q, tl.trans(tile_k)) * scale
        new = tl.maximum(most, tl.max(scores, 1))
        powers = tl.math.exp2((scores - new[:, None]) * 1.44269504)
        shrink = tl.math.exp2((most - new) * 1.44269504)
        weight = weight * shrink + tl.sum(powers, 1)
        total = tl.dot(powers.to(tile_v.dtype), tile_v, total * shrink[:, None])
        most = new
    tl.store(o + rows[:, None] * D + inner[None, :], (total / weight[:, None]).to(o.dtype.element_ty))


SIZES = ("m", "n", "k", "a_row", "a_column", "b_row", "b_column", "c_row", "c_column")


def matrices(operand, result, m, n, k, total, **options):
    types = {"a": f"*{operand}", "b": f"*{operand}", "c": f"*{result}", **dict.fromkeys(SIZES, "i32")}
    return matmul, types, {"M": m, "N": n, "K": k, "SUM": total}, options


HALVES = dict.fromkeys("qkvo", "*fp16")
KERNELS = {
    "matmul_f16": matrices("fp16", "fp16", 32, 32, 32, tl.float16, num_stages=3),
    "matmul_bf16": matrices("bf16", "fp32", 16, 16, 32, tl.float32, num_warps=1, num_stages=1),
    "matmul_tf32": matrices("fp32", "fp32", 32, 32, 32, tl.float32, num_stages=3),
    "matmul_f64": matrices("fp64", "fp64", 16, 16, 32, tl.float64, num_warps=1, num_stages=1),
    "matmul_s8": matrices("i8", "i32", 32, 32, 32, tl.int32, num_stages=3),
    "softmax": (softmax, {"out": "*fp32", "x": "*fp32", "n": "i32", "stride": "i32"}, {"N": 128}, {}),
    "layer_norm": (
        layer_norm,
        {"x": "*fp16", "y": "*fp16", "w": "*fp32", "b": "*fp32", "n": "i32", "epsilon": "fp32"},
        {"N": 128},
        {},
    ),
    "attention": (
        attention, {**HALVES, "length": "i32", "scale": "fp32"}, {"M": 32, "N": 32, "D": 32}, {},
    ),
}  # fmt: skip


def without_places(text):
    """PTX without the lines that only name places in the source."""
    text = re.sub(r"(?ms)^\t?\.section.*", "", text)
    lines = (
        line for line in text.splitlines() if not re.match(r"\s*(\.loc|\.file|//|\$L__(tmp|func)\w*:)", line)
    )
    return "\n".join(lines) + "\n"


def ptx(function, types, constants, options):
    places = {(function.arg_names.index(name),): value for name, value in constants.items()}
    signature = {**types, **dict.fromkeys(constants, "constexpr")}
    source = ASTSource(fn=function, signature=signature, constexprs=places)
    compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4, **options})
    return without_places(compiled.asm["ptx"])


if __name__ == "__main__":
    for name, kernel in KERNELS.items():
        Path(sys.argv[1], f"triton_{name}.ptx").write_text(ptx(*kernel))
