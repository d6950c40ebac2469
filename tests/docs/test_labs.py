"""The solutions of the labs: each patch, applied to a copy of the sources, passes the check of its lab."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LABS = ROOT / "docs" / "tutorials" / "labs"
PATCHES = sorted(path.stem for path in LABS.glob("*.patch"))
SOURCES = ("boards", "docs", "examples", "formal", "golden", "hdl", "openwmma", "regression", "sim", "tests")


def apply(patch: str, folder: Path, *options: str) -> None:
    """Apply a patch as the pages say."""
    command = ["git", "apply", *options, str(LABS / f"{patch}.patch")]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python on the sources of a copy."""
    environment = os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "120"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def check(folder: Path, lab: str) -> subprocess.CompletedProcess[str]:
    return run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"docs/tutorials/labs/check_{lab}.py")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources in a folder of their own."""
    for name in SOURCES:
        ignored = shutil.ignore_patterns("__pycache__", "generated", "data")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_there_is_a_page_for_every_patch() -> None:
    assert PATCHES == ["format", "rounding-mode", "scoreboard-fault"]
    text = "".join(path.read_text() for path in LABS.glob("*.md"))
    assert all(f"{{literalinclude}} {patch}.patch" in text for patch in PATCHES)


@pytest.mark.parametrize("patch", PATCHES)
def test_a_patch_applies(patch: str) -> None:
    apply(patch, ROOT, "--check")


def test_the_rounding_mode(copy: Path) -> None:
    before = check(copy, "rounding_mode")
    assert before.returncode == 1
    assert "got 'exact.rna'; allowed: hopper" in before.stdout
    apply("rounding-mode", copy)
    after = check(copy, "rounding_mode")
    assert after.returncode == 0, after.stdout


@pytest.mark.long
def test_the_number_format(copy: Path) -> None:
    before = check(copy, "format")
    assert before.returncode == 1
    assert "not bf12" in before.stdout
    apply("format", copy)
    after = check(copy, "format")
    assert after.returncode == 0, after.stdout
    decode = copy / "hdl" / "dot_product" / "decode.py"
    decode.write_text(decode.read_text().replace("word = word & ~spread(bf12, 0xF)", ""))
    assert "operations differ" in check(copy, "format").stdout


@pytest.mark.long
def test_the_scoreboard(copy: Path) -> None:
    """The fault is seen as the page says, and gone when the patch is taken back."""

    def hazard(on: str) -> int:
        """Elements of D that are not zero."""
        result = run(copy, "docs/tutorials/labs/hazard.py", on)
        assert result.returncode == 0, result.stderr
        c, d = re.findall(r"\d+(?= elements| of D)", result.stdout)
        assert c == "0"
        return int(d)

    apply("scoreboard-fault", copy)
    assert hazard("rtl") == 32
    assert hazard("lockstep") == 0
    options = ("--preset", "tiny", "--results", "100000", "--seed", "1", "--jobs", "4")
    search = run(copy, "-m", "openwmma", "campaign", "random", *options)
    assert search.returncode == 1, search.stderr
    assert "commands are left" in search.stdout
    (command, *_) = re.findall(
        r"^    python (-m regression.random_programs \S+)$", search.stdout, re.MULTILINE
    )
    again = run(copy, *command.split())
    assert again.returncode == 1, again.stderr
    assert json.loads(again.stdout)["difference"]
    apply("scoreboard-fault", copy, "--reverse")
    assert hazard("rtl") == 0
    assert run(copy, *command.split()).returncode == 0
