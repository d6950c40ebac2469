"""The steps of one result: they end in what `golden.mma` gives, and each follows from the one before."""

import json
from dataclasses import asdict
from fractions import Fraction

import numpy as np
import pytest

import golden
from golden.explanation.record import BitStep, Conversion, FusedSum, IntegerSum, Saturation
from golden.random_operands import random_operands
from golden.resolve import resolve_instruction
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.instruction_set import FAMILIES, WGMMA_FAMILIES
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import EXACT_PROFILES, PROFILES

WMMA = "wmma.mma.sync.aligned.row.col"
MMA = "mma.sync.aligned"
WGMMA = "wgmma.mma_async.sync.aligned"
F64 = f"{WMMA}.m8n8k4.rp.f64.f64.f64.f64"
FLOATS = [
    *(f"{WMMA}.m16n16k16.{pair}" for pair in ("f32.f32", "f16.f16", "f32.f16", "f16.f32")),
    f"{WMMA}.m16n16k16.f32.bf16.bf16.f32",
    f"{WMMA}.m16n16k8.f32.tf32.tf32.f32",
    *(f"{WMMA}.m8n8k4.{mode}.f64.f64.f64.f64" for mode in ("rn", "rz", "rm", "rp")),
    f"{MMA}.m16n8k8.row.col.f16.f16.f16.f16",
    f"{MMA}.m16n8k16.row.col.f32.bf16.bf16.f32",
    f"{MMA}.m16n8k8.row.col.f32.tf32.tf32.f32",
    f"{MMA}.m16n8k16.row.col.rp.f64.f64.f64.f64",
    f"{MMA}.m16n8k32.row.col.f32.e4m3.e5m2.f32",
    f"{MMA}.m16n8k16.row.col.f16.e5m2.e4m3.f16",
    f"{WGMMA}.m64n8k32.f32.e5m2.e4m3",
    f"{WGMMA}.m64n8k32.f16.e4m3.e4m3",
    f"{WGMMA}.m64n16k8.f32.tf32.tf32",
    f"{WGMMA}.m64n8k16.f16.f16.f16",
    f"{WGMMA}.m64n16k16.f32.bf16.bf16",
]
INTEGERS = [
    f"{WMMA}.m16n16k16.s32.s8.s8.s32",
    f"{WMMA}.m32n8k16.s32.u8.u8.s32.satfinite",
    f"{WMMA}.m8n8k32.s32.u4.u4.s32",
    f"{MMA}.m8n8k16.row.col.s32.s8.u8.s32.satfinite",
    f"{MMA}.m16n8k32.row.col.s32.u8.u8.s32",
    f"{MMA}.m16n8k64.row.col.satfinite.s32.s4.u4.s32",
    f"{MMA}.m16n8k256.row.col.s32.b1.b1.s32.and.popc",
    f"{WGMMA}.m64n24k32.s32.u8.s8.satfinite",
    f"{WGMMA}.m64n24k256.s32.b1.b1.and.popc",
    "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
    "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
]


def check_result(instruction, profile, seed, tiles=12, each=6):
    """Explain some elements of tiles of every distribution."""
    random = np.random.default_rng(seed)
    operands = random_operands(random, instruction, tiles)
    expected = golden.mma(instruction, *operands, profile=profile)
    for a, b, c, d in zip(*operands, expected, strict=True):
        for _ in range(each):
            i, j = random.integers(instruction.shape.m), random.integers(instruction.shape.n)
            found = golden.explain(instruction, a[i], b[:, j], c[i, j], profile=profile)
            assert found.result == int(d[i, j])
            yield found


@pytest.mark.parametrize("profile", [*PROFILES, *EXACT_PROFILES])
@pytest.mark.parametrize("text", FLOATS)
def test_floats(text, profile):
    instruction = resolve_instruction(text)
    if profile in PROFILES and not PROFILES[profile].executes(instruction.family):
        zeros = [0] * instruction.shape.k
        with pytest.raises(golden.InvalidArgument, match=r"^profile: "):
            golden.explain(instruction, zeros, zeros, 0, profile=profile)
        return
    for found in check_result(instruction, profile, 21, each=2):
        assert (found.instruction, found.profile) == (str(instruction), profile)
        for step in found.steps:
            if isinstance(step, FusedSum):
                check_sum(step)
            if step.rounding is not None:
                check_rounding(step.rounding)
        json.dumps(asdict(found))


