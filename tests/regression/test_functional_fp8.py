"""The coverpoints of sums, mostly of fp8, against golden and against cases worked out by hand."""

from collections import Counter

import numpy as np
import pytest

from golden.explanation.explain import explain
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import MmaInstruction
from regression.functional.collector import MODEL, sample_arithmetic
from regression.functional.sums import is_fp8, is_fused, sums_of
from regression.random_programs.choices import multiplies_of
from regression.random_programs.operands import FLOAT_KINDS, TWO_PRODUCTS, draw_operands

FP8 = [instruction for instruction in multiplies_of() if is_fp8(instruction)]
ONE, LEAST = 0x38, 0x01
"""Of e4m3: 1, and 2**-9."""


def multiply(mnemonic, result, type="e4m3"):
    return MmaInstruction(
        mnemonic=mnemonic,
        shape=Shape(16, 8, 32),
        a_layout="row",
        b_layout="col",
        a_type=type,
        b_type=type,
        c_type=result,
        d_type=result,
    )


def seen_by(instruction, products, c):
    """What a multiply shows whose elements all have the same products, by k, and the same C."""
    shape, wide = instruction.shape, np.uint16 if instruction.d_type == "f16" else np.uint32
    a, b = np.zeros(shape.extent("a"), np.uint8), np.zeros(shape.extent("b"), np.uint8)
    for k, (x, y) in products.items():
        a[:, k], b[k] = x, y
    seen = Counter()
    sample_arithmetic(seen, instruction, {"a": a, "b": b, "c": np.full(shape.extent("c"), c, wide)})
    return seen


def of(seen, point):
    return {item for (name, item), count in seen.items() if name == point and count}


def outcome_of(rounding):
    """As in the bins, for a rounding by ``rn`` or ``rz`` that golden explains, of no zero."""
    if rounding.overflow:
        return "overflow to infinity"
    size = "subnormal" if rounding.subnormal else "normal"
    if not rounding.dropped:
        return f"exact, {size}"
    tie = rounding.mode == "rn" and rounding.dropped << 1 == 1 << rounding.dropped_bits
    direction = ("tie " if tie else "") + ("away from zero" if rounding.up else "towards zero")
    if not rounding.kept and not rounding.up:
        size = "to zero"
    return f"{direction}, {size}"


@pytest.mark.parametrize("instruction", FP8, ids=str)
def test_sums_and_their_outcomes_are_those_that_golden_explains(instruction):
    random = np.random.default_rng(8)
    for kind in (*TWO_PRODUCTS, *FLOAT_KINDS[:8]):
        a, b, c = draw_operands(random, instruction, kind)
        sums = sums_of(instruction, {"a": a, "b": b, "c": c})
        row, column = int(random.integers(16)), int(random.integers(8))
        steps = explain(instruction, a[row], b[:, column], c[row, column]).steps
        assert len(sums) == (1 if instruction.mnemonic == "wgmma" else 2)
        for item, step in zip(sums, steps, strict=False):
            finite = np.isfinite(item.total[row, column])
            assert finite == (step.special is None)
            if finite:
                assert item.total[row, column] * 2.0 ** item.unit[row, column] == (
                    step.total * 2.0**step.unit_exponent
                )
        assert sums[-1].bits[row, column] == steps[len(sums) - 1].result


@pytest.mark.parametrize("result", ["f16", "f32"])
def test_outcomes_of_roundings_are_those_that_golden_explains(result):
    """Every element of one row of multiplies that have the same row and column everywhere."""
    random = np.random.default_rng(9)
    found = set()
    for _ in range(120):
        instruction = FP8[random.integers(len(FP8))]
        if instruction.d_type != result:
            continue
        a, b, c = draw_operands(random, instruction, "two products")
        a[:], b[:], c[:] = a[:1], b[:, :1], c[0, 0]
        seen = Counter()
        sample_arithmetic(seen, instruction, {"a": a, "b": b, "c": c})
        steps = explain(instruction, a[0], b[:, 0], c[0, 0]).steps
        expected = set()
        for step in steps:
            if step.rounding is not None and step.total:
                sign = "-" if step.rounding.negative else "+"
                expected.add(f"{sign} / {outcome_of(step.rounding)}")
        outcomes = of(seen, "rounding")
        assert {" / ".join(item.split(" / ")[-2:]) for item in outcomes} == expected
        found |= expected
    assert len(found) > 4


