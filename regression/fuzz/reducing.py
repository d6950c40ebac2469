"""Shrinks a failing input to a small one, and keeps it as a folder."""

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from regression.fuzz.kind import Files, Outcome
from regression.fuzz.worker import KINDS, Input, Limits, Worker, make
from regression.random_programs.failing import minimise

_DESCRIPTION = "finding.json"
_MOST_PIECES = 3000


def shrink(
    drawn: Input,
    outcome: Outcome,
    limits: Limits,
    seconds: float = 60,
    prepare: Callable[[], None] | None = None,
) -> tuple[Files, Outcome]:
    """Leave out lines, then smaller pieces, as long as the same failure comes; what is left, and its failure.

    An input that takes too long is tried with a quarter of the time. After `seconds` nothing more is tried.
    `prepare` is called in the worker before its first input.
    """
    files = make(drawn.kind, drawn.seed, drawn.number) if drawn.files is None else drawn.files
    pieces, end = KINDS[drawn.kind].pieces, time.monotonic() + seconds
    if pieces is None:
        return files, outcome
    last = outcome
    with Worker(replace(limits, seconds=limits.seconds / 4), prepare) as worker:

        def fails(files: Files, name: str, parts: Sequence[str]) -> bool:
            nonlocal last
            if time.monotonic() > end:
                return False
            found = worker.run(replace(drawn, files=_with(files, name, parts)))
            same = found.is_failure and _class(found) == _class(outcome)
            last = found if same else last
            return same

        for pattern in (r"[^\n]*\n|[^\n]+", pieces):
            for name, content in tuple(files.items()):
                parts = re.findall(pattern, content.decode("latin-1"), re.DOTALL)
                if len(parts) <= _MOST_PIECES and fails(files, name, parts):
                    files = _with(files, name, minimise(parts, partial(fails, files, name)))
    return files, last


def _with(files: Files, name: str, parts: Sequence[str]) -> Files:
    """The files, one of them made of the parts."""
    return {**files, name: "".join(parts).encode("latin-1")}


def _class(outcome: Outcome) -> str:
    """Failures of one class; a process may end at any place of what takes too long."""
    ended = outcome.what.startswith(("waits too long", "takes too long"))
    return outcome.what.split(":")[0] if ended else outcome.what


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
