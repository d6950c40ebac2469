"""Floating-point instructions round the exact result once, in every mode; against fractions."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies
from scalar_model import FINITE, LAYOUTS, arithmetic, integral, kind, rounded, value

from golden.scalar import operation

MODES = ("rn", "rz", "rm", "rp")
SOURCES = {"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3, "rcp": 1, "sqrt": 1}
RAW = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}
TUPLES = 6
ONE = value(0x3C00, LAYOUTS["f16"])
EXAMPLES = settings(max_examples=40)


def patterns(type_):
    """Bit patterns: any, around one, around the least normal number, and powers of two with few bits more."""
    layout = LAYOUTS[type_]
    bits = 1 + layout.exponent + layout.fraction
    one = (2 ** (layout.exponent - 1) - 1) << layout.fraction
    near = strategies.integers(-5, 5)
    exponents = strategies.integers(1, 2**layout.exponent - 2).map(lambda field: field << layout.fraction)
    magnitudes = strategies.one_of(
        near.map(lambda offset: one + offset),
        near.map(lambda offset: (1 << layout.fraction) + offset),
        strategies.integers(0, 5),
        strategies.tuples(exponents, near).map(sum),
        strategies.integers(0, 5).map(lambda offset: layout.infinity - 1 - offset),
        strategies.integers(0, 2 ** (bits - 1) - 1),
    )
    return strategies.tuples(magnitudes, strategies.integers(0, 1)).map(
        lambda pair: pair[0] + pair[1] * layout.sign
    )


def check(name, reference, type_, count, drawn):
    """Evaluate all tuples in one call, compare each with the reference where that has a number."""
    arrays = [np.array(column, RAW[type_]) for column in zip(*drawn, strict=True)]
    found = operation(name).evaluate(*arrays).tolist()
    assert len(arrays) == count
    for operands, bits in zip(drawn, found, strict=True):
        expected = reference(operands)
        assert expected is None or bits == expected, (
            name,
            [hex(x) for x in operands],
            hex(bits),
            hex(expected),
        )


@pytest.mark.parametrize("operation_", list(SOURCES))
@pytest.mark.parametrize("type_", ["f32", "f64"])
@EXAMPLES
@given(data=strategies.data())
def test_four_modes(type_, operation_, data):
    count = SOURCES[operation_]
    drawn = data.draw(
        strategies.lists(strategies.tuples(*[patterns(type_)] * count), min_size=1, max_size=TUPLES)
    )
    for mode in MODES:
        check(
            f"{operation_}.{mode}.{type_}",
            lambda operands, mode=mode: arithmetic(operation_, operands, type_, mode),
            type_,
            count,
            drawn,
        )


@pytest.mark.parametrize("operation_", list(SOURCES))
@EXAMPLES
@given(data=strategies.data())
def test_flushing_looks_at_the_rounded_result(operation_, data):
    count = SOURCES[operation_]
    drawn = data.draw(
        strategies.lists(strategies.tuples(*[patterns("f32")] * count), min_size=1, max_size=TUPLES)
    )
    for mode in MODES:
        check(
            f"{operation_}.{mode}.ftz.f32",
            lambda operands, mode=mode: arithmetic(operation_, operands, "f32", mode, flush=True),
            "f32",
            count,
            drawn,
        )


@pytest.mark.parametrize("type_", ["f16", "f32"])
def test_products_around_the_least_normal_number_are_flushed_or_not(type_):
    layout = LAYOUTS[type_]
    one, least = (1 - layout.emin) << layout.fraction, 1 << layout.fraction
    drawn = [
        (one + i, least + j, sign * layout.sign) for i in range(-6, 7) for j in range(7) for sign in (0, 1)
    ]
    for mode in MODES if type_ == "f32" else ("rn",):
        check(
            f"fma.{mode}.ftz.{type_}",
            lambda operands, mode=mode: arithmetic("fma", operands, type_, mode, flush=True),
            type_,
            3,
            drawn,
        )


@pytest.mark.parametrize("operation_", ["add", "sub", "mul", "fma"])
@pytest.mark.parametrize("type_", ["f16", "bf16"])
@EXAMPLES
@given(data=strategies.data())
def test_halves(type_, operation_, data):
    count = SOURCES[operation_]
    drawn = data.draw(
        strategies.lists(strategies.tuples(*[patterns(type_)] * count), min_size=1, max_size=TUPLES)
    )
    for flush in ("", ".ftz") if type_ == "f16" else ("",):
        check(
            f"{operation_}.rn{flush}.{type_}",
            lambda operands, flush=flush: arithmetic(operation_, operands, type_, "rn", flush=bool(flush)),
            type_,
            count,
            drawn,
        )


@pytest.mark.parametrize("type_", list(RAW))
@EXAMPLES
@given(data=strategies.data())
def test_a_sum_near_a_halfway_point_is_not_rounded_twice(type_, data):
    layout = LAYOUTS[type_]
    # 3 * b has one bit more than the type, an odd number: it lies halfway between two numbers.
    first = 2 ** (layout.fraction + 1) // 3 + 2
    odd = strategies.integers(first // 2, 2 ** (layout.fraction + 2) // 6 - 1).map(lambda half: 2 * half + 1)
    drawn = []
    for _ in range(TUPLES):
        b = rounded(data.draw(odd) * ONE, layout, "rz")
        c = (
            data.draw(strategies.integers(1, 3 << layout.fraction))
            + data.draw(strategies.booleans()) * layout.sign
        )
        drawn.append((rounded(3 * ONE, layout, "rz"), b, c))
    for mode in MODES if type_ in ("f32", "f64") else ("rn",):
        check(
            f"fma.{mode}.{type_}",
            lambda operands, mode=mode: arithmetic("fma", operands, type_, mode),
            type_,
            3,
            drawn,
        )


@EXAMPLES
@given(data=strategies.data())
def test_f64_products_whose_error_underflows(data):
    fraction = strategies.integers(0, 2**52 - 1)
    drawn = []
    for _ in range(TUPLES):
        field = data.draw(strategies.integers(300, 700))
        other = data.draw(strategies.integers(-4, 16)) + 1023 - field
        c = (
            data.draw(strategies.integers(0, 80)) << 52
            | data.draw(fraction)
            | data.draw(strategies.booleans()) << 63
        )
        drawn.append((field << 52 | data.draw(fraction), other << 52 | data.draw(fraction), c))
    check("fma.rn.f64", lambda operands: arithmetic("fma", operands, "f64", "rn"), "f64", 3, drawn)


@pytest.mark.parametrize(
    ("target", "source"),
    [
        ("f16", "f32"),
        ("f16", "f64"),
        ("bf16", "f32"),
        ("bf16", "f64"),
        ("f32", "f64"),
        ("f16", "bf16"),
        ("bf16", "f16"),
    ],
)
@EXAMPLES
@given(data=strategies.data())
def test_conversions_between_floats(target, source, data):
    drawn = data.draw(strategies.lists(strategies.tuples(patterns(source)), min_size=1, max_size=4 * TUPLES))

    def reference(operands, mode):
        if kind(operands[0], LAYOUTS[source]) != FINITE:
            return None
        sign = operands[0] // LAYOUTS[source].sign
        return rounded(value(operands[0], LAYOUTS[source]), LAYOUTS[target], mode, zero_sign=sign)

    for mode in MODES:
        name = f"cvt.{mode}.{target}.{source}"
        check(name, lambda operands, mode=mode: reference(operands, mode), source, 1, drawn)


def limits(type_):
    bits = int(type_[1:])
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if type_[0] == "s" else (0, 2**bits - 1)


INTEGERS = [kind_ + bits for bits in ("8", "16", "32", "64") for kind_ in "us"]


def test_conversions_to_f16_keep_subnormals_of_f32():
    """``.ftz`` or not, as an H200 does."""
    for form, bits, expected in (
        ("rp.ftz", 1, 1),
        ("rm.ftz", 0x80000001, 0x8001),
        ("rp.ftz.sat", 0x7FFFFF, 1),
    ):
        found = operation(f"cvt.{form}.f16.f32").evaluate(np.uint32(bits))
        assert found == expected, form


@pytest.mark.parametrize("source", INTEGERS)
@EXAMPLES
@given(data=strategies.data())
def test_conversions_from_integers(source, data):
    low, high = limits(source)
    bits = int(source[1:])
    numbers = strategies.one_of(
        strategies.integers(low, high),
        # Near a power of two plus half a unit of some format.
        strategies.tuples(
            strategies.integers(0, bits - 1), strategies.integers(0, bits - 1), strategies.integers(-3, 3)
        ).map(lambda parts: min(max((1 << parts[0]) + (1 << parts[1]) + parts[2], low), high)),
    )
    drawn = data.draw(strategies.lists(numbers, min_size=1, max_size=TUPLES))
    array = np.array([number % 2**bits for number in drawn], f"u{bits // 8}")
    for target in ("f16", "bf16", "f32", "f64"):
        for mode in MODES:
            found = operation(f"cvt.{mode}.{target}.{source}").evaluate(array).tolist()
            expected = [rounded(value_ * ONE, LAYOUTS[target], mode) for value_ in drawn]
            assert found == expected, (target, mode, drawn)


@pytest.mark.parametrize("source", ["f16", "bf16", "f32", "f64"])
@EXAMPLES
@given(data=strategies.data())
def test_conversions_to_integers(source, data):
    layout = LAYOUTS[source]
    finite = patterns(source).filter(lambda bits: kind(bits, layout) == FINITE)
    around = strategies.tuples(strategies.integers(-(2**64), 2**65), strategies.integers(0, 12)).map(
        lambda pair: rounded(pair[0] * ONE / 2 ** pair[1], layout, "rz")
    )
    drawn = data.draw(strategies.lists(strategies.one_of(finite, around), min_size=1, max_size=TUPLES))
    # The first numbers that are too great.
    drawn += [rounded(2**bits * ONE, layout, "rz") for bits in (7, 8, 15, 16, 31, 32, 63, 64)]
    array = np.array(drawn, RAW[source])
    for target in INTEGERS if source != "bf16" else INTEGERS[2:]:
        low, high = limits(target)
        for mode in ("rni", "rzi", "rmi", "rpi"):
            found = operation(f"cvt.{mode}.{target}.{source}").evaluate(array).tolist()
            expected = [
                min(max(integral(value(bits, layout), mode), low), high) % 2 ** int(target[1:])
                for bits in drawn
            ]
            assert found == expected, (target, mode, [hex(bits) for bits in drawn])
