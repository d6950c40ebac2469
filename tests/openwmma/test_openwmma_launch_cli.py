"""`openwmma run` with a grid: what it writes, what it refuses, and how it is interrupted."""

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import psutil
import pytest
from rich.console import Console
from test_openwmma_launch import SCALE, STATIC

from openwmma.cli import main

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "tests" / "data" / "kernels"

ENDLESS = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry endless()
{
    .reg .pred %p;
    .reg .b32 %r<2>;
    mov.u32 %r1, 0;
LOOP:
    add.u32 %r1, %r1, 2;
    setp.ne.u32 %p, %r1, 1;
    @%p bra LOOP;
    ret;
}
"""

UNWRITTEN = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry unwritten(.param .u64 x)
{
    .shared .align 4 .b8 tile[128];
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, tile;
    ld.shared.u32 %r2, [%r1];
    st.global.u32 [%rd1], %r2;
    st.shared.u32 [%r1], %r2;
    ret;
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scale.ptx").write_text(SCALE)
    Path("static.ptx").write_text(STATIC)
    Path("endless.ptx").write_text(ENDLESS)
    Path("unwritten.ptx").write_text(UNWRITTEN)
    np.save("x.npy", np.arange(64, dtype=np.float32))
    with np.load(KERNELS / "public_kernels.npz") as file:
        for name in ("a", "b", "c", "d"):
            np.save(f"{name}.npy", file[f"families.gemm_bf16/{name}"])
        np.save("expected.npy", file["families.gemm_bf16/d.after"])
    return tmp_path


SCALE_RUN = ("run", "scale.ptx", "--grid", "2", "--block", "32")
GEMM = (
    "run", str(KERNELS / "families.ptx"), "--entry", "gemm_bf16", "--grid", "3,2,1", "--block", "32,2",
    "--arg", "a.npy", "--arg", "b.npy", "--arg", "c.npy", "--arg", "d.npy", "--arg", "48", "--arg", "96",
)  # fmt: skip


@pytest.mark.parametrize(
    ("on", "jobs"), [("golden", "1"), ("golden", "0"), ("golden", "2"), ("lockstep", "2")]
)
def test_arguments_by_position(capsys, on, jobs):
    assert main([*GEMM, "--out", "3=out.npy", "--on", on, "--jobs", jobs]) == 0
    assert np.load("out.npy").tobytes() == np.load("expected.npy").tobytes()
    printed = capsys.readouterr().out
    assert f"gemm_bf16 on {on}" in printed
    for row in ("blocks", "warp instructions", "matrix multiplies", "cycles", "utilisation", "wall time"):
        assert row in printed
    assert np.load("d.npy").tobytes() != np.load("expected.npy").tobytes()


def test_arguments_by_name_position_and_type():
    arguments = ["--arg", "count=64", "--arg", "0=x.npy", "--arg", "factor=f32:0.5", "--out", "x=y.npy"]
    assert main([*SCALE_RUN, *arguments]) == 0
    assert np.array_equal(np.load("y.npy"), np.arange(64) / 2)


def test_outputs_without_arguments_and_of_variables():
    arguments = ["--arg", "factor=2", "--arg", "count=4", "--out", "x=y.npy:f32:2x4"]
    assert main([*SCALE_RUN, *arguments, "--out", "launches=n.npy", "--out", "launches=m.npy:u16:2"]) == 0
    assert np.array_equal(np.load("y.npy"), np.zeros((2, 4), np.float32))
    assert np.load("n.npy") == 6
    assert np.load("m.npy").tolist() == [6, 0]
    assert np.load("m.npy").dtype == np.uint16


def test_a_variable_takes_the_bytes_of_a_file():
    np.save("seven.npy", np.array([7], np.uint16))
    arguments = ["--arg", "launches=seven.npy", "--arg", "factor=2", "--arg", "count=4"]
    assert main([*SCALE_RUN, *arguments, "--out", "x=y.npy:f32:4", "--out", "launches=n.npy"]) == 0
    assert np.load("n.npy") == 8


def test_bfloat16_files():
    raw = np.load("a.npy").view(np.uint16)
    np.save("a.npy", raw.view(ml_dtypes.bfloat16))
    assert np.load("a.npy").dtype.kind == "V"
    assert main([*GEMM, "--out", "3=out.npy"]) == 0
    assert np.load("out.npy").tobytes() == np.load("expected.npy").tobytes()


def test_single_fields_of_a_preset(capsys):
    run = ["run", "static.ptx", "--grid", "1", "--block", "1", "--preset", "small"]
    assert main(run) == 2
    assert capsys.readouterr().err == (
        "openwmma: big needs 20000 bytes of shared memory (20000 static, 0 dynamic), but preset small has "
        "16384; presets with enough: standard, large\n"
    )
    assert main([*run, "--set", "shared_bytes=0x5000"]) == 0


def test_the_memory_checker(capsys):
    np.save("one.npy", np.zeros(1, np.uint32))
    run = ["run", "unwritten.ptx", "--block", "32", "--arg", "one.npy"]
    assert main(run) == 0
    assert main([*run, "--check", "memory"]) == 1
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "never written" in printed
    assert "tile" in printed
    capsys.readouterr()
    assert main([*run, "--block", "64", "--check", "races"]) == 1
    assert "race" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_progress_by_blocks_on_a_terminal(capsys, monkeypatch, jobs):
    monkeypatch.setattr("openwmma.report.Console", functools.partial(Console, force_terminal=True))
    assert main([*GEMM, "--out", "3=out.npy", "--jobs", jobs]) == 0
    printed = capsys.readouterr().err
    assert "6/6" in printed
    assert "blocks" in printed


BAD = {
    "no file": (["run"], "expected a kernel: a PTX file, a file that ends in .cu, or --launch CASE.json"),
    "missing file": (["run", "no.ptx", "--grid", "1"], "expected a PTX module, but there is no file no.ptx"),
    "grid": (
        [*SCALE_RUN[:2], "--grid", "2x2"],
        "--grid 2x2: expected one to three numbers with commas, as in 2,2,1",
    ),
    "block": (
        [*SCALE_RUN[:2], "--block", "1,1,1,1"],
        "--block 1,1,1,1: expected one to three numbers with commas, as in 2,2,1",
    ),
    "too many": (
        [*SCALE_RUN, *["--arg", "1"] * 4],
        "--arg 1: 3 arguments expected by scale(.u64 x, .f32 factor, .u32 count)",
    ),
    "too few": (
        [*SCALE_RUN, "--arg", "x.npy"],
        "parameter factor has no --arg; the kernel is scale(.u64 x, .f32 factor, .u32 count)",
    ),
    "twice": ([*SCALE_RUN, "--arg", "x.npy", "--arg", "x=x.npy"], "--arg x=x.npy: x already has a value"),
    "unknown": (
        [*SCALE_RUN, "--arg", "y=1"],
        "--arg y=1: expected a parameter, a variable, or a position below 3, not y; "
        "the kernel is scale(.u64 x, .f32 factor, .u32 count)",
    ),
    "no number": (
        [*SCALE_RUN, "--arg", "many"],
        "--arg many: expected an .npy file, a number, or a number with its type as in f16:0.5",
    ),
    "type": (
        [*SCALE_RUN, "--arg", "u8:256"],
        "--arg u8:256: expected an .npy file, a number, or a number with its type as in f16:0.5",
    ),
    "output": (
        [*SCALE_RUN, "--out", "d"],
        "--out d: expected KEY=FILE.npy or KEY=FILE.npy:TYPE:SHAPE, as in 2=d.npy",
    ),
    "output of nothing": (
        [*SCALE_RUN, "--out", "y=d.npy"],
        "--out y=d.npy: expected a parameter, a variable, or a position below 3, not y; "
        "the kernel is scale(.u64 x, .f32 factor, .u32 count)",
    ),
    "output without a shape": (
        [*SCALE_RUN, "--out", "x=d.npy"],
        "--out x=d.npy: expected an --arg for x, or KEY=FILE.npy:TYPE:SHAPE",
    ),
    "output of a number": (
        [*SCALE_RUN, "--arg", "count=3", "--out", "count=d.npy"],
        "--out count=d.npy: expected an array as argument count, not 3",
    ),
    "large output": (
        [*SCALE_RUN, "--arg", "x.npy", "--out", "x=d.npy:f64:64"],
        "--out x=d.npy:f64:64: expected at most the 256 bytes there are, not 512",
    ),
    "no folder": (
        [*SCALE_RUN, "--out", "x=no/d.npy"],
        "--out x=no/d.npy: expected a file in a folder that exists, not in no",
    ),
    "setting": (
        [*SCALE_RUN, "--set", "shared_bytes"],
        "--set shared_bytes: expected NAME=VALUE, as in shared_bytes=98304",
    ),
    "unknown entry": ([*SCALE_RUN, "--entry", "x"], "scale.ptx: no kernel x; kernels: scale"),
    "case alone": ([*SCALE_RUN, "--case", "x"], "--case x: expected --launch with it"),
    "launch and a file": (
        [*SCALE_RUN, "--launch", "x.json"],
        "--launch: expected no file, arguments or grid beside it, which the file has",
    ),
    "no launch file": (["run", "--launch", "x.json"], "there is no launch file x.json"),
    "number for a variable": (
        [*SCALE_RUN, "--arg", "launches=1"],
        "--arg launches=1: expected an .npy file for the variable launches",
    ),
    "large variable": (
        [*SCALE_RUN, "--arg", "launches=x.npy"],
        "--arg launches=x.npy: expected at most the 4 bytes there are, not 256",
    ),
    "jobs and a waveform": (
        [*SCALE_RUN, "--jobs", "2", "--on", "rtl", "--waves", "w.fst"],
        "--jobs 2: expected 1 with one board, one waveform or one trace",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_usage_is_one_line_and_code_2(capsys, name):
    arguments, message = BAD[name]
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.err == f"openwmma: {message}\n"
    assert printed.out == ""


def test_a_fault_is_one_line_and_code_1(capsys):
    assert main([*SCALE_RUN, "--arg", "x.npy", "--arg", "2", "--arg", "64", "--limit", "20"]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith(
        "openwmma: more than 20 warp instructions, the limit of this launch; "
        "limit= in Python and --limit on the command line raise it; the warps are at line "
    )
    assert printed.count("\n") == 1


INTERRUPTIBLE = (
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "runpy.run_module('openwmma', run_name='__main__')"
)
"""``python -m openwmma``; what a shell starts in the background ignores SIGINT, and so would its children."""


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupt_ends_with_code_130_and_one_line(number, jobs):
    launch = ["run", "endless.ptx", "--grid", "4", "--block", "32", "--jobs", jobs, "--save", "started"]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *launch],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        while not Path("started.json").exists():  # written just before the first block starts
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(1)
        children = psutil.Process(process.pid).children()
        assert len(children) == (2 if jobs == "2" else 0)
        if number == signal.SIGINT:  # the terminal sends it to all of them
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        printed, error = process.communicate(timeout=60)
        assert not any(child.is_running() for child in children)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, error, printed) == (130, "openwmma: interrupted\n", "")


def test_a_trace_is_written_and_replayed(capsys):
    assert main([*GEMM, "--trace-file", "k.trace", "--out", "3=out.npy"]) == 0
    assert np.load("out.npy").tobytes() == np.load("expected.npy").tobytes()
    for on in ("rtl", "lockstep"):
        capsys.readouterr()
        assert main(["replay", "k.trace", "--on", on]) == 0
        printed = capsys.readouterr().out
        assert f"the trace of gemm_bf16 on {on}" in printed
        for row in ("cycles", "utilisation", "fragments loaded again", "fragments of the host", "waits"):
            assert row in printed
    assert main([*GEMM, "--trace-file", "on_core.trace", "--on", "rtl"]) == 0
    assert Path("on_core.trace").stat().st_size == Path("k.trace").stat().st_size


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["replay", "none.trace"], "expected the trace of a launch, but there is no file none.trace"),
        (["replay", "half.trace"], "half.trace: the file is truncated in the part that begins at byte"),
        (["replay", "x.npy"], "x.npy: expected a trace that openwmma wrote, not another file"),
        (["replay", "whole.trace", "--preset", "tiny"], "preset tiny has no .bf16 multiply, needed by"),
        (["replay", "whole.trace", "--profile", "ada"], "profile hopper, preset small, profile ada ada"),
        (["replay", "whole.trace", "--on", "golden"], "--on golden: expected rtl, lockstep or board"),
        (["replay", "whole.trace", "--waves", "whole.trace"], "--waves whole.trace: "),
        ([*GEMM, "--trace-file", "no/k.trace"], "--trace-file no/k.trace: expected a file in a folder"),
        ([*GEMM, "--trace-file", "k.trace", "--jobs", "2"], "--jobs 2: expected 1"),
    ],
)  # fmt: skip
def test_traces_that_are_refused(command, message, capsys):
    if "replay" in command[0]:
        assert main([*GEMM, "--trace-file", "whole.trace"]) == 0
        Path("half.trace").write_bytes(Path("whole.trace").read_bytes()[:3000])
    capsys.readouterr()
    assert main(command) == 2
    error = capsys.readouterr().err
    assert message in " ".join(error.split())
    assert not Path("k.trace").exists()
