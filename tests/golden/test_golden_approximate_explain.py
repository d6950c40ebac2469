"""`golden.explain` of approximate instructions: Python integers against the arrays, and correct rounding."""

import json
import math
from dataclasses import asdict
from fractions import Fraction

import numpy as np
import pytest

import golden
from golden.approximation.exact import correctly_rounded, rounded, value_of
from golden.approximation.instructions import FORMS
from golden.approximation.steps import Approximation, Arithmetic, Interpolation, Narrowing, Special
from golden.tables.formats import float_format

SINGLE = [form for form in FORMS if not FORMS[form].packed]
EDGES = [
    *(0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000),
    *(0xFF800000, 0x7F800001, 0xFFC00000, 0x3F800000, 0x3F800001, 0x3F7FFFFF, 0x40000000, 0x40800000),
    *(0xBF800000, 0x3B7FFFFF, 0x3B800000, 0x40FFFFFF, 0x41000000, 0xC2FC0000, 0xC2FC0001, 0x42FFFFFF),
    *(0x43000000, 0x7E800000, 0x7E800001, 0x7F000000, 0x3F000000, 0xC3150000, 0x3E22F983, 0x40C90FDB),
]


def operands_of(form, count, seed):
    """Random bit patterns, half of them of moderate size, and edges."""
    found = FORMS[form]
    random = np.random.default_rng(seed)
    register = np.dtype(f"u{found.bits // 8}")
    operands = [random.integers(0, 1 << found.bits, count, dtype=register) for _ in range(found.operands)]
    if found.bits == 32:
        moderate = random.normal(size=count // 2).astype(np.float32) * np.float32(8)
        operands[0][: count // 2] = moderate.view(np.uint32)
        for operand in operands:
            operand[-len(EDGES) :] = random.permutation(np.array(EDGES, np.uint32))
    if found.bits == 64:
        for operand in operands:
            operand[-len(EDGES) :] = np.array(EDGES, np.uint64) << np.uint64(32)
    return operands


def check_interpolation(step):
    assert step.total == step.c0 + step.c1 * step.offset + step.c2 * step.square
    assert step.magnitude == (step.kept << step.cut_bits) + step.lost
    assert 0 <= step.lost < 1 << step.cut_bits
    assert 0 <= step.offset < 1 << step.offset_bits
    if step.function not in {"lg2", "tanh", "sin"}:
        assert step.kept.bit_length() in ({21, 22} if step.operand >> 32 else {24, 25})
    if step.function != "tanh":
        assert step.argument == (step.row << step.offset_bits) + step.offset


@pytest.mark.parametrize("form", SINGLE)
def test_result_is_that_of_the_arrays(form):
    operands = operands_of(form, 300, 7)
    expected = golden.approximate(form, *operands)
    steps = []
    for i, bits in enumerate(expected.tolist()):
        found = golden.explain(form, *(operand[i] for operand in operands))
        assert isinstance(found, Approximation)
        assert found.result == found.steps[-1].result == bits, [hex(operand[i]) for operand in operands]
        for step in found.steps:
            if isinstance(step, Interpolation):
                check_interpolation(step)
        steps += found.steps
    json.dumps(asdict(found))
    assert any(isinstance(step, Interpolation) for step in steps)
    assert any(isinstance(step, Special) for step in steps)


def test_one_result_worked_by_hand():
    """2**0.25 is 9975792.3 * 2**-23. The row begins with 9975793.4: it is best for its whole interval."""
    found = golden.explain("ex2.approx.ftz.f32", 0.25)
    (step,) = found.steps
    assert isinstance(step, Interpolation)
    assert (step.argument, step.row, step.offset, step.square) == (0x200000, 16, 0, 0)
    assert step.total == step.c0 == 326886799330
    assert (step.kept, step.lost, step.cut_bits) == (*divmod(326886799330, 2**15), 15)
    assert found.result == 0x3F800000 + step.kept - 2**23
    assert found.correct == 0x3F800000 + 9975792 - 2**23
    assert found.difference == 1
    assert found.value == 9975793 * 2.0**-23


def test_steps_around_the_unit():
    square = golden.explain("ex2.approx.f32", -130.25).steps
    assert [type(step) for step in square] == [Arithmetic, Interpolation, Arithmetic]
    scaled = golden.explain("lg2.approx.f32", 2.0**-140).steps
    assert [step.operation for step in scaled if isinstance(step, Arithmetic)] == ["*", "-"]
    division = golden.explain("div.full.f32", np.float32(3), np.float32(2.0**127)).steps
    assert [type(step) for step in division] == [Arithmetic, Arithmetic, Interpolation, Arithmetic]
    narrow = golden.explain("tanh.approx.f16", np.float16(0.5)).steps
    assert [type(step) for step in narrow] == [Interpolation, Narrowing]
    turns = golden.explain("sin.approx.f32", 1.0).steps
    assert (turns[0].rounding, turns[0].right) == ("rz", 0x3E22F983)


def test_text():
    text = str(golden.explain("lg2.approx.f32", 0.5))
    assert text.splitlines()[0] == "lg2.approx.f32(0x3f000000) = 0xbf7ffffe (-0.9999998807907104)"
    assert "row       0 of lg2: c0 29508, c1 47272, c2 -1454" in text
    assert "cut       68719469358 >> 12 = 16777214, 814 dropped" in text
    assert "correctly rounded: 0xbf800000, difference 2 in the last place" in text
    assert "difference" not in str(golden.explain("lg2.approx.f32", -1.0))


def test_notes():
    assert golden.explain("ex2.approx.f32", 0.5).notes == ()
    assert golden.explain("ex2.approx.f32", 0.3).notes == ("0.3 was rounded to f32: 0.30000001192092896",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ex2.approx.f99", 1.0), "instruction: got 'ex2.approx.f99' without b_column and c; allowed: ex2"),
        (("mma", [1], [1]), "instruction: got 'mma' without c; allowed: ex2"),
        (
            ("ex2.approx.f16x2", np.uint32(0)),
            "instruction: got 'ex2.approx.f16x2'; allowed: 'ex2.approx.f16'",
        ),
        (("ex2.approx.f32", [1.0, 2.0]), r"x: got shape \(2,\); allowed: shape \(\), one value"),
        (("div.full.f32", 1.0), "operands: got 1; allowed: 2"),
        (("ex2.approx.f32", 1.0, 2.0), "operands: got 2; allowed: 1"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(golden.InvalidArgument, match=message):
        golden.explain(*arguments)


REAL = {
    "ex2": np.exp2,
    "rcp": np.reciprocal,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}


@pytest.mark.parametrize("function", REAL)
def test_correct_rounding_agrees_with_f64(function):
    """Wherever numpy's f64 result, give or take 4 units in its last place, decides the rounding."""
    form = FORMS[f"{function}.approx.f32"]
    compared = 0
    for bits in operands_of(form.text, 600, 11)[0].tolist():
        if bits & 0x7F800000 == 0x7F800000:
            continue
        with np.errstate(all="ignore"):
            exact = REAL[function](np.float64(np.uint32(bits).view(np.float32)))
            low, high = (np.float32(exact * (1 + side * 2.0**-50)).view(np.uint32) for side in (-1, 1))
        if np.isfinite(exact) and low == high:
            assert correctly_rounded(form, (bits,)) == low, hex(bits)
            compared += 1
    assert compared > 150


def test_correct_rounding_of_quotients():
    form = FORMS["div.full.f32"]
    a, b = operands_of(form.text, 300, 12)
    with np.errstate(all="ignore"):
        expected = a.view(np.float32) / b.view(np.float32)
    for x, y, quotient in zip(a.tolist(), b.tolist(), expected, strict=True):
        found = correctly_rounded(form, (x, y))
        finite = all(value_of(bits, float_format("f32")) is not None for bits in (x, y))
        assert (found is None) == (not finite or y & 0x7FFFFFFF == 0)
        assert found is None or found == quotient.view(np.uint32)


def test_exact_values_are_exact():
    """Powers of two and squares, which an interval could not decide at a midpoint."""
    for form, operand, expected in [
        ("ex2.approx.f32", -149.0, 2.0**-149),
        ("ex2.approx.f32", -150.0, 0.0),
        ("lg2.approx.f32", 2.0**-149, -149.0),
        ("sqrt.approx.f32", 9.0, 3.0),
        ("rsqrt.approx.f32", 2.0**-148, 2.0**74),
        ("cos.approx.f32", 0.0, 1.0),
    ]:
        assert golden.explain(form, operand).correct == int(np.float32(expected).view(np.uint32))


@pytest.mark.parametrize(("name", "dtype"), [("f16", np.float16), ("f32", np.float32)])
def test_rounding(name, dtype):
    """Against numpy's conversion from f64, ties and subnormals included."""
    format = float_format(name)
    random = np.random.default_rng(13)
    for value in [*random.normal(size=200), 2048.5 + 0.5, 2049.0, 65519.9, 65520.0, 2.0**-25, 3 * 2.0**-25]:
        for scale in (0, -14, -24, -130, -149):
            exact = math.ldexp(value, scale)
            with np.errstate(over="ignore", under="ignore"):
                expected = np.array(exact).astype(dtype).view(f"u{np.dtype(dtype).itemsize}")
            assert rounded(Fraction(exact), format, negative_zero=exact < 0) == expected or exact == 0
