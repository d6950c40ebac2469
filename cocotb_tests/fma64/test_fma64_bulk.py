"""The f64 unit in bulk: directed corners, captured results and millions of random ones."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cocotb_tests.fma64.corners import CORNERS
from cocotb_tests.fma64.exact import MODES, expected_fma64
from cocotb_tests.fma64.operands import KINDS, Case, pack_all, random_arrays
from golden.arithmetic.arrays import fma
from hdl.config import CoreConfig
from hdl.fma64.unit import FusedMultiplyAdd64
from sim.testbench.bulk import BulkUnit

CAPTURES = Path(__file__).parents[2] / "tests" / "data"
RESULTS_PER_MODE = 200_000
LONG_RESULTS_PER_MODE = 2_500_000


@cache
def unit() -> BulkUnit:
    return BulkUnit(FusedMultiplyAdd64())


def computed(a, b, c, mode, **pauses) -> NDArray[np.uint64]:
    """What the hardware makes of arrays of operands."""
    words = unit().run(pack_all(a, b, c, mode), **pauses)
    return np.ascontiguousarray(words).view(np.uint64)[:, 0]


def computed_cases(cases: list[Case], **pauses) -> NDArray[np.uint64]:
    a, b, c, mode = (np.array(column, np.uint64) for column in zip(*cases, strict=True))
    return computed(a, b, c, mode, **pauses)


def check(results: NDArray[np.uint64], expected: NDArray[np.uint64], describe) -> None:
    wrong = np.flatnonzero(results != expected)
    if len(wrong):
        first = int(wrong[0])
        pytest.fail(
            f"{len(wrong)} of {len(results)} results differ; number {first}: {describe(first)} "
            f"gave {int(results[first]):016x} instead of {int(expected[first]):016x}"
        )


def check_cases(cases: list[Case], **pauses) -> None:
    expected = [expected_fma64(case.a, case.b, case.c, MODES[case.mode]) for case in cases]

    def describe(index: int) -> str:
        case = cases[index]
        return f"{case.a:016x} * {case.b:016x} + {case.c:016x} .{MODES[case.mode]}"

    check(computed_cases(cases, **pauses), np.array(expected, np.uint64), describe)


@pytest.mark.parametrize("corner", CORNERS)
def test_directed_corners_equal_the_exact_model(corner):
    cases = list(CORNERS[corner]())
    assert len({case.mode for case in cases}) == len(MODES)
    check_cases(cases)


@pytest.mark.parametrize("kind", KINDS)
def test_random_results_equal_the_exact_model(kind):
    arrays = [array.tolist() for array in random_arrays(kind, 4_000, seed=5)]
    modes = np.random.default_rng(6).integers(0, 4, 4_000).tolist()
    check_cases([Case(*case) for case in zip(*arrays, modes, strict=True)])


def compare_with_golden(per_mode: int, seed: int) -> None:
    """Results of every kind, the modes mixed at random, against the golden model."""
    count = -(-per_mode * len(MODES) // len(KINDS))
    rng = np.random.default_rng(seed)
    for index, kind in enumerate(KINDS):
        a, b, c = random_arrays(kind, count, seed=seed + index)
        mode = rng.integers(0, 4, count)
        expected = np.zeros(count, np.uint64)
        for number, name in enumerate(MODES):
            chosen = mode == number
            expected[chosen] = fma(a[chosen], b[chosen], c[chosen], rounding=name)

        def describe(i: int, operands=(a, b, c), kind=kind, mode=mode) -> str:
            return f"{kind}: " + " ".join(f"{int(x[i]):016x}" for x in operands) + f" .{MODES[mode[i]]}"

        check(computed(a, b, c, mode), expected, describe)


def test_many_results_equal_golden():
    compare_with_golden(RESULTS_PER_MODE, seed=100)


@pytest.mark.long
def test_ten_million_results_equal_golden():
    for seed in range(1_000, 2_000, 100):
        compare_with_golden(LONG_RESULTS_PER_MODE // 10, seed)


@pytest.mark.parametrize("mode", MODES)
def test_captured_chains_equal_the_chip(mode):
    """Tiles captured from the chip: four results of the unit in a row for each element."""
    tiles = 0
    with np.load(CAPTURES / "rest.npz") as captures:
        names = [f"m8n8k4_f64_f64_f64_{mode}", *(["m8n8k4_f64_f64_f64"] if mode == "rn" else [])]
        keys = [key[:-1] for key in captures.files if key.endswith("/a") and key.split("/")[-2] in names]
        assert keys
        for key in keys:
            a, b, c, d = (captures[key + part] for part in "abcd")
            accumulator = c
            for k in range(a.shape[2]):
                x, y, z = np.broadcast_arrays(a[:, :, k, None], b[:, None, k, :], accumulator)
                results = computed(x.ravel(), y.ravel(), z.ravel(), MODES.index(mode))
                accumulator = results.reshape(c.shape)
            check(accumulator.ravel(), d.ravel(), lambda i, key=key: f"{key} element {i}")
            tiles += len(a)
    assert tiles >= 10


def test_one_result_per_cycle():
    count = 10_000
    a, b, c = random_arrays("normal", count, seed=7)
    computed(a, b, c, 0)
    assert unit().cycles == count + CoreConfig.f64_depths[-1] - 1


@pytest.mark.parametrize(
    ("input_pause", "output_pause"), [(0, 128), (128, 0), (128, 128), (10, 250), (250, 10)]
)
def test_pauses_change_nothing(input_pause, output_pause):
    a, b, c = random_arrays("wide", 20_000, seed=8)
    mode = np.random.default_rng(9).integers(0, 4, len(a))
    without = computed(a, b, c, mode)
    for seed in range(3):
        paused = computed(a, b, c, mode, input_pause=input_pause, output_pause=output_pause, seed=seed)
        check(paused, without, lambda i: f"operation {i}")
