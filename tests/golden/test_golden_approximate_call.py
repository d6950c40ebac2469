"""`golden.approximate`: values and bit patterns, special values, and what it refuses."""

import ml_dtypes
import numpy as np
import pytest

import golden
from golden.approximation.instructions import FORMS
from golden.approximation.operations import operation

INF, NAN = float("inf"), float("nan")
CANONICAL_NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FFFFFFF00000000}
SIGNALING_NAN = {"f16": 0x7C01, "bf16": 0x7F81, "f32": 0x7F800001, "f64": 0x7FF0000100000000}
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


@pytest.mark.parametrize("form", FORMS)
def test_values_and_bit_patterns_agree(form):
    found = FORMS[form]
    register, values = np.dtype(f"u{found.bits // 8}"), np.dtype(DTYPES[found.element])
    random = np.random.default_rng(1)
    operands = [random.integers(0, 1 << found.bits, (5, 7), dtype=register) for _ in range(found.operands)]
    before = [operand.copy() for operand in operands]
    bits = golden.approximate(form, *operands)
    assert (bits.dtype, bits.shape) == (register, (5, 7))
    shape = (5, 7, 2) if found.packed else (5, 7)
    result = golden.approximate(form, *(operand.view(values).reshape(shape) for operand in operands))
    assert (result.dtype, result.shape) == (values, shape)
    assert np.array_equal(result.view(register).reshape(5, 7), bits)
    assert all(np.array_equal(operand, saved) for operand, saved in zip(operands, before, strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_nan_is_canonical(form):
    found = FORMS[form]
    nan = np.array(SIGNALING_NAN[found.element], f"u{found.bits // 8}")
    expected = CANONICAL_NAN[found.element]
    if found.packed:
        assert golden.approximate(form, nan << nan.dtype.type(16) | nan) == expected << 16 | expected
    else:
        assert golden.approximate(form, *[nan] * found.operands) == expected


SPECIAL = {
    "ex2": [(INF, INF), (-INF, 0.0), (0.0, 1.0), (-0.0, 1.0), (128.0, INF), (127.0, 2.0**127), (3.0, 8.0)],
    "rcp": [(INF, 0.0), (-INF, -0.0), (0.0, INF), (-0.0, -INF), (-4.0, -0.25)],
    "rsqrt": [(INF, 0.0), (-INF, NAN), (0.0, INF), (-0.0, -INF), (-1.0, NAN), (16.0, 0.25)],
    "sqrt": [(INF, INF), (-INF, NAN), (0.0, 0.0), (-0.0, -0.0), (-1.0, NAN), (16.0, 4.0)],
    "lg2": [(INF, INF), (-INF, NAN), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (1.0, 0.0), (8.0, 3.0)],
    "sin": [(INF, NAN), (-INF, NAN), (0.0, 0.0), (-0.0, -0.0)],
    "cos": [(INF, NAN), (-INF, NAN), (0.0, 1.0), (-0.0, 1.0)],
    "tanh": [(INF, 1.0), (-INF, -1.0), (0.0, 0.0), (-0.0, -0.0), (2.0**-9, 2.0**-9), (-8.0, -1.0)],
}


@pytest.mark.parametrize("form", [form for form in FORMS if FORMS[form].type == "f32" and "div" not in form])
def test_special_values(form):
    for operand, expected in SPECIAL[FORMS[form].function]:
        found = golden.approximate(form, operand)
        assert found.shape == ()
        assert np.array_equal(found, np.float32(expected), equal_nan=True), operand
        assert np.signbit(found) == np.signbit(expected), operand


def test_subnormal_operands_and_results():
    subnormal, tiny = np.float32(2.0**-140), np.float32(2.0**-149)
    assert golden.approximate("rcp.approx.ftz.f32", subnormal) == INF
    assert golden.approximate("rcp.approx.f32", np.float32(2.0**127)) == np.float32(2.0**-127)
    assert golden.approximate("rcp.approx.ftz.f32", np.float32(2.0**127)) == 0
    assert golden.approximate("sqrt.approx.f32", np.float32(2.0**-140)) == np.float32(2.0**-70)
    assert golden.approximate("sqrt.approx.ftz.f32", subnormal) == 0
    assert golden.approximate("lg2.approx.f32", tiny) == -149
    assert golden.approximate("ex2.approx.f32", np.float32(-149.0)) == tiny
    assert golden.approximate("ex2.approx.ftz.f32", np.float32(-149.0)) == 0
    assert golden.approximate("tanh.approx.f32", -tiny) == -tiny
    great = np.float32(2.0**127)
    assert golden.approximate("div.approx.f32", great, great) == 0
    assert golden.approximate("div.full.f32", great, great) == 1
    assert golden.approximate("div.full.ftz.f32", great, great) == 1


def test_quotients_just_below_the_normal_numbers():
    """They are flushed unless they are normal once rounded to 24 bits with an unlimited exponent."""
    assert (
        golden.approximate("div.approx.ftz.f32", np.uint32(0x2900C34B), np.uint32(0x6800C34B)) == 0x00800000
    )
    assert golden.approximate("div.approx.ftz.f32", np.uint32(0x22EDBFAA), np.uint32(0x61EDBFAB)) == 0
    assert golden.approximate("div.approx.f32", np.uint32(0x22EDBFAA), np.uint32(0x61EDBFAB)) == 0x00800000


def test_the_logarithm_of_a_half_is_not_minus_one():
    found = golden.approximate("lg2.approx.f32", [0.25, 0.5, 1.0, 2.0])
    assert found.dtype == np.float32
    assert found.view(np.uint32).tolist() == [0xBFFFFFFF, 0xBF7FFFFE, 0, 0x3F800000]


def test_division_broadcasts():
    found = golden.approximate("div.full.f32", np.float32([[1.0], [2.0]]), np.float32([1.0, 2.0, 4.0]))
    assert found.tolist() == [[1.0, 0.5, 0.25], [2.0, 1.0, 0.5]]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (1 << 15,), ((1 << 15) + 1,), (3, 40000)])
