"""What MMA-Sim 2.1.1 predicts of products in 8, 6 and 4 bits, with block scales and without.

    python tests/data/small_formats.py

writes `small_formats.npz` beside this script: operands and results of some dot products of every form. It
needs numpy and the package mmasim (PyPI), of which nothing is copied. Its authors compared it with an RTX PRO
6000 (arXiv 2511.10909).
"""

from itertools import product
from pathlib import Path

import numpy as np

RECORDED = 6
"""Dot products of each form and kind of operands."""

FIELDS = {"e4m3": (4, 3), "e5m2": (5, 2), "e3m2": (3, 2), "e2m3": (2, 3), "e2m1": (2, 1), "f16": (5, 10)}
FIELDS["f32"] = (8, 23)
SMALL = tuple(FIELDS)[:5]
KINDS = ("bits", "finite", "zeros", "subnormal", "cancelling", "extreme")


def forms():
    """Key, text of MMA-Sim, and the rest of the PTX instruction behind ``mma.sync.aligned.``"""
    for d, a, b in product(("f32", "f16"), SMALL, SMALL):
        head, types = "m16n8k32.row.col.kind::f8f6f4", f"{d}.{a}.{b}.{d}"
        yield f"{d}.{a}.{b}", f"m16n8k32.kind::f8f6f4.{types}", f"{head}.{types}"
    for a, b in product(SMALL, SMALL):
        head, types = "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X", f"f32.{a}.{b}.f32.ue8m0"
        yield f"1X.{a}.{b}", f"m16n8k32.kind::mxf8f6f4.block32.{types}", f"{head}.{types}"
    for kind, vec, scale in (
        ("mxf4", "2X", "ue8m0"),
        ("mxf4nvf4", "2X", "ue8m0"),
        ("mxf4nvf4", "4X", "ue8m0"),
        ("mxf4nvf4", "4X", "ue4m3"),
    ):
        block = {"2X": 32, "4X": 16}[vec]
        types = f"f32.e2m1.e2m1.f32.{scale}"
        head = f"m16n8k64.row.col.kind::{kind}.block_scale.scale_vec::{vec}"
        yield f"{kind}.{vec}.{scale}", f"m16n8k64.kind::{kind}.block{block}.{types}", f"{head}.{types}"


def elements(random, type, shape, kind):
    """Bit patterns of a kind."""
    exponent, fraction = FIELDS[type]
    sign = 1 << exponent + fraction
    bits = random.integers(0, 2 * sign, shape)
    top = (1 << exponent) - 1
    has_specials = type not in ("e3m2", "e2m3", "e2m1")
    if kind != "bits" and has_specials:
        special = bits >> fraction & top == top
        bits[special] &= ~(1 << fraction)
    if kind == "zeros":
        bits[random.random(shape) < 0.8] &= sign
    if kind == "subnormal":
        bits &= sign | ((2 << fraction) - 1)
    if kind == "extreme":
        largest = (top - has_specials << fraction) | (1 << fraction) - 1
        bits = np.where(random.random(shape) < 0.7, bits & sign | largest, bits)
    return bits.astype(f"u{max(8, 1 + exponent + fraction) // 8}")


def operands(random, text, kind, count):
    """a, b, c and, with block scales, both scales, each of `count` dot products."""
    shape, _, *rest = text.split(".")
    scaled = rest[0].startswith("block")
    _, a_type, b_type, c_type = rest[scaled : scaled + 4]
    depth = int(shape.rpartition("k")[2])
    a, b = (elements(random, type, (count, depth), kind) for type in (a_type, b_type))
    c = elements(random, c_type, (count,), kind)
    if kind == "cancelling":
        exponent, fraction = FIELDS[a_type]
        half = depth // 2
        a[:, half:] = a[:, :half] ^ np.uint8(1 << exponent + fraction)
        b[:, half:] = b[:, :half]
        changed = random.random((count, half)) < 2 / depth
        b[:, half:][changed] ^= 1
        c[random.random(count) < 0.5] = 0
    if not scaled:
        return [a, b, c]
    blocks = depth // int(rest[0][5:])
    of_powers = rest[-1] == "ue8m0"
    near = (random.integers(119, 137) if of_powers else random.integers(0x30, 0x40), 12 if of_powers else 24)
    scales = []
    for _ in range(2):
        bits = random.integers(0, 256, (count, blocks))
        if kind not in ("bits", "extreme"):
            bits = np.clip(random.integers(near[0] - near[1], near[0] + near[1], (count, blocks)), 0, 254)
            bits[:, 0] = np.where(random.random(count) < 0.05, 0, bits[:, 0])
        scales.append(bits.astype(np.uint8))
    if kind == "cancelling":
        scales[1] = scales[1][:, ::-1] if random.random() < 0.5 else scales[1]
        scales = [np.repeat(bits[:, :1], blocks, axis=1) for bits in scales]
    return [a, b, c, *scales]


def predicted(text, arrays):
    """The results of MMA-Sim as bit patterns."""
    import torch  # noqa: PLC0415  comes with mmasim
    from mmasim.nv_ptx import MMA, MMABlockScale  # noqa: PLC0415

    scaled = len(arrays) == 5
    simulated = (MMABlockScale if scaled else MMA)("RTX Blackwell", text)
    a, b, c, *scales = arrays
    if scaled and simulated.packing == 2:
        a, b = (x[:, ::2] << 4 | x[:, 1::2] for x in (a, b))
    else:  # e2m1 stands in bits 5 to 2
        a, b = (
            x << 2 if type == "e2m1" else x
            for x, type in ((a, simulated.a_type_ptx), (b, simulated.b_type_ptx))
        )
    types = simulated.a_type, simulated.b_type, simulated.c_type, *[getattr(simulated, "s_type", None)] * 2
    signed = {np.dtype(np.uint16): np.int16, np.dtype(np.uint32): np.int32}
    tensors = [
        torch.from_numpy(np.ascontiguousarray(x).view(signed.get(x.dtype, x.dtype))).view(type)
        for x, type in zip((a, b, c, *scales), types, strict=False)
    ]
    return simulated.dpa(*tensors).view(torch.uint8).numpy().view(arrays[2].dtype).reshape(-1)


def cases(seed, count):
    """For each form its key, its PTX, operands of every kind, and MMA-Sim's results."""
    for number, (key, text, ptx) in enumerate(forms()):
        random = np.random.default_rng([seed, number])
        drawn = [operands(random, text, kind, count) for kind in KINDS]
        arrays = [np.concatenate(parts) for parts in zip(*drawn, strict=True)]
        yield key, ptx, arrays, predicted(text, arrays)


def main():
    """Write the file."""
    members = {}
    for key, _, arrays, d in cases(67, RECORDED):
        names = ("a", "b", "c", "scale_a", "scale_b")
        members |= {f"{key}/{name}": array for name, array in zip(names, arrays, strict=False)}
        members[f"{key}/d"] = d
    np.savez_compressed(Path(__file__).parent / "small_formats.npz", **members)


if __name__ == "__main__":
    main()
