"""`mma`, `explain` and `layout` of sparse and block-scaled multiplies."""

import re
from pathlib import Path

import numpy as np
import pytest

import golden
from golden.block_scales import pack_scales
from golden.sparsity import pack_metadata
from openwmma.cli import main
from openwmma.fragment_grid import fragment_grid, metadata_grid, scale_grid

SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
NVF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
MXF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def saved(**arrays):
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)


def test_mma_takes_metadata_and_scales():
    random = np.random.default_rng(1)
    a, b = random.standard_normal((2, 16, 16)).astype("f2"), random.standard_normal((2, 32, 8)).astype("f2")
    c, metadata = np.ones((2, 16, 8), np.float32), np.full((2, 16, 8), 0b1101, np.uint8)
    saved(a=a, b=b, c=c, e=metadata)
    assert main(["mma", SPARSE, "a.npy", "b.npy", "c.npy", "-o", "d.npy", "--metadata", "e.npy"]) == 0
    expected = golden.mma(SPARSE, a, b, c, metadata=metadata).view(np.uint32)
    np.testing.assert_array_equal(np.load("d.npy"), expected)
    x, y = random.integers(0, 16, (16, 64), np.uint8), random.integers(0, 16, (64, 8), np.uint8)
    scale_a, scale_b = np.full((16, 4), 0x38, np.uint8), np.full((4, 8), 0x40, np.uint8)
    saved(a=x, b=y, c=c[0].view(np.uint32), s=scale_a, t=scale_b)
    options = ["--scale-a", "s.npy", "--scale-b", "t.npy", "--profile", "blackwell", "--force"]
    assert main(["mma", NVF4, "a.npy", "b.npy", "c.npy", "-o", "d.npy", *options]) == 0
    d = golden.mma(NVF4, x, y, c[0].view("u4"), scale_a=scale_a, scale_b=scale_b, profile="blackwell")
    np.testing.assert_array_equal(np.load("d.npy"), d)


CORE = ["--preset", "tiny", "--set", "profile=blackwell", "--set", "formats=f16,fp8,fp6,fp4"]
CORE += [part for name in ("block_scale", "mxf4", "sparse") for part in ("--set", f"{name}=true")]
"""As in tests/sim/test_sim_block_scales.py."""


@pytest.mark.parametrize("machine", ["golden", "rtl", "lockstep"])
def test_mma_on_a_core_equals_golden(machine):
    random = np.random.default_rng(2)
    a, b = random.standard_normal((2, 16, 16)).astype("f2"), random.standard_normal((2, 32, 8)).astype("f2")
    c, e = np.ones((2, 16, 8), np.float32), np.full((2, 16, 8), 0b1101, np.uint8)
    x, y = random.integers(0, 16, (2, 16, 64), np.uint8), random.integers(0, 16, (2, 64, 8), np.uint8)
    s, t = (random.integers(0x30, 0x40, shape, np.uint8) for shape in ((2, 16, 4), (2, 4, 8)))
    u, v = random.integers(0, 256, (2, 16, 32), np.uint8), random.integers(0, 256, (2, 32, 8), np.uint8)
    saved(a=a, b=b, c=c, e=e, x=x, y=y, s=s, t=t, u=u, v=v, w=c.view("u4"))
    for instruction, names, side in (
        (SPARSE, "abc", {"metadata": e}),
        (NVF4, "xyw", {"scale_a": s, "scale_b": t}),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "uvw", {}),
    ):
        options = [
            part
            for option, file in zip(side, {1: "e", 2: "st"}.get(len(side), ""), strict=True)
            for part in (f"--{option.replace('_', '-')}", f"{file}.npy")
        ]
        files = [f"{name}.npy" for name in names]
        options += ["-o", "d.npy", "--force", "--on", machine, *CORE]
        assert main(["mma", instruction, *files, *options]) == 0
        operands = (np.load(file) for file in files)
        expected = golden.mma(instruction, *operands, **side, profile="blackwell").view(np.uint32)
        np.testing.assert_array_equal(np.load("d.npy"), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scale-a", "e.npy", "--on", "cuda"], "expected --on golden, rtl or lockstep, not a GPU"),
        (["--metadata", "e.npy", "--on", "rtl", "--preset", "tiny"], "illegal instruction"),
        ([], "metadata: got None; allowed: uint8 of shape (..., 16, 8)"),
        (["--metadata", "no.npy"], "--metadata: expected an .npy file, but there is no file no.npy"),
    ],
)
def test_mma_refuses(options, message, capsys):
    saved(a=np.zeros((16, 16), "f2"), b=np.zeros((32, 8), "f2"), c=np.zeros((16, 8), "f4"))
    saved(e=np.full((16, 8), 4, np.uint8))
    assert main(["mma", SPARSE, "a.npy", "b.npy", "c.npy", "-o", "d.npy", *options]) != 0
    assert message in capsys.readouterr().err
    assert not Path("d.npy").exists()


