"""The wheel: it contains every source and data file, and it works in an environment of its own."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy as np
import pytest

import golden
from boards.boards import BOARDS

ROOT = Path(__file__).parents[2]
PACKAGES = ("boards", "constraints", "golden", "hdl", "openwmma", "sim")
INSTRUCTION = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"


def run(*command, folder, **variables):
    """Run a command; its output, or an assertion with all that it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    result = subprocess.run(
        command, cwd=folder, env=environment | variables, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy, so that the working tree stays as it is."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = "from setuptools import build_meta; build_meta.build_wheel('..')"
    run(sys.executable, "-c", build, folder=source)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The script of an environment that has the wheel, and beside it the dependencies of this one."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "--without-pip", "environment", folder=folder)
    python = folder / "environment" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    run(*pip, "install", "--no-deps", "--no-index", "--ignore-installed", str(wheel), folder=folder)
    (site,) = (folder / "environment" / "lib").glob("python*/site-packages")
    # A path in a .pth file does not activate the .pth files in it, such as an editable install's.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.with_name("openwmma")


@pytest.fixture
def work(tmp_path):
    """A folder with the operands of three tiles."""
    random = np.random.default_rng(3)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", random.standard_normal((3, 16, 16)).astype(np.float16))
    np.save(tmp_path / "c.npy", random.standard_normal((3, 16, 16)).astype(np.float32))
    return tmp_path


def test_every_file_of_the_packages_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (entry_points,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        script = archive.read(entry_points).decode()
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == expected
    assert script == "[console_scripts]\nopenwmma = openwmma.cli:main\n"


def test_it_is_the_installed_one_that_runs(installed):
    found = run(
        installed.with_name("python"),
        "-c",
        "import boards, constraints, golden, hdl, openwmma, sim\n"
        "for module in (boards, constraints, golden, hdl, openwmma, sim): print(module.__file__)",
        folder=installed.parent,
    ).splitlines()
    environment = installed.parents[1]
    assert len(found) == len(PACKAGES)
    assert all(Path(path).is_relative_to(environment) for path in found)


def test_presets(installed, work):
    assert "standard" in run(installed, "presets", folder=work)


def test_mma_on_golden_and_core(installed, work):
    a, b, c = (np.load(work / f"{name}.npy") for name in "abc")
    expected = golden.mma(INSTRUCTION, a.view(np.uint16), b.view(np.uint16), c.view(np.uint32))
    for kind in ("golden", "lockstep"):
        options = "-o", f"{kind}.npy", "--on", kind
        run(installed, "mma", INSTRUCTION, "a.npy", "b.npy", "c.npy", *options, folder=work)
        np.testing.assert_array_equal(np.load(work / f"{kind}.npy"), expected)


def test_run(installed, work):
    shutil.copy(ROOT / "examples" / "gemm_f16_f32.ptx", work)
    matrices = [np.eye(16, dtype=np.float16), np.arange(256, dtype=np.float16).reshape(16, 16)]
    for name, matrix in zip("ab", matrices, strict=True):
        np.save(work / f"{name}.npy", matrix)
    arguments = ("--arg", "A=a.npy", "--arg", "B=b.npy", "--arg", "n=16", "--out", "D=product.npy:f32:16x16")
    run(installed, "run", "gemm_f16_f32.ptx", *arguments, folder=work)
    np.testing.assert_array_equal(np.load(work / "product.npy"), matrices[1].astype(np.float32))


def test_verilog(installed, work):
    run(installed, "verilog", "--preset", "tiny", "-o", "core.v", folder=work)
    assert "module openwmma_core(" in (work / "core.v").read_text()
    assert json.loads((work / "core.json").read_text())["preset"] == "tiny"
    assert "openwmma_core core (" in (work / "core_example.v").read_text()


def test_constraints(installed, work):
    program = (
        "from boards.boards import BOARDS; from boards.flow.flow import constraints_of\n"
        "for board in BOARDS.values(): print(board.name, constraints_of(board).read_bytes().hex())"
    )
    printed = run(installed.with_name("python"), "-c", program, folder=work)
    found = {name: bytes.fromhex(data) for name, data in map(str.split, printed.splitlines())}
    assert found.keys() == BOARDS.keys()
    for name, data in found.items():
        (path,) = (ROOT / "constraints" / BOARDS[name].folder).iterdir()
        assert data == path.read_bytes()


def test_the_driver_is_there(installed, work):
    program = "from importlib.resources import files; print(files('boards') / 'soc' / 'software')"
    found = Path(run(installed.with_name("python"), "-c", program, folder=work).strip())
    expected = ROOT / "boards" / "soc" / "software"
    assert {path.name for path in found.iterdir()} == {path.name for path in expected.iterdir()}


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (
            ("campaign", "random"),
            "campaign: expected a clone of the repository, which has the tests; a wheel has none",
        ),
        (("learn", "--no-browser"), "--folder"),
    ],
)
def test_what_a_wheel_lacks_is_told_in_a_sentence(installed, work, command, sentence):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ran = subprocess.run(
        [installed, *command], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert sentence in ran.stderr
    assert ran.stderr.count("\n") == 1
