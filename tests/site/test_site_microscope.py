"""The microscope: equal to the golden model and to the chip, kind to bad input, and never frozen."""

import json
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from captured_products import CapturedProduct, captured_products
from page_visit import REPOSITORY, wait_until

from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.profiles import PROFILES

pytestmark = pytest.mark.browser

CASES = json.loads((REPOSITORY / "site" / "pages" / "microscope" / "cases.json").read_text())
PRODUCTS = captured_products()
INTEGER = "every generation"

ROWS = """
Object.fromEntries([...document.querySelectorAll("#comparison tr[data-profile]")]
    .map((row) => [row.dataset.profile, row.children[1].textContent]))
"""


@pytest.fixture
def microscope(shared_visit):
    return shared_visit("microscope").page


def after(page, action):
    """Do something that asks for a new result, and wait for it."""
    before = int(page.locator("#answer").get_attribute("data-number"))
    action()
    wait_until(
        page,
        f"Number(document.querySelector('#answer').dataset.number) > {before} "
        "&& document.querySelector('#answer').getAttribute('aria-busy') === 'false'",
    )


def show(page, **choice):
    """Open a state of the page by its address."""
    fragment = urlencode(choice)
    after(page, lambda: page.evaluate(f"location.hash = {json.dumps(fragment)}"))


def choice_of(product: CapturedProduct) -> dict[str, str]:
    instruction = product.instruction
    return {
        "mnemonic": instruction.mnemonic,
        "a_type": instruction.a_type,
        "b_type": instruction.b_type,
        "c_type": instruction.c_type,
        "d_type": instruction.d_type,
        "shape": str(instruction.shape),
        "rounding": instruction.rounding or "",
        "operation": instruction.operation or "",
        "saturate": "satfinite" if instruction.saturate else "",
        "profile": "hopper",
        **product.operands(),
    }


def is_nearest(product):
    """Whether it is a multiply of f64 that leaves its rounding to the default, which the page names."""
    return product.instruction.a_type == "f64" and product.instruction.rounding is None


def shown_result(page):
    """The bits in the first card, which say the format before them."""
    return page.locator("#summary .card .hint").first.inner_text().split(" ")[1]


@pytest.mark.parametrize("product", PRODUCTS, ids=str)
def test_a_captured_product_has_the_bits_of_the_chip_and_of_golden(microscope, product):
    show(microscope, **choice_of(product))
    named = replace(product.instruction, rounding="rn") if is_nearest(product) else product.instruction
    assert microscope.locator("#ptx").inner_text() == str(named)
    assert microscope.locator(".error-text:visible").count() == 0
    assert shown_result(microscope) == product.bits
    rows = microscope.evaluate(ROWS)
    if not isinstance(FORMATS[product.instruction.d_type], FloatFormat):
        assert rows[INTEGER] == product.bits
        return
    known = {name: bits for name, bits in rows.items() if not bits.startswith("not known")}
    assert known["hopper"] == product.bits
    assert known == {name: product.of_profile(name) for name in known}
    executing = {name for name, profile in PROFILES.items() if profile.executes(product.instruction.family)}
    assert executing == {name for name in known if not name.startswith("exact")}