def test_blocks_and_strides(shape):
    operands = np.random.default_rng(2).integers(0, 1 << 32, shape, dtype=np.uint32)
    function = operation("ex2.approx.ftz.f32")
    found = function(operands)
    assert found.shape == shape
    each = np.array([function(row) for row in operands.reshape(-1)[:50, None]], np.uint32).reshape(-1)
    assert np.array_equal(found.reshape(-1)[:50], each)
    assert np.array_equal(function(operands.T), found.T)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ex2.approx.f99", 1.0), r"instruction: got 'ex2.approx.f99'; allowed: ex2.approx.f32, .*"),
        (("rsqrt.approx.f64", 1.0), r"instruction: got 'rsqrt.approx.f64'; .*rsqrt.approx.ftz.f64"),
        ((7, 1.0), r"instruction: got 7; allowed: ex2.approx.f32.*"),
        (("ex2.approx.f32",), r"operands: got 0; allowed: 1 for ex2.approx.f32"),
        (("div.full.f32", 1.0), r"operands: got 1; allowed: 2 for div.full.f32"),
        (
            ("ex2.approx.f32", 1),
            r"x: got dtype int64; allowed: float32 \(values\) or uint32 \(bit patterns\) for ex2.approx.f32",
        ),
        (("ex2.approx.f32", np.float64(1)), r"x: got dtype float64; allowed: float32 .*"),
        (("tanh.approx.bf16", np.float16(1)), r"x: got dtype float16; allowed: bfloat16 .*"),
        (("div.full.f32", 1.0, np.uint32(4)), r"b: got values with bit patterns; .*"),
        (
            ("div.full.f32", np.ones(3, np.float32), np.ones(2, np.float32)),
            r"b: got shape \(2,\); allowed: one that broadcasts with \(3,\)",
        ),
        (("ex2.approx.f16x2", np.ones(3, np.float16)), r"x: got shape \(3,\); allowed: shape \(..., 2\), .*"),
        (("ex2.approx.f32", [[1.0], [1.0, 2.0]]), r"x: got a ragged sequence; .*"),
        (("ex2.approx.f32", "one"), r"x: got dtype <U3; .*"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(golden.InvalidArgument, match=f"^{message}$"):
        golden.approximate(*arguments)


def test_operation_refuses_an_unknown_form():
    with pytest.raises(golden.InvalidArgument, match=r"got 'ex2\.f32'; allowed: ex2\.approx\.f32"):
        operation("ex2.f32")
