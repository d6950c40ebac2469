"""The dot-product unit against golden, by the hundred thousand: random, directed and captured operands."""

from dataclasses import replace

import numpy as np
import pytest

from cocotb_tests.dot_product.captures import captured_fp8, captured_tiles, chained
from cocotb_tests.dot_product.corners import floating_corners
from cocotb_tests.dot_product.fp8_corners import fp8_corners
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.profiles import HOPPER, PROFILES, Profile
from hdl.config import DotProductConfig
from hdl.dot_product.unit import DotProductUnit
from sim.testbench.bulk import BulkUnit
from sim.testbench.depths import SETTINGS
from sim.testbench.dot_product_operands import FP8_MODES, MODES, Batch, Mode, random_batch

FAMILIES = ("f16", "bf16", "tf32", "i8", "i4", "b1", "fp8")
ALL = DotProductConfig(formats=frozenset(FAMILIES))
SUBSETS = (
    frozenset({"f16", "bf16"}),
    frozenset({"tf32"}),
    frozenset({"i8"}),
    frozenset({"i4", "b1"}),
    frozenset(FAMILIES) - {"fp8"},
    frozenset({"f16", "fp8"}),
    frozenset({"tf32", "fp8"}),
    frozenset({"i8", "i4", "fp8"}),
    frozenset({"b1", "fp8"}),
)
RESULTS = 100_000
LONG_RESULTS = 10_000_000
CHUNK = 100_000


def modes_of(formats: frozenset[str]) -> list[Mode]:
    return [mode for mode in (*MODES, *FP8_MODES) if mode.format in formats]


def is_floating(mode: Mode) -> bool:
    return isinstance(FORMATS[mode.a_type], FloatFormat)


@pytest.fixture(scope="module")
def unit() -> BulkUnit:
    return BulkUnit(DotProductUnit(ALL))


def compare(unit: BulkUnit, batch: Batch, profile: Profile = HOPPER) -> None:
    """Run a batch and compare every bit; the message shows the first operation that differs."""
    expected = batch.expected(profile)
    results = unit.run(batch.pack())[:, 0]
    different = np.flatnonzero(results != expected)
    if different.size:
        at = int(different[0])
        a, b = ([hex(int(x) & 0xFFFFFFFF) for x in operand[at]] for operand in (batch.a, batch.b))
        c = int(batch.c[at]) & 0xFFFFFFFF
        pytest.fail(
            f"{different.size} of {expected.size} differ; the first is {batch.mode}, number {at}: "
            f"a {a} b {b} c {c:#x}, unit {results[at]:#010x}, golden {expected[at]:#010x}"
        )