def test_the_captures_have_every_format_and_every_instruction():
    types = {(p.instruction.mnemonic, p.instruction.a_type) for p in PRODUCTS}
    floats = {"f16", "bf16", "tf32", "f64"}
    integers = {"s8", "u8", "s4", "u4", "b1"}
    assert types >= {("wmma", name) for name in floats | integers}
    assert types >= {("mma", name) for name in floats | integers | {"e4m3", "e5m2"}}
    assert types >= {("wgmma", name) for name in ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8")}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_prepared_case_shows_what_its_text_says(microscope, case):
    after(microscope, lambda: microscope.select_option("#case", case["id"]))
    assert microscope.locator("#story").inner_text() == case["story"]
    assert shown_result(microscope) == case["result"]
    assert microscope.locator(".error-text:visible").count() == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_prepared_case_is_accessible(microscope, shared_visit, case):
    after(microscope, lambda: microscope.select_option("#case", case["id"]))
    assert shared_visit("microscope").violations() == []


def test_the_ruler_tells_kept_bits_from_cut_bits(microscope):
    """2**-26 beside 1: one bit, cut; 2**-25: kept; the f16 product has twenty more places, all zeros."""
    after(microscope, lambda: microscope.select_option("#case", "last-bit"))
    rows = microscope.locator("table.ruler tbody tr")
    kept, cut = rows.nth(2), rows.nth(3)
    assert kept.locator(".bit.kept").all_inner_texts() == ["1"]
    assert kept.locator(".bit.cut").all_inner_texts() == ["0"] * 20
    assert cut.locator(".bit.kept").count() == 0
    assert cut.locator(".bit.cut").all_inner_texts() == ["1", *"0" * 20]
    assert rows.last.locator(".bit.rounded").all_inner_texts() == ["1", *"0" * 23]


def test_block_scales_have_fields_of_their_own(microscope):
    """A group with its scales is a term; the split 3 x 128 keeps what 1.5 x 256 cuts."""
    after(microscope, lambda: microscope.select_option("#case", "nvfp4"))
    assert microscope.locator("#ptx").inner_text() == (
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
    )
    assert microscope.locator("details.step summary").inner_text() == "4 group sums and C"
    group = microscope.locator("table.ruler tbody tr").nth(1)
    assert "sum[16..31] \u00d7 scale_a[1] \u00d7 scale_b[1]" in group.inner_text()
    assert group.locator(".bit.kept").count() == 0
    assert group.locator(".bit.cut").first.inner_text() == "1"
    zeros = "0, " * 14
    after(microscope, lambda: microscope.fill("#a", f"3, -3, {zeros}0.5"))
    after(microscope, lambda: microscope.fill("#scale_a", "0x70, 1"))
    assert shown_result(microscope) == "0x35800000"
    after(microscope, lambda: microscope.fill("#scale_a", "x"))
    assert microscope.locator("#scale_a-error").inner_text() == "scale_a x: expected bytes as in 0x7f,128"
    after(microscope, lambda: microscope.select_option("#case", "f64"))
    assert microscope.locator("#scale_a").is_hidden()
    assert microscope.locator("#scale_a-error").is_hidden()


def test_the_address_brings_back_block_scales(microscope):
    after(microscope, lambda: microscope.select_option("#case", "nvfp4"))
    after(microscope, lambda: microscope.fill("#scale_a", "0x40"))
    address = microscope.url.partition("#")[2]
    after(microscope, lambda: microscope.select_option("#case", "f64"))
    after(microscope, lambda: microscope.evaluate(f"location.hash = {json.dumps(address)}"))
    assert microscope.locator("#kind").input_value() == "mxf4nvf4.4X.ue4m3"
    assert microscope.locator("#scale_a").input_value() == "0x40"
    assert microscope.locator("#scale_b").input_value() == "0x78, 0x01"


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("a", "1, zwei", "a[1] zwei: expected a decimal number, inf, nan or raw bits in hexadecimal"),
        ("b", "0x12345", "b[0] 0x12345: expected at most 16 bits, as f16 has"),
        ("a", ",".join(["1"] * 17), "a: expected at most 16 values, the k of the instruction, not 17"),
        ("c", "1, 2", "c 1, 2: expected one value, not 2"),
        ("c", "1e999", "c 1e999: expected a value that f64 can hold, or inf"),
    ],
)
def test_a_bad_value_is_named_at_its_place(microscope, field, text, message):
    after(microscope, lambda: microscope.select_option("#case", "f32-accumulator"))
    after(microscope, lambda: microscope.fill(f"#{field}", text))
    error = microscope.locator(f"#{field}-error")
    assert error.inner_text().startswith(message)
    assert microscope.locator(f"#{field}").get_attribute("aria-invalid") == "true"
    assert microscope.locator(".error-text:visible").count() == 1
    after(microscope, lambda: microscope.fill(f"#{field}", "1"))
    assert error.is_hidden()
    assert microscope.locator(f"#{field}").get_attribute("aria-invalid") is None


def test_integers_out_of_range_are_refused(microscope):
    after(microscope, lambda: microscope.select_option("#case", "wrap"))
    after(microscope, lambda: microscope.fill("#a", "200"))
    expected = "a[0] 200: expected integers from -128 to 127 (values of s8)"
    assert microscope.locator("#a-error").inner_text() == expected


def test_a_case_is_chosen_and_changed_by_keyboard_alone(visit):
    found = visit("microscope").page
    found.locator("#case").focus()
    after(found, lambda: found.keyboard.press("ArrowDown"))
    assert found.locator("#case").input_value() == CASES[1]["id"]
    assert shown_result(found) == CASES[1]["result"]
    while found.evaluate("document.activeElement.id") != "c":
        found.keyboard.press("Tab")
    found.keyboard.press("Control+a")
    after(found, lambda: found.keyboard.type("4096"))
    assert found.locator("#summary .number").first.inner_text() == "4097"


def test_the_address_brings_back_the_readers_own_values(visit):
    found = visit("microscope").page
    after(found, lambda: found.fill("#c", "3"))
    again = visit(f"microscope#{found.url.partition('#')[2]}").page
    assert again.locator("#c").input_value() == "3"
    assert again.locator("#summary .number").first.inner_text() == "4"


def test_the_worker_can_be_stopped_and_started_again(visit):
    found = visit("microscope", wait=False).page
    found.locator("#stop:enabled").click()
    assert found.locator("#state").inner_text() == "Stopped. Press Compute to go on."
    found.get_by_role("button", name="Compute").click()
    wait_until(found, "document.querySelector('#state').textContent === 'Ready.'")
    assert shown_result(found) == CASES[0]["result"]


def test_a_browser_without_webassembly_is_told_so(visit):
    found = visit("microscope", init="delete window.WebAssembly")
    assert (
        found.page.locator("#failure").inner_text().startswith("This page needs a browser with WebAssembly")
    )
    assert found.errors == []


def test_a_missing_file_is_reported_in_place(visit, browser, address):
    found = visit("microscope", wait=False, init="")
    found.page.route("**/golden.zip", lambda route: route.fulfill(status=404, body=""))
    found.page.reload()
    failure = found.page.locator("#failure:visible")
    assert "data/golden.zip: 404" in failure.inner_text()
