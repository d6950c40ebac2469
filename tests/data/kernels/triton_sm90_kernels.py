"""The kernels of ``triton_sm90.json``, in Triton, and how their PTX is made.

    pip install triton==3.9.0
    python tests/data/kernels/triton_sm90_kernels.py FOLDER

writes the PTX for compute capability 9.0, with ``wgmma`` and tensor copies, without the lines that only name
places in the source, and with the PTX version 8.8, which driver 580 takes. Launches left the same in memory
on golden and on an NVIDIA H200, whose driver compiled this PTX.
"""

# ruff: noqa: N803  compile-time constants have capital letters

import re
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton_kernels import without_places


@triton.jit
def mm_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1)
    tiles_a = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    tiles_b = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    tiles_c = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(tiles_a.load([row * BM, k]), tiles_b.load([column * BN, k]).T, total)
    tiles_c.store([row * BM, column * BN], total.to(c.dtype.element_ty))


@triton.jit
def attn(q, k, v, o, N, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rows, inner, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D), tl.arange(0, BN)
    tile_q = tl.load(q + rows[:, None] * D + inner[None, :])
    most = tl.full((BM,), float("-inf"), tl.float32)
    weight, total = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for n in range(0, N, BN):
        tile_k = tl.load(k + (n + columns)[:, None] * D + inner[None, :])
        scores = tl.dot(tile_q, tile_k.T) * scale
        new = tl.maximum(most, tl.max(scores, 1))
        powers, shrink = tl.exp2(scores - new[:, None]), tl.exp2(most - new)
        weight = weight * shrink + tl.sum(powers, 1)
        total = total * shrink[:, None]
        tile_v = tl.load(v + (n + columns)[:, None] * D + inner[None, :])
        total = tl.dot(powers.to(tile_v.dtype), tile_v, total)
        most = new
    tl.store(o + rows[:, None] * D + inner[None, :], (total / weight[:, None]).to(o.dtype.element_ty))


@triton.jit
def reduce_desc(a, c, M, N, BM: tl.constexpr, BN: tl.constexpr):
    tiles_a = tl.make_tensor_descriptor(a, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    tiles_c = tl.make_tensor_descriptor(c, shape=[BM, N], strides=[N, 1], block_shape=[BM, BN])
    tiles_c.atomic_add([0, 0], tiles_a.load([tl.program_id(0) * BM, 0]))


@triton.jit
def copy3(a, c, X, Y, Z, BX: tl.constexpr, BY: tl.constexpr, BZ: tl.constexpr):
    from_ = tl.make_tensor_descriptor(a, shape=[X, Y, Z], strides=[Y * Z, Z, 1], block_shape=[BX, BY, BZ])
    to = tl.make_tensor_descriptor(c, shape=[X, Y, Z], strides=[Y * Z, Z, 1], block_shape=[BX, BY, BZ])
    values = from_.load([tl.program_id(0) * BX, tl.program_id(1) * BY, 0])
    to.store([tl.program_id(0) * BX, tl.program_id(1) * BY, 0], values + values)


SIZES = dict.fromkeys("MNK", "i32")
KERNELS = {
    "matmul": (
        mm_tma, {"a": "*fp8e4nv", "b": "*fp8e4nv", "c": "*bf16", **SIZES}, {"BM": 64, "BN": 128, "BK": 64},
    ),
    "attention": (
        attn, {**dict.fromkeys("qkvo", "*fp16"), "N": "i32", "scale": "fp32"}, {"BM": 64, "BN": 64, "D": 64},
    ),
    "sum": (reduce_desc, {"a": "*bf16", "c": "*bf16", "M": "i32", "N": "i32"}, {"BM": 16, "BN": 64}),
    "double": (copy3, {"a": "*i8", "c": "*i8", **dict.fromkeys("XYZ", "i32")}, {"BX": 4, "BY": 4, "BZ": 64}),
}  # fmt: skip


def ptx(function, types, constants):
    names = function.arg_names
    places = {(names.index(name),): value for name, value in constants.items()}
    aligned = {
        (names.index(name),): [["tt.divisibility", 16]] for name, type in types.items() if type != "fp32"
    }
    signature = {**types, **dict.fromkeys(constants, "constexpr")}
    source = ASTSource(fn=function, signature=signature, constexprs=places, attrs=aligned)
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    return re.sub(r"(?m)^\.version .*$", ".version 8.8", without_places(compiled.asm["ptx"]))


if __name__ == "__main__":
    for name, kernel in KERNELS.items():
        Path(sys.argv[1], f"triton_sm90_{name}.ptx").write_text(ptx(*kernel))