def compare_random(unit: BulkUnit, formats: frozenset[str], count: int, profile: Profile = HOPPER) -> None:
    """`count` random operations, in equal parts of every mode of the formats."""
    modes = modes_of(formats)
    for mode in modes:
        left, seed = -(-count // len(modes)), 1
        while left > 0:
            compare(unit, random_batch(mode, min(left, CHUNK), seed=seed, profile=profile), profile)
            left, seed = left - CHUNK, seed + 1


@pytest.mark.parametrize("family", FAMILIES)
def test_random_operands(unit: BulkUnit, family: str) -> None:
    compare_random(unit, frozenset({family}), RESULTS)


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_random_operands_by_the_million(unit: BulkUnit, family: str) -> None:
    compare_random(unit, frozenset({family}), LONG_RESULTS)


@pytest.mark.parametrize("mode", [mode for mode in MODES if is_floating(mode)], ids=str)
def test_corners(unit: BulkUnit, mode: Mode) -> None:
    for _, batch in floating_corners(mode, mode.products(HOPPER)):
        compare(unit, batch)


@pytest.mark.parametrize("mode", FP8_MODES, ids=str)
def test_fp8_corners(unit: BulkUnit, mode: Mode) -> None:
    for _, batch in fp8_corners(mode):
        compare(unit, batch)


def check_captured_fp8(unit: BulkUnit) -> None:
    names = 0
    for name, batch, captured in captured_fp8():
        assert np.array_equal(unit.run(batch.pack())[:, 0], captured), name
        names += 1
    assert names == len(FP8_MODES)


def test_captured_fp8(unit: BulkUnit) -> None:
    """Every captured wgmma of fp8 gives the captured bits."""
    check_captured_fp8(unit)


def test_captures(unit: BulkUnit) -> None:
    check_captures(unit)


@pytest.mark.long
@pytest.mark.parametrize("depth", [1, 4, 8, 16])
def test_depths(depth: int) -> None:
    """The same bits at every depth."""
    unit = BulkUnit(DotProductUnit(replace(ALL, depth=depth)))
    compare_random(unit, ALL.formats, RESULTS)
    check_captures(unit)
    check_captured_fp8(unit)
    unit.run(random_batch(MODES[0], 1000, seed=1).pack())
    assert unit.cycles <= 1000 + depth + 2


@pytest.mark.long
@pytest.mark.parametrize("depth", SETTINGS[:-1])
@pytest.mark.parametrize("formats", SUBSETS, ids=lambda formats: "-".join(sorted(formats)))
def test_subsets_of_formats_at_other_depths(formats: frozenset[str], depth: int) -> None:
    compare_random(BulkUnit(DotProductUnit(DotProductConfig(formats=formats, depth=depth))), formats, 50_000)


def check_captures(unit: BulkUnit) -> None:
    """Every captured wmma gives the captured bits."""
    names = 0
    for name, blocks, captured in captured_tiles():
        results = blocks[0].c
        for index, block in enumerate(blocks):
            batch = chained(block, results) if index else block
            results = unit.run(batch.pack())[:, 0]
        assert np.array_equal(results, captured), name
        names += 1
    assert names > 40


@pytest.mark.parametrize(("input_pause", "output_pause"), [(0, 128), (128, 0), (90, 90), (20, 230)])
def test_mixed_operations_with_pauses(unit: BulkUnit, input_pause: int, output_pause: int) -> None:
    """All modes in random order, back to back; nothing lost, repeated or exchanged."""
    batches = [random_batch(mode, 1000, seed=7) for mode in modes_of(ALL.formats)]
    operands = np.concatenate([batch.pack() for batch in batches])
    expected = np.concatenate([batch.expected() for batch in batches])
    order = np.random.default_rng(input_pause).permutation(len(expected))
    results = unit.run(operands[order], input_pause=input_pause, output_pause=output_pause, seed=output_pause)
    assert np.array_equal(results[:, 0], expected[order])


def test_one_result_per_cycle(unit: BulkUnit) -> None:
    batch = random_batch(MODES[0], 1000, seed=1)
    unit.run(batch.pack())
    assert unit.cycles <= 1000 + ALL.depth + 2


def test_f16_alone() -> None:
    """The unit of the small presets, with the logic of all other formats left out."""
    formats = frozenset({"f16"})
    compare_random(BulkUnit(DotProductUnit(DotProductConfig(formats=formats))), formats, 25_000)


@pytest.mark.long
def test_fp8_alone() -> None:
    """All 32 products in lanes of their own, and sums of 21 bits."""
    alone = BulkUnit(DotProductUnit(DotProductConfig(formats=frozenset({"fp8"}))))
    compare_random(alone, frozenset({"fp8"}), 50_000)
    for mode in FP8_MODES:
        for _, batch in fp8_corners(mode):
            compare(alone, batch)
    check_captured_fp8(alone)


@pytest.mark.long
def test_fp8_alone_by_the_million() -> None:
    alone = BulkUnit(DotProductUnit(DotProductConfig(formats=frozenset({"fp8"}))))
    compare_random(alone, frozenset({"fp8"}), LONG_RESULTS)


@pytest.mark.long
@pytest.mark.parametrize("formats", SUBSETS, ids=lambda formats: "-".join(sorted(formats)))
def test_subsets_of_formats(formats: frozenset[str]) -> None:
    subset = BulkUnit(DotProductUnit(DotProductConfig(formats=formats)))
    compare_random(subset, formats, 200_000)
    for mode in modes_of(formats & {"fp8"}):
        for _, batch in fp8_corners(mode):
            compare(subset, batch)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(PROFILES) - {"hopper"}))
def test_profiles(name: str) -> None:
    """The constants of every other generation, with random and directed operands."""
    profile = PROFILES[name]
    formats = frozenset({"f16", "bf16", "i8"} | ({"tf32"} if profile.tf32_block else set()))
    profiled = BulkUnit(DotProductUnit(DotProductConfig(formats=formats, profile=profile)))
    compare_random(profiled, formats, 400_000, profile)
    for mode in modes_of(formats):
        if is_floating(mode):
            for _, batch in floating_corners(mode, mode.products(profile)):
                compare(profiled, batch, profile)
