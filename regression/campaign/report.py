"""What people see of a campaign: a line of progress, tables, JUnit XML for CI, and pages."""

import base64
import io
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from junitparser import Failure, JUnitXml, TestCase, TestSuite
from matplotlib.figure import Figure
from rich.console import Console
from rich.live import Live

from regression.campaign.client import Campaign
from regression.campaign.kind import Case, Kind, Outcome, Task, Verdict
from regression.campaign.kinds import KINDS
from regression.identity import Identity
from sim.files import write_files

_LOG_SECONDS: Final = 30

_LONGEST: Final = 1e9
"""Seconds that are shown as the time left."""


@contextmanager
def progress(console: Console, campaign: Campaign) -> Iterator[Callable[[], None]]:
    """A line that is kept up to date on a terminal; elsewhere a line every half minute.

    What it yields is to be called now and then.
    """
    began = time.monotonic()
    if console.is_terminal:
        with Live(console=console, refresh_per_second=2, transient=True) as live:
            yield lambda: live.update(
                console.render_str(_line(campaign, time.monotonic() - began), highlight=True)
            )
        return
    said = began

    def tell() -> None:
        nonlocal said
        if time.monotonic() - said >= _LOG_SECONDS:
            said = time.monotonic()
            console.print(_line(campaign, said - began))

    yield tell


def _line(campaign: Campaign, seconds: float) -> str:
    kind, (tasks, results) = campaign.kind, campaign.resumed
    rate = (campaign.results - results) / max(seconds, 1e-9)
    of_tasks = f" of {campaign.total}" if campaign.total is not None else ""
    parts = [
        f"{kind.name}: {campaign.tasks}{of_tasks} tasks",
        f"{campaign.results} {kind.unit}",
        f"{rate:.1f} {kind.unit}/s",
        f"{campaign.failures} failures",
        f"{campaign.workers} workers",
    ]
    if campaign.holes is not None:
        parts.append(f"{campaign.holes} bins missing")
    left = []
    if campaign.amount.seconds is not None:
        left.append(campaign.amount.seconds - seconds)
    if campaign.amount.results is not None and rate:
        left.append((campaign.amount.results - campaign.results) / rate)
    if campaign.total is not None and campaign.tasks > tasks:
        left.append((campaign.total - campaign.tasks) * seconds / (campaign.tasks - tasks))
    if left:
        parts.append(f"{timedelta(seconds=round(max(0.0, min(*left, _LONGEST))))} left")
    return ", ".join(parts)


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
