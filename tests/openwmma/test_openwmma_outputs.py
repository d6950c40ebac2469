"""Files that commands and launches write: where they say, whole or not at all, and never over an input."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from test_openwmma_launch import SCALE

import openwmma
from openwmma.cli import main
from openwmma.usage_error import UsageError
from sim.files import write_files

ROOT = Path(__file__).parents[2]
INSTRUCTION = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
GEMM = ROOT / "examples" / "gemm_f16_f32.ptx"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scale.ptx").write_text(SCALE)
    Path("folder").mkdir()
    np.save("x.npy", np.arange(64, dtype=np.float32))
    for name, shape, dtype in (("a", (16, 8), "f2"), ("b", (8, 8), "f2"), ("c", (16, 8), "f4")):
        np.save(f"{name}.npy", np.ones(shape, dtype))
    np.save("m.npy", np.ones((16, 16), np.float16))
    Path("old.npy").write_bytes(Path("x.npy").read_bytes())
    Path("old.npy").chmod(0o444)
    return tmp_path


MMA = ["mma", INSTRUCTION, "a.npy", "b.npy", "c.npy", "-o"]
RUN = ["run", "scale.ptx", "--block", "32", "--arg", "x.npy", "--arg", "2", "--arg", "64"]
PROGRAM = ["run", str(GEMM), "--arg", "A=m.npy", "--arg", "B=m.npy", "--arg", "n=16"]
EXPLAIN = ["explain", INSTRUCTION, "--a", "1", "--b", "1"]


@pytest.mark.parametrize("name", ["d.txt", "d", "d.npy", "d.npz", ".d", "folder/d.npy", "ä b.npy"])
def test_an_output_has_the_name_that_was_given(name):
    before = {path.name for path in Path().rglob("*")}
    assert main([*MMA, name]) == 0
    assert np.load(name).shape == (16, 8)
    assert {path.name for path in Path().rglob("*")} - before == {Path(name).name}


def contents():
    return {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


def links():
    Path("link.npy").symlink_to("a.npy")
    Path("hard.npy").hardlink_to("b.npy")
    Path("hard.fst").hardlink_to("c.npy")
    Path("hard.trace").hardlink_to("x.npy")
    Path("link.ptx").symlink_to("scale.ptx")
    Path("ring.npy").symlink_to("ring.npy")
    Path("hard.json").hardlink_to("scale.ptx")


REFUSED = {
    "nothing": ([*MMA, ""], "expected a file, not a folder"),
    "a folder": ([*MMA, "folder"], "expected a file, not a folder"),
    "a link to itself": ([*MMA, "ring.npy"], "expected a file, and ring.npy is a link that leads to itself"),
    "no folder": ([*MMA, "no/d.npy"], "expected a file in a folder that exists, not in no"),
    "a file as a folder": ([*MMA, "a.npy/d.npy"], "expected a file in a folder that exists, not in a.npy"),
    "read-only": ([*MMA, "old.npy"], "old.npy is read-only"),
    "no permission": ([*MMA, "/sys/kernel/d.npy"], "cannot write in /sys/kernel ("),
    "an input": ([*MMA, "a.npy"], "expected another file than a.npy, which is read too"),
    "an input in other words": ([*MMA, "folder/../b.npy"], "expected another file than b.npy, which is read"),
    "a link to an input": ([*MMA, "link.npy"], "expected another file than a.npy, which is read too"),
    "a hard link to an input": ([*MMA, "hard.npy"], "expected another file than b.npy, which is read too"),
    "waves over an input": (
        [*MMA, "d.npy", "--on", "rtl", "--waves", "hard.fst"],
        "expected another file than c.npy, which is read too",
    ),
    "waves over the output": (
        [*MMA, "d.fst", "--on", "rtl", "--waves", "d.fst"],
        "expected another file than d.fst, which is written too",
    ),
    "waves in a folder": (
        [*MMA, "d.npy", "--on", "rtl", "--waves", "."],
        "expected a file, not a folder",
    ),
    "an array of another parameter": (
        [*PROGRAM, "--out", "D=m.npy:f32:16x16"],
        "expected another file than m.npy, which is read too",
    ),
    "a program over itself": (
        ["run", "folder/../k.npy", *PROGRAM[2:], "--out", "D=k.npy:f32:16x16"],
        "expected another file than folder/../k.npy, which is read too",
    ),
    "two outputs": (
        [*PROGRAM, "--out", "D=d.npy:f32:16x16", "--out", "A=./d.npy:f16:16x16"],
        "expected another file than d.npy, which is written too",
    ),
    "two outputs of a launch": (
        [*RUN, "--out", "0=d.npy", "--out", "launches=d.npy"],
        "expected another file than d.npy, which is written too",
    ),
    "a trace over an argument": (
        [*RUN, "--trace-file", "hard.trace"],
        "--trace-file hard.trace: expected another file than x.npy, which is read too",
    ),
    "an output read-only": ([*RUN, "--out", "0=old.npy"], "old.npy is read-only"),
    "an output in a folder": ([*RUN, "--out", "0=folder.npy"], "expected a file, not a folder"),
    "a variable over an argument": (
        [*RUN, "--out", "launches=x.npy"],
        "expected another file than x.npy, which is read too",
    ),
    "40 GB": ([*RUN[:5], "2", "--arg", "64", "--out", "0=d.npy:f32:100000x100000"], "40000000000 bytes"),
    "a size with thousands of digits": (
        [*RUN, "--out", "0=d.npy:f32:" + "9" * 5000],
        "expected a shape such",
    ),
    "a program's output of 40 GB": ([*PROGRAM, "--out", "D=d.npy:f32:100000x100000"], "40000000000 bytes"),
    "save without a name": ([*RUN, "--save", ""], "expected the name of files"),
    "save over the source": (
        [*RUN, "--save", "scale"],
        "expected another file than scale.ptx, which is read",
    ),
    "save in other words": ([*RUN, "--save", "folder/../scale.json"], "expected another file than scale.ptx"),
    "save over a link": ([*RUN, "--save", "link"], "expected another file than scale.ptx, which is read too"),
    "save over a hard link": (
        [*RUN, "--save", "hard"],
        "expected another file than scale.ptx, which is read",
    ),
    "save without a folder": ([*RUN, "--save", "no/case"], "a folder that exists, not in no"),
    "a page over a page": (
        [*EXPLAIN, "--html", "e", "--svg", "./e"],
        "expected another file than e, which is written too",
    ),
    "a picture in no folder": (["layout", "a", "f16", "m16n16k16", "--svg", "no/p"], "not in no"),
    "a picture in a folder": (["layout", "a", "f16", "m16n16k16", "--svg", "folder"], "not a folder"),
    "Verilog read-only": (["verilog", "-o", "core.v"], "core.json is read-only"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_written_is_noticed_before_anything_runs(capsys, monkeypatch, name):
    arguments, message = REFUSED[name]
    links()
    Path("folder.npy").mkdir()
    Path("k.npy").write_text(GEMM.read_text())
    Path("core.json").touch(mode=0o444)

    def fail(*_, **__):
        raise AssertionError("it ran")

    for runs in ("mma.multiply_tiles", "verilog.write_verilog"):
        monkeypatch.setattr(f"openwmma.commands.{runs}", fail)
    monkeypatch.setattr("golden.simt.module.run_parallel", fail)
    before = contents()
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
    assert len(printed) < 400
    assert contents() == before


def test_an_array_may_replace_the_file_that_it_came_from():
    assert main([*RUN, "--out", "0=x.npy"]) == 0
    assert np.load("x.npy")[3] == 6
    assert main([*PROGRAM, "--arg", "D=c16.npy", "--out", "D=c16.npy:f32:16x16"]) == 2
    np.save("c16.npy", np.zeros((16, 16), np.float32))
    assert main([*PROGRAM, "--arg", "D=c16.npy", "--out", "D=c16.npy:f32:16x16"]) == 0
    assert np.load("c16.npy")[0, 0] == 16


def test_saving_from_python_never_overwrites_the_source():
    links()
    x = np.zeros(4, np.float32)
    for save in ("scale", Path("scale.json"), "./folder/../link", "hard", ""):
        with pytest.raises((openwmma.LaunchError, UsageError), match="save"):
            openwmma.Module("scale.ptx").kernel().launch(1, 32, [x, 1.0, 4], save=save)
    assert Path("scale.ptx").read_text() == SCALE
    openwmma.Module("scale.ptx").kernel().launch(1, 32, [x, 1.0, 4], save="case.v1")
    assert Path("case.v1.json").exists()


def test_an_error_while_writing_leaves_the_old_file(monkeypatch):
    Path("d.npy").write_bytes(b"old")
    written = Path.write_bytes

    def full(path, data):
        written(path, data[:10])
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert main([*MMA, "d.npy"]) == 2
    assert Path("d.npy").read_bytes() == b"old"
    assert not list(Path().glob(".*partial"))


def test_files_written_by_threads_at_once_are_whole():
    texts = [f"{number}\n" * 50_000 for number in range(8)]
    barrier = threading.Barrier(8)
    errors = []

    def write(text):
        barrier.wait()
        try:
            for _ in range(20):
                write_files({Path("shared.txt"): text})
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert Path("shared.txt").read_text() in texts
    assert not list(Path().glob(".*partial"))


def test_a_file_keeps_its_mode_and_its_links():
    Path("d.npy").touch(mode=0o640)
    Path("to_d.npy").symlink_to("d.npy")
    assert main([*MMA, "to_d.npy", "--force"]) == 0
    assert Path("to_d.npy").is_symlink()
    assert Path("d.npy").stat().st_mode & 0o777 == 0o640
    assert np.load("d.npy").shape == (16, 8)


@pytest.mark.parametrize("kind", ["fifo", "descriptor"])
@pytest.mark.parametrize("command", ["mma", "run", "program"])
def test_pipes_are_written_as_they_are(kind, command):
    data = []
    if kind == "fifo":
        os.mkfifo("pipe.npy")
        reader = threading.Thread(target=lambda: data.append(Path("pipe.npy").read_bytes()))
        reader.start()
        name = "pipe.npy"
    else:
        read, write = os.pipe()
        name = f"/dev/fd/{write}"
    commands = {
        "mma": [*MMA, name],
        "run": [*RUN, "--out", f"0={name}"],
        "program": [*PROGRAM, "--out", f"D={name}:f32:16x16"],
    }
    assert main(commands[command]) == 0
    if kind == "fifo":
        reader.join()
        assert Path("pipe.npy").is_fifo()
    else:
        os.close(write)
        with os.fdopen(read, "rb") as file:
            data.append(file.read())
    assert data[0].startswith(b"\x93NUMPY")


def test_the_standard_output_is_an_output():
    command = [sys.executable, "-m", "openwmma", *MMA, "/dev/stdout"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True
    )
    assert b"\x93NUMPY" in done.stdout
    with Path("redirected").open("wb") as file:
        subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=file, check=True)
    assert np.load("redirected").shape == (16, 8)  # what is printed follows it


SLOW = """
import os, signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
written = Path.write_bytes
def slow(path, data):
    written(path, data[:10])
    print("writing", flush=True)
    time.sleep(60)
