"""Video instructions with a third operand that nothing names, and ``.satfinite``, as an H200 has them."""

import numpy as np
import pytest
from golden_captures import COMPACT

from golden.scalar import operation


@pytest.fixture(scope="module")
def captured():
    with np.load(COMPACT / "language" / "scalar.npz") as file:
        return dict(file)


def test_a_third_operand_of_a_video_instruction_is_ignored(captured):
    a, b, c = (captured[f"video/{name}"] for name in "abc")
    wrong = []
    for text, expected in zip(captured["video/text"], captured["video/results"], strict=True):
        name, first, second = str(text).split()
        parts = ("", *(operand.strip(",").partition(".")[2] for operand in (first, second)), "")
        if not np.array_equal(operation(name, parts=parts).evaluate(a, b, c), expected):
            wrong.append(text)
    assert len(captured["video/text"]) == 252
    assert wrong == []


def test_satfinite_keeps_nan_and_takes_the_largest_number_for_infinity(captured):
    wrong = []
    for text, expected in zip(captured["cvt/text"], captured["cvt/results"], strict=True):
        found = operation(str(text))
        operands = [captured[f"cvt/{name}"] for name in "ab"[: len(found.operands)]]
        if not np.array_equal(found.evaluate(*operands), expected):
            wrong.append(text)
    assert len(captured["cvt/text"]) == 17
    assert wrong == []
