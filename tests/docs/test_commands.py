"""Each line of README, tutorials and how-to guides runs as written, or a table says what it needs."""

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_steps import PAGES, PYTHON, ROOT, Step, steps_of

TABLE = tomllib.loads(Path(__file__).with_name("commands.toml").read_text())
NEEDS = {name: reason for reason, names in TABLE["needs"].items() for name in names}
CHANGES = re.compile(r"(wall time +│) [^│]*│")
"""Of what a line prints, what is not the same each time."""

SESSION = """
import contextlib, io, json, sys, traceback
names = {"__name__": "page"}
for line in sys.stdin:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(json.loads(line), "page", "exec"), names)
        print(json.dumps([0, printed.getvalue()]), flush=True)
    except BaseException:
        print(json.dumps([1, traceback.format_exc()]), flush=True)
"""


def row_of(page: str, step: Step, rows: dict[str, str]) -> str | None:
    """The name under which a table has a step: its page may be named before it."""
    return next((name for name in (step.name, f"{page}: {step.name}") if name in rows), None)


def test_every_row_of_the_table_is_on_a_page() -> None:
    steps = [(page, step) for page in PAGES for step in steps_of(page)]
    assert len(steps) > 120
    for rows in (NEEDS, TABLE["instead"], TABLE["exits"]):
        used = {row_of(page, step, rows) for page, step in steps}
        assert set(rows) - used == set()
    names = {step.name for _, step in steps}
    assert {
        "make demo",
        "openwmma layout d f16 m16n16k16",
        "git apply docs/tutorials/labs/format.patch",
    } <= names
    assert not set(NEEDS) & {*TABLE["instead"], *TABLE["exits"]}


def test_lines_are_found_in_every_kind_of_block(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "text\n\n    make demo\n    openwmma run \\\n        x   # why\n\ntext\n\n"
        "    for i in x:\n      y\n\n"
        '1. do\n\n   ```sh\n   python -c "a\n   b"\n   ```\n\n'
        "```console\n$ openwmma layout\nT0\n$ git diff\n```\n\n```python\nx = 1\n```\n\n```text\n1\n```\n"
    )
    found = [(step.name, step.shown.strip()) for step in steps_of(str(page))]
    assert found == [
        ("make demo", ""),
        ("openwmma run x", ""),
        ('python -c "a b"', ""),
        ("openwmma layout", "T0"),
        ("git diff", ""),
        ("x = 1", "1"),
    ]
    page.write_text("```fish\nls\n```\n")
    with pytest.raises(ValueError, match="known language, not fish"):
        steps_of(str(page))


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the repository as they are now, committed to a repository of their own."""
    folder = tmp_path_factory.mktemp("clone") / "openwmma"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    author = ("-c", "user.name=reader", "-c", "user.email=reader@example.org")
    for arguments in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "clone")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


class Reader:
    """Runs the steps of a page in a clone, and holds the values of its Python."""

    def __init__(self, folder: Path) -> None:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        self.options = {
            "cwd": folder,
            "env": os.environ | {"PYTHONPATH": str(folder), "PATH": path, "COLUMNS": "100"},
            "text": True,
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
        }
        self.python = subprocess.Popen([sys.executable, "-c", SESSION], **self.options)

    def run(self, step: Step) -> tuple[int, str]:
        """Exit code and output."""
        if step.kind == PYTHON:
            print(json.dumps(step.text), file=self.python.stdin, flush=True)
            code, output = json.loads(self.python.stdout.readline())
            return code, output
        text = TABLE["instead"].get(step.name, step.text)
        options = self.options | {"stdin": subprocess.DEVNULL}
        ran = subprocess.run(
            ["bash", "-c", text], **options, stderr=subprocess.STDOUT, timeout=1800, check=False
        )
        return ran.returncode, ran.stdout

    def close(self) -> None:
        self.python.communicate()


@pytest.fixture
def reader(clone: Path) -> Iterator[Reader]:
    """At a clone without what other pages have left."""
    subprocess.run(["git", "checkout", "-qf", "HEAD", "--", "."], cwd=clone, check=True)
    subprocess.run(["git", "clean", "-qfd"], cwd=clone, check=True)
    reader = Reader(clone)
    yield reader
    reader.close()


def same(expected: str, found: str) -> bool:
    """Equal but for spaces and times; ``...`` stands for anything."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    expected, found = (CHANGES.sub(r"\1 │", text).strip() + "\n" for text in (expected, found))
    return doctest.OutputChecker().check_output(expected, found, flags)


@pytest.mark.long
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(not row_of(page, s, NEEDS) for s in steps_of(page))]
)
def test_every_line_of_a_page_runs_as_written(page: str, reader: Reader) -> None:
    wrong = []
    for step in steps_of(page):
        if row_of(page, step, NEEDS):
            continue
        code, output = reader.run(step)
        expected = TABLE["exits"].get(row_of(page, step, TABLE["exits"]), 0)
        if code != expected or "Traceback" in output:
            wrong.append(f"{step.name}: exit code {code}\n{output[-2000:]}")
        elif step.shown and not same(step.shown, output):
            wrong.append(f"{step.name}: the page shows\n{step.shown}\nand it prints\n{output}")
    assert not wrong, "\n\n".join(wrong)
