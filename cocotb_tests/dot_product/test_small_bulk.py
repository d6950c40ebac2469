"""fp8, fp6 and fp4 with block scales against golden, by the hundred thousand, and by words of MMA-Sim."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cocotb_tests.dot_product.small_operands import (
    BLACKWELL,
    PRODUCTS,
    SMALL_KINDS,
    SMALL_TYPES,
    SmallBatch,
    random_small,
)
from golden.tables.formats import float_format
from hdl.config import DotProductConfig
from hdl.dot_product.operands import Operation
from hdl.dot_product.unit import DotProductUnit
from sim.testbench.bulk import BulkUnit
from sim.testbench.dot_product_operands import MODES, random_batch

ALONE = DotProductConfig(
    formats=frozenset({"fp8", "fp6", "fp4"}), profile=BLACKWELL, block_scale=True, depth=14
)
"""All 32 products in lanes of their own."""

ALL = DotProductConfig(
    formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1", "fp8", "fp6", "fp4"}),
    profile=BLACKWELL,
    block_scale=True,
    depth=14,
)
RECORDED = Path(__file__).parents[2] / "tests" / "data" / "small_formats.npz"
PAIRS = tuple(product(SMALL_TYPES, SMALL_TYPES))
RESULTS = 10_000
LONG_RESULTS = 10_000_000
CHUNK = 10_000
ONE = np.uint8(127)


@pytest.fixture(scope="module")
def alone() -> BulkUnit:
    return BulkUnit(DotProductUnit(ALONE))


@pytest.fixture(scope="module")
def among_all() -> BulkUnit:
    return BulkUnit(DotProductUnit(ALL))


def check(
    unit: BulkUnit, config: DotProductConfig, batch: SmallBatch, wanted: NDArray[np.uint32] | None = None
) -> None:
    """Run a batch and compare every bit with golden, or with what is wanted."""
    expected = batch.expected() if wanted is None else wanted
    results = unit.run(batch.pack(config))[:, 0]
    different = np.flatnonzero(results != expected)
    if different.size:
        at = int(different[0])
        pytest.fail(
            f"{different.size} of {expected.size} differ; number {at}, {batch.describe(at)}: "
            f"unit {results[at]:#010x}, expected {expected[at]:#010x}"
        )


def check_random(unit: BulkUnit, config: DotProductConfig, count: int, seed: int) -> None:
    """Random operations of every kind, every pair of types and both results."""
    each = -(-count // (2 * len(PAIRS) * len(SMALL_KINDS)))
    for kind, result, (a_type, b_type) in product(SMALL_KINDS, ("f32", "f16"), PAIRS):
        check(unit, config, random_small(a_type, b_type, result, kind, each, seed))


def every_scale(a_type: str, b_type: str) -> SmallBatch:
    """Every byte for either side, the other one random."""
    batch = random_small(a_type, b_type, "f32", "spread", 1024, seed=5)
    number = np.arange(1024)
    batch.scale_a[:512] = number[:512] % 256
    batch.scale_b[512:] = number[512:] % 256
    return batch


def every_pair_of_elements(a_type: str, b_type: str) -> SmallBatch:
    """Every element of A times every element of B, each at one of the 32 places, beside one other product."""
    sizes = [1 << float_format(name).bits for name in (a_type, b_type)]
    count = min(sizes[0] * sizes[1], 1 << 13)
    number = np.random.default_rng(6).permutation(sizes[0] * sizes[1])[:count]
    batch = random_small(a_type, b_type, "f32", "sparse", count, seed=7).without_scales()
    for elements, own in ((batch.a, number % sizes[0]), (batch.b, number // sizes[0])):
        kept = elements[np.arange(count), number % PRODUCTS ^ 1].copy()
        elements[:] = 0
        elements[np.arange(count), number % PRODUCTS ^ 1] = kept
        elements[np.arange(count), number % PRODUCTS] = own
    batch.c[:] = 0
    return batch


def distances() -> SmallBatch:
    """A product of ones at every place at every distance below another one and below C; scales move both."""
    batch = random_small("e5m2", "e5m2", "f32", "sparse", 2 * 40 * PRODUCTS, seed=8)
    number = np.arange(len(batch.c))
    place, distance, to_c = number % PRODUCTS, number // PRODUCTS % 40, number // PRODUCTS // 40
    batch.a[:], batch.b[:] = 0, 0
    batch.a[number, place], batch.b[number, place] = 0x3F, 0xBF  # 1.75 and -1.75
    half = distance // 2
    other = (place + 7) % PRODUCTS
    large = (
        ((15 + half.clip(max=14)) << 2).astype(np.uint8),
        ((15 + (distance - half).clip(max=14)) << 2).astype(np.uint8),
    )
    batch.a[number, other], batch.b[number, other] = (np.where(to_c, 0, each) for each in large)
    batch.scale_a[:], batch.scale_b[:] = 120 + number % 8, 134 - number % 8
    batch.c[:] = np.where(to_c, (127 + distance).astype(np.uint32) << np.uint32(23), 0)
    return batch


def one_special() -> SmallBatch:
    """In every place, alone: an infinity of A or of B, an infinity times zero, a NaN."""
    batch = random_small("e5m2", "e5m2", "f32", "sparse", 4 * PRODUCTS, seed=9).without_scales()
    number = np.arange(len(batch.c))
    case = number // PRODUCTS
    batch.a[number, number % PRODUCTS] = np.array([0x7C, 0x3C, 0xFC, 0x3C], np.uint8)[case]
    batch.b[number, number % PRODUCTS] = np.array([0x3C, 0xFC, 0x00, 0x7D], np.uint8)[case]
    return batch


def directed() -> list[SmallBatch]:
    batches = [every_pair_of_elements(a, b) for a, b in zip(SMALL_TYPES, SMALL_TYPES[::-1], strict=True)]
    return [*batches, every_scale("e2m1", "e4m3"), every_scale("e5m2", "e3m2"), distances(), one_special()]


def test_alone_equals_golden(alone: BulkUnit) -> None:
    check_random(alone, ALONE, RESULTS, seed=1)
    for batch in directed():
        check(alone, ALONE, batch)


def test_words_of_mma_sim(alone: BulkUnit) -> None:
    """An independent model's results for every pair of types, with scales and without."""
    compared = 0
    with np.load(RECORDED) as words:
        for form, (a_type, b_type) in product(("f32", "f16", "1X"), PAIRS):
            key = f"{form}.{a_type}.{b_type}"
            a, b, c, d = (words[f"{key}/{name}"] for name in "abcd")
            ones = np.full(len(c), ONE)
            scales = [words[f"{key}/scale_{side}"][:, 0] if form == "1X" else ones for side in "ab"]
            d_type = "f16" if form == "f16" else "f32"
            batch = SmallBatch(
                a_type=a_type,
                b_type=b_type,
                d_type=d_type,
                a=a.astype(np.uint8),
                b=b.astype(np.uint8),
                c=c.astype(np.uint32),
                scale_a=scales[0],
                scale_b=scales[1],
            )
            check(alone, ALONE, batch, d.astype(np.uint32))
            compared += len(d)
    assert compared >= 75 * 36


