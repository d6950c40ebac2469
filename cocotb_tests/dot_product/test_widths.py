"""The datapath's widths: what they refuse, and that formats left out cost nothing."""

from dataclasses import replace
from functools import cache

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Fragment

from golden.tables.profiles import HOPPER, PROFILES
from hdl.config import CoreConfig, DotProductConfig
from hdl.dot_product.arithmetic import Arithmetic
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
        (
            {"tf32_block": None},
            {"tf32"},
            r"tf32 needs a profile that has tf32 \(ampere and newer\), not hopper",
        ),
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


@pytest.mark.parametrize("formats", [{"f16"}, {"i8"}, {"b1"}, {"fp8"}, {"f16", "i8", "b1", "fp8"}])
def test_depths_are_as_many_as_there_are_cuts(formats: set[str]) -> None:
    config = DotProductConfig(formats=frozenset(formats))
    stages = Arithmetic(config)
    Fragment.get(stages, None)
    assert len(stages.delays) + 1 == DotProductConfig.depths[-1] == config.depth


@pytest.mark.parametrize("depth", [-1, 0, 30])
def test_refused_depths(depth: int) -> None:
    with pytest.raises(ValueError, match=rf"^Depth must be from 1 to 26, not {depth}$"):
        DotProductConfig(depth=depth)


@pytest.mark.parametrize("depth", [-1, 0, 27])
def test_refused_f64_depths(depth: int) -> None:
    with pytest.raises(ValueError, match=rf"^f64 depth must be from 1 to 26, not {depth}$"):
        CoreConfig(f64_depth=depth)


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
