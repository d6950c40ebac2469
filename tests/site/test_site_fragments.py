"""The page of fragments: places equal the golden layouts, by pointer, by keyboard and by number."""

import json
import re
from collections import Counter
from itertools import product
from urllib.parse import urlencode

import numpy as np
import pytest
from page_visit import REPOSITORY, wait_until

import golden
from golden.matrix_descriptors import MatrixDescriptor
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import FAMILIES

pytestmark = pytest.mark.browser

FRAGMENTS = sorted(
    {
        (family.mnemonic, use, type, str(shape), family.fixed_layout)
        for family in FAMILIES
        for shape in family.shapes
        for use in "abcd"
        for type in (family.multiplicands if use in "ab" else family.accumulators)
    }
)

MARKED = """
(name) => [...document.querySelectorAll(`#${name} .chosen`)].map((mark) => mark.getBBox())
    .map((box) => [box.x + box.width / 2, box.y + box.height / 2])
"""


@pytest.fixture
def fragments(shared_visit):
    return shared_visit("fragments").page


def show(page, **choice):
    fragment = urlencode(choice)
    page.evaluate(f"location.hash = {json.dumps(fragment)}")
    wait_until(
        page, f"document.querySelector('#readout').textContent.startsWith({json.dumps(place(choice))})"
    )


def place(choice):
    return f"Element ({choice['row']}, {choice['column']}):"


@pytest.mark.parametrize(("mnemonic", "use", "type", "shape", "fixed"), FRAGMENTS)
def test_the_sentence_names_the_lane_and_register_of_golden(fragments, mnemonic, use, type, shape, fixed):
    positions = golden.fragment_layout(use, type, shape)
    random = np.random.default_rng(5)
    bits = FORMATS[type].bits
    for _ in range(2):
        lane, slot = int(random.integers(32)), int(random.integers(positions.shape[1]))
        row, column = (int(item) for item in positions[lane, slot])
        show(fragments, mnemonic=mnemonic, use=use, type=type, shape=shape, row=row, column=column)
        text = fragments.locator("#readout").inner_text()
        assert f": lane {lane} of quad {lane // 4}," in text
        word = rf"registers {slot * 2} and {slot * 2 + 1}" if bits == 64 else rf"register {slot * bits // 32}"
        assert re.search(rf"\b{word}\b", text), text
        low = slot * bits % 32
        if bits < 32:
            assert (f"bit {low}" if bits == 1 else f"bits {low} to {low + bits - 1}") in text


def test_element_5_3_of_the_lesson(fragments):
    show(fragments, mnemonic="wmma", use="a", type="f16", shape="m16n16k16", layout="row", row=5, column=3)
    assert fragments.locator("#readout").inner_text() == (
        "Element (5, 3): lane 21 of quad 5, register 0, bits 16 to 31, "
        "and again in register 4, bits 16 to 31; in memory at byte 166 (0xa6)."
    )


def test_column_major_memory_and_a_stride_move_the_address(fragments):
    choice = {"mnemonic": "wmma", "use": "a", "type": "f16", "shape": "m16n16k16", "layout": "col"}
    show(fragments, **choice, stride="16", row=5, column=3)
    assert "in memory at byte 106 (0x6a)" in fragments.locator("#readout").inner_text()
    show(fragments, **choice, stride="32", row=5, column=4)
    assert f"in memory at byte {2 * (4 * 32 + 5)} " in fragments.locator("#readout").inner_text()


@pytest.mark.parametrize("pane", ["matrix", "warp", "memory"])
def test_pointing_marks_the_element_in_all_pictures(fragments, pane):
    show(fragments, mnemonic="wmma", use="c", type="f32", shape="m16n16k16", layout="row", row=0, column=0)
    before = {name: fragments.evaluate(MARKED, name) for name in ("matrix", "warp", "memory")}
    picture = fragments.locator(f"#{pane} svg")
    (x, y), *_ = before[pane]
    cell = fragments.evaluate(f"document.querySelector('#{pane} .chosen').getBBox().width")
    picture.hover(position={"x": x + cell, "y": y})
    text = fragments.locator("#readout").inner_text()
    assert not text.startswith("Element (0, 0)")
    after = {name: fragments.evaluate(MARKED, name) for name in ("matrix", "warp", "memory")}
    assert all(len(after[name]) == 1 and after[name] != before[name] for name in after)
    row, column = re.match(r"Element \((\d+), (\d+)\)", text).groups()
    assert (fragments.locator("#row").input_value(), fragments.locator("#column").input_value()) == (
        row,
        column,
    )


def test_arrow_keys_move_in_each_picture(fragments):
    show(fragments, mnemonic="wmma", use="a", type="f16", shape="m16n16k16", layout="row", row=0, column=0)
    wanted = {
        "matrix": ("Element (1, 1)", "Element (1, 15)"),
        "warp": ("Element (0, 3)", "Element (8, 11)"),
        "memory": ("Element (1, 1)", "Element (1, 15)"),
    }
    for pane, (moved, ended) in wanted.items():
        show(fragments, mnemonic="wmma", use="a", type="f16", shape="m16n16k16", row=0, column=0)
        fragments.locator(f"#{pane}").focus()
        fragments.keyboard.press("ArrowRight")
        fragments.keyboard.press("ArrowDown")
        assert fragments.locator("#readout").inner_text().startswith(moved)
        fragments.keyboard.press("End")
        assert fragments.locator("#readout").inner_text().startswith(ended)


