"""Tensor maps as arguments: on the command line, in saved launches, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

import openwmma
from openwmma.cli import main

KERNELS = Path(__file__).parents[1] / "data" / "kernels"
LAUNCH = ["run", str(KERNELS / "hopper.ptx"), "--entry", "gemm_f16", "--block", "128", "--shared", "65536"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    for name in "ab":  # small integers, of which every sum is exact
        np.save(f"{name}.npy", random.integers(-8, 9, (64, 64)).astype(np.float16))


def product():
    a, b = (np.load(f"{name}.npy").astype(np.float32) for name in "ab")
    return a @ b.T


@pytest.mark.parametrize("names", [("a", "b"), ("a.npy", "b.npy")])
def test_a_map_on_the_command_line(names):
    maps = [item for name in names for item in ("--arg", f"map:{name},box=64x64,swizzle=128B")]
    others = ["--arg", "64", "--arg", "64", "--out", "2=d.npy:f32:64x64"]
    numbered = [*maps, "--arg", "3=64", "--arg", "4=64", *others[4:]]
    assert main([*LAUNCH, "--grid", "1", *numbered]) == 0
    assert np.array_equal(np.load("d.npy"), product())


def test_a_map_of_another_argument_is_of_the_same_array():
    """B is the array of A."""
    Path("b.npy").write_bytes(Path("a.npy").read_bytes())
    first = "gemm_f16_param_0"
    maps = [
        "--arg",
        f"{first}=map:a,box=64x64,swizzle=128B",
        "--arg",
        f"1=map:{first},box=64x64,swizzle=128B",
    ]
    arguments = [*maps, "--arg", "3=64", "--arg", "4=64", "--out", "2=d.npy:f32:64x64"]
    assert main([*LAUNCH, "--grid", "1", *arguments]) == 0
    assert np.array_equal(np.load("d.npy"), product())


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("map:a,box=64x64,", "promotion with a name, not ''"),
        ("map:a,box=64x64,box=8x8", "map:a,box=64x64,box=8x8: expected box once"),
        ("map:a,swizzle=128B", "expected a box, as in map:a.npy,box=64x64"),
        ("map:a,box=64", "box of a tensor map: got [64]; allowed: 2 integers, as the tensor has axes"),
        (
            "map:a,box=64x64,swizzle=64B",
            "a box of 128 bytes along dimension 0, more than the 64 of its swizzle",
        ),
        ("map:a,box=64x64,swizzle=12", "swizzle of a tensor map: got '12'; allowed: NONE, 32B, 64B, 128B"),
        ("map:a,box=64xy", "expected box or element_strides with numbers such as 64x64, type, swizzle"),
        ("map:a,bax=64x64", "expected box or element_strides with numbers such as 64x64, type, swizzle"),
        ("map:none,box=64x64", "expected an .npy file, but there is no file none.npy"),
    ],
)
def test_a_map_that_is_none_is_refused(capsys, value, part):
    assert main([*LAUNCH, "--grid", "1", "--arg", value]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert part in message
    assert message.count("openwmma:") == 1


def test_a_launch_with_maps_is_saved_and_repeated():
    a, b = np.load("a.npy"), np.load("b.npy")
    d = np.zeros((64, 64), np.float32)
    kernel = openwmma.Module(KERNELS / "hopper.ptx").kernel("gemm_f16")
    maps = [openwmma.tensor_map(array, (64, 64), swizzle="128B") for array in (a, b)]
    kernel.launch(1, 128, [*maps, d, 64, 64], shared=65536, save="case")
    assert np.array_equal(d, product())
    (launch,) = openwmma.read_launches("case.json")
    launch.launch()
    assert launch.differences() == []
    assert launch.is_compared


def test_a_launch_of_the_chip_with_a_table_of_addresses():
    (launch,) = openwmma.read_launches(KERNELS / "hopper.json", "hopper.grouped_copy")
    launch.launch()
    assert launch.differences() == []


RANKS = """.version 8.0
.target sm_90
.address_size 64
.entry ranks(.param .u64 out) {
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd0, [out]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %cluster_ctarank;
    mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1], %r1;
    ret;
}"""


def test_clusters_on_the_command_line_and_in_a_saved_launch(capsys):
    Path("ranks.ptx").write_text(RANKS)
    launch = ["run", "ranks.ptx", "--grid", "6", "--block", "1", "--out", "0=ranks.npy:s32:6"]
    assert main([*launch, "--cluster", "3", "--save", "case"]) == 0
    assert np.load("ranks.npy").tolist() == [0, 1, 2, 0, 1, 2]
    (recorded,) = openwmma.read_launches("case.json")
    recorded.launch()
    assert recorded.differences() == []
    capsys.readouterr()
    assert main([*launch, "--cluster", "4", "--force"]) == 2
    assert "clusters of (4, 1, 1), so grid.x must be a multiple of 4, not 6" in capsys.readouterr().err
