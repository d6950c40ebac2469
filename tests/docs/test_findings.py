"""The form of findings; the scripts themselves install packages and are run by hand."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FINDINGS = sorted((ROOT / "findings").iterdir())
PAGE = ROOT / "docs/explanation/where-guesses-fail.md"


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.stem)
def test_finding_is_self_contained(path: Path) -> None:
    text = path.read_text()
    assert path.suffix == ".sh"
    assert path.stat().st_mode & 0o100, "not executable"
    subprocess.run(["sh", "-n", path], check=True)
    assert re.match(r"#!/bin/sh\n# .+\n#\n# Guess: .+(\n#  .+)*\n# Seen:  .+(\n#  .+)*\n# .+", text)
    install = re.search(r"/pip\" install .*", text)
    assert install is not None
    packages = [word for word in install[0].split()[2:] if not word.startswith("-")]
    assert packages
    assert all(re.fullmatch(r"[\w-]+==[\d.]+(post\d+)?", package) for package in packages)
    assert packages[0].split("==")[1] in text.split("set -eu")[0], "the header lacks the version tried"
    assert "assert " in text or "raise SystemExit" in text, "nothing fails when the behaviour changes"
    assert not re.search(r"\b(golden|hdl|openwmma|sim|boards)\b", text.split("set -eu")[1])


def test_page_names_every_finding() -> None:
    named = re.findall(r"`([\w-]+\.sh)`", PAGE.read_text())
    assert sorted(set(named)) == [path.name for path in FINDINGS]
