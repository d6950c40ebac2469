"""Every page: it loads from its own server alone, without errors, in both themes and at both widths."""

import os
import re
from itertools import product
from pathlib import Path
from time import monotonic

import pytest
from page_visit import NAMES, SITE, pages

from openwmma.cli import main as openwmma

pytestmark = pytest.mark.browser

WIDTHS = (1280, 360)
THEMES = ("light", "dark")
MIN_TEXT_PIXELS = 11
TEXT_SIZES = """() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const element = node.parentElement;
        if (!/[0-9]/.test(node.data) || !element.checkVisibility()) continue;
        const scale = element instanceof SVGElement ? element.getScreenCTM().a : 1;
        found.push([parseFloat(getComputedStyle(element).fontSize) * scale, node.data.trim()]);
    }
    return found;
}"""
MEGABYTE = 1 << 20


@pytest.mark.parametrize(("name", "width", "theme"), [*product(NAMES, WIDTHS, THEMES)])
def test_a_page_loads_cleanly(visit, name, width, theme):
    found = visit(name, width=width, color_scheme=theme)
    found.screenshot(f"{name}-{width}-{theme}")
    assert found.errors == []
    assert found.foreign == []
    assert found.overflow() <= 0
    assert found.violations() == []
    sizes = found.page.evaluate(TEXT_SIZES)
    assert [(size, text) for size, text in sizes if size < MIN_TEXT_PIXELS] == []


def test_an_explanation_fits_a_phone(visit, tmp_path):
    page = tmp_path / "sum.html"
    options = [
        "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16",
        "--a=2048,1,1e-5",
        "--b=1,1,1",
        f"--html={page}",
    ]
    assert openwmma(["explain", *options]) == 0
    found = visit("index", width=360, is_mobile=True)
    found.page.goto(page.as_uri())
    found.screenshot("explanation-360")
    assert found.overflow() <= 0
    assert found.page.locator("pre.table").first.evaluate("(table) => table.scrollWidth > table.clientWidth")
    assert min(size for size, _ in found.page.evaluate(TEXT_SIZES)) >= MIN_TEXT_PIXELS


@pytest.mark.parametrize("page", pages(), ids=lambda page: page["name"])
def test_a_page_has_its_title_and_is_marked_in_the_navigation(visit, page):
    found = visit(page["name"], wait=False).page
    assert found.title() == f"{page['title']} - openwmma"
    assert found.locator("nav a[aria-current=page]").inner_text() == page["navigation"]
    assert found.locator("h1").count() == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_to_a_page_and_to_a_place_in_it(name):
    text = (SITE / f"{name}.html").read_text()
    links = re.findall(r'href="([^"]*)"', text)
    assert len(links) > len(NAMES)
    for link in links:
        file, _, fragment = link.partition("#")
        target = SITE / (file or f"{name}.html")
        assert target.is_file(), link
        if fragment and "=" not in fragment:
            assert f'id="{fragment}"' in target.read_text(), link


@pytest.mark.parametrize("name", NAMES)
def test_what_a_page_loads_is_small(visit, name):
    assert visit(name).own_bytes() < 300_000


def test_the_site_is_small():
    assert sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) < 25 * MEGABYTE


def test_a_page_forbids_what_is_not_of_its_server(visit):
    found = visit("index")
    script = "fetch('http://127.0.0.1:9/').then(() => 'loaded', () => 'refused')"
    assert found.page.evaluate(script) == "refused"
    assert any("Content Security Policy" in error for error in found.errors)


def test_the_theme_is_chosen_by_keyboard_and_stays(visit):
    found = visit("index", color_scheme="light").page
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light = found.evaluate(background)
    found.locator("#theme-toggle").focus()
    found.keyboard.press("Enter")
    dark = found.evaluate(background)
    assert dark != light
    assert found.locator("#theme-toggle").inner_text() == "Light theme"
    found.goto(found.url.replace("index", "fragments"))
    assert found.evaluate(background) == dark


def test_the_first_tab_skips_the_navigation(visit):
    found = visit("index").page
    found.keyboard.press("Tab")
    assert found.evaluate("document.activeElement.textContent") == "Skip to the content"
    found.keyboard.press("Enter")
    assert found.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("name", NAMES)
def test_every_control_is_reached_by_tab(visit, name):
    found = visit(name).page
    wanted = found.evaluate(
        """[...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
            .filter((element) => !element.disabled && element.checkVisibility()).length"""
    )
    reached = set()
    for _ in range(wanted + 5):
        found.keyboard.press("Tab")
        reached.add(
            found.evaluate(
                "[...document.querySelectorAll('*')].indexOf(document.activeElement)",
            )
        )
    body = found.evaluate("[...document.querySelectorAll('*')].indexOf(document.body)")
    assert len(reached - {body}) >= wanted


def processor_seconds():
    """Processor time of each process below this one, which are the browser's."""
    parents, times = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        parents[int(folder.name)] = int(fields[1])
        times[int(folder.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_below(process):
        while process in parents and process != os.getpid():
            process = parents[process]
        return process == os.getpid()

    return {process: time for process, time in times.items() if is_below(process) and process != os.getpid()}


@pytest.mark.parametrize(("name", "seconds"), [("index", 2), ("microscope", 5)])
def test_a_page_is_usable_soon(visit, name, seconds):
    """The fastest of three visits without a cache; beside other programs its processor time counts."""
    times = []
    for _ in range(3):
        start, before = monotonic(), processor_seconds()
        found = visit(name)
        wall = monotonic() - start
        spent = sum(time - before.get(process, 0) for process, time in processor_seconds().items())
        times.append(min(wall, spent))
        found.close()
    print(f"{name}: {min(times):.2f} s")
    assert 0 < min(times) < seconds
