"""The core behind Wishbone: the lines of the how-to write a module that multiplies a tile."""

import os
import subprocess
from pathlib import Path

import pytest

from sim.testbench.design import Design
from sim.testbench.runner import run

pytestmark = pytest.mark.soc

ROOT = Path(__file__).parents[2]
SECTION = "## Behind Wishbone"


def test_the_core_behind_wishbone_multiplies_a_tile(tmp_path):
    page = (ROOT / "docs" / "how-to" / "verilog.md").read_text()
    lines = page[page.index(SECTION) :].split("```sh\n")[1].split("```")[0]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(["sh", "-ec", lines], cwd=tmp_path, env=environment, check=True, capture_output=True)
    folder = tmp_path / "wishbone"
    # LiteX writes combinational logic with nonblocking assignments, which Icarus Verilog never settles.
    text = "// verilator lint_off COMBDLY\n".join(
        (folder / name).read_text() for name in ("openwmma_core.v", "wishbone_core.v")
    )
    run(Design.of_text("wishbone", text, "wishbone_core"), "tests.soc.wishbone_bench")
