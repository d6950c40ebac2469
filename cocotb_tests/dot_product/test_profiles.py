"""The dot-product unit of every profile against golden: each format alone, and all formats together."""

from dataclasses import replace

import pytest

from cocotb_tests.dot_product.corners import floating_corners
from cocotb_tests.dot_product.fp8_corners import fp8_corners
from cocotb_tests.dot_product.test_bulk import FAMILIES, compare, compare_random, is_floating, modes_of
from golden.tables.profiles import HOPPER, PROFILES, Profile
from hdl.config import DotProductConfig
from hdl.dot_product.unit import DotProductUnit
from sim.testbench.bulk import BulkUnit
from sim.testbench.dot_product_operands import FP8_MODES, MODES

ABSENT = {
    "volta": {"tf32", "fp8"},
    "turing": {"tf32", "fp8"},
    "ampere": {"fp8"},
    "ada": {"fp8"},
    "blackwell": {"fp8"},
}
"""Formats that a profile has not; `test_small_bulk` has fp8 of blackwell."""


def sets_of(profile: str) -> list[frozenset[str]]:
    formats = [format for format in FAMILIES if format not in ABSENT.get(profile, set())]
    return [*(frozenset({format}) for format in formats), frozenset(formats)]


def check(formats: frozenset[str], profile: Profile, results: int) -> None:
    """Random operands of every mode, and the directed ones of floating point."""
    unit = BulkUnit(DotProductUnit(DotProductConfig(formats=formats, profile=profile)))
    compare_random(unit, formats, results, profile)
    for mode in modes_of(formats):
        if is_floating(mode):
            is_fp8 = mode.format == "fp8"
            corners = fp8_corners(mode) if is_fp8 else floating_corners(mode, mode.products(profile))
            for _, batch in corners:
                compare(unit, batch, profile)


def test_every_format_of_every_profile_is_here() -> None:
    assert set(ABSENT) < set(PROFILES)
    assert {mode.format for mode in (*MODES, *FP8_MODES)} == set(FAMILIES)
    assert [len(sets_of(name)) for name in ("volta", "turing", "ampere", "hopper")] == [6, 6, 7, 8]


def test_volta_with_f16_alone() -> None:
    """The narrowest sum of all units: 31 bits."""
    check(frozenset({"f16"}), PROFILES["volta"], 50_000)


@pytest.mark.long
def test_volta_with_bf16() -> None:
    """No least Emax: sums of the least products come from far below the smallest f32."""
    check(frozenset({"bf16"}), PROFILES["volta"], 50_000)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "formats"),
    [(name, formats) for name in PROFILES for formats in sets_of(name)],
    ids=lambda value: value if isinstance(value, str) else "-".join(sorted(value)),
)
def test_every_profile(name: str, formats: frozenset[str]) -> None:
    check(formats, PROFILES[name], 100_000)


@pytest.mark.long
def test_tf32_in_blocks_of_eight() -> None:
    """No profile has them in wmma; the datapath takes them."""
    check(frozenset({"tf32"}), replace(HOPPER, tf32_block=8), 100_000)
