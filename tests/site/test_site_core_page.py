"""The page `core`: programs run with chosen values and are stopped, and their waits are explained."""

import re

import numpy as np
import pytest

pytestmark = pytest.mark.browser

PROGRAMS = ("one-tile", "two-sets", "matrix-multiply", "through-memory")
RATE = 200_000


@pytest.fixture(scope="module")
def core(shared_visit):
    return shared_visit("core#program=one-tile")


def run(found):
    """Press the button and wait for the end of the comparison."""
    finished(found, lambda: found.page.click("#run"))


def choose(found, program):
    """Choose a prepared program, which runs it."""
    finished(found, lambda: found.page.select_option("#prepared", program))
    return found.page


def finished(found, action):
    before = found.page.get_attribute("#outcome", "data-number")
    action()
    shown = f"#outcome:not([data-number='{before}']):visible"
    found.page.locator(shown).first.wait_for()
    found.ready()


def to_cycle(page, cycle):
    page.evaluate(
        "(cycle) => { const slider = document.querySelector('#cycle'); slider.value = cycle;"
        "slider.dispatchEvent(new Event('input')); }",
        str(cycle),
    )


def to_the_end(page):
    to_cycle(page, page.get_attribute("#cycle", "max"))


def matrix(page, buffer):
    """The shown elements of a buffer."""
    page.select_option("#buffer", buffer)
    rows = page.locator("#memory tbody tr").all_inner_texts()
    return np.array([[float(text.replace("\u2212", "-")) for text in row.split()[1:]] for row in rows])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_leaves_what_golden_leaves(core, name):
    page = choose(core, name)
    assert page.locator("#outcome").inner_text().startswith("The program ended:")
    assert page.locator("#check").inner_text().startswith("Equal to golden: 64 registers of 32 lanes")
    assert core.errors == []


def test_a_run_is_shown_at_its_end_with_the_product(core):
    page = choose(core, "matrix-multiply")
    page.select_option("[name=n-value]", "16")
    for name in "ABD":
        page.select_option(f"[name={name}-columns]", "16")
    run(core)
    assert page.input_value("#cycle") == page.get_attribute("#cycle", "max")
    a, b, d = (matrix(page, name) for name in ("A", "B", "D"))
    assert d.shape == (16, 16)
    assert page.locator("#memory").evaluate("(place) => place.scrollHeight <= place.clientHeight")
    np.testing.assert_array_equal(a @ b, d)
    assert np.any(d)
    to_cycle(page, 0)
    assert not np.any(matrix(page, "D"))


def test_the_text_of_a_program_is_shown_and_not_changed(core):
    page = choose(core, "one-tile")
    assert "wmma.mma.sync" in page.input_value("#text")
    assert page.locator("#text").get_attribute("readonly") is not None


def test_other_contents_and_numbers_are_used(core):
    page = choose(core, "matrix-multiply")
    page.select_option("[name=B-fill]", "identity")
    page.select_option("[name=n-value]", "16")
    for name in "ABD":
        page.select_option(f"[name={name}-columns]", "16")
    run(core)
    to_the_end(page)
    np.testing.assert_array_equal(matrix(page, "D")[:16], matrix(page, "A")[:16])


def test_why_an_instruction_waits(core):
    page = choose(core, "one-tile")
    page.select_option("#jump", label="4: multiply (line 35)")
    lines = page.locator("#now li").all_inner_texts()
    assert lines[0] == "3 instructions overlap."
    wait = "reads registers 0 to 7, which 1: load a (line 27) has not written yet"
    assert f"4: multiply (line 35) waits: it {wait}." in lines


def test_a_load_waits_for_bytes_that_a_store_still_writes(core):
    page = choose(core, "through-memory")
    page.select_option("#jump", "5")
    text = page.locator("#now").inner_text()
    assert re.search(r"6: load c \(line \d+\) waits: it touches bytes of memory that 5: store d", text)


def test_loads_overlap_a_multiply(core):
    page = choose(core, "two-sets")
    last = int(page.get_attribute("#cycle", "max"))
    seen = set()
    for cycle in range(0, last, 25):
        to_cycle(page, cycle)
        text = page.locator("#now").inner_text()
        seen.add(("is in the load unit" in text, "is in the tile multiplier" in text))
    assert (True, True) in seen


def test_registers_show_their_lanes(core):
    page = choose(core, "one-tile")
    to_the_end(page)
    page.locator("[data-register='16']").focus()
    page.keyboard.press("Enter")
    page.select_option("#format", "f32")
    assert page.locator("#lanes h3").inner_text() == "Register 16"
    values = page.locator("#lanes td").all_inner_texts()
    to_cycle(page, 0)
    assert set(page.locator("#lanes td").all_inner_texts()) == {"0"}
    to_the_end(page)
    d = matrix(page, "D")
    # Lane 4 g + t holds in its first register element (g, 2 t) of an accumulator of f32.
    expected = [d[lane // 4, 2 * (lane % 4)] for lane in range(32)]
    np.testing.assert_array_equal([float(value.replace("\u2212", "-")) for value in values], expected)


def test_a_fault_is_explained(core):
    page = choose(core, "beyond-memory")
    text = page.locator("#outcome").inner_text()
    assert re.match(r"Instruction 5: store d \(line \d+\) failed: nothing lives at the address", text)
    assert page.locator("#check").is_hidden()
    assert core.errors == []


def test_a_run_can_be_stopped(visit):
    found = visit("core#program=matrix-multiply", wait=False)
    page = found.page
    page.locator("#check", has_text="Comparing").wait_for()
    page.click("#stop")
    assert page.locator("#state").inner_text() == "Stopped."
    assert page.locator("#check").is_hidden()
    page.select_option("#prepared", "one-tile")
    page.locator("#check", has_text="Equal to golden").wait_for()


def test_the_keyboard_moves_the_cursor(core):
    page = choose(core, "one-tile")
    page.locator("#cycle").focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.locator("#cycle-text").inner_text().startswith("3 of ")
    page.select_option("#pace", "100")
    page.locator("#step").focus()
    page.keyboard.press("Enter")
    assert page.locator("#cycle-text").inner_text().startswith("103 of ")
    page.locator("#timeline button").nth(3).focus()
    page.keyboard.press("Enter")
    assert page.locator("#jump option:checked").inner_text() == "4: multiply (line 35)"


def test_the_core_is_fast(core):
    """The fastest of some runs, as other programs may run meanwhile."""
    page = choose(core, "matrix-multiply")
    page.select_option("[name=n-value]", "64")
    rates = []
    for _ in range(8):
        run(core)
        rates.append(int(page.get_attribute("#outcome", "data-rate")))
        if rates[-1] > RATE:
            break
    print(f"{max(rates)} cycles a second")
    assert max(rates) > RATE
    assert "Not compared" in page.locator("#check").inner_text()


def test_without_webassembly_the_page_says_so(visit):
    found = visit("core", init="delete globalThis.WebAssembly")
    assert "WebAssembly" in found.page.locator("#failure").inner_text()


def test_axe_finds_nothing_in_the_middle_of_a_run(core):
    to_cycle(choose(core, "two-sets"), 400)
    assert core.violations() == []
