"""Lab "A rounding mode": profile exact.rna rounds to nearest, ties away from zero."""

from fractions import Fraction

import numpy as np
import pytest

import golden

INSTRUCTION = "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16"


def rounded(value: int) -> float:
    """An integer to the 11 significant bits of f16, ties away from zero."""
    unit = 1 << max(0, abs(value).bit_length() - 11)
    magnitude = int(Fraction(abs(value), unit) + Fraction(1, 2)) * unit
    return float(-magnitude if value < 0 else magnitude)


@pytest.mark.parametrize(("value", "expected"), [(2049, 2050), (-2049, -2050), (2051, 2052), (4097, 4096)])
def test_ties(value: int, expected: float) -> None:
    """Ties go away from zero, others to the nearest."""
    a, b, c = np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float16)
    sign = 1 if value > 0 else -1
    a[:, 0], a[:, 1] = sign * 2048, value - sign * 2048
    b[:2] = 1
    assert (golden.mma(INSTRUCTION, a, b, c, profile="exact.rna") == expected).all()


@pytest.mark.parametrize("seed", range(3))
def test_sums_of_integers(seed: int) -> None:
    """Integers, whose sum Python knows."""
    random = np.random.default_rng(seed)
    a = random.integers(-1024, 1025, (16, 16))
    exact = a.sum(axis=1)
    b, c = np.ones((16, 16), np.float16), np.zeros((16, 16), np.float16)
    d = golden.mma(INSTRUCTION, a.astype(np.float16), b, c, profile="exact.rna")
    assert d[:, 0].tolist() == [rounded(int(value)) for value in exact]


def test_overflow_is_an_infinity() -> None:
    """65520 lies halfway between the largest f16 and the next number there would be."""
    a, b, c = np.zeros((16, 16), np.float16), np.ones((16, 16), np.float16), np.zeros((16, 16), np.float16)
    a[:, 0], a[:, 1] = 65504, 16
    assert np.isposinf(golden.mma(INSTRUCTION, a, b, c, profile="exact.rna")).all()
    a[:, 1] = 15
    assert (golden.mma(INSTRUCTION, a, b, c, profile="exact.rna") == 65504).all()


def test_the_explanation_has_the_same_result() -> None:
    """`golden.explain` computes with Python's integers."""
    random = np.random.default_rng(4)
    a = random.integers(-1024, 1025, (16, 16)).astype(np.float16)
    b, c = np.ones((16, 16), np.float16), np.zeros((16, 16), np.float16)
    d = golden.mma(INSTRUCTION, a, b, c, profile="exact.rna").view(np.uint16)
    for row in range(16):
        found = golden.explain(INSTRUCTION, a[row].tolist(), [1.0] * 16, 0.0, profile="exact.rna")
        assert found.result == d[row, 0]