@pytest.mark.parametrize(
    ("product", "c", "expected"),
    [
        ((ONE, ONE), 0x3F800000, {"addend f32 / 0 / whole", "product / 0 / whole"}),
        ((ONE, ONE), 0x3F800001, {"addend f32 / 0 / cut", "product / 0 / whole"}),
        ((ONE, ONE), 127 + 13 << 23, {"addend f32 / 0 / whole", "product / 13 / whole"}),
        ((ONE, ONE), 127 + 14 << 23, {"addend f32 / 0 / whole", "product / 14 / nothing left"}),
        ((0x3C, 0x3C), 127 + 14 << 23, {"addend f32 / 0 / whole", "product / 14 / cut"}),
        ((ONE, ONE), 127 - 13 << 23, {"addend f32 / 13 / whole", "product / 0 / whole"}),
        ((ONE, ONE), (127 - 13 << 23) | 1, {"addend f32 / 13 / cut", "product / 0 / whole"}),
        ((ONE, ONE), 1, {"addend f32 / 16 and more / nothing left", "product / 0 / whole"}),
        ((0, 0), 1, {"addend f32 / 0 / nothing left"}),
        ((0, 0), 0, {"addend f32 / zero / whole"}),
    ],
)
def test_the_distance_and_the_bits_of_a_term_of_wgmma_are_told(product, c, expected):
    seen = seen_by(multiply("wgmma", "f32"), {5: product}, c)
    expected = {f"wgmma e4m3.e4m3 / {item}" for item in (*expected, "product / zero / whole")}
    assert of(seen, "tile distance") == expected


@pytest.mark.parametrize(
    ("result", "c", "products", "outcome"),
    [
        ("f32", 0x3F800000, {0: (ONE, ONE)}, "+ / exact, normal"),
        ("f32", 0x3F800000 + (1 << 10), {0: (ONE, ONE)}, "+ / towards zero, normal"),
        ("f32", 0x80000400, {}, "- / exact, subnormal"),
        ("f16", 0x3C01, {0: (ONE, ONE)}, "+ / tie towards zero, normal"),
        ("f16", 0x3C03, {0: (ONE, ONE)}, "+ / tie away from zero, normal"),
        ("f16", 0x7BFF, {0: (0x7E, ONE)}, "+ / overflow to infinity"),
        ("f16", 0x8001, {}, "- / exact, subnormal"),
    ],
)
def test_the_rounding_of_a_sum_of_wgmma_is_told(result, c, products, outcome):
    seen = seen_by(multiply("wgmma", result), products, c)
    assert of(seen, "rounding") == {f"wgmma e4m3.e4m3 to {result} / {outcome}"}


def test_the_two_sums_and_the_addition_of_mma_are_told():
    seen = seen_by(multiply("mma", "f32"), {0: (LEAST, LEAST), 2: (0x70, 0x70)}, 127 + 37 << 23)
    assert of(seen, "alignment distance") == {
        f"mma {item}"
        for item in (
            "first e4m3.e4m3 / product / 0",
            "first e4m3.e4m3 / product / zero",
            "second e4m3.e4m3 / product / 0",
            "second e4m3.e4m3 / product / zero",
            "second e4m3.e4m3 / addend f32 / 27 and more",
        )
    }
    assert of(seen, "rounding") == {
        f"mma {item} e4m3.e4m3 to f32 / + / exact, normal" for item in ("first", "second", "addition")
    }
    assert of(seen, "addend distance") == {"mma addition e4m3.e4m3 to f32 / 2 to p / alike"}


def test_what_is_not_finite_is_told_by_its_cause():
    for products, c, cause in (
        ({0: (0x7C, 0x3C), 2: (0x7C, 0xBC)}, 0, "infinite products of both signs"),
        ({0: (0x7C, 0x3C)}, 0xFC00, "infinite product and addend of other sign"),
        ({0: (0x7C, 0)}, 0, "infinity times zero"),
        ({0: (0x7D, 0x3C)}, 0, "NaN multiplicand"),
        ({}, 0x7C00, "infinite addend"),
    ):
        seen = seen_by(multiply("wgmma", "f16", "e5m2"), products, c)
        assert of(seen, "special value") == {f"wgmma e5m2.e5m2 + f16 to f16 / {cause}"}


def test_sums_of_fp8_below_the_floor_are_told():
    seen = seen_by(multiply("wgmma", "f16", "e5m2"), {3: (1, 1)}, 0)
    assert of(seen, "exponent floor") == {"wgmma e5m2.e5m2 to f16"}


def test_nothing_is_seen_that_the_model_excludes_and_most_bins_of_fp8_come_soon():
    random = np.random.default_rng(2)
    seen = Counter()
    for instruction in filter(is_fused, multiplies_of()):
        for kind in FLOAT_KINDS:
            a, b, c = draw_operands(random, instruction, kind)
            sample_arithmetic(seen, instruction, {"a": a, "b": b, "c": c})
    assert [point.contradictions(seen) for point in MODEL] == [[]] * len(MODEL)
    assert sum("e4m3" in item or "e5m2" in item for _, item in +seen) > 1000
