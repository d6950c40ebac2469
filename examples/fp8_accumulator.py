"""How many bits an accumulator keeps: 1 and eight products of 2^-k, and a sum of many ones.

python examples/fp8_accumulator.py
python examples/fp8_accumulator.py --on rtl
"""

import argparse

import numpy as np

import golden
from golden.resolve import resolve_instruction, resolve_profile
from golden.tables.profiles import PROFILES
from openwmma import PRESETS, Backend, multiply_tiles, open_machine

WGMMA = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e5m2"
MMA = "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32"
MMA_F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
BIAS = {"e5m2": 15, "f16": 15}
FRACTION_BITS = {"e5m2": 2, "f16": 10}
SMALL = 8
MOST = 28


def multiply(text, a, b, c, profile="hopper", on="golden"):
    """D = A B + C on the golden model, or on the simulated core of preset small."""
    if on == "golden":
        return golden.mma(text, a, b, c, profile=profile)
    config = PRESETS["small"]
    return multiply_tiles(
        resolve_instruction(text),
        (a, b, c),
        lambda size: open_machine(Backend.RTL, config, size),
        registers=config.registers,
    ).d


def powers(type_, exponents):
    """The bits of powers of two."""
    return (np.asarray(exponents) + BIAS[type_]) << FRACTION_BITS[type_]


def one_and_eight(text, k, **machine):
    """1 * 1 and eight products of 2^-k in every element: the result less 1."""
    instruction = resolve_instruction(text)
    shape, type_ = instruction.shape, instruction.a_type
    dtype = np.uint16 if type_ == "f16" else np.uint8
    a, b = np.zeros((shape.m, shape.k), dtype), np.zeros((shape.k, shape.n), dtype)
    a[:, 0], b[0] = powers(type_, 0), powers(type_, 0)
    a[:, 1 : 1 + SMALL], b[1 : 1 + SMALL] = powers(type_, -(k // 2)), powers(type_, k // 2 - k)
    c = np.zeros((shape.m, shape.n), np.uint32)
    d = multiply(text, a, b, c, **machine).view(np.float32)
    assert (d == d[0, 0]).all()
    return float(d[0, 0]) - 1


def kept_bits(text, **machine):
    """The largest k at which the small products count."""
    return max(k for k in range(8, MOST) if one_and_eight(text, k, **machine) > 0)


def accumulated(text, steps):
    """C = A B + C again and again, every product 1."""
    instruction = resolve_instruction(text)
    shape = instruction.shape
    a = np.full((shape.m, shape.k), powers(instruction.a_type, 0), np.uint8)
    b = np.full((shape.k, shape.n), powers(instruction.b_type, 0), np.uint8)
    c = np.zeros((shape.m, shape.n), np.uint32)
    for _ in range(steps):
        c = golden.mma(text, a, b, c)
    return float(c.view(np.float32)[0, 0])


def main():
    """Print how many bits are kept, and on the golden model the long sum."""
    parser = argparse.ArgumentParser(description="How many bits does the accumulator keep?")
    parser.add_argument("--on", default="golden", choices=["golden", "rtl"])
    on = parser.parse_args().on
    print(f"fraction bits kept, on {on}")
    for name, text in (("wgmma, fp8", WGMMA), ("mma.sync, fp8", MMA), ("mma.sync, f16", MMA_F16)):
        for profile in PROFILES if on == "golden" else ("hopper",):
            try:
                resolve_profile(profile, resolve_instruction(text))
            except golden.InvalidArgument:
                print(f"  {name:14} {profile:10} not known")
                continue
            bits = kept_bits(text, profile=profile, on=on)
            print(f"  {name:14} {profile:10} {bits}")
    if on == "rtl":
        return
    steps = 1024
    print(f"{steps} times 32 products of 1: {32 * steps}")
    for name, text in (("wgmma, fp8", WGMMA), ("mma.sync, fp8", MMA)):
        print(f"  {name:14} {accumulated(text, steps):g}")


if __name__ == "__main__":
    main()