@pytest.mark.parametrize(("row", "column"), [("16", "0"), ("-1", "0"), ("x", "0"), ("0", ""), ("1.5", "0")])
def test_a_place_outside_the_matrix_is_refused(fragments, row, column):
    show(fragments, mnemonic="wmma", use="a", type="f16", shape="m16n16k16", row=0, column=0)
    fragments.fill("#row", row)
    fragments.fill("#column", column)
    message = fragments.locator("#place-error").inner_text()
    assert message.endswith("expected a row from 0 to 15 and a column from 0 to 15.")
    fragments.fill("#row", "2")
    fragments.fill("#column", "2")
    assert fragments.locator("#place-error").is_hidden()
    assert fragments.locator("#readout").inner_text().startswith("Element (2, 2)")


def test_the_widest_fragments_are_accessible_and_scroll_in_themselves(visit):
    found = visit("fragments#mnemonic=mma&use=a&type=b1&shape=m16n8k256&row=15&column=255", width=360)
    assert found.overflow() <= 0
    assert found.violations() == []
    found.screenshot("fragments-b1-360-light")


def test_rows_of_a_swizzle_lie_where_a_descriptor_finds_them(visit):
    found = visit("fragments").page
    readout = found.locator("#swizzle-readout")
    for size, swizzle in product((128, 64, 32), ("yes", "no")):
        found.select_option("#row-bytes", str(size))
        found.select_option("#swizzled", swizzle)
        descriptor = MatrixDescriptor(0, 0, 1024, 0, size if swizzle == "yes" else 16)
        for chunk in range(size // 16):
            found.select_option("#chunk", str(chunk))
            places = descriptor.swizzled(np.arange(8) * size + chunk * 16).tolist()
            most = max(Counter(place // 16 % 8 for place in places).values())
            met = "no two rows meet in a bank" if most == 1 else f"{most} rows meet in a bank"
            cycles = "1 cycle" if most == 1 else f"{most} cycles"
            addresses = ", ".join(f"0x{place:03x}" for place in places)
            assert readout.inner_text() == f"Rows 0 to 7 at {addresses}: {met}, read in {cycles}."
            assert found.locator("#swizzle-banks .clash").count() == (8 if most > 1 else 0)


LATE_TRANSPOSITION = """
const load = globalThis.fetch;
globalThis.fetch = async (address) => {
  if (String(address).includes("transposition")) await new Promise((done) => setTimeout(done, 1000));
  return load(address);
};
"""


def test_the_page_is_busy_until_its_last_table_is_there(visit):
    found = visit("fragments", init=LATE_TRANSPOSITION).page
    assert found.locator("#bank-readout").inner_text().startswith("Step 1: ")


def test_skewed_banks_meet_no_bank_twice_and_plain_banks_do(visit):
    found = visit("fragments").page
    readout = found.locator("#bank-readout")
    last = int(found.locator("#cycle").get_attribute("max"))
    assert readout.inner_text() == "Step 1: write bytes 0 to 15 of column 0, rotated by 0. 1 cycle."
    found.locator("#forward").click()
    found.locator("#forward").click()
    assert readout.inner_text() == "Step 3: write bytes 0 to 15 of column 1, rotated by 2. 1 cycle."
    found.locator("#cycle").focus()
    found.keyboard.press("End")
    assert readout.inner_text().startswith(f"Step {last + 1}: read register 3 of quad 7")
    assert readout.inner_text().endswith("Every byte comes from another bank: 1 cycle.")
    found.select_option("#skewed", "no")
    assert readout.inner_text().endswith("8 bytes lie in one bank: 8 cycles.")


def test_the_animation_plays_and_pauses(visit):
    found = visit("fragments").page
    found.locator("#play").focus()
    found.keyboard.press("Enter")
    assert found.locator("#play").inner_text() == "Pause"
    wait_until(found, "Number(document.querySelector('#cycle').value) >= 2")
    found.keyboard.press("Enter")
    assert found.locator("#play").inner_text() == "Play"


def test_the_lesson_says_what_the_pages_show():
    """Answers of the lesson that name a lane."""
    text = (REPOSITORY / "site" / "pages" / "lesson" / "page.html").read_text()
    for use, type, lane in (("a", "f16", 21), ("b", "f16", 14), ("c", "f32", 21)):
        positions = golden.fragment_layout(use, type, "m16n16k16")
        assert {int(found[0]) for found in np.argwhere((positions == (5, 3)).all(axis=-1))} == {lane}
    assert "4 &times; 5 + 1 = 21" in text
    assert "4 &times; 3 + 2 = 14" in text
