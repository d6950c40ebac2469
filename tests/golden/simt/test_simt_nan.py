"""Which NaN of f64 prevails in a kernel, as on an H200: of two factors or terms, the one defined later."""

import numpy as np
import pytest
from short_kernels import run

A, B, C, D = 0x7FFF9D052DEFD3F5, 0xFFF052C72E6DEC37, 0xFFF89239DE860725, 0x7FF8000000ABCDEF
QUIET, SIGN = 1 << 51, 1 << 63
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


LATER = "ld.global.f64 %fd4, [%rd0+24]"
FLAGS = """
    ld.global.v2.u32 {%r1, %r2}, [%rd0+32]; setp.ne.u32 %p1, %r1, 0; setp.ne.u32 %p2, %r2, 0;
    mov.b64 %rd2, %fd1;
"""
COUNT = "bar.sync 0; add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 3; @%p3 bra X"
DEFINITIONS = {
    "a copy is what it copies": ("mov.f64 %fd6, %fd1; add.f64 %fd5, %fd6, %fd2", B),
    "a negated register is no later": ("neg.f64 %fd6, %fd1; fma.rn.f64 %fd5, %fd6, %fd2, %fd3", B),
    "nor is its absolute value": ("neg.f64 %fd6, %fd1; abs.f64 %fd6, %fd6; mul.f64 %fd5, %fd6, %fd2", B),
    "a register that is defined anew is": ("mul.rz.f64 %fd1, %fd1, %fd1; add.rz.f64 %fd5, %fd1, %fd2", A),
    "under a guard it is the last": (f"@%p2 neg.f64 %fd1, %fd1; {LATER}; add.f64 %fd5, %fd1, %fd4", A),
    "a select is": (f"selp.f64 %fd6, %fd1, %fd3, %p1; {LATER}; mul.f64 %fd5, %fd6, %fd4", A),
    "the second of two selects is": (
        "selp.f64 %fd6, %fd1, %fd3, %p1; selp.f64 %fd7, %fd2, %fd3, %p1; mul.f64 %fd5, %fd7, %fd6",
        A,
    ),
    "an integer of 64 bits is": (
        f"xor.b64 %rd3, %rd2, {SIGN}; mov.b64 %fd6, %rd3; {LATER}; mul.f64 %fd5, %fd6, %fd4",
        A | SIGN,
    ),
    "two halves are as early as written": (
        f"mov.b64 {{%r3, %r4}}, %fd1; mov.b64 %fd6, {{%r3, %r4}}; {LATER}; mul.f64 %fd5, %fd6, %fd4",
        D,
    ),
    "a constant is the last": (
        "mov.f64 %fd6, 0d7ff8000000000123; mul.f64 %fd5, %fd6, %fd1",
        0x7FF8000000000123,
    ),
    "the sum of a loop is later": (f"X: add.f64 %fd1, %fd1, %fd2; {COUNT}; mov.f64 %fd5, %fd1", A),
    "of two sums the first one is": (
        f"X: mul.f64 %fd2, %fd2, %fd3; add.f64 %fd1, %fd1, %fd1; {COUNT}; add.rz.f64 %fd5, %fd1, %fd2",
        A,
    ),
    "what a branch changes is": (
        f"@%p2 bra M; bar.sync 0; mul.f64 %fd1, %fd1, %fd3; M: {LATER}; add.rz.f64 %fd5, %fd1, %fd4",
        A,
    ),
}
"""Which of two values counts as defined later, and the NaN that prevails."""


@pytest.mark.parametrize("rule", DEFINITIONS)
def test_of_definitions(rule):
    statements, expected = DEFINITIONS[rule]
    found = np.array([A, B, C, D, 1, 0], np.uint64)
    run(f"{' '.join(LOADS)} {FLAGS} {statements}; st.global.f64 [%rd0+40], %fd5;", threads=1, array=found)
    assert int(found[5]) == expected | QUIET


def test_a_loop_that_defines_nothing_else():
    """The register is its own negation, round and round."""
    loop = "X: neg.f64 %fd6, %fd6; add.f64 %fd5, %fd6, %fd1; bar.sync 0; add.u32 %r2, %r2, 1; "
    assert results(LOADS, f"{loop} setp.lt.u32 %p3, %r2, 3; @%p3 bra X") == [A]
