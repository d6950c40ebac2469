"""Arrays in their natural types: the bits of the result are those that bit patterns give."""

import ml_dtypes
import numpy as np
import pytest

import golden
from golden.invalid_argument import InvalidArgument

RANDOM = np.random.default_rng(3)
CASES = [
    ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", (16, 16, 16), "float16", "float32", "float32"),
    ("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16", (16, 16, 16), "float16", "float16", "float16"),
    (
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32",
        (16, 16, 16),
        "bfloat16",
        "float32",
        "float32",
    ),
    (
        "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32",
        (16, 16, 8),
        "float32",
        "float32",
        "float32",
    ),
    ("wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64", (8, 8, 4), "float64", "float64", "float64"),
    (
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
        (16, 8, 32),
        "float8_e4m3fn",
        "float32",
        "float32",
    ),
    ("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", (16, 8, 32), "float8_e5m2", "float32", "float32"),
]


class Wrapped:
    """An array behind one protocol alone."""

    def __init__(self, array):
        self._array = array


class WithArray(Wrapped):
    def __array__(self, dtype=None, copy=None):
        return self._array


class WithDlpack(Wrapped):
    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def bits(array):
    return array.view(f"u{array.dtype.itemsize}")


def operands(case):
    _, (m, n, k), multiplicand, addend, _ = case
    extents = ((m, k), multiplicand), ((k, n), multiplicand), ((m, n), addend)
    return [RANDOM.standard_normal((3, *shape)).astype(dtype_of(name)) for shape, name in extents]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_values_and_bit_patterns_give_the_same_bits(case):
    instruction, *_, d_type = case
    a, b, c = operands(case)
    expected = golden.mma(instruction, bits(a), bits(b), bits(c))
    assert expected.dtype.kind == "u"
    d = golden.mma(instruction, a, b, c)
    assert d.dtype == dtype_of(d_type)
    assert np.array_equal(bits(d), expected)
    product = a.astype(float) @ b.astype(float) + c.astype(float)
    assert np.allclose(d.astype(float), product, rtol=0.01, atol=0.05)


def test_bit_patterns_anywhere_give_bit_patterns():
    instruction = CASES[0][0]
    a, b, c = operands(CASES[0])
    expected = golden.mma(instruction, bits(a), bits(b), bits(c))
    for given in ((bits(a), b, c), (a, bits(b), c), (a, b, bits(c))):
        d = golden.mma(instruction, *given)
        assert d.dtype == np.uint32
        assert np.array_equal(d, expected)


@pytest.mark.parametrize("wrapper", [WithArray, WithDlpack])
def test_other_objects_are_arrays(wrapper):
    instruction = CASES[0][0]
    a, b, c = operands(CASES[0])
    d = golden.mma(instruction, wrapper(a), wrapper(b), wrapper(c))
    assert d.dtype == np.float32
    assert np.array_equal(d, golden.mma(instruction, a, b, c))
    row, column = wrapper(a[0, 0].copy()), wrapper(b[0, :, 0].copy())
    explained = golden.explain(instruction, row, column, c[0, 0, 0])
    assert explained.result == bits(d)[0, 0, 0]


def test_explain_takes_types_of_ml_dtypes():
    instruction = CASES[2][0]
    a, b, c = operands(CASES[2])
    explained = golden.explain(instruction, a[0, 0], b[0, :, 0], c[0, 0, 0])
    assert explained.result == bits(golden.mma(instruction, a, b, c))[0, 0, 0]
    assert explained.notes == ()


def test_nothing_is_rounded_on_the_way_in():
    a, b, c = operands(CASES[0])
    for name in ("float32", "bfloat16", "float8_e5m2"):
        with pytest.raises(InvalidArgument, match=f"a: got dtype {name}; allowed: uint16 .*f16"):
            golden.mma(CASES[0][0], a.astype(dtype_of(name)), b, c)
    with pytest.raises(InvalidArgument, match=r"b: got dtype float16; allowed: uint16 .*bf16"):
        golden.mma(CASES[2][0], a.astype(dtype_of("bfloat16")), b, c)
    with pytest.raises(InvalidArgument, match=r"a: got dtype float8_e4m3fn; allowed: uint8 .*e5m2"):
        golden.mma(CASES[6][0], operands(CASES[5])[0], *operands(CASES[6])[1:])


def test_an_object_out_of_reach_is_refused():
    class OnGpu:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("the memory of a device")

    _, b, c = operands(CASES[0])
    with pytest.raises(InvalidArgument, match=r"a: got OnGpu \(the memory of a device\); allowed: an array"):
        golden.mma(CASES[0][0], OnGpu(), b, c)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("case", [0, 1, 3, 4])
def test_any_byte_order_gives_the_same_bits(case, raw, order):
    instruction, *_ = CASES[case]
    given = [bits(array) if raw else array for array in operands(CASES[case])]
    swapped = [array.astype(array.dtype.newbyteorder(order)) for array in given]
    d = golden.mma(instruction, *swapped)
    assert d.dtype.isnative
    assert d.tobytes() == golden.mma(instruction, *given).tobytes()
    fragment = "a", {0: "f16", 1: "f16", 3: "tf32", 4: "f64"}[case], "m{}n{}k{}".format(*CASES[case][1])
    words = golden.distribute(given[0][0], *fragment)
    assert np.array_equal(golden.distribute(swapped[0][0], *fragment), words)
    collected = golden.collect(words.astype(f"{order}u4"), *fragment)
    assert np.array_equal(collected, golden.collect(words, *fragment))


@pytest.mark.parametrize("order", ["<", ">"])
def test_integers_and_registers_of_any_byte_order(order):
    s8 = "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32"
    a, b = RANDOM.integers(-128, 128, (2, 16, 16))
    c = RANDOM.integers(-(2**31), 2**31, (16, 16)).astype(np.int32)
    expected = golden.mma(s8, a, b, c)
    swapped = a.astype(f"{order}i8"), b.astype(f"{order}i2"), c.astype(f"{order}i4")
    assert np.array_equal(golden.mma(s8, *swapped), expected)
    x = RANDOM.standard_normal(5).astype(np.float32)
    for given in (x, x.view(np.uint32)):
        found = golden.approximate("ex2.approx.ftz.f32", given.astype(given.dtype.newbyteorder(order)))
        assert found.tobytes() == golden.approximate("ex2.approx.ftz.f32", given).tobytes()
