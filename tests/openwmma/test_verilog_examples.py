"""The examples of the how-to for Verilog, line by line as they stand there, with the system's simulators."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.icarus

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "verilog.md").read_text()
SECTION = PAGE[PAGE.index("## Examples to begin from") : PAGE.index("## Behind Wishbone")]
FIRST, *EXAMPLES = [block.split("```")[0] for block in SECTION.split("```sh\n")[1:]]


def run(lines, folder):
    done = subprocess.run(
        ["sh", "-ec", lines],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A core in a folder that has the examples."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "examples").symlink_to(ROOT / "examples")
    code, printed = run(FIRST, folder)
    assert code == 0, printed
    return folder


@pytest.mark.parametrize(
    ("number", "result"),
    [(0, "TESTS=2 PASS=2 FAIL=0"), (1, "PASS\n"), (2, "PASS\n")],
    ids=["cocotb", "c", "verilog"],
)
def test_example_multiplies_its_tile(folder, number, result):
    code, printed = run(EXAMPLES[number], folder)
    assert code == 0, printed
    assert result in printed
    assert "%Warning" not in printed
    assert "warning:" not in printed


def test_every_example_is_run():
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("number", [0, 2], ids=["cocotb", "verilog"])
def test_example_notices_a_wrong_core(folder, tmp_path, number):
    """The core loses a bit of what it reads, of the first element of each beat."""
    for path in folder.iterdir():
        if path.name != "sim_build":
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "core.v").unlink()
    text = (folder / "core.v").read_text()
    old = "assign memory__r__payload[127:0] = m_axi_rdata;"
    assert text.count(old) == 1
    (tmp_path / "core.v").write_text(text.replace(old, old.replace("rdata;", "rdata & ~128'h400;")))
    _, printed = run(EXAMPLES[number], tmp_path)
    assert ("PASS=1 FAIL=1" if number == 0 else "\nFAIL\n") in printed
