"""Sums of groups in bulk: directed corners, words of MMA-Sim and millions of random operations."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cocotb_tests.omma.corners import CORNERS
from cocotb_tests.omma.operands import KINDS, SCALE_TYPES, Batch, random_batch
from golden.arithmetic.fp4 import KEPT_BITS, LEAST_EXPONENT
from golden.arithmetic.scales import SCALE_BITS
from golden.tables.profiles import PROFILES
from hdl.omma.unit import GroupSumUnit
from hdl.omma.widths import BIAS, GROUP, GROUPS, KEPT, LEAST_MAXIMUM, TERM_FRACTION
from sim.testbench.bulk import BulkUnit

RECORDED = Path(__file__).parents[2] / "tests" / "data" / "small_formats.npz"
RESULTS = 10_000
LONG_RESULTS = 10_000_000
CHUNK = 200_000
DEPTH = 14


@cache
def unit() -> BulkUnit:
    return BulkUnit(GroupSumUnit(DEPTH))


def check(batch: Batch, results: NDArray[np.uint32], expected: NDArray[np.uint32]) -> None:
    wrong = np.flatnonzero(results != expected)
    if len(wrong):
        first = int(wrong[0])
        pytest.fail(
            f"{len(wrong)} of {len(results)} results differ; number {first}, {batch.describe(first)} "
            f"gave {int(results[first]):08x} instead of {int(expected[first]):08x}"
        )


def computed(batch: Batch, **pauses: int) -> NDArray[np.uint32]:
    """What the hardware makes of a batch."""
    return unit().run(batch.pack(), **pauses)[:, 0]


def test_constants_are_those_of_golden() -> None:
    assert (KEPT, LEAST_MAXIMUM - 2 * BIAS) == (KEPT_BITS, LEAST_EXPONENT)
    assert TERM_FRACTION == 2 + 2 * SCALE_BITS
    assert PROFILES["blackwell"].fp4_group == GROUP


@pytest.mark.parametrize("corner", CORNERS)
def test_directed_corners_equal_golden(corner: str) -> None:
    for batch in CORNERS[corner]():
        check(batch, computed(batch), batch.expected())


def test_words_of_mma_sim() -> None:
    """An independent model's results of the four forms; where two groups share a scale, both get it."""
    compared = 0
    with np.load(RECORDED) as words:
        for key in ("mxf4.2X.ue8m0", "mxf4nvf4.2X.ue8m0", "mxf4nvf4.4X.ue8m0", "mxf4nvf4.4X.ue4m3"):
            a, b, c, d, *scales = (
                words[f"{key}/{name}"] for name in ("a", "b", "c", "d", "scale_a", "scale_b")
            )
            repeated = [np.repeat(scale, GROUPS // scale.shape[1], axis=1) for scale in scales]
            batch = Batch(key.split(".")[2], a, b, c, *repeated)
            check(batch, computed(batch), d)
            compared += len(d)
    assert compared >= 4 * 36


@pytest.mark.parametrize("scale_type", SCALE_TYPES)
def test_random_results_equal_golden(scale_type: str) -> None:
    for kind in KINDS:
        batch = random_batch(scale_type, kind, RESULTS // len(KINDS), seed=1)
        check(batch, computed(batch), batch.expected())


@pytest.mark.long
@pytest.mark.parametrize("scale_type", SCALE_TYPES)
def test_ten_million_results_equal_golden(scale_type: str) -> None:
    for start in range(0, LONG_RESULTS, CHUNK * len(KINDS)):
        for kind in KINDS:
            batch = random_batch(scale_type, kind, CHUNK, seed=100 + start)
            check(batch, computed(batch), batch.expected())


def test_one_result_in_two_cycles() -> None:
    count = 5_000
    batch = random_batch("ue8m0", "normal", count, seed=7)
    computed(batch)
    assert unit().cycles == 2 * count + DEPTH - 1


@pytest.mark.parametrize(("input_pause", "output_pause"), [(128, 0), (10, 250), (250, 10)])
def test_pauses_change_nothing(input_pause: int, output_pause: int) -> None:
    batch = random_batch("ue4m3", "bits", 5_000, seed=8)
    without = computed(batch)
    check(batch, computed(batch, input_pause=input_pause, output_pause=output_pause, seed=2), without)
