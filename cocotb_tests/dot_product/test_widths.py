"""The datapath's widths: what they refuse, and that formats left out cost nothing."""

import gc
import warnings
from dataclasses import replace
from functools import cache

import pytest
from amaranth.back import rtlil
from amaranth.hdl import UnusedElaboratable

from golden.tables.profiles import HOPPER, PROFILES
from hdl.config import DotProductConfig
from hdl.dot_product.result_buffer import ResultBuffer
from hdl.dot_product.unit import DotProductUnit
from hdl.dot_product.widths import Widths


@pytest.mark.parametrize(
    ("changes", "formats", "message"),
    [
        ({"fraction_bits": 26}, {"f16"}, "Fraction bits must be from 23 to 25, not 26"),
        ({"fraction_bits": 22}, {"f16"}, "Fraction bits must be from 23 to 25, not 22"),
        ({"half_block": 32}, {"f16"}, "Products of f16 in one block must be from 1 to 16, not 32"),
        (
            {"exponent_margin": 8},
            {"tf32"},
            "bf16 and tf32 need a least Emax 0 to 7 below the least f32 exponent or none, not 8",
        ),
        (
            {"exponent_margin": -1},
            {"bf16"},
            "bf16 and tf32 need a least Emax 0 to 7 below the least f32 exponent or none, not -1",
        ),
        ({"tf32_block": 16}, {"tf32"}, "Products of tf32 in one block must be from 1 to 8, not 16"),
        ({"tf32_block": None}, {"tf32"}, "Products of tf32 in one block must be from 1 to 8, not None"),
    ],
)
def test_refused_profiles(changes: dict[str, int | None], formats: set[str], message: str) -> None:
    profile = replace(HOPPER, **changes)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"^{message}$"):
        DotProductConfig(formats=frozenset(formats), profile=profile)


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_every_profile_fits(name: str) -> None:
    widths = Widths(DotProductConfig(formats=frozenset({"f16"}), profile=PROFILES[name]))
    assert 0 <= widths.placement <= 2
    assert widths.total - 1 <= 32


@pytest.mark.parametrize("depth", [0, 1, 3, 12])
def test_refused_depths(depth: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        with pytest.raises(ValueError, match=f"^Depth must be a power of two from 2 on, not {depth}$"):
            ResultBuffer(depth)
        gc.collect()  # what was refused was never elaborated, and says so when it goes


@cache
def converted(formats: frozenset[str]) -> str:
    return rtlil.convert(DotProductUnit(DotProductConfig(formats=formats)))


@pytest.mark.parametrize(
    ("formats", "absent"),
    [
        ({"f16", "bf16", "tf32", "i8", "i4"}, "popcount"),
        ({"f16"}, "a_byte"),
        ({"f16", "bf16"}, "extension"),
        ({"i8"}, "half_exponent"),
    ],
)
def test_formats_left_out_leave_no_logic(formats: set[str], absent: str) -> None:
    everything = frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"})
    assert absent in converted(everything)
    assert absent not in converted(frozenset(formats))
