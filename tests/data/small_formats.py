"""What MMA-Sim 2.1.1 predicts of products in 8, 6 and 4 bits, with block scales and without.

    python tests/data/small_formats.py

writes `small_formats.npz` beside this script: operands and results of some dot products of every form. It
needs numpy and the package mmasim (PyPI), of which nothing is copied. Its authors compared it with an RTX PRO
6000 (arXiv 2511.10909).
"""

from pathlib import Path

import numpy as np

from bench.mmasim import forms, simulator, tensors

RECORDED = 6
"""Dot products of each form and kind of operands."""

FIELDS = {"e4m3": (4, 3), "e5m2": (5, 2), "e3m2": (3, 2), "e2m3": (2, 3), "e2m1": (2, 1), "f16": (5, 10)}
FIELDS["f32"] = (8, 23)
KINDS = ("bits", "finite", "zeros", "subnormal", "cancelling", "extreme")


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

    simulated = simulator(text)
    found = simulated.dpa(*tensors(simulated, arrays))
    return found.view(torch.uint8).numpy().view(arrays[2].dtype).reshape(-1)


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
