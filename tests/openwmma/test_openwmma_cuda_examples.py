"""The kernels of examples/cuda, the page that explains them, and the one that `make demo` runs."""

import re
import runpy
import shlex
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import golden
import openwmma
from examples.demo import KERNELS, run_kernel
from openwmma.cuda_source import compile_file
from openwmma.target import MachineKind, Target

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "cuda"
NAMES = ("attention_scores", "binary_layer", "int8_gemm", "tiled_gemm")
PAGE = (ROOT / "docs" / "how-to" / "examples.md").read_text()
CONSOLE = re.findall(r"```console\n\$ python examples/cuda/(\w+)\.py(.*)\n((?:.*\n)*?)```", PAGE)


def script(name):
    return runpy.run_path(str(FOLDER / f"{name}.py"))


def without_comments(ptx):
    """Lines of a PTX file that matter; comments name the build of the compiler."""
    return [line for line in ptx.splitlines() if line.strip() and not line.startswith("//")]


def test_every_kernel_has_its_source_its_script_and_its_section():
    for suffix in ("cu", "ptx", "py"):
        assert sorted(path.stem for path in FOLDER.glob(f"*.{suffix}")) == sorted(NAMES)
    assert {name for name, _, _ in CONSOLE} == set(NAMES)
    for name in NAMES:
        assert f"{{literalinclude}} ../../examples/cuda/{name}.cu" in PAGE


@pytest.mark.parametrize(("name", "options", "printed"), [item for item in CONSOLE if item[2]])
def test_the_page_shows_what_a_script_prints(name, options, printed, capsys):
    assert script(name)["main"](shlex.split(options)) == 0
    assert capsys.readouterr().out == printed


def test_a_script_in_lockstep(capsys):
    assert script("int8_gemm")["main"](["--on", "lockstep", "--preset", "small", "--size", "32"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^cycles +[1-9]\d*$", printed, re.MULTILINE)
    assert re.search(r"^elements that differ +0 of 1024$", printed, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_script_finds_a_wrong_result(name, monkeypatch, capsys):
    main = script(name)["main"]
    kernel = main.__globals__[name]

    def wrong(*arguments, **options):
        result, run = kernel(*arguments, **options)
        result.view(np.uint8)[-1, -1] ^= 1
        return result, run

    monkeypatch.setitem(main.__globals__, name, wrong)
    assert main([]) == 1
    assert re.search(r"differ +1 of", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "option", "value", "multiple"),
    [
        ("tiled_gemm", "--size", 33, 32),
        ("attention_scores", "--keys", 48, 32),
        ("binary_layer", "--rows", 0, 8),
        ("int8_gemm", "--size", -32, 32),
    ],
)
def test_a_size_that_does_not_fit_is_refused(name, option, value, multiple, capsys):
    with pytest.raises(SystemExit) as caught:
        script(name)["main"]([option, str(value)])
    assert caught.value.code == 2
    assert f"{option} {value}: expected a positive multiple of {multiple}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("tiled_gemm", ["--preset", "tiny"], "needs 2816 bytes of shared memory"),
        ("attention_scores", ["--preset", "small", "--keys", "512"], "preset small has 16384"),
        ("binary_layer", ["--preset", "tiny"], "needs 1024 bytes of shared memory"),
        ("int8_gemm", ["--preset", "tiny"], "needs 4096 bytes of shared memory"),
    ],
)
def test_what_a_preset_lacks_is_said(name, options, message, capsys):
    with pytest.raises(SystemExit) as caught:
        script(name)["main"](options)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_scores_are_probabilities():
    random = np.random.default_rng(7)
    q, k = (random.standard_normal((rows, 48)).astype(np.float16) for rows in (16, 160))
    names = script("attention_scores")
    p, run = names["attention_scores"](q, k, check=True, races=True)
    np.testing.assert_array_equal(p.view(np.uint32), names["expected"](q, k).view(np.uint32))
    assert np.abs(p.sum(axis=1, dtype=np.float64) - 1).max() < 160 * 2.0**-24
    assert (p > 0).all()
    assert run.reports == ()
    assert run.matrix_instructions == 3 * 10


def test_a_binary_layer_at_its_threshold():
    ones = np.full((8, 4), 0xFFFFFFFF, np.uint32)
    weights = np.tile(ones[:1], (32, 1))
    weights[1::2] = 0x7FFFFFFF  # four of 128 bits are 0, the sum is 120
    layer = script("binary_layer")["binary_layer"]
    for threshold, word in ((120, 0xFFFFFFFF), (121, 0x55555555), (128, 0x55555555), (129, 0)):
        result, run = layer(ones, weights, np.full(32, threshold, np.int32), check=True, races=True)
        assert (result == word).all(), threshold
        assert run.reports == ()


def test_requantisation_rounds_and_clamps():
    names = script("int8_gemm")
    x = np.zeros((32, 16), np.int8)
    bias = np.arange(-16, 16, dtype=np.int32)
    q, run = names["int8_gemm"](
        x, np.zeros((32, 16), np.int8), bias, np.full(32, 1, np.int32), 1, 0, check=True, races=True
    )
    assert run.reports == ()
    assert (q == np.floor((bias + 1) / 2)).all()
    q, _ = names["int8_gemm"](x, x, bias * 100, np.full(32, 1 << 20, np.int32), 20, 5)
    assert (q == np.clip(bias * 100 + 5, -128, 127)).all()


def test_a_tiled_gemm_of_unequal_sides_has_no_races():
    random = np.random.default_rng(8)
    a = random.standard_normal((32, 48)).astype(np.float16)
    b = random.standard_normal((48, 64)).astype(np.float16)
    names = script("tiled_gemm")
    d, run = names["tiled_gemm"](a, b, check=True, races=True)
    np.testing.assert_array_equal(d.view(np.uint32), names["expected"](a, b).view(np.uint32))
    assert run.reports == ()


def test_the_demo_ends_with_a_cuda_kernel_in_lockstep():
    random = np.random.default_rng(9)
    a, b = (random.standard_normal((rows, 16)).astype(np.float16) for rows in (32, 16))
    b = np.tile(b, (1, 2))
    d, run = run_kernel([*KERNELS][1], a, b, Target(on=MachineKind.LOCKSTEP))
    instruction = "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32"
    for i in (0, 16):
        tile = golden.mma(instruction, a[i : i + 16], b[:, :16], np.zeros((16, 16), np.float32))
        np.testing.assert_array_equal(d[i : i + 16].view(np.uint32), np.tile(tile, (1, 2)).view(np.uint32))
    assert (run.blocks, run.matrix_instructions) == (1, 4)
    # Two loads, the multiply and a store in each of four warps, and a fill with the zeros of C for all.
    assert run.counters.instructions == 4 * 4 + 1
    assert run.cycles > 0


@pytest.mark.cuda
@pytest.mark.parametrize("name", NAMES)
def test_the_ptx_is_that_of_the_source(name):
    stored = (FOLDER / f"{name}.ptx").read_text()
    options = "-arch=sm_90 --std=c++17"
    assert stored.startswith(f"// {name}.cu compiled by NVRTC ")
    assert stored.splitlines()[0].endswith(options)
    assert stored.split()[5] == version("nvidia-cuda-nvrtc-cu12")
    assert without_comments(compile_file(FOLDER / f"{name}.cu")) == without_comments(stored)
    kernel = openwmma.Module(FOLDER / f"{name}.cu").kernel(name)
    assert kernel.signature == openwmma.Module(FOLDER / f"{name}.ptx").kernel(name).signature