def check_sum(step):
    nonzero = [term for term in step.terms if term.kind == "finite"]
    for term in step.terms:
        assert term.exponent == sum(number.exponent for number in term.factors)
        if term.kind == "finite":
            assert term.significand == np.prod([number.significand for number in term.factors], dtype=object)
            whole = Fraction(term.significand) * Fraction(2) ** (term.exponent - term.fraction_bits)
            units = Fraction(term.aligned) * Fraction(2) ** step.unit_exponent
            lost = Fraction(term.lost) * Fraction(2) ** (term.exponent - term.fraction_bits)
            assert units + lost == whole
            assert lost < Fraction(2) ** step.unit_exponent
            assert term.lost < 2**term.cut_bits
        else:
            assert term.aligned == term.lost == 0
    if step.largest_exponent is None:
        assert not any(term.lost for term in step.terms)
    elif nonzero:
        largest = max(term.exponent for term in nonzero)
        floor = largest if step.least_exponent is None else step.least_exponent
        assert step.largest_exponent == max(largest, floor)
    assert step.total == sum(-term.aligned if term.negative else term.aligned for term in step.terms)
    assert (step.special is None) == (step.rounding is not None)
    if step.rounding is not None:
        assert step.rounding.significand == abs(step.total)
        assert step.rounding.exponent == step.unit_exponent


def check_rounding(rounding):
    format = float_format(rounding.format)
    value = Fraction(rounding.significand) * Fraction(2) ** rounding.exponent
    kept = Fraction(rounding.kept) * Fraction(2) ** rounding.last_place
    dropped = Fraction(rounding.dropped) * Fraction(2) ** rounding.exponent
    assert kept + dropped == value
    assert dropped < Fraction(2) ** rounding.last_place
    if rounding.leading_exponent is not None:
        assert (
            Fraction(2) ** rounding.leading_exponent <= value < Fraction(2) ** (rounding.leading_exponent + 1)
        )
        assert rounding.subnormal == (value < Fraction(2) ** format.minimum_exponent)
    magnitude = rounding.bits & ~format.sign_mask
    if rounding.overflow:
        assert magnitude in (format.infinity, format.largest_finite)
    else:
        rounded = (rounding.kept + rounding.up) * Fraction(2) ** rounding.last_place
        fraction = magnitude % 2**format.fraction_bits
        field = magnitude >> format.fraction_bits
        significand = fraction + (2**format.fraction_bits if field else 0)
        exponent = max(field, 1) - format.bias - format.fraction_bits
        assert rounded == significand * Fraction(2) ** exponent


@pytest.mark.parametrize(
    "places", [("a", "b", "c"), ("a", "c"), ("a", "b"), ("b", "c"), ("a",), ("b",), ("c",), ()]
)
def test_nan_of_f64(places):
    """Which NaN comes out is the same, and inf x 0 gives the canonical one."""
    nan = {name: np.uint64(0xFFF0000000000000 + i) for i, name in enumerate("abc", start=1)}
    a, b, c = np.zeros((8, 4), np.uint64), np.zeros((4, 8), np.uint64), np.zeros((8, 8), np.uint64)
    a[0, 1] = nan["a"] if "a" in places else 0x7FF0000000000000
    b[1, 0] = nan["b"] if "b" in places else 0
    c[0, 0] = nan["c"] if "c" in places else 0
    found = golden.explain(F64, a[0], b[:, 0], c[0, 0])
    assert found.result == int(golden.mma(F64, a, b, c)[0, 0])
    assert found.steps[1].special == "nan"


@pytest.mark.parametrize("text", INTEGERS)
def test_integers(text):
    instruction = resolve_instruction(text)
    for found in check_result(instruction, "hopper", 22):
        (step,) = found.steps
        if isinstance(step, BitStep):
            assert step.count == sum(step.combined)
            assert (step.c + step.count - step.result) % 2**32 == 0
        else:
            assert isinstance(step, IntegerSum)
            assert step.products == tuple(x * y for x, y in zip(step.a, step.b, strict=True))
            assert step.exact == step.c + sum(step.products)
        json.dumps(asdict(found))


