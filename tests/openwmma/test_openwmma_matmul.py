"""Matrix products of any size, against PyTorch's on an H100."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import openwmma
from golden.invalid_argument import InvalidArgument
from openwmma.cli import main
from openwmma.matrix_product import RESULTS

CAPTURES = np.load(Path(__file__).parents[1] / "data" / "matmul.npz")
CAPTURED_F64 = Path(__file__).parents[1] / "data" / "products" / "matmul_f64.npz"
NAMES = sorted({name.split("/")[0] for name in CAPTURES.files})
UNALIGNED = "f16_77x131x520_nt_normal"
IN_TWO = ("f16_16x4096x4096_nt_weights", "tf32_128x128x64_nt_wide")
"""Products of which cuBLAS cut k in two equal parts."""

RAW = {"f16": "u2", "bf16": "u2", "tf32": "u4", "f64": "u8", "e4m3": "u1", "e5m2": "u1", "s8": "i1"}


def captured(name):
    a, b, d = (CAPTURES[f"{name}/{part}"] for part in "abd")
    a_type = name.split("_")[0]
    return a, b, d, {"a_type": a_type, "b_type": "e4m3" if a_type == "e5m2" else a_type}


def random_raw(type_, shape, seed=1):
    random = np.random.default_rng(seed)
    if type_ == "s8":
        return random.integers(-128, 128, shape).astype(np.int8)
    number = random.normal(size=shape)
    dtypes = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f64": np.float64}
    dtypes |= {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
    return number.astype(dtypes[type_]).view(RAW[type_])


def test_every_captured_product_is_there():
    assert len(NAMES) == 35


@pytest.mark.parametrize("name", [name for name in NAMES if name != UNALIGNED])
def test_product_equals_the_chip(name):
    a, b, d, types = captured(name)
    accumulation = "precise" if "_slow_" in name else "fast"
    split = 2 if name in IN_TWO else 1
    found = openwmma.matmul(a, b, split_k=split, accumulation=accumulation, **types)
    assert found.dtype == d.dtype
    np.testing.assert_array_equal(found, d)


@pytest.mark.parametrize("name", [UNALIGNED, *IN_TWO])
def test_match_finds_the_cut_where_one_chain_differs(name):
    a, b, d, types = captured(name)
    assert (openwmma.matmul(a, b, **types) != d).any()
    match = openwmma.match_matmul(a, b, d, **types)
    assert match
    assert len(match.parts) == 2
    np.testing.assert_array_equal(openwmma.matmul(a, b, split_k=match.parts, **types), d)


def spread_numbers(rows, columns, seed):
    """Doubles from -1 to 1, the same on every computer: a hash of each place."""
    place = np.arange(rows * columns, dtype=np.uint64).reshape(rows, columns) + np.uint64(seed << 40)
    mixed = place * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1


@pytest.mark.parametrize(
    ("name", "split", "order"),
    [
        ("16x4096x4096", 4, (0, 2, 3, 1)),
        ("16x4096x4000", 4, (0, 2, 3, 1)),
        ("64x4096x4096", 4, (0, 1, 2, 3)),
        ("128x128x4096", 8, tuple(range(8))),
        ("16x1024x1024", 8, None),
    ],
)
def test_match_finds_interleaved_parts_of_f64(name, split, order):
    """Results of an H100 (PyTorch 2.11, CUDA 13.0): the first 4 rows and 8 columns."""
    m, n, k = map(int, name.split("x"))
    d = np.load(CAPTURED_F64)[name].view(np.float64)
    a, b = spread_numbers(m, k, 1)[:4], spread_numbers(k, n, 2)[:, :8]
    assert (openwmma.matmul(a, b) != d).any()
    match = openwmma.match_matmul(a, b, d)
    assert match
    assert (len(match.parts), match.order) == (split, order)
    found = openwmma.matmul(a, b, split_k=split, interleaved=order or False)
    np.testing.assert_array_equal(found.view(np.uint64), d.view(np.uint64))
    assert openwmma.matmul(a, b, split_k=split, interleaved=True).shape == d.shape
    wrong = d.copy()
    wrong[0, 0] = np.nextafter(wrong[0, 0], 2)
    if order is not None:
        assert "interleaved" in str(match)
        assert openwmma.match_matmul(a[:, :256], b[:256], wrong).count > 0


def test_match_reports_what_differs():
    a, b, d, types = captured("f16_64x64x64_nt_wide")
    wrong = d.copy()
    wrong[2, 1] ^= 1
    match = openwmma.match_matmul(a, b, wrong, **types)
    assert not match
    assert match.count == 1
    (difference,) = match.differences
    assert (difference.row, difference.column) == (2, 1)
    assert (difference.observed, difference.computed) == (wrong[2, 1], d[2, 1])
    assert "row 2, column 1" in str(match)


@pytest.mark.parametrize("type_", RESULTS)
@pytest.mark.parametrize(
    "shape", [(0, 5, 3), (3, 0, 2), (1, 1, 1), (7, 33, 5), (130, 9, 129), (2, 150, 0)], ids=str
)
def test_every_type_and_shape_gives_columns_of_its_own(type_, shape):
    """A product is made of the products of its columns and rows, whatever tiles it was computed in."""
    m, k, n = shape
    a, b = random_raw(type_, (m, k)), random_raw(type_, (k, n), 2)
    types = {"a_type": type_, "b_type": type_}
    whole = openwmma.matmul(a, b, **types)
    assert whole.shape == (m, n)
    if k == 0:
        assert not whole.any()
    for j in {0, n - 1} if n else set():
        np.testing.assert_array_equal(openwmma.matmul(a, b[:, [j]], **types)[:, 0], whole[:, j])
    for i in {0, m - 1} if m else set():
        np.testing.assert_array_equal(openwmma.matmul(a[[i]], b, **types)[0], whole[i])


@pytest.mark.parametrize("type_", RESULTS)
def test_memory_order_byte_order_batches_and_threads_do_not_matter(type_):
    a, b = random_raw(type_, (2, 1, 20, 24)), random_raw(type_, (3, 24, 17), 2)
    types = {"a_type": type_, "b_type": type_}
    whole = openwmma.matmul(a, b, **types, threads=1)
    assert whole.shape == (2, 3, 20, 17)
    np.testing.assert_array_equal(whole[1, 2], openwmma.matmul(a[1, 0], b[2], **types))
    swapped = b.astype(b.dtype.newbyteorder(">"))
    for x, y in (
        (np.asfortranarray(a), b),
        (np.repeat(a, 2, -1)[..., ::2], b[:, ::-1][:, ::-1]),
        (a, swapped),
    ):
        np.testing.assert_array_equal(openwmma.matmul(x, y, **types, threads=2), whole)


def test_values_give_values():
    a, b = np.full((2, 3), 2, np.float16), np.full((3, 2), 0.5, np.float16)
    assert openwmma.matmul(a, b).dtype == np.float16
    assert openwmma.matmul(a, b, d_type="f32").tolist() == [[3.0, 3.0], [3.0, 3.0]]
    wide = openwmma.matmul(a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16))
    assert wide.dtype == ml_dtypes.bfloat16
    assert openwmma.matmul(a.astype(np.int8), a.astype(np.int8).T).tolist() == [[12, 12], [12, 12]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": np.zeros((2, 3), complex)}, r"^a: got dtype complex128; allowed: "),
        ({"a": np.float16(0)}, "^a: got a number; allowed: at least one axis$"),
        (
            {"b": np.zeros((3, 2), np.float32)},
            "^b_type: got tf32, as which float32 is taken; allowed: f16, the type of a$",
        ),
        ({"b": np.zeros((4, 2), np.float16)}, r"^b: got shape \(4, 2\); allowed: \(\.\.\., 3, n\)"),
        ({"d_type": "f64"}, "^d_type: got 'f64'; allowed: f16, f32 for f16$"),
        ({"a_type": "f8"}, "^a_type: got 'f8'; allowed: "),
        ({"split_k": 0}, "^split_k: got 0; allowed: "),
        ({"split_k": (1, 1)}, r"^split_k: got \(1, 1\); allowed: .* sum is k, 3$"),
        ({"interleaved": (0, 0)}, r"^interleaved: got \(0, 0\); allowed: True, or 0 to 0 in any order$"),
        ({"interleaved": True, "split_k": 2}, "^split_k: got 2; allowed: 1 to 1$"),
        ({"accumulation": "slow"}, "^accumulation: got 'slow'; allowed: 'fast' or 'precise'$"),
        (
            {"accumulation": "precise"},
            "^accumulation: got 'precise' of f16; allowed: 'fast', or e4m3 and e5m2$",
        ),
        ({"profile": "kepler"}, "^profile: got 'kepler'; allowed: "),
        ({"threads": 0}, "^threads: got 0; allowed: at least 1$"),
    ],
    ids=str,
)
def test_wrong_arguments_get_one_sentence(change, message):
    arguments = {"a": np.zeros((2, 3), np.float16), "b": np.zeros((3, 2), np.float16), **change}
    with pytest.raises(InvalidArgument, match=message):
        openwmma.matmul(**arguments)


def test_command_line_multiplies_and_compares(tmp_path, capsys):
    a, b = random_raw("f16", (8, 48)).view(np.float16), random_raw("f16", (48, 8), 2).view(np.float16)
    for name, array in (("a", a), ("b", b)):
        np.save(tmp_path / f"{name}.npy", array)
    paths = [str(tmp_path / f"{name}.npy") for name in "abd"]
    assert main(["matmul", *paths[:2], "-o", paths[2]]) == 0
    d = np.load(paths[2])
    np.testing.assert_array_equal(d, openwmma.matmul(a, b))
    assert main(["matmul", *paths[:2], "--compare", paths[2]]) == 0
    assert "equal in every bit: one chain" in capsys.readouterr().out
    d.view(np.uint16)[0, 0] ^= 1
    np.save(paths[2], d)
    assert main(["matmul", *paths[:2], "--compare", paths[2]]) == 1
    assert "row 0, column 0" in capsys.readouterr().out
    assert main(["matmul", *paths[:2]]) == 2
