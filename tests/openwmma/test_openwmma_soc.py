"""`openwmma soc` and `openwmma build` say what is missing."""

import subprocess

import pytest

from boards.soc import toolchain
from golden.installation import install_command
from openwmma.cli import main


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Arguments that are right, and a machine on which nothing is missing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.c").write_text("int main(void) { return 0; }\n")
    monkeypatch.setattr(toolchain, "find_spec", lambda name: name)
    monkeypatch.setattr(toolchain.shutil, "which", lambda name, path: name)
    return ["soc", "--board", "ulx3s", "--simulate", "program.c"]


@pytest.mark.parametrize("module", ["litex", "litedram", "litex_boards", "migen", "pythondata_cpu_vexriscv"])
@pytest.mark.parametrize("builds", [False, True])
def test_a_missing_package(command, capsys, monkeypatch, module, builds):
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None if name == module else name)
    assert main(["build", "--board", "arty"] if builds else command) == 1
    assert capsys.readouterr().err.endswith(
        f"openwmma: {module} failed:\nit is not installed: {install_command('soc')}\n"
    )


@pytest.mark.parametrize(
    ("program", "package"),
    [
        ("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf"),
        ("meson", "meson"),
        ("ninja", "ninja-build"),
        ("make", "make"),
    ],
)
def test_a_missing_program(command, capsys, monkeypatch, program, package):
    monkeypatch.setattr(toolchain.shutil, "which", lambda name, path: None if name == program else name)
    assert main(command) == 1
    assert capsys.readouterr().err == (
        f"openwmma: {program} failed:\nit is not installed; on Debian or Ubuntu: apt-get install {package}\n"
    )


@pytest.mark.parametrize(
    ("header", "package"), [("event2/event.h", "libevent-dev"), ("json-c/json.h", "libjson-c-dev")]
)
def test_a_missing_header(command, capsys, monkeypatch, header, package):
    def compile_(command, **options):
        return subprocess.CompletedProcess(command, int(header in options["input"]))

    monkeypatch.setattr(toolchain.subprocess, "run", compile_)
    assert main(command) == 1
    assert capsys.readouterr().err == (
        f"openwmma: {header} failed:\nit is not installed; on Debian or Ubuntu: apt-get install {package}\n"
    )
