"""`make coverage`: runs the testbenches with Verilator's counters, and judges what they reach."""

import argparse
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import track

from regression.code_coverage.counts import Point, read_counts
from regression.code_coverage.exclusions import apply_exclusions, read_exclusions
from regression.code_coverage.report import CoverageReport

PROJECT: Final = Path(__file__).parents[2]
HARDWARE: Final = ("hdl/",)
PLUGIN: Final = "regression.code_coverage.plugin"
EXCLUSIONS: Final = Path(__file__).parent / "exclusions.toml"


def main() -> int:
    """Run the suite; returns 0 when enough is reached, 1 when not, and pytest's code when a test fails."""
    parser = argparse.ArgumentParser(prog="python -m regression.code_coverage", description=__doc__)
    parser.add_argument("--jobs", default="2", help="testbenches at once")
    parser.add_argument(
        "--out", type=Path, default=PROJECT / "build" / "coverage", help="folder of the report"
    )
    parser.add_argument("--report-only", action="store_true", help="judge what the last run has counted")
    parser.add_argument("tests", nargs="*", default=["cocotb_tests"], help="what pytest is given")
    options = parser.parse_args()
    data = options.out / "data"
    if not options.report_only:
        shutil.rmtree(data, ignore_errors=True)
        marks = "(not long or coverage) and not icarus"
        chosen = ["-n", options.jobs, "--dist", "worksteal", "-m", marks, *options.tests]
        command = [sys.executable, "-m", "pytest", "-p", PLUGIN, f"--code-coverage={data}", *chosen]
        tests = subprocess.run(command, cwd=PROJECT, check=False)
        if tests.returncode:
            return tests.returncode
    counts: Counter[Point] = Counter()
    for verilog in track(sorted(data.glob("*.v")), "counts", console=Console(stderr=True), transient=True):
        counts.update(read_counts(verilog, verilog.with_suffix(".dat"), PROJECT))
    counts = Counter(
        {point: count for point, count in counts.items() if point.place.file.startswith(HARDWARE)}
    )
    kept, excluded = apply_exclusions(counts, read_exclusions(EXCLUSIONS), PROJECT)
    seen = {point.place.file for point in counts}
    report = CoverageReport(
        counts=kept, excluded=excluded, unseen=[file for file in _hardware_files() if file not in seen]
    )
    page = options.out / "coverage.md"
    page.write_text(report.page())
    console = Console()
    console.print(report.table())
    console.print(
        f"holes: {len(report.holes())}, files not simulated: {len(report.unseen)}, listed in {page}",
        highlight=False,
    )
    for failure in report.failures:
        print(failure, file=sys.stderr)
    return 1 if report.failures else 0


def _hardware_files() -> list[str]:
    """The sources of units, as against those of layouts and constants."""
    return [
        path.relative_to(PROJECT).as_posix()
        for folder in HARDWARE
        for path in sorted((PROJECT / folder).rglob("*.py"))
        if "def elaborate(" in path.read_text()
    ]


if __name__ == "__main__":
    sys.exit(main())
