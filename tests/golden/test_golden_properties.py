"""What must hold whatever the operands are."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import rational_model as rational
from hypothesis import given, settings
from hypothesis import strategies as st

import golden
from golden.memory import Memory
from golden.random_operands import random_operand, random_operands
from golden.resolve import resolve_instruction
from golden.tables.commands import Load, Store
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import FAMILIES, Shape
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from golden.warp import GoldenMachine

WMMA = "wmma.mma.sync.aligned.row.col"
INSTRUCTIONS = [
    resolve_instruction(text)
    for text in (
        f"{WMMA}.m16n16k16.f32.f32",
        f"{WMMA}.m16n16k16.f16.f16",
        f"{WMMA}.m8n32k16.f16.f32",
        f"{WMMA}.m32n8k16.f32.f16",
        f"{WMMA}.m8n32k16.f32.bf16.bf16.f32",
        f"{WMMA}.m16n16k8.f32.tf32.tf32.f32",
        f"{WMMA}.m8n8k4.rp.f64.f64.f64.f64",
        f"{WMMA}.m32n8k16.s32.u8.u8.s32.satfinite",
        f"{WMMA}.m8n8k32.s32.s4.s4.s32",
        "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
        "mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32",
    )
]
PROFILES = ("hopper", "volta", "ampere", "exact")

seeds = st.integers(0, 2**32 - 1)
instructions = st.sampled_from(INSTRUCTIONS)
quick = settings(max_examples=60)


def tile(seed, instruction):
    """Operands of one tile, of any of the distributions."""
    random = np.random.default_rng(seed)
    return tuple(operand[seed % len(operand)] for operand in random_operands(random, instruction, 12))


@quick
@given(seeds, instructions)
def test_permuted_rows_and_columns_permute_results(seed, instruction):
    a, b, c = tile(seed, instruction)
    random = np.random.default_rng(seed)
    rows, columns = random.permutation(instruction.shape.m), random.permutation(instruction.shape.n)
    expected = golden.mma(instruction, a, b, c)[rows][:, columns]
    found = golden.mma(instruction, a[rows], b[:, columns], c[rows][:, columns])
    np.testing.assert_array_equal(found, expected)


@quick
@given(seeds, instructions, st.integers(1, 5))
def test_tiles_of_a_batch_do_not_mix(seed, instruction, count):
    operands = random_operands(np.random.default_rng(seed), instruction, 2 * count)
    batch = golden.mma(instruction, *(o.reshape(2, count, *o.shape[1:]) for o in operands))
    single = [golden.mma(instruction, *one) for one in zip(*operands, strict=True)]
    np.testing.assert_array_equal(batch.reshape(2 * count, *batch.shape[2:]), single)


@quick
@given(
    seeds,
    st.sampled_from(
        (
            "f16 f32 f32",
            "f16 f16 f32",
            "f16 f32 f16",
            "f16 f16 f16",
            "bf16 f32 f32",
            "s8 s32 s32",
            "u8 s32 s32",
        )
    ),
    st.booleans(),
)
def test_m8n32k16_is_the_transpose_of_m32n8k16(seed, types, saturate):
    multiplicand, c_type, d_type = types.split()
    flat = MmaInstruction(
        shape=Shape(8, 32, 16),
        a_layout="row",
        b_layout="col",
        a_type=multiplicand,
        b_type=multiplicand,
        c_type=c_type,
        d_type=d_type,
        saturate=saturate,
    )
    a, b, c = tile(seed, flat)
    expected = golden.mma(flat, a, b, c)
    found = golden.mma(replace(flat, shape=Shape(32, 8, 16)), b.T, a.T, c.T)
    np.testing.assert_array_equal(found.T, expected)


@quick
@given(
    seeds,
    st.sampled_from([i for i in INSTRUCTIONS if i.family.name in ("f16", "bf16", "integer", "single-bit")]),
)
def test_order_of_products_in_one_sum_does_not_matter(seed, instruction):
    a, b, c = tile(seed, instruction)
    order = np.random.default_rng(seed).permutation(instruction.shape.k)
    found = golden.mma(instruction, a[:, order], b[order], c)
    np.testing.assert_array_equal(found, golden.mma(instruction, a, b, c))


@quick
@given(seeds, st.sampled_from(INSTRUCTIONS[:6]), st.sampled_from(PROFILES))
def test_negation(seed, instruction, profile):
    """Truncation and rounding to nearest are symmetric: -A and -C give -D, NaN and zeros aside."""
    if profile == "volta" and instruction.a_type == "tf32":
        profile = "blackwell"
    a, b, c = tile(seed, instruction)

    def negated(bits, type):
        return bits ^ bits.dtype.type(FORMATS[type].sign_mask)

    d = golden.mma(instruction, a, b, c, profile=profile)
    minus = golden.mma(
        instruction, negated(a, instruction.a_type), b, negated(c, instruction.c_type), profile=profile
    )
    format = FORMATS[instruction.d_type]
    magnitude = d & d.dtype.type(format.sign_mask - 1)
    signed = (magnitude != 0) & (magnitude <= format.infinity)
    np.testing.assert_array_equal(minus[signed], negated(d, instruction.d_type)[signed])
    magnitude_of_minus = minus & minus.dtype.type(format.sign_mask - 1)
    np.testing.assert_array_equal(magnitude_of_minus, magnitude)


def exact_value(bits, layout):
    number = rational.take_apart(bits, layout)
    assert number.kind == rational.FINITE
    value = Fraction(number.significand) * Fraction(2) ** (number.exponent - layout.fraction)
    return -value if number.sign else value


def finite_bits(name):
    """Bit patterns of finite numbers."""
    layout = rational.LAYOUTS[name]
    return st.builds(
        lambda sign, rest, low: (sign * layout.sign + rest) * 2**layout.ignored + low,
        st.integers(0, 1),
        st.integers(0, layout.infinity - 1),
        st.integers(0, 2**layout.ignored - 1),
    )


EXACT = {
    "m16n16k16.f32.f32": ("f16", "f32", "f32"),
    "m16n16k16.f16.f16": ("f16", "f16", "f16"),
    "m16n16k16.f32.f16": ("f16", "f16", "f32"),
    "m16n16k16.f16.f32": ("f16", "f32", "f16"),
    "m16n16k16.f32.bf16.bf16.f32": ("bf16", "f32", "f32"),
    "m16n16k8.f32.tf32.tf32.f32": ("tf32", "f32", "f32"),
    "m8n8k4.f64.f64.f64.f64": ("f64", "f64", "f64"),
}


@settings(max_examples=300)
@given(st.data(), st.sampled_from(sorted(EXACT)), st.sampled_from(("rn", "rz", "rm", "rp")))
def test_exact_equals_rational_arithmetic(data, name, mode):
    multiplicand, c_type, d_type = EXACT[name]
    instruction = resolve_instruction(f"{WMMA}.{name}")
    shape = instruction.shape
    row = data.draw(st.lists(finite_bits(multiplicand), min_size=shape.k, max_size=shape.k))
    column = data.draw(st.lists(finite_bits(multiplicand), min_size=shape.k, max_size=shape.k))
    c = data.draw(finite_bits(c_type))
    a = np.zeros(shape.extent("a"), f"u{FORMATS[multiplicand].bits // 8}")
    b = np.zeros(shape.extent("b"), a.dtype)
    addend = np.zeros(shape.extent("c"), f"u{FORMATS[c_type].bits // 8}")
    a[1], b[:, 2], addend[1, 2] = row, column, c

    inputs, result = rational.LAYOUTS[multiplicand], rational.LAYOUTS[d_type]
    products = [exact_value(x, inputs) * exact_value(y, inputs) for x, y in zip(row, column, strict=True)]
    total = sum(products, exact_value(c, rational.LAYOUTS[c_type]))
    found = int(golden.mma(instruction, a, b, addend, profile=f"exact.{mode}")[1, 2])
    if total:
        exponent = -(total.denominator.bit_length() - 1)
        expected = rational.put_together(int(total < 0), abs(total.numerator), exponent, result, mode)
        assert found == expected
    else:
        assert found in (0, result.sign)


@quick
@given(st.integers(0, 0xFFFFFFFF), st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_exact_integers_are_those_of_every_profile(c, x, y):
    instruction = INSTRUCTIONS[7]
    a = np.full(instruction.shape.extent("a"), abs(x) % 256)
    b = np.full(instruction.shape.extent("b"), abs(y) % 256)
    addend = np.full(instruction.shape.extent("c"), c, np.uint32).view(np.int32)
    found = golden.mma(instruction, a, b, addend, profile="exact")
    np.testing.assert_array_equal(found, golden.mma(instruction, a, b, addend))


FRAGMENTS = sorted(
    {
        (use, element, shape)
        for family in FAMILIES
        for shape in family.shapes
        for use in "abcd"
        for element in (family.multiplicands if use in "ab" else family.accumulators)
    }
)


@settings(max_examples=200)
@given(seeds, st.sampled_from(FRAGMENTS), st.lists(st.integers(1, 3), max_size=2))
def test_distribute_then_collect(seed, what, leading):
    use, element, shape = what
    matrix = random_operand(np.random.default_rng(seed), element, (*leading, *shape.extent(use), 1))[..., 0]
    registers = golden.distribute(matrix, use, element, shape)
    assert registers.shape == (*leading, fragment(use, element, shape).registers, 32)
    assert registers.dtype == np.uint32
    np.testing.assert_array_equal(golden.collect(registers, use, element, shape), matrix)


STORED = sorted(
    {
        ("d", element, shape)
        for family in FAMILIES
        if family.mnemonic == "wmma"
        for shape in family.shapes
        for element in family.accumulators
    }
)


@settings(max_examples=100)
@given(seeds, st.sampled_from(STORED), st.data())
def test_store_then_load(seed, what, data):
    """Registers come back from memory, at any aligned address and stride of a line, in either layout."""
    _, element, shape = what
    layout = data.draw(st.sampled_from(("row", "col")))
    store = StoreInstruction(layout=layout, shape=shape, type=element)
    form = fragment("d", element, shape)
    unit = 8 * store.core_alignment // form.element_bits
    stride = shape.default_stride("d", layout) + unit * data.draw(st.integers(0, 12))
    address = 4096 + data.draw(st.integers(0, 100)) * store.core_alignment
    words = np.random.default_rng(seed).integers(0, 1 << 32, (form.registers, 32), dtype=np.uint32)

    warp = GoldenMachine(memory=Memory(1 << 17, 4096))
    warp.write_registers(0, words)
    warp.execute(Store(store, 0, address, stride))
    load = LoadInstruction(use="c", layout=layout, shape=shape, type=element)
    warp.execute(Load(load, 24, address, stride))
    np.testing.assert_array_equal(warp.read_registers()[24 : 24 + form.registers], words)


def test_floats_of_this_file_are_floats():
    """`test_negation` takes the first six instructions for floating point."""
    assert all(isinstance(FORMATS[i.a_type], FloatFormat) for i in INSTRUCTIONS[:6])
