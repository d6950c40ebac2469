"""Every combination of formats and profile, and every pair of fields, is a core that lints, or is refused."""

import subprocess
from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Fragment
from pairwise import covering_rows, pairs_of

from golden.tables.profiles import PROFILES, Profile
from hdl.config import PAGE_BYTES, PRESETS, CoreConfig, DotProductConfig
from hdl.core import Core
from hdl.dot_product.fields import fields as dot_product_fields
from hdl.dot_product.operands import DotProductOperands, operand_layout
from hdl.dot_product.unit import DotProductUnit
from hdl.multiply.tile.collect import TileCollect
from hdl.verilog.core_verilog import TOP, generate
from sim.blocks import separate
from sim.testbench.unit import TOP as UNIT_TOP
from sim.testbench.unit import unit_design
from sim.verilate import SHARED_MODULES, VERILATOR_ROOT, WAIVED, verilator_environment

FORMATS = ("f16", "bf16", "tf32", "i8", "i4", "b1")
SETS = [frozenset(some) for count in range(1, len(FORMATS) + 1) for some in combinations(FORMATS, count)]
ABSENT = {
    "volta": frozenset({"tf32"}),
    "turing": frozenset({"tf32"}),
    "ampere": frozenset[str](),
    "ada": frozenset[str](),
    "hopper": frozenset[str](),
    "blackwell": frozenset[str](),
}
"""Formats that a profile has not, of those beside fp8."""

FP8_SETS = [formats | {"fp8"} for formats in [frozenset[str](), *SETS]]
"""Of hopper. A unit has those of blackwell, too, with the smaller formats."""

DIFFERENT = ("volta", "turing", "ampere", "hopper")
"""One profile of each kind: the others have the same constants."""


ALL = frozenset({*FORMATS, "fp8"})
FIELDS: dict[str, list[Any]] = {
    "formats": [*(frozenset({item}) for item in sorted(ALL)), frozenset({"f16", "fp8"}), ALL],
    "profile": [PROFILES[profile] for profile in (*DIFFERENT, "blackwell")],
    "depth": [1, 2, 9, 26],
    "dot_product_units": [1, 2, 4, 8, 16, 32, 64],
    "f64_units": [0, 1, 2, 4],
    "f64_depth": [1, 2, 9, 26],
    "registers": [32, 64, 128, 256],
    "warps": [1, 2, 3, 4, 8, 16],
    "queue_depth": [4, 16, 256],
    "address_bits": [16, 17, 32, 33, 64],
    "data_bits": [64, 128, 256, 512],
    "outstanding_reads": [1, 2, 3, 64],
    "shared_bytes": [0, *(pages * PAGE_BYTES for pages in (1, 3, 4, 57))],
    "shared_base": [0, PAGE_BYTES, (1 << 16) - PAGE_BYTES, 0xFF00_0000, 1 << 32, (1 << 64) - 57 * PAGE_BYTES],
    **{name: [False, True] for name in ("block_scale", "sparse", "mxf4", "wgmma")},
}
"""Least and greatest values and some between them, of every field."""

ROOMY = {"f64_units": 1, "address_bits": 64, "shared_base": 0}
"""What goes with more values of other fields than the defaults do."""
NEEDED = {
    "wgmma": {"warps": 4, "shared_bytes": PAGE_BYTES},
    "mxf4": {"profile": PROFILES["blackwell"]},
    "block_scale": {"profile": PROFILES["blackwell"], "formats": frozenset({"f16", "fp8"})},
}
"""What a field that is set needs of others."""


def config_of(row: Mapping[str, Any]) -> CoreConfig:
    """A configuration with some of the fields."""
    beside = {name: value for field, some in NEEDED.items() if row.get(field) for name, value in some.items()}
    values = {**ROOMY, **beside, **row}
    unit = {field.name: values.pop(field.name) for field in fields(DotProductConfig) if field.name in values}
    return CoreConfig(dot_product=DotProductConfig(**unit), **values)


def is_allowed(row: Mapping[str, Any]) -> bool:
    try:
        config_of(row)
    except ValueError:
        return False
    return True


