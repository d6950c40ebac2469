"""What comes from outside is shown as it is: no markup, no control characters, one sentence an error."""

import io
import sys
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest

from golden.machine import Counters
from openwmma import report
from openwmma.cli import main
from openwmma.commands.verilog import verilog
from openwmma.target import MachineKind
from openwmma.verilog_files import VerilogFiles

MARKUP = ["[red]", "[/]", "[/red]", "[bold]x[/bold]", ":smile:", "[link=x]", "[@click=x]", "\\[", "[["]
HOSTILE = ["\x1b[31m", "\x1b]0;t\x07", "\u202e", "\u2066", "\x9b31m", "\r", "\n", "\x08", "\x7f", "\udcff"]
DIGITS = "9" * 5000
MULTIPLY = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
INTEGERS = "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32"
BOTH = ("--a", "1", "--b", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def complaint(capsys, *arguments):
    """The one line that a refused command prints."""
    assert main(list(arguments)) == 2, arguments
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err.startswith("openwmma: ")
    assert printed.err.endswith("\n")
    line = printed.err[:-1]
    assert line.replace("\t", "").isprintable()
    assert len(line) < 4200
    return line


COMMANDS = {
    "run": lambda text: ("run", f"{text}.ptx"),
    "run entry": lambda text: ("run", "x.ptx", "--entry", text),
    "verilog": lambda text: ("verilog", "--preset", text, "-o", "x.v"),
    "verilog output": lambda text: ("verilog", "-o", f"none/{text}.v"),
    "layout": lambda text: ("layout", "a", text, "m16n16k16"),
    "explain": lambda text: ("explain", text, *BOTH),
    "explain operand": lambda text: ("explain", MULTIPLY, "--a", text, "--b", "1"),
    "learn": lambda text: ("learn", "--folder", text),
    "build": lambda text: ("build", "--board", text),
    "command": lambda text: (text,),
    "option": lambda text: ("presets", f"--{text}"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("text", [*MARKUP, *HOSTILE], ids=ascii)
def test_a_complaint_is_one_line_that_shows_the_text(capsys, command, text):
    Path("x.ptx").write_text(".version 8.0\n.target sm_90\n")
    arguments = command(text)
    line = complaint(capsys, *arguments)
    if text in MARKUP and not ("=" in text and arguments[0] == "presets"):  # a value of an option
        assert text in line


def test_an_error_in_ptx_shows_its_text_as_it_is(capsys):
    path = Path("[red].ptx")
    path.write_text('.version 8.0\n.target sm_90\n.file 1 "\x1b[31m[/]\u202e" x\n')
    assert complaint(capsys, "run", str(path)).startswith("openwmma: [red].ptx:3:")


def shown(capsys, text, print_table):
    print_table(text)
    printed = capsys.readouterr().out
    assert printed.replace("\n", "").replace("\t", "").isprintable()
    return "".join(printed.split())


def print_launch(text):
    run = SimpleNamespace(
        blocks=1,
        warp_instructions=1,
        matrix_instructions=1,
        cycles=0,
        counters=Counters(),
        config=None,
        seconds=0.0,
        notes=(f"note {text}",),
    )
    report.print_launch(f"title {text}", target(text), run)


def target(text):
    path = Path(f"waves {text}")
    return SimpleNamespace(on=MachineKind.GOLDEN, waves=path, trace=path)


@pytest.mark.parametrize("text", [*MARKUP, *HOSTILE], ids=ascii)
def test_tables_and_notes_show_names_and_paths_as_they_are(capsys, text):
    printed = shown(capsys, text, print_launch)
    if text in MARKUP:
        assert printed.count(text) == 4


@pytest.mark.parametrize("text", [*MARKUP, *HOSTILE], ids=ascii)
def test_paths_of_files_written_are_shown_as_they_are(capsys, monkeypatch, text):
    path = Path(f"{text}.v")
    path.parent.mkdir(parents=True, exist_ok=True)
    files = VerilogFiles(**{field.name: path for field in fields(VerilogFiles)})
    monkeypatch.setattr("openwmma.commands.verilog.write_verilog", lambda config, output, stimulus: files)
    printed = shown(capsys, path, verilog)
    if text in MARKUP:
        assert printed.count(str(path)) == len(files.paths)


def test_an_encoding_without_a_character_escapes_it(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["layout", "a", "f16", "m16n16k16"]) == 0
    print("\u00e9")
    stream.flush()
    assert stream.buffer.getvalue().endswith(b"\\xe9\n")


@pytest.mark.parametrize("option", ["--html", "--svg"])
@pytest.mark.parametrize("path", ["", ".", "./", "..", "/", "folder"])
def test_a_folder_is_no_file_to_write(capsys, folder, option, path):
    (folder / "folder").mkdir()
    assert "expected a file, not a folder" in complaint(capsys, "explain", MULTIPLY, *BOTH, option, path)


NONSENSE = (
    *("", " ", "-", "--", "=", ",", ",,", "*", "%s", "{0}", "~", "none", "None", "true", "0x", "0xg", "1e"),
    *(
        "1_",
        "\u2212" + "1",
        "\u00b2",
        "1" * 5000 + "x",
        "a" * 100_000,
        "\u00e9" * 300,
        "1;2",
        "\x00",
        "1\x00",
    ),
    *("1\x00", "[1]"),
)


@pytest.mark.parametrize("text", NONSENSE, ids=range(len(NONSENSE)))
def test_what_is_nothing_is_refused(capsys, text):
    for arguments in (
        ("layout", text, "f16", "m16n16k16"),
        ("layout", "a", text, "m16n16k16"),
        ("layout", "a", "f16", text),
        ("explain", text, *BOTH),
        ("explain", MULTIPLY, *BOTH, "--profile", text),
        ("explain", MULTIPLY, *BOTH[:3], f"1{text}x"),
        ("explain", INTEGERS, *BOTH[:3], f"1.{text}"),
        ("verilog", "-o", "x.v", "--preset", text),
        ("verilog", "-o", "x.v", "--profile", text),
        ("verilog", "-o", text),
        ("build", "--board", text),
        ("build", "--board", "ulx3s", "--seed", f"{text}x"),
        ("learn", "--folder", text),
        ("learn", "--port", f"{text}x"),
    ):
        complaint(capsys, *arguments)
    assert not list(Path.cwd().iterdir())


@pytest.mark.parametrize(
    "number",
    ["1e999", "-1e999", DIGITS, f"-{DIGITS}", f"1.{DIGITS}e9999", f"1e{DIGITS}", f"0x{DIGITS}", "0x10000"],
    ids=range(8),
)
@pytest.mark.parametrize("instruction", [MULTIPLY, INTEGERS, "ex2.approx.ftz.f32"])
def test_numbers_that_no_format_holds_are_refused(capsys, instruction, number):
    if instruction == "ex2.approx.ftz.f32":
        number = number.replace("0x10000", "0x100000000")
        complaint(capsys, "explain", instruction, "--a", number)
        return
    complaint(capsys, "explain", instruction, "--a", number, "--b", "1")
    complaint(capsys, "explain", instruction, "--a", "1", "--b", f"1,{number}")
