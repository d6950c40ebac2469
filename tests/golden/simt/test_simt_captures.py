"""Whole kernels on the golden model: every byte of memory as an H200 left it."""

import pytest
from captured import cases, module, prepare


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


OVERREADS = ("library.pipeline_6_768", "library.pipeline_5_563")
"""Their pipeline reads one stage that was never written, and drops the values."""


@pytest.mark.parametrize("name", cases())
def test_the_checker_is_silent(name: str) -> None:
    launch = prepare(name)
    case = launch.case
    kernel = module(name).kernel(case["entry"])
    options = {"check": True, "races": True}
    result = kernel.launch(case["grid"], case["block"], launch.arguments, case["shared"], **options)
    assert launch.differences() == {}
    found = [str(report) for report in result.reports]
    if name in OVERREADS:
        assert len(found) == 1
        assert (
            "16 bytes that were never written: byte 5120 of shared memory, byte 4096 of dynamic" in found[0]
        )
    else:
        assert not found
