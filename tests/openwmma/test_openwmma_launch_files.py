"""Launch files: written by a launch, repeated on other machines, and files of the chip read as they are."""

import ctypes
import json
from pathlib import Path

import numpy as np
import pytest
from test_openwmma_launch import SCALE

import openwmma
from openwmma.cli import main
from openwmma.launch_repeat import read_launches

KERNELS = Path(__file__).parents[1] / "data" / "kernels"
BOTH = [KERNELS / "public_kernels.json", KERNELS / "library.json"]
HOPPER = KERNELS / "hopper.json"
CASES = [(path, case["case"]) for path in BOTH for case in json.loads(path.read_text())]
CASES += [(HOPPER, "hopper.grouped_copy"), (HOPPER, "hopper.gemm_multicast")]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("path", "case"), CASES, ids=[case for _, case in CASES])
def test_launches_of_the_chip_are_repeated_to_the_byte(path, case):
    (launch,) = read_launches(path, case)
    run = launch.launch(jobs=2)
    assert run.warp_instructions > 0
    assert launch.is_compared
    assert launch.differences() == []


@pytest.mark.parametrize("case", ["library.mixed_fragments", "library.pipeline_5_563"])
def test_on_the_command_line_in_lockstep(capsys, case):
    arguments = ["--case", case, "--on", "lockstep", "--preset", "standard"]
    assert main(["run", "--launch", str(BOTH[1]), *arguments]) == 0
    printed = capsys.readouterr().out
    assert f"{case} on lockstep" in " ".join(printed.split())
    assert printed.endswith(f"{case}: memory is as recorded\n")


def scaled(save, factor=2.0, module=None):
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    (module or openwmma.Module(SCALE)).kernel().launch(2, 32, [x, factor, 64], save=save)
    return x


def test_what_a_launch_writes():
    x = scaled("case")
    (case,) = json.loads(Path("case.json").read_text())
    assert case["arguments"] == ["x", {"type": "f32", "value": 2.0}, {"type": "u32", "value": 64}]
    assert (case["entry"], case["file"], case["grid"], case["block"]) == (
        "scale",
        "case.ptx",
        [2, 1, 1],
        [32, 1, 1],
    )
    assert case["changed"] == ["x"]
    with np.load("case.npz") as file:
        assert sorted(file) == ["case/x", "case/x.after"]
        assert np.array_equal(file["case/x.after"], x)
        assert np.array_equal(file["case/x"], np.arange(64, dtype=np.float32).reshape(8, 8))
    assert Path("case.ptx").read_text() == SCALE


def test_a_launch_file_repeats(capsys):
    scaled("case.json")
    for on in ("golden", "lockstep"):
        assert main(["run", "--launch", "case.json", "--on", on]) == 0
        assert "case: memory is as recorded" in capsys.readouterr().out


def test_differing_bytes_are_listed(capsys):
    scaled("case")
    Path("case.ptx").write_text(SCALE.replace("mul.f32 %f3, %f2, %f1;", "add.f32 %f3, %f2, %f1;"))
    assert main(["run", "--launch", "case.json"]) == 1
    printed = capsys.readouterr()
    # 0 * 2 and 0 + 2, 1 * 2 and 1 + 2; 2 * 2 = 2 + 2.
    assert printed.err.startswith("openwmma: case: x: ")
    assert "byte 3: 0x00 recorded, 0x40 now, byte 6: 0x00 recorded, 0x40 now, " in printed.err
    assert printed.err.endswith(", ...\n")
    assert "as recorded" not in printed.out


def test_a_launch_that_fails_is_written_without_results(capsys):
    x = openwmma.device(np.ones(4, np.float32), name="x")
    with pytest.raises(openwmma.KernelFault):
        openwmma.Module(SCALE).kernel().launch(1, 32, [x, 1.0, 8], save="bug")
    assert main(["run", "--launch", "bug.json"]) == 1
    assert "past the end of x" in capsys.readouterr().err
    with np.load("bug.npz") as file:
        assert sorted(file) == ["bug/x"]


