"""One page in the browser, with everything that it loaded and every error that it had."""

import gzip
import json
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Response

REPOSITORY = Path(__file__).parents[2]
SITE = REPOSITORY / "build" / "site"
SCREENSHOTS = REPOSITORY / "build" / "site-screenshots"
AXE = REPOSITORY / "site" / "node_modules" / "axe-core" / "axe.min.js"
HEIGHT = 900
TIMEOUT_SECONDS = 60
POLL_MILLISECONDS = 20


def pages() -> list[dict[str, str]]:
    """The pages in the order of the navigation."""
    found: list[dict[str, str]] = json.loads((REPOSITORY / "site" / "pages.json").read_text())
    return found


NAMES = [page["name"] for page in pages()]


def wait_until(page: "Page", expression: str) -> None:
    """Poll until an expression is true; the pages' policy forbids Playwright's own `wait_for_function`."""
    end = monotonic() + TIMEOUT_SECONDS
    while not page.evaluate(expression):
        if monotonic() > end:
            raise TimeoutError(f"{page.url}: after {TIMEOUT_SECONDS} s still not true: {expression}")
        page.wait_for_timeout(POLL_MILLISECONDS)


class Visit:
    """A page that is open.

    Attributes
    ----------
    page : playwright.sync_api.Page
    errors : list of str
        Messages of the console that are errors or warnings, exceptions, and failed requests.
    urls : list of str
        Everything that was asked for.
    """

    def __init__(
        self,
        browser: "Browser",
        address: str,
        name: str,
        *,
        width: int,
        init: str,
        wait: bool,
        options: dict[str, Any],
    ) -> None:
        self.address = address
        self.errors: list[str] = []
        self.urls: list[str] = []
        self._responses: list[Response] = []
        self._context = browser.new_context(viewport={"width": width, "height": HEIGHT}, **options)
        self._context.set_default_timeout(TIMEOUT_SECONDS * 1000)
        self.page = self._context.new_page()
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self._context.on("request", lambda request: self.urls.append(request.url))
        self._context.on("response", self._on_response)
        if init:
            self.page.add_init_script(init)
        file, mark, fragment = name.partition("#")
        self.page.goto(f"{address}{file}.html{mark}{fragment}")
        if wait:
            self.ready()

    def ready(self) -> None:
        """Wait until nothing on the page is busy."""
        wait_until(self.page, "!document.querySelector('[aria-busy=true]')")

    @property
    def foreign(self) -> list[str]:
        """Requests that went elsewhere."""
        return [url for url in self.urls if not url.startswith((self.address, "data:", "blob:"))]

    def own_bytes(self) -> int:
        """Compressed size of everything that was loaded but Pyodide."""
        own = {response.url: response for response in self._responses if "/pyodide/" not in response.url}
        return sum(len(gzip.compress(response.body())) for response in own.values())

    def violations(self) -> list[str]:
        """What axe-core finds, a line for each element."""
        self.page.evaluate(AXE.read_text())
        found: list[dict[str, Any]] = self.page.evaluate("axe.run().then((result) => result.violations)")
        return [f"{item['id']}: {node['html'][:160]}" for item in found for node in item["nodes"]]

    def screenshot(self, name: str) -> None:
        """Keep a picture of the whole page."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        widths: list[int] = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        return widths[0] - widths[1]

    def close(self) -> None:
        self._context.close()

    def _on_console(self, message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.type}: {message.text}")

    def _on_response(self, response: "Response") -> None:
        self._responses.append(response)
        if response.status >= 400:
            self.errors.append(f"{response.status} {response.url}")
