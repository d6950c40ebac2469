"""Products of block-scaled operands: chains of golden's multiplies; their storage."""

import re
import runpy
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import golden
from openwmma import Backend, matmul
from openwmma.block_scaled import pack_fp4, swizzle_scales, unpack_fp4, unswizzle_scales

E4M3, E2M1, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu
MXF8 = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0"
NVF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"


def chained(text, a, b, scale_a, scale_b, step):
    """D of 16 rows and 8 columns, by one instruction after the other."""
    c = np.zeros((16, 8), np.float32)
    parts = a.shape[1] // step
    for part, scales in enumerate(zip(np.split(scale_a, parts, 1), np.split(scale_b, parts), strict=True)):
        here = slice(part * step, (part + 1) * step)
        named = dict(zip(("scale_a", "scale_b"), scales, strict=True))
        c = golden.mma(text, a[:, here], b[here], c, profile="blackwell", **named)
    return c


def finite(random, dtype, shape):
    bits = random.integers(0, 256, shape, np.uint8)
    values = bits.view(dtype).astype(np.float32)
    return np.where(np.isfinite(values), values, 1).astype(dtype)


def test_mxfp8_is_the_chain_of_its_instruction():
    random = np.random.default_rng(1)
    a, b = finite(random, E4M3, (19, 96)), finite(random, ml_dtypes.float8_e5m2, (96, 11))
    scale_a, scale_b = (
        random.integers(120, 135, shape).astype(np.uint8).view(E8M0) for shape in ((19, 3), (3, 11))
    )
    found = matmul(a, b, scale_a=scale_a, scale_b=scale_b, d_type="f32")
    expected = chained(MXF8, a[3:], b[:, 3:], scale_a[3:], scale_b[:, 3:], 32)
    np.testing.assert_array_equal(found[3:, 3:], expected)
    assert found.shape == (19, 11)
    assert matmul(a, b, scale_a=scale_a, scale_b=scale_b).dtype == ml_dtypes.bfloat16


def test_nvfp4_is_the_chain_of_its_instruction_times_the_global_scale():
    random = np.random.default_rng(2)
    a, b = (random.integers(0, 16, shape, np.uint8).view(E2M1) for shape in ((16, 128), (128, 8)))
    scale_a, scale_b = (
        random.integers(0x20, 0x50, shape).astype(np.uint8).view(E4M3) for shape in ((16, 8), (8, 8))
    )
    found = matmul(a, b, scale_a=scale_a, scale_b=scale_b, d_type="f32", alpha=0.3)
    expected = chained(NVF4, a, b, scale_a, scale_b, 64) * np.float32(0.3)
    np.testing.assert_array_equal(found, expected)
    half = matmul(a, b, scale_a=scale_a, scale_b=scale_b, d_type="f16", alpha=0.3)
    np.testing.assert_array_equal(half, expected.astype(np.float16))


@pytest.mark.parametrize("extent", [(0, 8), (8, 0), (0, 0)])
@pytest.mark.parametrize(("element", "scale", "size"), [(E2M1, E4M3, 16), (E4M3, E8M0, 32)])
def test_matrices_without_rows_or_columns(extent, element, scale, size):
    (m, n), parts = extent, 64 // size
    a, b = np.zeros((m, 64), element), np.zeros((64, n), element)
    scales = {"scale_a": np.ones((m, parts), scale), "scale_b": np.ones((parts, n), scale)}
    assert matmul(a, b, **scales).shape == extent


def test_bytes_hold_two_elements_the_first_in_the_low_bits():
    values = np.array([[0.5, -6, 1, 0]], E2M1)
    packed = pack_fp4(values)
    np.testing.assert_array_equal(packed, [[0xF1, 0x02]])
    np.testing.assert_array_equal(unpack_fp4(packed).view(E2M1), values)


