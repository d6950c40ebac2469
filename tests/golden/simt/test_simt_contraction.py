"""Which multiplication joins which addition: on an H100, and every row of the rule by itself."""

import numpy as np
import pytest
from contraction_kernels import both, captured, results, text
from contraction_rows import JOINED, ROWS

from golden.simt import Module


@pytest.mark.parametrize("name", captured())
def test_results_are_those_of_the_chip(name: str) -> None:
    body, given, expected = captured()[name]
    np.testing.assert_array_equal(results(body, given), expected)


def test_without_joining_most_captured_kernels_differ() -> None:
    alike = [
        name
        for name, (body, given, expected) in captured().items()
        if np.array_equal(results(body, given, contract=False), expected)
    ]
    assert len(captured()) == 46
    assert len(alike) < 20


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_the_rule(name: str) -> None:
    found, expected, separate = both(ROWS[name])
    np.testing.assert_array_equal(found, expected)
    if name in JOINED:
        assert (expected != separate).any()


def test_pairs_are_listed_with_their_lines() -> None:
    body = "mul.f32 %f9,%f1,%f2;\nmul.f32 %f10,%f3,%f4;\nadd.f32 %f11,%f9,%f10;\nsub.f32 %f20,%f11,%f5;"
    kernel = Module(text(body), "k.ptx").kernel()
    product, total = "k.ptx:19: mul.f32 %f9,%f1,%f2;", "k.ptx:21: add.f32 %f11,%f9,%f10;"
    assert [str(item) for item in kernel.contractions] == [f"{product} -> {total}"]
    assert not Module(text("add.f32 %f20,%f1,%f2;"), "k.ptx").kernel().contractions
