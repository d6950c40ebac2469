"""`--profile`: the numerics of a generation on golden model, core, Verilog and board."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from amaranth.hdl import Fragment

import golden
from golden.tables.profiles import PROFILES
from hdl.config import PRESETS
from hdl.core import Core
from hdl.verilog.core_verilog import describe
from openwmma.cli import main
from openwmma.core_settings import with_profile

INSTRUCTION = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
GEMM = Path(__file__).parents[2] / "examples" / "gemm_f16_f32.ptx"
CODES = {"hopper": 1, "blackwell": 2, "ada": 3, "ampere": 4, "turing": 5, "volta": 6}
FILES = ["a.npy", "b.npy", "c.npy", "-o", "d.npy"]
ONE, ONE_AND_EIGHT = 0x3F800000, 0x3F800002
"""1, and 1 + 8 * 2^-25."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Tiles whose results are 1 and eight products of 2^-25, which 24 fraction bits lose."""
    monkeypatch.chdir(tmp_path)
    a, b = np.zeros((1, 16, 16), np.float16), np.zeros((1, 16, 16), np.float16)
    a[:, :, :8], b[:, :8, :] = 2.0**-13, 2.0**-12
    np.save("a.npy", a.view(np.uint16))
    np.save("b.npy", b.view(np.uint16))
    np.save("c.npy", np.full((1, 16, 16), ONE, np.uint32))


@pytest.mark.parametrize("name", PROFILES)
def test_the_core_of_every_profile_elaborates_and_is_named(name):
    config = with_profile(PRESETS["tiny"], "tiny", name)
    assert config.dot_product.profile == PROFILES[name]
    Fragment.get(Core(config), None)
    description = describe(config, {})
    assert description["parameters"]["profile"] == name
    assert description["host"]["constants"]["PROFILE"] == CODES[name]
    assert description["preset"] == ("tiny" if name == "hopper" else None)


def test_verilog_has_the_profile(capsys):
    assert main(["verilog", "--preset", "tiny", "--profile", "volta", "-o", "core.v"]) == 0
    assert "//   profile: volta\n" in Path("core.v").read_text()
    description = json.loads(Path("core.json").read_text())
    assert (description["parameters"]["profile"], description["host"]["constants"]["PROFILE"]) == ("volta", 6)
    assert "VOLTA = 8'd6;" in Path("core.rdl").read_text()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ONE_AND_EIGHT),
        (["--profile", "hopper"], ONE_AND_EIGHT),
        (["--profile", "ampere"], ONE),
        (["--profile", "volta", "--preset", "tiny"], ONE),
    ],
)
def test_mma_on_golden_has_the_profile(options, expected):
    assert main(["mma", INSTRUCTION, *FILES, *options]) == 0
    assert (np.load("d.npy") == expected).all()


@pytest.mark.long
@pytest.mark.parametrize("backend", ["rtl", "lockstep"])
def test_mma_on_a_core_has_the_profile(backend):
    """The core of `test_sim_profiles`, which is built once."""
    options = ["--preset", "tiny", "--profile", "volta", "--on", backend]
    assert main(["mma", INSTRUCTION, *FILES, *options]) == 0
    d = np.load("d.npy")
    raw = [np.load(f"{name}.npy") for name in "abc"]
    np.testing.assert_array_equal(d, golden.mma(INSTRUCTION, *raw, profile="volta"))
    assert (d == ONE).all()
    assert (golden.mma(INSTRUCTION, *raw) == ONE_AND_EIGHT).all()


def test_run_has_the_profile():
    for name, extent in (("A", (16, 16)), ("B", (16, 16))):
        np.save(f"{name}.npy", np.load(f"{name.lower()}.npy").reshape(extent))
    results = {}
    for profile in ("hopper", "ampere"):
        arguments = ["--arg", "A=A.npy", "--arg", "B=B.npy", "--arg", "n=16", "--out", "D=D.npy:f32:16x16"]
        assert main(["run", str(GEMM), *arguments, "--force", "--profile", profile]) == 0
        results[profile] = np.load("D.npy")
        raw = [np.load(f"{name}.npy") for name in "AB"]
        expected = golden.mma(INSTRUCTION, *raw, np.zeros((16, 16), np.uint32), profile=profile)
        np.testing.assert_array_equal(results[profile].view(np.uint32), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["mma", INSTRUCTION, *FILES, "--profile", "pascal"],
            "--profile pascal: expected one of hopper, blackwell, ada, ampere, turing, volta",
        ),
        (
            ["verilog", "-o", "core.v", "--profile", "turing"],
            "--profile turing: preset small has tf32, which profile turing lacks; "
            "expected another profile or another preset",
        ),
        (
            ["run", str(GEMM), "--preset", "large", "--profile", "volta"],
            "--profile volta: preset large has tf32, which profile volta lacks; "
            "expected another profile or another preset",
        ),
        (
            ["mma", INSTRUCTION, *FILES, "--profile", "x", "--on", "board", "--port", "/dev/null"],
            "--profile x: expected one of hopper, blackwell, ada, ampere, turing, volta",
        ),
    ],
)
def test_bad_usage_is_one_line_and_code_2(capsys, arguments, message):
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", f"openwmma: {message}\n")


def test_a_board_of_another_profile_is_refused(capsys, monkeypatch):
    opened = []

    def open_board(port, config, baud):
        opened.append(config)
        return SimpleNamespace(profile=PROFILES["volta"], close=lambda: opened.append("closed"))

    monkeypatch.setattr("openwmma.target.open_board", open_board)
    options = ["--on", "board", "--port", "/dev/x", "--profile", "turing"]
    assert main(["mma", INSTRUCTION, *FILES, *options]) == 2
    assert capsys.readouterr().err == "openwmma: the core has profile volta, but --profile says turing\n"
    assert opened == [None, "closed"]