def test_scales_lie_in_tiles_of_128_rows_and_4_columns():
    """The place of every scale, as cuBLAS documents it."""
    scales = np.random.default_rng(3).integers(0, 256, (130, 6), np.uint8)
    swizzled = swizzle_scales(scales.view(E8M0)).view(np.uint8)
    assert swizzled.size == 2 * 2 * 512
    for row, column in np.ndindex(*scales.shape):
        tile = row // 128 * 2 + column // 4
        place = 512 * tile + 16 * (row % 32) + 4 * (row % 128 // 32) + column % 4
        assert swizzled[place] == scales[row, column]
    np.testing.assert_array_equal(unswizzle_scales(swizzled, 130, 6), scales)


ONES = {
    "a": np.ones((16, 64), E2M1),
    "b": np.ones((64, 8), E2M1),
    "scale_a": np.ones((16, 4), E4M3),
    "scale_b": np.ones((4, 8), E4M3),
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": np.ones((16, 48), E2M1), "b": np.ones((48, 8), E2M1)}, "k a multiple of 64"),
        ({"scale_a": np.ones((16, 2), E4M3)}, "scale_a: got shape (16, 2); allowed: shape (..., 16, 4)"),
        ({"scale_b": np.ones((2, 8), E8M0)}, "scale_b: got dtype float8_e8m0fnu; allowed: float8_e4m3fn"),
        ({"a": np.ones((16, 64), E4M3)}, "b: got elements of e2m1; allowed: e4m3 as of a, or both of 8 bits"),
        (
            {"a": np.ones((16, 64), E4M3), "b": np.ones((64, 8), E4M3)},
            "scale_a: got dtype float8_e4m3fn; allowed: float8_e8m0fnu for blocks of e4m3",
        ),
        ({"scale_a": None}, "scale_a: got dtype None; allowed: float8_e8m0fnu or float8_e4m3fn for blocks"),
        ({"scale_b": np.float32(1)}, "scale_b: got dtype float32; allowed: float8_e8m0fnu or float8_e4m3fn"),
        ({"split_k": 2}, "split_k: got 2; allowed: the default beside block scales"),
        ({"bias": np.zeros(8, np.float32)}, "allowed: the default beside block scales"),
        ({"profile": "hopper"}, "profile: got 'hopper'; allowed: blackwell for block scales"),
        ({"profile": np.array([None])}, "profile: got array([None], dtype=object); allowed: blackwell"),
        ({"alpha": "2"}, "alpha: got '2'; allowed: a number"),
        ({"alpha": None}, "alpha: got None; allowed: a number"),
        ({"alpha": 1e39}, "alpha: got 1e+39; allowed: a number within the range of float32"),
        ({"d_type": "e4m3"}, "d_type: got 'e4m3'; allowed: bf16, f16, f32"),
    ],
)
def test_bad_operands_are_named(changes, message):
    operands = ONES | changes
    with pytest.raises(golden.InvalidArgument, match=re.escape(message)):
        matmul(operands.pop("a"), operands.pop("b"), **operands)


def test_storage_that_does_not_fit():
    with pytest.raises(golden.InvalidArgument, match="an even last axis"):
        pack_fp4(np.zeros(3, np.uint8))
    with pytest.raises(golden.InvalidArgument, match="512 of 8 bits for 100 rows and 4 columns"):
        unswizzle_scales(np.zeros(500, np.uint8), 100, 4)
    with pytest.raises(golden.InvalidArgument, match=r"rows: got 1\.0 of type float; allowed: an integer"):
        unswizzle_scales(np.zeros(512, np.uint8), 1.0, 4)
    with pytest.raises(golden.InvalidArgument, match="columns: got -4; allowed: at least 0"):
        unswizzle_scales(np.zeros(512, np.uint8), 100, -4)
    assert unpack_fp4(np.zeros((0, 3), np.uint8)).shape == (0, 6)


ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "nvfp4_layer.py")


def test_the_example_prints_what_its_page_shows(capsys):
    runpy.run_path(EXAMPLE, run_name="__main__")
    assert capsys.readouterr().out in (ROOT / "docs" / "explanation" / "small-formats.md").read_text()


def test_the_example_refuses_a_core_that_differs():
    """In the last bit of one result of the sparse layer."""
    names = runpy.run_path(EXAMPLE)
    multiply = names["layer"]

    def wrong(instruction, operands, backend):
        d, cycles = multiply(instruction, operands, Backend.GOLDEN)
        d[3, 5] ^= backend is Backend.RTL and instruction.is_sparse
        return d, cycles

    names["main"].__globals__["layer"] = wrong
    with pytest.raises(SystemExit, match="sparse f16: 1 of 512 results of the core are not golden's"):
        names["main"]()