Path.write_bytes = slow
from openwmma.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupt_leaves_nothing_half_written(number):
    Path("d.npy").write_bytes(b"old")
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, *MMA, "d.npy", "--force"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "writing\n"
        time.sleep(0.1)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, error) == (130, "openwmma: interrupted\n")
    assert Path("d.npy").read_bytes() == b"old"
    assert not list(Path().glob(".*partial"))


def test_nothing_is_replaced_without_force(capsys):
    """Every option of every command that names a file to write."""
    rows = np.ones((16, 16), np.float16)
    for name in ("a.npy", "b.npy"):
        np.save(name, rows)
    np.save("c.npy", rows.astype(np.float32))
    mma = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
    run = [
        "run",
        str(GEMM),
        "--arg",
        "A=a.npy",
        "--arg",
        "B=b.npy",
        "--arg",
        "n=16",
        "--out",
        "D=new.npy:f32:16x16",
    ]
    explain = ["explain", "ex2.approx.ftz.f32", "--a", "1"]
    commands = {
        "new.npy": [run, ["mma", mma, "a.npy", "b.npy", "c.npy", "-o", "new.npy"]],
        "d.npy": [["matmul", "a.npy", "b.npy", "-o", "d.npy"]],
        "e.svg": [[*explain, "--svg", "e.svg"], ["layout", "a", "f16", "m16n16k16", "--svg", "e.svg"]],
        "e.html": [[*explain, "--html", "e.html"]],
        "core.json": [["verilog", "--preset", "tiny", "-o", "core.v"]],
        "saved.npz": [[*RUN, "--save", "saved"]],
        "launched.npy": [[*RUN, "--out", "0=launched.npy"]],
    }
    for name, calls in commands.items():
        for call in calls:
            Path(name).write_text("mine")
            assert main(call) == 2
            assert Path(name).read_text() == "mine"
            error = capsys.readouterr().err
            assert f"expected --force to replace {name}, which exists" in error
            assert main([*call, "--force"]) == 0
            assert Path(name).read_bytes() != b"mine"
    assert main([*RUN, "--out", "0=x.npy"]) == 0  # in place, as it is named for both


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ["explain", "ex2.approx.ftz.f32", "--a", "1", "--svg", "e.png"],
            "--svg e.png: expected a file that ends in .svg",
        ),
        (
            ["explain", "ex2.approx.ftz.f32", "--a", "1", "--html", "e"],
            "--html e: expected a file that ends in .html or .htm",
        ),
        (
            ["layout", "a", "f16", "m16n16k16", "--svg", "e.html"],
            "--svg e.html: expected a file that ends in .svg",
        ),
        (["matmul", "a.npy", "b.npy", "-o", "q.txt"], "--output q.txt: expected a file that ends in .npy"),
        ([*RUN, "--on", "rtl", "--waves", "x.txt"], "--waves x.txt: expected a file that ends in .fst"),
        ([*RUN, "--trace-file", "k.npy"], "--trace-file k.npy: expected a file that ends in .trace"),
        ([*RUN, "--on", "rtl", "--trace", "x"], "--trace x: expected a file that ends in .json"),
    ],
)
def test_files_have_the_suffix_of_their_contents(folder, capsys, command, message):
    before = {*folder.iterdir()}
    assert main(command) == 2
    assert capsys.readouterr().err == f"openwmma: {message}\n"
    assert {*folder.iterdir()} == before