ROWS = covering_rows(FIELDS, is_allowed)


def config(formats: frozenset[str], profile: str, **core: int) -> CoreConfig:
    dot_product = DotProductConfig(formats=formats, profile=PROFILES[profile])
    return CoreConfig(dot_product=dot_product, **core)


def name(formats: frozenset[str]) -> str:
    return "-".join(sorted(formats))


def sets_of(profile: str) -> list[frozenset[str]]:
    return [formats for formats in SETS if not formats & ABSENT[profile]]


def lint(core: CoreConfig, folder: Path) -> str:
    """What Verilator has to say about a core, and about its units alone: it copies them for each instance."""
    text, blocks = separate(generate(core)[0], SHARED_MODULES)
    found = {lint_text(text, folder), *(lint_text(block.verilog, folder, block.top) for block in blocks)}
    return "; ".join(sorted(found))


def lint_text(text: str, folder: Path, top: str = TOP) -> str:
    """What Verilator has to say about a module."""
    (folder / "core.v").write_text(text)
    command = [str(VERILATOR_ROOT / "bin" / "verilator"), "--lint-only", "--quiet", "--top-module", top]
    result = subprocess.run(
        [*command, *(f"-Wno-{warning}" for warning in WAIVED), "core.v"],
        cwd=folder,
        env=verilator_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{result.stderr}status {result.returncode}"


def test_the_combinations_are_all_there() -> None:
    assert len(SETS) == len(set(SETS)) == 63
    assert set(ABSENT) == set(PROFILES)
    assert [len(sets_of(profile)) for profile in DIFFERENT] == [31, 31, 63, 63]


def test_other_profiles_have_the_same_constants() -> None:
    def constants(profile: Profile) -> Profile:
        narrow = dict.fromkeys(("fp8_block", "fp8_fraction_bits", "narrow_block", "fp4_group"))
        return replace(profile, name="", **narrow)  # what only formats of 8 bits and below have

    different = {constants(PROFILES[profile]) for profile in DIFFERENT}
    assert different == {constants(profile) for profile in PROFILES.values()}
    assert len(different) == len(DIFFERENT)


@pytest.mark.parametrize("profile", ABSENT)
def test_absent_formats_are_refused(profile: str) -> None:
    for formats in SETS:
        if formats & ABSENT[profile]:
            with pytest.raises(ValueError, match=r"^tf32 needs a profile that has tf32"):
                config(formats, profile)


@pytest.mark.parametrize("profile", sorted(set(ABSENT) - {"hopper", "blackwell"}))
def test_fp8_is_refused(profile: str) -> None:
    rule = (
        rf"^fp8 needs a profile whose fp8 arithmetic has been measured \(hopper, blackwell\), not {profile}$"
    )
    with pytest.raises(ValueError, match=rule):
        config(frozenset({"f16", "fp8"}), profile)


def test_fp8_with_other_constants_is_refused() -> None:
    profile = replace(PROFILES["hopper"], fp8_fraction_bits=14)
    rule = r"^Products of fp8 .* must be \(32, 13, 25\) or \(32, 25, 25\), not \(32, 14, 25\)$"
    with pytest.raises(ValueError, match=rule):
        DotProductConfig(formats=frozenset({"fp8"}), profile=profile)


@pytest.mark.parametrize(
    ("formats", "block_scale", "profile", "rule"),
    [
        ({"fp8", "fp6"}, False, "hopper", r"fp6 needs a profile that has it \(blackwell\), not hopper"),
        ({"f16", "fp4"}, False, "blackwell", "fp4 needs fp8, of which it has the datapath"),
        ({"f16"}, True, "blackwell", "A block scale needs fp8, of which it has the datapath"),
        (
            {"f16", "fp8"},
            True,
            "hopper",
            r"A block scale needs a profile that has it \(blackwell\), not hopper",
        ),
    ],
)
def test_small_formats_and_scales_need_blackwell_and_fp8(
    formats: set[str], block_scale: bool, profile: str, rule: str
) -> None:
    with pytest.raises(ValueError, match=f"^{rule}$"):
        DotProductConfig(formats=frozenset(formats), block_scale=block_scale, profile=PROFILES[profile])


@pytest.mark.parametrize("preset", PRESETS)
def test_options_that_are_off_add_nothing_to_a_unit(preset: str) -> None:
    """Neither operands nor fields; the Verilog of fp8 with 13 fraction bits has no longer shifts."""
    unit = PRESETS[preset].dot_product
    assert operand_layout(unit) is DotProductOperands
    assert not dot_product_fields(unit).keys() & {
        *("scale_a", "scale_b", "scale", "twenty", "fp8_middle", "fp8_farthest")
    }


def elaborate_units(profile: str, sets: list[frozenset[str]]) -> None:
    for formats in sets:
        unit = DotProductConfig(formats=formats, profile=PROFILES[profile])
        Fragment.get(DotProductUnit(unit), None)


@pytest.mark.long
@pytest.mark.parametrize("profile", ["volta", "hopper"])
def test_every_unit_elaborates(profile: str) -> None:
    elaborate_units(profile, sets_of(profile))


@pytest.mark.parametrize("profile", ["volta", "hopper"])
def test_units_elaborate_with_each_two_formats_present_and_absent(profile: str) -> None:
    present = {name: [False, True] for name in FORMATS if name not in ABSENT[profile]}
    rows = covering_rows(present, lambda row: len(row) < len(present) or any(row.values()))
    elaborate_units(profile, [frozenset(name for name in row if row[name]) for row in rows])


def test_unit_elaborates_with_fp8() -> None:
    """Alone, beside each other format, and beside all."""
    elaborate_units("hopper", [formats for formats in FP8_SETS if len(formats) in (1, 2, len(FORMATS) + 1)])


@pytest.mark.long
def test_every_unit_elaborates_with_fp8() -> None:
    elaborate_units("hopper", FP8_SETS)


@pytest.mark.long
@pytest.mark.parametrize("formats", FP8_SETS, ids=name)
def test_every_unit_lints_with_fp8(formats: frozenset[str], tmp_path: Path) -> None:
    unit = DotProductUnit(DotProductConfig(formats=formats))
    text = unit_design("dot_product", unit).verilog
    assert lint_text(text, tmp_path, UNIT_TOP) == "status 0"


@pytest.mark.parametrize("profile", ["turing", "ampere"])
def test_unit_elaborates_with_one_format_and_with_all(profile: str) -> None:
    sets = sets_of(profile)
    elaborate_units(profile, [*(formats for formats in sets if len(formats) == 1), sets[-1]])


def test_core_elaborates_with_one_format_and_with_all() -> None:
    """The profile changes the unit alone, whose combinations are elaborated above."""
    sets = sets_of("hopper")
    for formats in [*(formats for formats in sets if len(formats) == 1), sets[-1]]:
        Fragment.get(Core(config(formats, "hopper", f64_units=len(formats) % 2)), None)


@pytest.mark.parametrize("formats", [frozenset({"fp8", "f16"}), frozenset({"fp8", "i8"})], ids=name)
def test_core_with_fp8_elaborates(formats: frozenset[str]) -> None:
    """With the conversion to f16, and without."""
    assert any(family.name == "mma.fp8" for family in config(formats, "hopper").families) == (
        "f16" in formats
    )
    Fragment.get(Core(config(formats, "hopper")), None)


def test_core_with_every_option_elaborates() -> None:
    small = frozenset({"fp8", "fp6", "fp4"})
    unit = DotProductConfig(formats=ALL | small, profile=PROFILES["blackwell"], block_scale=True)
    Fragment.get(Core(CoreConfig(dot_product=unit, sparse=True, mxf4=True, f64_units=1)), None)


def test_a_core_needs_a_format_with_loads() -> None:
    with pytest.raises(ValueError, match=r"^Formats of a core must have loads and stores, .* not fp8 alone"):
        config(frozenset({"fp8"}), "hopper")
    assert config(frozenset({"fp8"}), "hopper", f64_units=1).families


def test_core_with_counts_of_one_lints(tmp_path: Path) -> None:
    """The number of one page, or of one place in a queue, has no bits."""
    sizes = {"shared_bytes": PAGE_BYTES, "outstanding_reads": 1, "data_bits": 256}
    assert lint(config(frozenset({"f16"}), "volta", **sizes), tmp_path) == "status 0"


def test_unit_of_another_profile_lints(tmp_path: Path) -> None:
    """`test_verilog_tools` lints cores with units of hopper. Ampere is turing with tf32."""
    unit = DotProductUnit(config(sets_of("turing")[-1], "turing").dot_product)
    assert lint_text(unit_design("dot_product", unit).verilog, tmp_path, UNIT_TOP) == "status 0"


@pytest.mark.long
def test_results_of_one_step_lint(tmp_path: Path) -> None:
    """With so many units the number of a step within a word has no bits."""
    collect = TileCollect(PRESETS["large"])
    assert lint_text(unit_design("one_step", collect).verilog, tmp_path, UNIT_TOP) == "status 0"


@pytest.mark.long
@pytest.mark.parametrize("f64_units", [0, 1])
@pytest.mark.parametrize(
    ("profile", "formats"),
    [(profile, formats) for profile in DIFFERENT for formats in sets_of(profile)],
    ids=lambda value: value if isinstance(value, str) else name(value),
)
def test_every_core_lints(profile: str, formats: frozenset[str], f64_units: int, tmp_path: Path) -> None:
    assert lint(config(formats, profile, f64_units=f64_units), tmp_path) == "status 0"


REFUSED = {
    ("formats", "profile"): (
        r"tf32 needs a profile that has tf32 \(ampere and newer\), not (volta|turing)"
        r"|fp8 needs a profile whose fp8 arithmetic .* \(hopper, blackwell\), not (volta|turing|ampere)"
    ),
    ("formats", "f64_units"): r"Formats of a core must have loads and stores, .*, not fp8 alone",
    ("registers", "warps"): r"Warps with 256 registers each must be from 1 to 8, not 16",
    (
        "formats",
        "sparse",
    ): r"Sparse needs f16, bf16, tf32, i8, i4, mxf4, or fp8 of blackwell, not (b1, f64|f64, fp8) alone",
    ("profile", "mxf4"): r"mxf4 needs a profile that has it \(blackwell\), not .*",
    ("profile", "block_scale"): r"A block scale needs a profile that has it \(blackwell\), not .*",
    ("formats", "block_scale"): r"A block scale needs fp8, of which it has the datapath",
    (
        "warps",
        "wgmma",
    ): r"wgmma needs a multiple of 4 warps and shared bytes, not [123] warps and 4096 shared bytes",
    (
        "shared_bytes",
        "wgmma",
    ): r"wgmma needs a multiple of 4 warps and shared bytes, not 4 warps and 0 shared bytes",
    ("address_bits", "shared_bytes"): r"Shared base must leave room for 233472 bytes below 2\*\*1[67], .*",
}
"""The rules for two fields; each sentence names the value and the rule."""


def test_rows_have_every_field_and_every_pair_but_those_that_a_rule_refuses() -> None:
    assert set(FIELDS) == {
        item.name for item in (*fields(DotProductConfig), *fields(CoreConfig)) if item.name != "dot_product"
    }
    assert all(row.keys() == FIELDS.keys() and is_allowed(row) for row in ROWS)
    covered = {frozenset(pair) for row in ROWS for pair in combinations(row.items(), 2)}
    rules = set()
    for pair in pairs_of(FIELDS):
        names = tuple(name for name in FIELDS if name in dict(pair))
        if pair in covered:
            assert is_allowed(dict(pair))
            continue
        rule = next(rule for key, rule in REFUSED.items() if set(key) == set(names))
        with pytest.raises(ValueError, match=f"^(?:{rule})$"):
            config_of(dict(pair))
        rules.add(rule)
    assert rules == set(REFUSED.values())


@pytest.mark.long
@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_every_pair_of_fields_lints(row: dict[str, Any], tmp_path: Path) -> None:
    assert lint(config_of(row), tmp_path) == "status 0", row
