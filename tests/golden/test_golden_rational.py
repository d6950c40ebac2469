"""The golden model against the rational model: a second opinion on 100 000 random results per family."""

from functools import cache

import numpy as np
import pytest
import rational_model as rational

import golden
from golden.arithmetic.arrays import fma
from golden.random_operands import random_operands
from golden.resolve import resolve_instruction

RESULTS = 100_000
FEWER = 10_000
WMMA = "wmma.mma.sync.aligned.row.col"
ACCUMULATORS = ("f32.f32", "f16.f16", "f32.f16", "f16.f32")
FLOAT_TYPES = {
    **{f"m16n16k16.{pair}": ("f16", *pair.split(".")) for pair in ACCUMULATORS},
    "m16n16k16.f32.bf16.bf16.f32": ("bf16", "f32", "f32"),
    "m16n16k8.f32.tf32.tf32.f32": ("tf32", "f32", "f32"),
}


def differences(instruction, operands, found, element):
    """Indices, golden and rational result, where they differ."""
    a, b, c = (operand.tolist() for operand in operands)
    found = found.tolist()
    different = []
    for tile in range(len(found)):
        columns = [list(column) for column in zip(*b[tile], strict=True)]
        for i, row in enumerate(a[tile]):
            for j, column in enumerate(columns):
                expected = element(row, column, c[tile][i][j])
                if expected != found[tile][i][j]:
                    different.append((tile, i, j, found[tile][i][j], expected))
    return different


def check(text, results, seed, element, apart=None, **keywords):
    """`apart` takes elements of a and b apart, once for all their results."""
    instruction = resolve_instruction(text)
    tiles = -(-results // (instruction.shape.m * instruction.shape.n))
    operands = random_operands(np.random.default_rng(seed), instruction, tiles)
    found = golden.mma(instruction, *operands, **keywords)
    if apart is not None:
        taken = np.frompyfunc(apart, 1, 1)
        operands = (taken(operands[0]), taken(operands[1]), operands[2])
    assert differences(instruction, operands, found, element) == []


def check_floats(name, results, seed, generation="hopper"):
    types = FLOAT_TYPES[name]
    layout = rational.LAYOUTS[types[0]]
    constants = rational.GENERATIONS[generation]

    @cache
    def apart(bits):
        return Boxed(rational.take_apart(bits, layout))

    check(
        f"{WMMA}.{name}",
        results,
        seed,
        lambda a, b, c: rational.float_element(
            [x.number for x in a], [y.number for y in b], c, types, constants
        ),
        apart,
        profile=generation,
    )


class Boxed:
    """Keeps numpy from taking a tuple for an array."""

    def __init__(self, number):
        self.number = number


@pytest.mark.parametrize("name", FLOAT_TYPES)
def test_float_families(name):
    results = RESULTS // len(ACCUMULATORS) if name.count(".") == 2 else RESULTS
    check_floats(name, results, seed=11)


@pytest.mark.parametrize("generation", [name for name in rational.GENERATIONS if name != "hopper"])
@pytest.mark.parametrize("name", FLOAT_TYPES)
def test_other_generations(name, generation):
    if FLOAT_TYPES[name][0] == "tf32" and rational.GENERATIONS[generation].tf32_block is None:
        instruction = resolve_instruction(f"{WMMA}.{name}")
        operands = random_operands(np.random.default_rng(0), instruction, 1)
        with pytest.raises(
            golden.InvalidArgument,
            match=rf"^profile: got {generation}, which has no tf32 in wmma.mma; allowed: ",
        ):
            golden.mma(instruction, *operands, profile=generation)
        return
    check_floats(name, FEWER // 2, seed=12, generation=generation)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_f64(mode):
    check(
        f"{WMMA}.m8n8k4.{mode}.f64.f64.f64.f64",
        RESULTS // 4,
        13,
        lambda a, b, c: rational.f64_element(a, b, c, mode),
    )


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_f64_cancellation(mode):
    """c next to -a b: what is left is the part of the product that no f64 holds."""
    random = np.random.default_rng(16)
    a, b = random.uniform(1, 2, (2, RESULTS // 20))
    c = -(a * b)
    for steps in (0, 0, 1, 2, 1 << 20, 1 << 40):
        count = len(c) // 6
        nudged = random.permutation(len(c))[:count]
        c[nudged] = (c[nudged].view(np.int64) + steps * random.choice([-1, 1], count)).view(np.float64)
    scale = 2.0 ** random.integers(-300, 300, (2, len(a)))
    a, b, c = a * scale[0], b * scale[1], c * scale[0] * scale[1]
    operands = [x.view(np.uint64) for x in (a, b, c)]
    found = fma(*operands, rounding=mode).tolist()
    columns = zip(*(x.tolist() for x in operands), strict=True)
    assert found == [rational.fused_multiply_add(*numbers, mode) for numbers in columns]
    residuals = np.array(found, np.uint64).view(np.float64)
    assert np.mean(np.abs(residuals) < np.abs(c) * 2.0**-50) > 0.5


INTEGERS = {
    **{
        f"{WMMA}.m16n16k16.s32.{t}.{t}.s32{s}": RESULTS // 4 for t in ("s8", "u8") for s in ("", ".satfinite")
    },
    **{f"{WMMA}.m8n8k32.s32.{t}.{t}.s32{s}": RESULTS // 4 for t in ("s4", "u4") for s in ("", ".satfinite")},
    **{
        f"mma.sync.aligned.m8n8k16.row.col.s32.{t}.{u}.s32{s}": RESULTS // 8
        for t in ("s8", "u8")
        for u in ("s8", "u8")
        for s in ("", ".satfinite")
    },
}


@pytest.mark.parametrize("text", INTEGERS)
def test_integers(text):
    saturate = text.endswith(".satfinite")
    check(text, INTEGERS[text], 14, lambda a, b, c: rational.integer_element(a, b, c, saturate))


@pytest.mark.parametrize("operation", ["xor", "and"])
def test_single_bits(operation):
    text = f"wmma.mma.{operation}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"
    check(text, RESULTS // 2, 15, lambda a, b, c: rational.bit_element(a, b, c, operation))
