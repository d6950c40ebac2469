"""Capture what PyTorch's matrix products do after the sum: run on a Hopper GPU with PyTorch, written beside.

    python tests/data/products/epilogues.py epilogues.npz

Each key is PRODUCT/ARRAY. A product of TYPE_MxNxK has operands (`a`, `b`, `c`, and `v`, a row) and results as
raw bits, of which the first rows and columns are kept. Calls: `tests/openwmma/test_openwmma_epilogues.py`.
"""

import sys

import numpy as np
import torch

ROWS, COLUMNS = 12, 16
PRODUCTS = (
    ("f16", torch.half, 32, 48, 64),
    ("bf16", torch.bfloat16, 32, 48, 64),
    ("bf16", torch.bfloat16, 16, 4096, 4096),
    ("tf32", torch.float, 32, 48, 64),
    ("tf32", torch.float, 128, 256, 96),
    ("f64", torch.double, 32, 48, 64),
)
FACTORS = [(alpha, beta) for alpha in (1, 0.7, -0.7) for beta in (0, 1, 1.3)]
RANDOM = np.random.default_rng(65)
ARRAYS = {}


def numbers(*shape):
    """Multiples of 1/1024 between -4 and 4."""
    return torch.tensor(RANDOM.integers(-4096, 4096, shape) / 1024).cuda()


def keep(name, values, *, operand=False):
    """Store an operand, or the first rows and columns of a result."""
    whole = values.detach()
    if not operand:
        whole = whole[..., :COLUMNS] if whole.ndim == 1 else whole[..., :ROWS, :COLUMNS]
    signed = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[whole.element_size()]
    bits = whole.contiguous().view(signed).cpu().numpy()
    ARRAYS[name] = bits.view(f"u{bits.itemsize}")


def products(kind, dtype, m, n, k):
    """Sums with a matrix and with a row, in rows and columns some of which are special."""
    a, b, c, v = (numbers(*shape).to(dtype) for shape in ((m, k), (k, n), (m, n), (n,)))
    a[0], a[1], a[2], a[3], a[4, 0] = float("nan"), float("inf"), 0, -0.0, float("nan")
    for addend in (c, v):
        addend[..., 0], addend[..., 1], addend[..., 2] = float("nan"), -0.0, -(2**-24)
        addend[..., 3], addend[..., 4] = float("inf"), float("-inf")
    name = f"{kind}_{m}x{n}x{k}"
    kept = {"a": a[:ROWS], "b": b[:, :COLUMNS], "c": c[:ROWS, :COLUMNS], "v": v[:COLUMNS]}
    for operand, values in kept.items():
        keep(f"{name}/{operand}", values, operand=True)
    keep(f"{name}/mm", a @ b)
    for alpha, beta in FACTORS:
        keep(f"{name}/c_{alpha}_{beta}", torch.addmm(c, a, b, alpha=alpha, beta=beta))
        keep(f"{name}/v_{alpha}_{beta}", torch.addmm(v, a, b, alpha=alpha, beta=beta))
        keep(f"{name}/relu_{alpha}_{beta}", torch._addmm_activation(v, a, b, alpha=alpha, beta=beta))
        if kind in ("f16", "bf16"):
            wide = torch.addmm(c, a, b, alpha=alpha, beta=beta, out_dtype=torch.float)
            keep(f"{name}/wide_{alpha}_{beta}", wide)
    x, y, z = numbers(3, m, k).to(dtype), numbers(3, k, n).to(dtype), numbers(3, m, n).to(dtype)
    if m < 64 and n < 64:
        for operand, values in (("x", x[:, :ROWS]), ("y", y[..., :COLUMNS]), ("z", z[:, :ROWS, :COLUMNS])):
            keep(f"{name}/{operand}", values, operand=True)
        for alpha, beta in FACTORS[:6]:
            keep(f"{name}/z_{alpha}_{beta}", torch.baddbmm(z, x, y, alpha=alpha, beta=beta))
    keep(f"{name}/row", a[8] @ b)
    keep(f"{name}/column", a[: COLUMNS + 8] @ b[:, 8])
    keep(f"{name}/rows", a[: COLUMNS + 8], operand=True)


def scaled(m=32, n=48, k=64):
    """Products of fp8 with scales."""
    e4m3 = torch.float8_e4m3fn
    a, b, v = numbers(m, k).to(e4m3), numbers(n, k).to(e4m3), numbers(n)
    bits = a.view(torch.uint8).clone()
    bits[2], bits[3], bits[4] = 0, 128, 127
    a = bits.view(e4m3)
    v[:3] = torch.tensor([float("nan"), -0.0, float("inf")])
    rows, columns = numbers(m, 1).float(), numbers(1, n).float()
    kept = {"a": a[:ROWS], "b": b[:COLUMNS].T, "v": v[:COLUMNS].bfloat16(), "h": v[:COLUMNS].half()}
    kept |= {"rows": rows[:ROWS], "columns": columns[:, :COLUMNS]}
    for operand, values in kept.items():
        keep(f"fp8/{operand}", values, operand=True)
    one = {"0.37_1.91": (0.37, 1.91), "-37_1.91": (-37.0, 1.91), "-0_1": (-0.0, 1.0), "3e38_30": (3e38, 30.0)}
    scales = {name: [torch.tensor([scale]).cuda() for scale in pair] for name, pair in one.items()}
    scales["rows"] = [rows, columns]
    types = {"f32": torch.float, "bf16": torch.bfloat16, "f16": torch.half, "e4m3": e4m3}
    for type_, dtype in types.items():
        for name, (scale_a, scale_b) in scales.items():
            if type_ == "e4m3" and name == "rows":
                continue
            for fast in (True, False):
                call = {"out_dtype": dtype, "use_fast_accum": fast}
                key = f"fp8/{type_}_{name}_{'fast' if fast else 'precise'}"
                keep(key, torch._scaled_mm(a, b.T, scale_a, scale_b, **call))
                if type_ != "f32":
                    bias = v.half() if type_ == "f16" else v.bfloat16()
                    keep(f"{key}_bias", torch._scaled_mm(a, b.T, scale_a, scale_b, bias=bias, **call))


def clamped(depth=200704):
    """Sums of s8 that leave s32: row j of A changes its sign at a place of its own."""
    place = np.arange(depth)
    a = np.stack([np.where(place < 135168 + 1040 * j + j, 127, -128) for j in range(32)]).astype(np.int8)
    b = np.full((depth, 32), 127, np.int8)
    b[:, 1::2] = np.where(place // 16 % 3 == 0, -128, 127)[:, None]
    for name, rows in (("s8/up", a), ("s8/down", -1 - a)):
        keep(name, torch._int_mm(torch.tensor(rows).cuda(), torch.tensor(b).cuda()))


def main():
    """Run everything."""
    matrix = torch.backends.cuda.matmul
    matrix.allow_tf32 = True
    matrix.allow_fp16_reduced_precision_reduction = False
    matrix.allow_bf16_reduced_precision_reduction = False
    for product in PRODUCTS:
        products(*product)
    scaled()
    clamped()
    np.savez_compressed(sys.argv[1], **ARRAYS)
    print(torch.__version__, torch.cuda.get_device_name(), len(ARRAYS))


if __name__ == "__main__":
    main()
