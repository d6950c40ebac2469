"""The notebooks: each runs from the first cell to the last, and is in the repository without outputs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
SECONDS = 300
"""With the build of a simulation, on a machine with other work."""


def cells_of(path: Path) -> list[dict]:
    return json.loads(path.read_text())["cells"]


def test_the_notebooks_have_neither_outputs_nor_counts() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first-tile", "fp8", "roofline"]
    for path in NOTEBOOKS:
        content = json.loads(path.read_text())
        assert path.read_text() == json.dumps(content, indent=1) + "\n"
        assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
        assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])
        for cell in content["cells"]:
            assert cell["cell_type"] == "markdown" or (cell["outputs"], cell["execution_count"]) == ([], None)
        assert path.name in (ROOT / "docs" / "tutorials" / "index.md").read_text()


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_the_first_cell_to_the_last(path: Path, tmp_path: Path) -> None:
    """As plain Python: there are no commands of a notebook server in the cells."""
    text = "\n".join("".join(cell["source"]) for cell in cells_of(path) if cell["cell_type"] == "code")
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