@pytest.mark.long
def test_ten_million_results_equal_golden(among_all: BulkUnit) -> None:
    each = 2 * len(PAIRS) * len(SMALL_KINDS) * CHUNK
    for seed in range(LONG_RESULTS // each + 1):
        check_random(among_all, ALL, each, seed=100 + seed)


@pytest.mark.long
def test_among_all_formats(among_all: BulkUnit) -> None:
    """Small elements beside f16, tf32 and integers, and these beside them."""
    check_random(among_all, ALL, 400_000, seed=2)
    for batch in directed():
        check(among_all, ALL, batch)
    place = Operation.as_shape().size + 1
    for mode in MODES:
        plain = random_batch(mode, 5_000, seed=3, profile=BLACKWELL)
        words = plain.pack()
        last = words[:, 17].astype(np.uint64) | np.uint64(0x7F7F << place)
        packed = np.concatenate([words[:, :17], last[:, None].view(np.uint32)], axis=1)
        results = among_all.run(packed)[:, 0]
        np.testing.assert_array_equal(results, plain.expected(BLACKWELL), err_msg=str(mode))


@pytest.mark.long
@pytest.mark.parametrize(
    ("formats", "block_scale"),
    [({"f16", "fp8"}, False), ({"f16", "fp8", "fp4"}, False), ({"bf16", "i8", "fp8"}, True)],
    ids=["fp8", "fp4", "scales"],
)
def test_subsets(formats: set[str], block_scale: bool) -> None:
    config = DotProductConfig(
        formats=frozenset(formats), profile=BLACKWELL, block_scale=block_scale, depth=14
    )
    unit = BulkUnit(DotProductUnit(config))
    types = [
        name for name in SMALL_TYPES if name in ("e4m3", "e5m2") or ("fp4" in formats and name == "e2m1")
    ]
    for kind, result, a_type, b_type in product(SMALL_KINDS, ("f32", "f16"), types, types):
        batch = random_small(a_type, b_type, result, kind, 2_000, seed=4)
        check(unit, config, batch if block_scale else batch.without_scales())