def test_explain_shows_groups_scales_and_stored_elements(capsys):
    scales = ["--scale-a", "0x38,0x40,0x38,0", "--scale-b", "0x38,56,0x38,0x38", "--profile", "blackwell"]
    assert main(["explain", NVF4, "--a", "1,2", "--b", "3,0.5", "--c", "8", *scales]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"sum\[0\.\.15\] \* scale_a\[0\] \* scale_b\[0\] +4 ", shown)
    assert "unit           2^-32" in shown
    assert "= 12" in shown
    nibbles = "0100,1110,0100,0100,0100,0100,0100,0100"
    assert main(["explain", SPARSE, "--a", "1,2,3", "--b", "5,6,7,8,9,10,11", "--metadata", nibbles]) == 0
    assert re.search(r"a\[2\] \* b\[6\] +33 ", capsys.readouterr().out)
    assert main(["explain", SPARSE, "--a", "1", "--b", "5", "--metadata", "0200"]) != 0
    assert "--metadata 0200: expected nibbles as in 0100,1101" in capsys.readouterr().err


def test_grids_are_the_registers():
    """One cell after the other is set; its bits alone change."""
    for grid, pack, shape, full in (
        (metadata_grid("f16", "m16n8k32", 1), lambda x: pack_metadata(SPARSE, x, 1), (16, 8), 0b1110),
        (scale_grid("a", "2X", 2, 1), lambda x: pack_scales(MXF4, "a", x, 2, 1), (16, 2), 0xFF),
        (scale_grid("b", "4X", 0, 3), lambda x: pack_scales(NVF4, "b", x, 0, 3), (4, 8), 0xFF),
    ):
        assert (grid.rows, grid.columns) == shape
        least = 0b0100 if full == 0b1110 else 0
        for cell in grid.cells:
            values = np.full(shape, least, np.uint8)
            before = pack(values)
            values[cell.row, cell.column] = full
            changed = pack(values) ^ before
            expected = np.zeros(32, np.uint32)
            expected[cell.lane] = (full ^ least) << cell.place
            np.testing.assert_array_equal(changed, expected)


def test_layout_of_sparse_and_small_fragments(capsys):
    assert main(["layout", "metadata", "s8", "m16n8k64"]) == 0
    assert "register metadata of s8, m16n8k64: 16 rows, 16 columns" in capsys.readouterr().out
    grid = fragment_grid("a", "e2m1", "m16n8k64", sparse=True)
    assert (grid.columns, grid.cell_columns) == (32, 4)
    grid = fragment_grid("b", "e2m1", "m16n8k64")
    assert (grid.rows, grid.cell_rows) == (64, 8)
    for arguments, message in (
        (["metadata", "f16", "m16n8k32", "--selector", "2"], "selector: got 2; allowed: 0 to 1"),
        (["scale_a", "3X"], "type: got 3X; allowed: 1X, 2X, 4X"),
        (["scale_a", "2X", "--byte-id", "1"], "byte_id: got 1; allowed: 0, 2 for a, 2X"),
        (["a", "f16"], "SHAPE: expected the shape of the instruction"),
    ):
        assert main(["layout", *arguments]) != 0
        assert message in capsys.readouterr().err
