"""Arithmetic of single elements, against what an NVIDIA H200 gave and against exact integers."""

import numpy as np
import pytest
from golden_captures import COMPACT
from hypothesis import given, strategies
from rational_model import FINITE, LAYOUTS, put_together, take_apart

from golden.scalar import operation

with np.load(COMPACT / "elements" / "h200.npz") as _loaded:
    CAPTURES = {name: _loaded[name] for name in _loaded.files}
"""Results of single PTX instructions, ``f32/fma.rn.ftz.f32``; their operands are ``f32/a`` to ``f32/c``."""

OPERAND_COUNTS = {"add": 2, "sub": 2, "mul": 2, "fma": 3, "min": 2, "max": 2}

INSTRUCTIONS = sorted(name for name in CAPTURES if len(name.split("/")[1]) > 1)


def test_every_operation_of_every_float_was_captured():
    assert {(name.split("/")[0], name.split("/")[1].split(".")[0]) for name in INSTRUCTIONS} == {
        (type_, operation) for type_ in ("f16", "f32", "f64") for operation in OPERAND_COUNTS
    }
    assert sum(".ftz." in name for name in INSTRUCTIONS) == 12


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_bits_are_those_of_the_chip(name):
    type_, instruction = name.split("/")
    operands = [CAPTURES[f"{type_}/{use}"] for use in "abc"[: OPERAND_COUNTS[instruction.split(".")[0]]]]
    found = operation(instruction.replace("f16x2", "f16")).evaluate(*operands)
    assert found.dtype == CAPTURES[name].dtype
    assert found.size > 1000
    np.testing.assert_array_equal(found, CAPTURES[name])


def exact_fma(a, b, c, layout):
    """The rounded ``a * b + c`` of finite bit patterns, from one integer numerator."""
    x, y, z = (take_apart(int(bits), layout) for bits in (a, b, c))
    product_exponent = x.exponent + y.exponent - 2 * layout.fraction
    addend_exponent = z.exponent - layout.fraction
    exponent = min(product_exponent, addend_exponent)
    product = x.significand * y.significand << product_exponent - exponent
    addend = z.significand << addend_exponent - exponent
    total = (-product if x.sign ^ y.sign else product) + (-addend if z.sign else addend)
    sign = int(total < 0) if total else (x.sign ^ y.sign) & z.sign
    return put_together(sign, abs(total), exponent, layout, "rn")


@pytest.mark.parametrize("type_", ["f16", "f32", "f64"])
@given(strategies.data())
def test_a_fused_multiply_add_rounds_the_exact_sum_once(type_, data):
    layout = LAYOUTS[type_]
    bits = 1 + layout.exponent + layout.fraction
    middle = (2 ** (layout.exponent - 1) - 1) << layout.fraction
    # Around one, where sums cancel and land near the middle between two numbers, and everywhere.
    near = strategies.integers(middle - (2 << layout.fraction), middle + (2 << layout.fraction))
    pattern = strategies.one_of(
        strategies.integers(0, 2**bits - 1), near, near.map(lambda value: value | 1 << (bits - 1))
    ).filter(lambda value: take_apart(value, layout).kind == FINITE)
    a, b, c = (data.draw(pattern) for _ in range(3))
    arrays = [np.array([value], dtype=f"u{bits // 8}") for value in (a, b, c)]
    assert int(operation(f"fma.rn.{type_}").evaluate(*arrays)[0]) == exact_fma(a, b, c, layout)


def test_a_sum_is_not_rounded_twice():
    # 1025 * 1047553 is 2**30 + 1, so the sum is 1 + 2**-24 + 2**-54: the middle between two f32 and a little
    # more. An f64 has no room for the little, and 1 is the even neighbour of the middle.
    operands = np.array([1025 * 2.0**-34, 1047553 * 2.0**-20, 1], np.float32)
    a, b, c = operands.view(np.uint32)[:, None]
    assert np.float32(np.float64(operands[0]) * np.float64(operands[1]) + 1) == 1
    assert exact_fma(*a, *b, *c, LAYOUTS["f32"]) == 0x3F800001
    assert exact_fma(*a, *b, *c, LAYOUTS["f32"]) == 0x3F800001
    assert int(operation("fma.rn.f32").evaluate(a, b, c)[0]) == 0x3F800001


@pytest.mark.parametrize(
    ("opcode", "operands", "expected"),
    [
        ("add.s32", (0x7FFFFFFF, 1), 0x80000000),
        ("sub.u32", (0, 1), 0xFFFFFFFF),
        ("mul.lo.s32", (0xFFFFFFFF, 3), 0xFFFFFFFD),
        ("mul.lo.u32", (0x10001, 0x10001), 0x20001),
        ("mad.lo.u32", (0xFFFFFFFF, 2, 1), 0xFFFFFFFF),
        ("min.s32", (0xFFFFFFFF, 0), 0xFFFFFFFF),
        ("min.u32", (0xFFFFFFFF, 0), 0),
        ("max.s32", (0xFFFFFFFF, 0), 0),
        ("max.u32", (0xFFFFFFFF, 0), 0xFFFFFFFF),
    ],
)
def test_integers_wrap(opcode, operands, expected):
    arrays = [np.array([operand], dtype=np.uint32) for operand in operands]
    assert operation(opcode).evaluate(*arrays).tolist() == [expected]
