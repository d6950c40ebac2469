"""Which NaN of f64 prevails in a kernel, as on an H200: of two factors or terms, the one defined later."""

import numpy as np
import pytest
from short_kernels import run

A, B, C = 0x7FFF9D052DEFD3F5, 0xFFF052C72E6DEC37, 0xFFF89239DE860725
QUIET = 1 << 51
OF_TWO = ("add.f64", "add.rz.f64", "sub.f64", "mul.f64", "mul.rm.f64", "min.f64", "max.f64")
LOADS = [f"ld.global.f64 %fd{i + 1}, [%rd0+{8 * i}];" for i in range(3)]


def results(loads, *statements):
    """What the statements leave in %fd5, from numbers that are loaded in this order."""
    found = np.array([A, B, C, *[0] * len(statements)], np.uint64)
    stores = (f"st.global.f64 [%rd0+{24 + 8 * i}], %fd5;" for i in range(len(statements)))
    steps = zip(statements, stores, strict=True)
    run(" ".join((*loads, *(f"{statement}; {store}" for statement, store in steps))), threads=1, array=found)
    return [int(value) for value in found[3:]]


@pytest.mark.parametrize(("loads", "prevails"), [(LOADS, B | QUIET), (LOADS[::-1], A)])
@pytest.mark.parametrize("sources", ["%fd1, %fd2", "%fd2, %fd1"])
def test_of_two_sources(loads, prevails, sources):
    statements = [f"{name} %fd5, {sources}" for name in OF_TWO]
    assert results(loads, *statements) == [prevails] * len(statements)


@pytest.mark.parametrize(
    ("loads", "prevail"),
    [(LOADS, (B | QUIET, B | QUIET, C, C)), (LOADS[::-1], (A, A, B | QUIET, A))],
)
def test_of_three_sources(loads, prevail):
    orders = ("%fd1, %fd2, %fd3", "%fd2, %fd1, %fd3", "%fd3, %fd2, %fd1", "%fd3, %fd1, %fd2")
    assert results(loads, *(f"fma.rn.f64 %fd5, {order}" for order in orders)) == list(prevail)


def test_of_results():
    """The sum of %fd3 and itself is defined behind the sum of the others, and is the first factor."""
    sums = "add.f64 %fd6, %fd1, %fd2; add.f64 %fd7, %fd3, %fd3; "
    assert results(LOADS, sums + "mul.f64 %fd5, %fd7, %fd6", sums + "sub.f64 %fd5, %fd7, %fd1") == [C, C]


def test_of_changed_signs():
    """The assembler changes signs where operands are read: a negated register is no later than its source."""
    signs = ("neg.f64 %fd6, %fd1", "abs.f64 %fd7, %fd1", "neg.f64 %fd8, %fd1; abs.f64 %fd8, %fd8")
    multiplies = [f"{text}; mul.f64 %fd5, %fd{6 + i}, %fd2" for i, text in enumerate(signs)]
    found = results(LOADS, "neg.f64 %fd0, %fd1; fma.rn.f64 %fd5, %fd0, %fd2, %fd3", *multiplies)
    assert found == [B | QUIET] * 4