@pytest.mark.parametrize("pair", ["f32.f32", "f16.f16", "f16.f32"])
def test_satf(pair):
    d_type, c_type = pair.split(".")
    plain = resolve_instruction(f"{WMMA}.m16n16k16.{pair}")
    instruction = MmaInstruction(
        shape=plain.shape,
        a_layout="row",
        b_layout="col",
        a_type="f16",
        b_type="f16",
        c_type=c_type,
        d_type=d_type,
        saturate=True,
    )
    changed = 0
    for found in check_result(instruction, "hopper", 23):
        assert isinstance(found.steps[-1], Saturation)
        assert found.steps[-1].before == found.steps[-2].result
        changed += found.steps[-1].before != found.result
    assert changed


def test_one_sum_worked_by_hand():
    """1.5 * 2**-20 (of a subnormal) and c = 1.0, with an f32 result: by the numbers of the specification."""
    a, b = np.zeros(16, np.uint16), np.zeros(16, np.uint16)
    a[0], b[0] = 0x0006, 0x4400  # 6 * 2**-24 and 4.0
    a[3], b[3] = 0x8001, 0x0001  # -2**-24 and 2**-24
    found = golden.explain(f"{WMMA}.m16n16k16.f32.f32", a, b, 0x3F800000)
    (step,) = found.steps
    assert isinstance(step, FusedSum)
    x, y = step.terms[0].factors
    assert (x.name, x.kind, x.exponent, x.significand, x.fraction_bits) == ("a[0]", "subnormal", -14, 6, 10)
    assert (y.name, y.kind, y.exponent, y.significand, y.fraction_bits) == ("b[0]", "normal", 2, 1024, 10)
    assert (step.largest_exponent, step.least_exponent, step.unit_exponent) == (0, -133, -25)
    first, fourth, c = step.terms[0], step.terms[3], step.terms[16]
    # 6 * 2**10 * 2**(-12 - 20) is 48 units of 2**-25; -2**-48 is none, and loses its only bit.
    assert (first.exponent, first.significand, first.aligned, first.cut_bits, first.lost) == (
        -12,
        6144,
        48,
        7,
        0,
    )
    assert (fourth.negative, fourth.exponent, fourth.significand) == (True, -28, 1)
    assert (fourth.aligned, fourth.cut_bits, fourth.lost) == (0, 23, 1)
    assert (c.kind, c.exponent, c.significand, c.aligned) == ("finite", 0, 2**23, 2**25)
    assert {term.kind for k, term in enumerate(step.terms) if k not in (0, 3, 16)} == {"zero"}
    assert step.total == 2**25 + 48
    rounding = step.rounding
    assert (rounding.leading_exponent, rounding.last_place, rounding.kept) == (0, -23, 2**23 + 12)
    assert (rounding.dropped_bits, rounding.dropped, rounding.up) == (2, 0, False)
    assert found.result == 0x3F80000C


def test_chain_and_conversions_are_steps():
    a, b = np.zeros(16, np.uint16), np.zeros(16, np.uint16)
    f16_c = golden.explain(f"{WMMA}.m16n16k16.f32.f16", a, b, 0x0001)
    assert [type(step) for step in f16_c.steps] == [Conversion, FusedSum]
    assert f16_c.steps[0].source.kind == "subnormal"
    assert f16_c.steps[0].result == f16_c.result == 0x33800000
    f16_d = golden.explain(f"{WMMA}.m16n16k16.f16.f32", a, b, 0x33800000, profile="ampere")
    assert [type(step) for step in f16_d.steps] == [FusedSum, FusedSum, Conversion]
    assert f16_d.result == 1
    assert [term.factors[0].name for term in f16_d.steps[1].terms] == [
        *(f"a[{k}]" for k in range(8, 16)),
        "c",
    ]
    f64 = golden.explain(F64, np.zeros(4, np.uint64), np.zeros(4, np.uint64), 0)
    assert [len(step.terms) for step in f64.steps] == [2, 2, 2, 2]


def test_every_family_is_explained():
    texts = [*FLOATS, *INTEGERS]
    families = {resolve_instruction(text).family.name for text in texts}
    assert families == {family.name for family in FAMILIES + WGMMA_FAMILIES}
    assert all(isinstance(FORMATS[resolve_instruction(text).a_type], FloatFormat) for text in FLOATS)
