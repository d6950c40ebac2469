"""Which multiplication joins which addition: on an H100, and every row of the rule by itself."""

import numpy as np
import pytest
from contraction_kernels import THREADS, both, captured, results, text
from contraction_rows import JOINED, ROWS
from short_kernels import run

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


@pytest.mark.parametrize(("target", "bits"), [("sm_90", 0xBFD5C28F), ("sm_90, debug", 0xBFD5C290)])
def test_nothing_joins_in_a_module_for_a_debugger(target: str, bits: int) -> None:
    """An H200 gives these for 9 * 0.37 - 5."""
    body = text("mul.f32 %f9,%f1,%f2;\nsub.f32 %f20,%f9,%f3;").replace("sm_90", target, 1)
    given = np.repeat(np.array([[9], [0.37], [5], *[[0]] * 5], np.float32), THREADS, axis=1)
    found = np.zeros((2, THREADS), np.uint32)
    Module(body, "k.ptx").kernel().launch(1, THREADS, [given, found, 1.7])
    assert (found[0] == bits).all()


COUNTING = """.func (.param .b32 r) count(.param .b32 n)
{ .reg .b32 %q<4>; .reg .pred %p; ld.param.u32 %q0, [n]; setp.eq.u32 %p, %q0, 0; @%p bra END;
  { .param .b32 a; .param .b32 c; sub.u32 %q1, %q0, 1; st.param.b32 [a], %q1; call (c), count, (a);
    ld.param.b32 %q2, [c]; }
  add.u32 %q0, %q2, 1;
  END: st.param.b32 [r], %q0; ret; }
"""
ADDING = """.func (.param .f32 r) add(.param .f32 x, .param .b32 n)
{ .reg .f32 %e<4>; .reg .b32 %q<2>; .reg .pred %p; ld.param.f32 %e0, [x]; ld.param.u32 %q0, [n];
  mul.f32 %e1, %e0, 0f3F800001; add.f32 %e0, %e1, 0f3F000000; setp.eq.u32 %p, %q0, 0; @%p bra END;
  { .param .f32 a; .param .b32 b; .param .f32 c; sub.u32 %q1, %q0, 1; st.param.f32 [a], %e0;
    st.param.b32 [b], %q1; call (c), add, (a, b); ld.param.f32 %e0, [c]; }
  END: st.param.f32 [r], %e0; ret; }
"""
CALLING = """{ .param .b32 a; .param .b32 c; st.param.b32 [a], %r0; call (c), count, (a);
  ld.param.b32 %r1, [c]; }
cvt.rn.f32.u32 %f0, %r1;
{ .param .f32 a; .param .b32 b; .param .f32 c; st.param.f32 [a], %f0; st.param.b32 [b], 3;
  call (c), add, (a, b); ld.param.f32 %f1, [c]; }
mul.f32 %f2, %f1, %f1; add.f32 %f1, %f2, %f0; st.global.f32 [%rd1], %f1;"""


def test_products_join_sums_in_a_kernel_and_in_all_functions_that_it_calls() -> None:
    """NVIDIA's assembler 13.0 makes one fused multiply-add of each of the two pairs for sm_90."""

    def calculated(fused: bool) -> list[float]:
        def add(x: np.float32, y: np.float32, z: np.float32) -> np.float32:
            product = float(x) * float(y)  # exact
            return np.float32((product if fused else float(np.float32(product))) + float(z))

        found = []
        for thread in np.arange(32, dtype=np.float32):
            value = thread
            for _ in range(4):
                value = add(value, np.uint32(0x3F800001).view(np.float32), np.float32(0.5))
            found.append(float(add(value, value, thread)))
        return found

    for contract in (True, False):
        given = run(CALLING, before=COUNTING + ADDING, contract=contract).view(np.float32)
        assert given.tolist() == calculated(fused=contract)
    assert calculated(fused=True) != calculated(fused=False)
