"""Elements for readers and for memory."""

import numpy as np
import pytest

from golden.lines import pack, unpack
from golden.programs.values import describe


@pytest.mark.parametrize(
    ("type", "pattern", "text"),
    [
        ("f16", 0x3C00, "0x3c00 = 1.0"),
        ("f16", 0x8001, "0x8001 = -5.960464477539063e-08"),
        ("f16", 0xFC00, "0xfc00 = -inf"),
        ("f16", 0x7FFF, "0x7fff = nan"),
        ("f16", 0x8000, "0x8000 = -0.0"),
        ("bf16", 0x4049, "0x4049 = 3.140625"),
        ("tf32", 0x3F801FFF, "0x3f801fff = 1.0"),
        ("tf32", 0x7F801FFF, "0x7f801fff = inf"),
        ("f32", 0x00000001, "0x00000001 = 1.401298464324817e-45"),
        ("f64", 0x3FF8000000000000, "0x3ff8000000000000 = 1.5"),
        ("f64", 0x7FEFFFFFFFFFFFFF, "0x7fefffffffffffff = 1.7976931348623157e+308"),
        ("e4m3", 0x7E, "0x7e = 448.0"),
        ("e4m3", 0xFF, "0xff = nan"),
        ("s32", 0xFFFFFFFE, "0xfffffffe = -2"),
        ("u8", 0xFE, "0xfe = 254"),
        ("s4", 0x8, "0x8 = -8"),
        ("b1", 0x1, "0x1 = 1"),
    ],
)
def test_a_pattern_is_shown_with_its_value(type, pattern, text):
    assert describe(type, pattern) == text


@pytest.mark.parametrize("type", ["f16", "f32"])
def test_every_kind_of_value_is_numpys(type):
    unsigned, kind = {"f16": ("<u2", "<f2"), "f32": ("<u4", "<f4")}[type]
    patterns = np.random.default_rng(2).integers(0, 1 << np.dtype(unsigned).itemsize * 8, 5000)
    values = patterns.astype(unsigned).view(kind)
    for pattern, value in zip(patterns.tolist(), values.tolist(), strict=True):
        assert describe(type, pattern).split(" = ")[1] == repr(value)


def test_small_elements_are_packed_low_bits_first():
    np.testing.assert_array_equal(pack(np.array([[1, -2], [7, -8]]), "s4"), [0xE1, 0x87])
    np.testing.assert_array_equal(pack(np.array([1, 0, 0, 1, 0, 0, 0, 0, 0, 1]), "b1"), [0x09, 0x02])


def test_elements_of_whole_bytes_are_little_endian():
    np.testing.assert_array_equal(
        pack(np.array([0x1234, 0xABCD], dtype=np.uint16), "f16"), [0x34, 0x12, 0xCD, 0xAB]
    )
    np.testing.assert_array_equal(pack(np.array([-2]), "s8"), [0xFE])


@pytest.mark.parametrize(
    ("type", "dtype"), [("f16", "u2"), ("f32", "u4"), ("f64", "u8"), ("s32", "i4"), ("s8", "i1")]
)
def test_unpack_is_the_inverse(type, dtype):
    values = np.frombuffer(np.random.default_rng(1).bytes(64), dtype)
    found = unpack(pack(values, type), type)
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, values)
