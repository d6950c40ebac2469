"""Inputs that failed, in folders: each with its files, and what was found."""

import json
from pathlib import Path

from regression.fuzz.kind import Files, Outcome
from regression.fuzz.worker import Input

_DESCRIPTION = "finding.json"


def save(folder: Path, drawn: Input, files: Files, outcome: Outcome) -> Path:
    """Write an input and its failure; the folder."""
    place = folder / f"{drawn.kind}-{drawn.seed}-{drawn.number}"
    place.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (place / name).write_bytes(content)
    described = {"kind": drawn.kind, "seed": drawn.seed, "number": drawn.number, "files": list(files)}
    text = json.dumps({**described, "what": outcome.what, "detail": outcome.detail.splitlines()}, indent=1)
    (place / _DESCRIPTION).write_text(text + "\n")
    return place


def load(folder: Path) -> Input:
    """The input that `save` wrote."""
    described = json.loads((folder / _DESCRIPTION).read_text())
    files = {name: (folder / name).read_bytes() for name in described["files"]}
    return Input(described["kind"], described["seed"], described["number"], files)
