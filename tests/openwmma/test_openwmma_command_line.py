"""The command line before any command: help, version, completion, wrong options, what is imported."""

import importlib
import inspect
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import openwmma
from golden import installation
from golden.installation import install_command
from openwmma.cli import COMMANDS, main
from openwmma.usage import _CODES

HEAVY = {"numpy", "numba", "amaranth", "rich", "llvmlite", "hdl", "sim", "boards"}


def imported(code):
    text = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in result.stderr.split()}


@pytest.mark.parametrize("option", ["--help", "--version", "nonsense"])
def test_help_and_version_load_nothing_heavy(option):
    assert not imported(f"from openwmma.cli import main; main([{option!r}])") & HEAVY


def test_summaries_are_the_first_lines_of_the_commands(capsys):
    for name, summary in COMMANDS.items():
        command = getattr(importlib.import_module(f"openwmma.commands.{name}"), name)
        assert inspect.getdoc(command).splitlines()[0] == summary
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert all(f"\n  {name} " in printed for name in COMMANDS)
    files = Path(openwmma.__file__).parent.joinpath("commands").glob("[a-z]*.py")
    assert {file.stem for file in files} == {*COMMANDS}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "campaign"])
def test_examples_of_a_help_keep_their_lines(capsys, monkeypatch, name):
    """A block at the end of a text loses its indentation in typer, and its lines are joined."""
    command = getattr(importlib.import_module(f"openwmma.commands.{name}"), name)
    monkeypatch.setenv("COLUMNS", "150")
    assert main([name, "--help"]) == 0
    printed = {line.strip() for line in capsys.readouterr().out.splitlines()}
    examples = re.findall(r"^    +(\S.*)$", inspect.getdoc(command) or "", re.MULTILINE)
    assert [line for line in examples if line not in printed] == []


def test_version_is_the_package_s(capsys):
    assert openwmma.__version__ == metadata.version("openwmma")
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"openwmma {openwmma.__version__}\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [("openwmma ma", "matmul"), ("openwmma ", "\n".join(COMMANDS)), ("openwmma --ver", "--version")],
)
def test_bash_completes_commands_without_loading_them(words, expected):
    environment = {
        **os.environ,
        "_OPENWMMA_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": "1",
    }
    found = subprocess.run(
        [sys.executable, "-m", "openwmma"], env=environment, capture_output=True, text=True, check=False
    )
    assert found.stdout.strip() == expected
    assert found.stderr == ""


def test_every_error_with_an_exit_code_exists():
    for name in _CODES:
        module, _, kind = name.rpartition(".")
        assert issubclass(getattr(importlib.import_module(module), kind), Exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--jobs", "x"], "Invalid value for '--jobs': expected a valid integer, not x"),
        (["run", "--jobs", "-3"], "Invalid value for '--jobs': expected greater than or equal to 0, not -3"),
        (["run", "--check", "it"], "Invalid value for '--check': 'it' is not one of 'memory', 'races'."),
        (["matmull"], "No such command 'matmull'. Did you mean 'matmul'?"),
    ],
)
def test_a_wrong_option_is_named_with_its_value_and_rule(capsys, arguments, message):
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"openwmma: {message}\n"


def test_install_commands_fit_how_the_package_was_installed(tmp_path, monkeypatch):
    class Installed:
        def __init__(self, origin):
            self.origin = origin

        def read_text(self, name):
            assert name == "direct_url.json"
            return self.origin

    def command(origin):
        monkeypatch.setattr(installation, "distribution", lambda name: Installed(origin))
        return install_command("test", "gpu")

    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert command(None) == 'pip install "openwmma[test,gpu]"'
    editable = '{"dir_info": {"editable": true}, "url": "file:///home/a%20b/openwmma"}'
    assert command(editable) == 'pip install -e "/home/a b/openwmma[test,gpu]"'
    assert command(editable.replace("true", "false")) == 'pip install "openwmma[test,gpu]"'
    (tmp_path / "uv-receipt.toml").touch()
    assert command(None) == 'uv tool install "openwmma[test,gpu]"'
    (tmp_path / "pipx_metadata.json").touch()
    assert command(None) == 'pipx install --force "openwmma[test,gpu]"'
