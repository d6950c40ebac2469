"""``openwmma campaign coverage --changed-since``: what it judges, and that lower coverage fails it."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from openwmma.usage_error import UsageError
from regression.campaign.kinds.code_coverage import CodeCoverage, CoverageReport
from regression.code_coverage.counts import Place, Point
from regression.code_coverage.requirements import (
    BENCHES,
    EXCLUSIONS,
    NoRevision,
    RequirementError,
    change_since,
    has_hardware,
    read_benches,
    touched,
)

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "examples",
    *(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "docs"),
)

UNIT = """
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Planted(wiring.Component):
    select: In(1)
    result: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.result.eq(~self.result)
        with m.If(self.select):
            m.d.sync += self.result.eq(self.result)
        return m
"""
BRANCH = """        with m.If(self.select & ~self.select):
            m.d.sync += self.result.eq(1)
        return m
"""
BENCH = """
import cocotb
from cocotb.triggers import ClockCycles

from cocotb_tests.streams import start
from hdl.stream.planted import Planted
from sim.testbench.unit import unit_design


@cocotb.test
async def both(dut):
    await start(dut)
    for select in (0, 1, 0):
        dut.select.value = select
        await ClockCycles(dut.aclk, 5)


def test_planted(simulate):
    simulate(unit_design("planted", Planted()), __name__)
"""
ROW = '"stream/planted.py" = ["stream/test_planted.py"]\n'
SOURCE = "hdl/stream/planted.py"
IDLE = f'''
[[exclusion]]
file = "{SOURCE}"
kind = "line"
statement = "m.d.sync += self.result.eq(~self.result)"
reason = "planted"
'''


def git(folder, *arguments):
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--message", "a")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The sources in a repository of their own, with a unit that its testbench covers."""
    folder = tmp_path_factory.mktemp("project")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for built in (ROOT / "build" / "cocotb").glob("runtime-*"):  # the same in every simulation
        shutil.copytree(built, folder / "build" / "cocotb" / built.name)
    (folder / ".gitignore").write_text("__pycache__/\nbuild/\n")
    git(folder, "init", "--quiet")
    benches = (folder / BENCHES).read_text()
    commit(folder, {SOURCE: UNIT, "cocotb_tests/stream/test_planted.py": BENCH, BENCHES: ROW + benches})
    return folder


@pytest.fixture
def judge(project, tmp_path):
    """Judges what was changed in the project; exit code and output."""
    places = ("--store", str(tmp_path / "store.sqlite"), "--report", str(tmp_path / "report"))

    def run(*options):
        ran = subprocess.run(
            [sys.executable, "-m", "openwmma", "campaign", "coverage", "--jobs", "1", *places, *options],
            cwd=project,
            env=os.environ | {"PYTHONPATH": str(project)},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        return ran.returncode, ran.stdout + ran.stderr

    yield run
    git(project, "checkout", ".")


def test_a_branch_without_test_and_a_stale_exclusion_fail(project, judge):
    (project / SOURCE).write_text(UNIT.replace("        return m\n", BRANCH))
    with (project / EXCLUSIONS).open("a") as exclusions:
        exclusions.write(IDLE)
    code, output = judge("--changed-since", "HEAD")
    assert code == 1
    assert f"touched since HEAD: {SOURCE}\n" in output
    assert f"{SOURCE}: line coverage must be at least 100.0%, not 2 of 3 (66.67%)" in output
    assert f"an exclusion must exclude something; line * in {SOURCE} does not" in output


def test_a_change_that_is_covered_passes(project, judge):
    (project / SOURCE).write_text(f"# A comment.{UNIT}")
    code, output = judge("--changed-since", "HEAD")
    assert code == 0, output
    assert "1 tasks, 1 tests, 0 failures" in output
    assert f"touched since HEAD: {SOURCE}\n" in output


def test_an_unchanged_tree_passes(judge):
    code, output = judge("--changed-since", "HEAD")
    assert code == 0, output
    assert "0 tasks" in output
    assert "no hardware, testbench or exclusion has changed since HEAD" in output


@pytest.fixture
def repository(tmp_path):
    """A small repository of two commits, whose second one adds a unit."""
    folder = tmp_path / "origin"
    folder.mkdir()
    git(folder, "init", "--quiet")
    commit(
        folder,
        {
            "hdl/a.py": "def _logic(",
            "hdl/config.py": "",
            "cocotb_tests/x/bench.py": "",
            "cocotb_tests/x/test_a.py": "from cocotb_tests.x.bench import a",
            "cocotb_tests/x/test_b.py": "",
            BENCHES: "",
            EXCLUSIONS: "",
        },
    )
    commit(folder, {"hdl/b.py": "def _logic("})
    return folder


TABLE = read_benches('"a.py" = ["x/test_a.py"]\n"c.py" = ["x/test_b.py"]')


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("hdl/a.py", "def _logic(self", ["hdl/a.py"]),
        ("hdl/new.py", "def _logic(", ["hdl/new.py"]),
        ("hdl/config.py", "a = 1", []),
        ("cocotb_tests/x/test_b.py", "a = 1", ["hdl/c.py"]),
        ("cocotb_tests/x/bench.py", "a = 1", ["hdl/a.py"]),
        (BENCHES, '"c.py" = ["x/test_a.py"]', ["hdl/c.py"]),
        (EXCLUSIONS, '[[exclusion]]\nfile = "hdl/c*"\nkind = "line"\nreason = "a"', ["hdl/c.py"]),
        ("golden/a.py", "a = 1", []),
    ],
)
def test_sources_that_a_change_touches(repository, file, text, expected):
    (repository / file).parent.mkdir(exist_ok=True)
    (repository / file).write_text(text)
    assert touched(change_since(repository, "HEAD"), TABLE) == expected


