"""The page `hardware`: the unit stepped cycle by cycle beside golden, on the operands of the microscope."""

import json
import re
from urllib.parse import urlencode

import pytest
from hardware_in_wasm import description
from page_visit import REPOSITORY

pytestmark = pytest.mark.browser

CASES = json.loads((REPOSITORY / "site" / "pages" / "microscope" / "cases.json").read_text())


def has_multipliers(case):
    formats = {"s8": "i8", "u8": "i8", "s4": "i4", "u4": "i4", "e4m3": "fp8", "e5m2": "fp8"}
    return formats.get(case["a_type"], case["a_type"]) in description("unit")["formats"]


@pytest.fixture(scope="module")
def hardware(shared_visit):
    """The page with an empty queue for each test."""
    return shared_visit("hardware")


@pytest.fixture(autouse=True)
def _empty_queue(hardware):
    hardware.page.click("#clear")


def steps(page, count):
    page.evaluate(f"for (let i = 0; i < {count}; i += 1) document.querySelector('#step').click()")


def run_to_the_end(page):
    entries = page.locator("#queue li").count()
    steps(page, entries + description("unit")["latency"] + 1)


def show(page, fragment):
    """Take up operands from the address, as the microscope's link gives them."""
    page.evaluate("(fragment) => { location.hash = fragment; }", fragment)
    page.locator(f"#microscope[href='microscope.html#{fragment}']").wait_for()


def enqueue(page):
    """Press the button, and wait for an operation or a message."""
    before = page.locator("#queue li").count()
    page.click("button[type=submit]")
    page.locator(f"#queue li:nth-child({before + 1}), .error-text:visible").first.wait_for()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_prepared_case_has_its_result_and_the_signals_of_golden(hardware, case):
    page = hardware.page
    show(page, f"case={case['id']}")
    enqueue(page)
    if not has_multipliers(case):
        message = page.locator("#instruction-error").inner_text()
        assert message.startswith("the unit of this page multiplies")
        return
    run_to_the_end(page)
    assert set(page.locator("#queue li .badge").all_inner_texts()) == {"equals golden"}
    assert page.locator("#queue li .where").last.inner_text().split()[-1] == case["result"]
    page.locator("#queue button").last.click()
    assert "all bits equal; that is all of them" in page.locator("#verdict").inner_text()
    assert hardware.errors == []


def test_an_operation_enters_in_every_cycle_and_moves_on(visit):
    """As the page is when it opens: with several operations in its queue."""
    page = visit("hardware").page
    entries = page.locator("#queue li").count()
    assert entries >= 4
    steps(page, 3)
    texts = page.locator("#queue li .where").all_inner_texts()
    assert texts[:4] == ["in its cycle 3", "in its cycle 2", "in its cycle 1", "waits"]
    first = page.locator(".stage").first
    assert first.locator(".slot").all_inner_texts() == ["3", "2", "1"]
    assert page.locator("#cycle").inner_text() == "cycle 3"
    page.click("#reset")
    assert page.locator("#cycle").inner_text() == "cycle 0"
    assert set(page.locator("#queue li .where").all_inner_texts()) == {"waits"}


def test_operands_come_from_the_microscope_and_go_back(hardware):
    choice = {
        "mnemonic": "wmma",
        "a_type": "bf16",
        "b_type": "bf16",
        "c_type": "f32",
        "d_type": "f32",
        "shape": "m16n16k16",
        "profile": "hopper",
        "a": "1.5,2",
        "b": "3,0.25",
        "c": "0x3f800000",
    }
    page = hardware.page
    show(page, urlencode(choice))
    assert page.input_value("#a") == "1.5,2"
    assert ".bf16." in page.locator("#ptx").inner_text()
    page.fill("#c", "7")
    address = page.get_attribute("#microscope", "href")
    assert "a=1.5%2C2" in address
    assert "c=7" in address
    assert page.url.endswith(address.removeprefix("microscope.html"))
    enqueue(page)
    run_to_the_end(page)
    assert "f32 0x41400000" in page.locator("#queue li").last.inner_text()


def test_bad_input_gets_a_message_in_place(hardware):
    page = hardware.page
    show(page, f"case={CASES[0]['id']}")
    page.fill("#b", "1, two")
    enqueue(page)
    assert "two" in page.locator("#b-error").inner_text()
    assert page.get_attribute("#b", "aria-invalid") == "true"
    assert page.locator("#queue li").count() == 0
    assert hardware.errors == []


def test_a_difference_is_reported_in_words(visit):
    """A description with another exponent bias makes golden expect other signals than the unit shows."""
    found = visit("index")
    page = found.page

    def changed(route):
        response = route.fetch()
        body = response.json()
        body["exponent_zero"]["narrow"] += 1
        route.fulfill(response=response, json=body)

    page.route("**/data/unit.json", changed)
    page.goto(page.url.replace("index", "hardware"))
    found.ready()
    run_to_the_end(page)
    text = page.locator("#verdict").inner_text()
    assert text.startswith(
        "Operation 1 differs: exponents of the products in lane 0 is 158 in hardware and 159"
    )
    assert page.locator("#signals .badge.differs").count() >= 2


def test_the_keyboard_steps_and_plays(hardware):
    page = hardware.page
    for case in CASES[:2]:
        show(page, f"case={case['id']}")
        enqueue(page)
    page.locator("#step").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator("#cycle").inner_text() == "cycle 2"
    page.select_option("#speed", "120")
    page.locator("#play").focus()
    page.keyboard.press("Space")
    page.locator("#cycle", has_text=re.compile(r"cycle ([6-9]|\d\d)")).wait_for()
    page.keyboard.press("Space")
    assert page.locator("#play").inner_text() == "Play"
    page.locator("#queue button").nth(1).focus()
    page.keyboard.press("Enter")
    assert page.locator("#verdict").inner_text().startswith("Operation 2")


def test_python_can_be_stopped_and_comes_back(visit):
    page = visit("hardware", wait=False).page
    page.locator("#stop:enabled").click()
    assert page.locator("#state").inner_text().startswith("Stopped")
    page.click("button[type=submit]")
    page.locator("#queue li").first.wait_for()
    assert page.locator("#state").inner_text() == "Ready."


def test_without_webassembly_the_page_says_so(visit):
    found = visit("hardware", init="delete globalThis.WebAssembly")
    assert "WebAssembly" in found.page.locator("#failure").inner_text()


def test_axe_finds_nothing_while_operations_are_under_way(hardware):
    for case in CASES[:3]:
        show(hardware.page, f"case={case['id']}")
        enqueue(hardware.page)
    steps(hardware.page, 16)
    assert hardware.violations() == []
