"""The report of a campaign in Chromium: summary, pictures, failures with their commands, and text as text."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from regression.campaign.kind import Case, Outcome, Task, Verdict
from regression.campaign.kinds.mutation import Mutation
from regression.campaign.report import Result, write_report
from regression.identity import Identity
from regression.table import Table

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

MARKUP = "<script>document.title = 'changed'</script> & <b>bold</b>"
COMMAND = "openwmma campaign mutation --seed 3 --only 'uart'"


def test_the_report_in_a_browser(browser: "Browser", tmp_path: Path) -> None:
    failure = Case(name="uart", failure=MARKUP, command=COMMAND)
    outcomes = [
        (Task(key=name, arguments={}), Outcome(cases=(case,), results=results))
        for name, case, results in (("uart", failure, 5), ("bridge", Case(name="bridge"), 7))
    ]
    verdict = Verdict(
        failures=["killed must be more"],
        lines=["5 of 12"],
        holes=["hdl/core.py:7: line"],
        tables=[Table(title="survivors", header=("unit", "fault"), rows=[("uart", MARKUP)])],
    )
    result = Result(
        kind=Mutation(3, Mutation.options),
        identity=Identity(commit="0123456789ab", tools={"python": "3.11.7"}),
        outcomes=outcomes,
        failures=[failure],
        verdict=verdict,
        history=[("fedcba9876543", 0.0, 9, 0, 3.0), ("0123456789ab", 60.0, 12, 1, 2.0)],
    )
    write_report(tmp_path, result)
    page = browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    address = (tmp_path / "index.html").as_uri()
    page.goto(address)
    assert page.title() == "openwmma: mutation"
    assert page.inner_text("#summary") == "2 tasks, 12 mutants, 1 failures."
    assert page.inner_text("pre:not(.command)") == MARKUP
    assert page.inner_text("pre.command") == COMMAND
    assert page.locator("td", has_text="bold").inner_text() == MARKUP
    widths = page.eval_on_selector_all("img", "images => images.map(image => image.naturalWidth)")
    assert len(widths) == 2
    assert min(widths) >= 800
    body = page.inner_text("body")
    for text in (
        "killed must be more",
        "5 of 12",
        "hdl/core.py:7: line",
        "fedcba9876543",
        "1970-01-01 00:01",
    ):
        assert text in body
    assert problems == []
    assert [url for url in requests if not url.startswith("data:")] == [address]
    page.close()
