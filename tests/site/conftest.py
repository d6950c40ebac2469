"""The built pages, a server for them, and Chromium, which reports every error and foreign request."""

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from page_visit import SITE, Visit

from openwmma.commands.learn import page_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where the pages are served."""
    if not (SITE / "index.html").is_file():
        pytest.fail("the pages are not built: run `make site`")
    with page_server(SITE, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  not there for the other tests

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(address: str, browser: "Browser") -> Iterator[Any]:
    """Call it with a page's name, and options of the browser's window; it returns a `Visit`."""
    visits: list[Visit] = []

    def open_page(
        name: str, *, width: int = 1280, init: str = "", wait: bool = True, **options: Any
    ) -> Visit:
        visits.append(Visit(browser, address, name, width=width, init=init, wait=wait, options=options))
        return visits[-1]

    yield open_page
    for each in visits:
        each.close()


@pytest.fixture(scope="module")
def shared_visit(address: str, browser: "Browser") -> Iterator[Any]:
    """One page for all tests of a module: `shared_visit(name)` opens it once."""
    visits: dict[str, Visit] = {}

    def open_page(name: str) -> Visit:
        if name not in visits:
            visits[name] = Visit(browser, address, name, width=1280, init="", wait=True, options={})
        return visits[name]

    yield open_page
    for each in visits.values():
        each.close()