def test_commits_count_too_and_those_of_others_do_not(repository):
    git(repository, "checkout", "--quiet", "-b", "other", "HEAD^")
    commit(repository, {"hdl/other.py": "def _logic("})
    git(repository, "checkout", "--quiet", "-")
    assert touched(change_since(repository, "other"), TABLE) == ["hdl/b.py"]


def test_a_shallow_clone_says_so_and_counts_what_is_not_committed(repository, tmp_path):
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{repository}", str(clone))
    (clone / "hdl" / "a.py").write_text("def _logic(self")
    change = change_since(clone, "HEAD^")
    assert touched(change, TABLE) == ["hdl/a.py"]
    assert change.remark == (
        "this clone is shallow, without HEAD^: only changes that are not committed count; "
        "`git fetch --unshallow` completes it"
    )


def test_a_folder_without_git_says_so(tmp_path):
    change = change_since(tmp_path, "HEAD")
    assert (change.files, change.remark) == ((), "there is no git repository, so no change is known")


def test_an_unknown_revision_is_refused(repository):
    with pytest.raises(NoRevision, match=r"^expected a revision of this repository, not nothing$"):
        change_since(repository, "nothing")
    with pytest.raises(UsageError, match=r"^--changed-since: it chooses the testbenches"):
        CodeCoverage(1, {"path": ["cocotb_tests/stream"], "changed-since": "HEAD"}).require()


def test_every_source_with_hardware_has_testbenches():
    benches = read_benches((ROOT / BENCHES).read_text())
    sources = [
        path.relative_to(ROOT).as_posix() for path in (ROOT / "hdl").rglob("*.py") if has_hardware(path)
    ]
    assert not set(sources) - set(benches)
    assert not [
        file
        for file in {*benches, *frozenset().union(*(item.files for item in benches.values()))}
        if not (ROOT / file).exists()
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('toggle = 0.9\nreason = " "', "a.py: a lower share must have a reason, and a reason a lower share"),
        ('reason = "a"', "a.py: a lower share must have a reason, and a reason a lower share"),
        ('line = 1.0\nreason = "a"', "a.py: shares must be lower than .*, not {'line': 1.0}"),
        ("lines = 0.9", "a.py: expected benches, line, branch, toggle and reason, not {'lines'}"),
    ],
)
def test_malformed_rows(row, message):
    with pytest.raises(RequirementError, match=message):
        read_benches(f'["a.py"]\nbenches = ["x/test_a.py"]\n{row}')


def points(kind, reached, count):
    place = Place("hdl/a.py", 1)
    return Counter({Point(*place, kind, f"a[{bit}] 0->1"): int(bit < reached) for bit in range(count)})


@pytest.mark.parametrize(
    ("reached", "failure"),
    [
        (89, "hdl/a.py: toggle coverage must be at least 90.0%, not 89 of 100 (89.00%)"),
        (90, None),
        (98, None),
        (99, "hdl/a.py: toggle coverage needs no lower share, since it is 99 of 100 (99.00%)"),
    ],
)
def test_a_lower_share_must_be_kept_and_needed(reached, failure):
    benches = read_benches('["a.py"]\nbenches = ["x/test_a.py"]\ntoggle = 0.9\nreason = "a"')
    report = CoverageReport(counts=points("toggle", reached, 100), excluded=Counter(), benches=benches)
    assert report.failures == ([failure] if failure else [])
    assert report.failures_in_all == (
        [f"toggle coverage in all must be at least 99.0%, not {reached}.00%"] if reached < 99 else []
    )