def test_structures_and_addresses_inside_buffers(capsys):
    class Problem(ctypes.Structure):
        _fields_ = (("n", ctypes.c_int), ("out", ctypes.c_uint64), ("unused", ctypes.c_uint64))

    text = SCALE.replace(
        ".param .u64 x, .param .f32 factor, .param .u32 count", ".param .align 8 .b8 problem[24]"
    )
    text = text.replace("[x]", "[problem+8]").replace("[count]", "[problem]")
    text = text.replace("ld.param.f32 %f1, [factor];", "mov.f32 %f1, 0f40400000;")
    x = openwmma.device(np.ones(8, np.float32), name="out")
    openwmma.Module(text).kernel().launch(1, 32, [Problem(4, x.address + 16, x.address + 32)], save="case")
    assert x.numpy().tolist() == [1, 1, 1, 1, 3, 3, 3, 3]
    (case,) = json.loads(Path("case.json").read_text())
    assert case["arguments"] == [
        {"struct": 24, "hex": "04" + "00" * 23, "pointers": {"8": ["out", 16], "16": ["out", 32]}}
    ]
    assert main(["run", "--launch", "case.json"]) == 0
    assert "as recorded" in capsys.readouterr().out


def test_variables_of_the_module_go_along():
    module = openwmma.Module(SCALE)
    scaled("first", module=module)
    scaled("second", module=module)
    assert json.loads(Path("first.json").read_text())[0]["variables"] == {}
    assert json.loads(Path("second.json").read_text())[0]["variables"] == {"launches": "launches"}
    with np.load("second.npz") as file:
        assert (file["second/launches"], file["second/launches.after"]) == (6, 7)
    (launch,) = read_launches(Path("second.json"))
    launch.launch()
    assert launch.differences() == []
    assert launch.module["launches"].numpy() == 7


def test_bits_that_json_does_not_have():
    nan = np.array([0x7FC12345], np.uint32).view(np.float32)[0]
    scaled("case", nan)
    (case,) = json.loads(Path("case.json").read_text())
    assert case["arguments"][1] == {"struct": 4, "hex": "4523c17f"}
    (launch,) = read_launches(Path("case.json"))
    launch.launch()
    assert launch.differences() == []


def test_a_folder_that_does_not_exist_is_refused():
    with pytest.raises(openwmma.LaunchError, match="a folder that exists, not in no"):
        scaled("no/case")


def rewritten(change):
    scaled("case")
    (case,) = json.loads(Path("case.json").read_text())
    change(case)
    Path("case.json").write_text(json.dumps([case]))


BAD = {
    "no JSON": (lambda: Path("case.json").write_text("{"), "case.json: not JSON ("),
    "no list": (lambda: Path("case.json").write_text("3"), "case.json: expected a list of launches"),
    "no key": (lambda: rewritten(lambda case: case.pop("grid")), "a launch without 'grid': "),
    "no file": (lambda: rewritten(lambda case: case.update(file="x.ptx")), "case: there is no file x.ptx"),
    "no array": (
        lambda: rewritten(lambda case: case["arguments"].__setitem__(0, "y")),
        "case: no array y; arrays: x",
    ),
    "no archive": (
        lambda: (scaled("case"), Path("case.npz").write_text("x")),
        "case.npz: expected an archive of arrays",
    ),
    "no npz": (
        lambda: (scaled("case"), Path("case.npz").unlink()),
        "case.json: there is no case.npz beside it",
    ),
    "bad type": (
        lambda: rewritten(lambda case: case["arguments"].__setitem__(1, {"type": "q"})),
        "case: malformed arguments (",
    ),
    "short structure": (
        lambda: rewritten(lambda case: case["arguments"].__setitem__(1, {"struct": 8, "hex": "00"})),
        "case: a structure of 8 bytes with 1 bytes in hex",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_malformed_files_are_refused_in_one_line(capsys, name):
    prepare, message = BAD[name]
    prepare()
    capsys.readouterr()
    assert main(["run", "--launch", "case.json"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"openwmma: {message}")
    assert printed.count("\n") == 1


def test_an_unknown_case(capsys):
    scaled("case")
    assert main(["run", "--launch", "case.json", "--case", "x"]) == 2
    assert capsys.readouterr().err == "openwmma: case.json: no case x; cases: case\n"
