"""The files of a campaign's result: JUnit XML for CI, and pages for people."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from junitparser import Failure, JUnitXml, TestCase, TestSuite
from matplotlib.figure import Figure

from regression.campaign.identity import Identity
from regression.campaign.kind import Case, Kind, Outcome, Task, Verdict
from regression.campaign.kinds import KINDS
from sim.files import write_files

_LINES: Final = 3000
"""Of holes on the page."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """All of a campaign."""

    kind: Kind
    identity: Identity
    outcomes: Sequence[tuple[Task, Outcome]]
    failures: Sequence[Case]
    """With their commands, after `Kind.save`."""
    verdict: Verdict
    history: Sequence[tuple[str, float, int, int, float]]
    """As `regression.campaign.store.Store.history` returns it."""


def write_report(folder: Path, result: Result) -> None:
    """Write ``junit.xml`` and ``index.html`` into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    write_files({folder / "junit.xml": _junit(result), folder / "index.html": _page(result)})


def _junit(result: Result) -> bytes:
    commands = {case.name: case for case in result.failures}
    suite = TestSuite(f"{result.kind.name}, seed {result.kind.seed}")
    for task, outcome in result.outcomes:
        for case in outcome.cases:
            item = TestCase(case.name, classname=task.key)
            if case.failure:
                told = commands.get(case.name, case)
                failure = Failure(told.failure.splitlines()[0])
                failure.text = f"{told.failure}\n{told.command}"
                item.result = [failure]
            suite.add_testcase(item)
    for sentence in result.verdict.failures:
        item = TestCase(sentence, classname=result.kind.name)
        item.result = [Failure(sentence)]
        suite.add_testcase(item)
    xml = JUnitXml()
    xml.add_testsuite(suite)
    return bytes(xml.tostring())


def _page(result: Result) -> str:
    environment = Environment(
        loader=PackageLoader("regression.campaign", "pages"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("report.html").render(
        result=result,
        what=KINDS[result.kind.name][1],
        results=sum(outcome.results for _, outcome in result.outcomes),
        holes=result.verdict.holes[:_LINES],
        pictures=[_results_picture(result), _trend_picture(result)],
        history=[
            (*row, datetime.fromtimestamp(row[1], UTC).isoformat(" ", "minutes")) for row in result.history
        ],
    )


def _results_picture(result: Result) -> tuple[str, str]:
    """Results by the first word of the tasks' names: families, units, files."""
    counts: dict[str, int] = {}
    for task, outcome in result.outcomes:
        name = task.key.rpartition(" ")[0] or task.key
        counts[name] = counts.get(name, 0) + outcome.results
    shown = sorted(counts.items(), key=lambda item: -item[1])[:40][::-1]
    figure = Figure(figsize=(8, 1 + 0.25 * len(shown)), layout="constrained")
    axes = figure.subplots()
    axes.barh([name for name, _ in shown], [count for _, count in shown])
    axes.set_xlabel(result.kind.unit)
    return f"{result.kind.unit} by task", _encoded(figure)


def _trend_picture(result: Result) -> tuple[str, str]:
    """Rates and failures of the campaigns of this kind in the store, the oldest first."""
    figure = Figure(figsize=(8, 3), layout="constrained")
    rate, failed = figure.subplots(1, 2)
    places = range(1, 1 + len(result.history))
    rates = [results / max(seconds, 1e-9) for _, _, results, _, seconds in result.history]
    for axes, heights, label in (
        (rate, rates, f"{result.kind.unit} in a second of a worker"),
        (failed, [row[3] for row in result.history], "failures"),
    ):
        axes.plot(list(places), heights, marker="o")
        axes.set(xlabel="campaign", ylabel=label, ylim=(0, None), xticks=list(places))
    return "campaigns over commits", _encoded(figure)


def _encoded(figure: Any) -> str:
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=100)
    return base64.b64encode(picture.getvalue()).decode()
