"""Whole kernels on the golden model: every byte of memory as an H200 left it."""

import pytest

from tests.simt.captured import cases, module, prepare


@pytest.mark.parametrize("name", cases())
def test_memory_is_that_of_the_chip(name: str) -> None:
    launch = prepare(name)
    case = launch.case
    result = (
        module(name)
        .kernel(case["entry"])
        .launch(case["grid"], case["block"], launch.arguments, case["shared"])
    )
    assert result.warp_instructions > 0
    assert launch.differences() == {}
