"""Parameters of calls are passed by value, and have addresses."""

import numpy as np
import pytest
from short_kernels import kernel, run

from golden.ptx.source import PtxError

FUNCTION = """
.func (.param .b32 r) f(.param .b32 x, .param .align 8 .b8 s[16])
{{ .reg .b32 %q<9>; .reg .b64 %w<9>; mov.u32 %q8, 5; {body} ret; }}
"""
CALL = """
{{ .param .b32 a; .param .b64 wide; .param .align 8 .b8 b[16]; .param .b32 c;
st.param.b32 [a], %r0; add.u32 %r1, %r0, 50; st.param.b32 [b+8], %r1;
{call}
ld.param.b32 %r2, [a]; ld.param.b32 %r3, [b+8]; ld.param.b32 %r4, [c]; }}
mad.lo.u32 %r2, %r2, 100, %r3; mad.lo.u32 %r2, %r2, 1000, %r4; st.global.u32 [%rd1], %r2;
"""
THREADS = np.arange(5)
ADDRESS = {
    "ld.param of the name": "ld.param.u32 %q0, [s+8];",
    "ld.local": "mov.u64 %w0, s; ld.local.u32 %q0, [%w0+8];",
    "ld.local of a name with an offset": "mov.u64 %w0, s+8; ld.local.u32 %q0, [%w0];",
    "ld.param of a register": "mov.u64 %w0, s; ld.param.u32 %q0, [%w0+8];",
    "ld.param::func of a register": "mov.u64 %w0, s; ld.param::func.u32 %q0, [%w0+8];",
    "generic through cvta.local": "mov.u64 %w0, s; cvta.local.u64 %w1, %w0; ld.u32 %q0, [%w1+8];",
    "generic through cvta.param": "cvta.param.u64 %w1, s; ld.u32 %q0, [%w1+8];",
}
WRITES = {
    "nothing": "",
    "the parameter": "st.param.b32 [x], %q8; st.param.b32 [s+8], %q8;",
    "through an address": "mov.u64 %w2, s; st.local.u32 [%w2+8], %q8; mov.u64 %w2, x; st.local.u32 [%w2], 5;",
    "through a generic address": "mov.u64 %w2, s; cvta.local.u64 %w2, %w2; st.u32 [%w2+8], %q8;",
    "as a result of a call": "call (x), g, (x);",
}
INNER = ".func (.param .b32 y) g(.param .b32 z) { .reg .b32 %q; mov.u32 %q, 7; st.param.b32 [y], %q; ret; }"


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("writes", WRITES)
@pytest.mark.parametrize("reads", ADDRESS)
def test_a_callee_reads_and_writes_copies(reads, writes, check):
    body = f"{ADDRESS[reads]} {WRITES[writes]} st.param.b32 [r], %q0;"
    before = INNER + FUNCTION.format(body=body)
    found = run(CALL.format(call="call (c), f, (a, b);"), 5, before=before, check=check)
    expected = (THREADS * 100 + THREADS + 50) * 1000 + THREADS + 50
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("value", ["ld.param.u32 %q1, [x];", "mov.u64 %w0, x; ld.local.u32 %q1, [%w0];"])
def test_a_variable_may_be_argument_and_result(value):
    body = (
        f"st.param.b32 [r], %q8; {value} add.u32 %q1, %q1, 30; st.param.b32 [r], %q1; st.param.b32 [r], %q1;"
    )
    call = "mov.u32 %r5, 9; st.param.b32 [c], %r5; call (a), f, (a, b);"
    found = run(CALL.format(call=call), 5, before=FUNCTION.format(body=body))
    expected = ((THREADS + 30) * 100 + THREADS + 50) * 1000 + 9
    assert found.tolist() == expected.tolist()


def test_values_pass_through_two_calls():
    before = """
    .func (.param .align 16 .b8 r[20]) turn(.param .align 4 .b8 s[20])
    { .reg .b32 %q<5>; ld.param.b32 %q0, [s]; ld.param.b32 %q1, [s+16]; st.param.b32 [r], %q1;
      st.param.b32 [r+16], %q0; ret; }
    .func (.param .align 16 .b8 r[20]) twice(.param .align 4 .b8 s[20])
    { .reg .b32 %q<5>; .reg .b64 %w; mov.u64 %w, s; ld.local.u32 %q0, [%w]; add.u32 %q0, %q0, 1;
      st.local.u32 [%w], %q0; call (r), turn, (s); ld.param.b32 %q0, [s]; ld.param.b32 %q1, [r+16];
      sub.u32 %q1, %q1, %q0; add.u32 %q1, %q1, 600; st.param.b32 [r+16], %q1; ret; }"""
    body = """
    { .param .align 4 .b8 a[20]; .param .align 16 .b8 b[20];
    st.param.b32 [a], %r0; add.u32 %r1, %r0, 40; st.param.b32 [a+16], %r1;
    call (b), twice, (a); ld.param.b32 %r2, [b]; ld.param.b32 %r3, [b+16]; ld.param.b32 %r4, [a]; }
    mad.lo.u32 %r2, %r2, 1000, %r3; mad.lo.u32 %r2, %r2, 100, %r4; st.global.u32 [%rd1], %r2;"""
    assert run(body, 5, before=before).tolist() == [((t + 40) * 1000 + 600) * 100 + t for t in range(5)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("call (c), f, (wide, b);", "wide has 8 bytes, but x of f has 4"),
        ("call (c), f, (b, b);", "b has 16 bytes, but x of f has 4"),
        ("call (c), f, (a, wide);", "wide has 8 bytes, but s of f has 16"),
        ("call (wide), f, (a, b);", "wide has 8 bytes, but r of f has 4"),
        ("call (c), f, (%rd1, b);", "%rd1 has 8 bytes, but x of f has 4"),
        ("call (c), f, (a, %rd1);", "s of f is an array: its argument is a variable"),
        ("call (c), f, (tile, b);", "tile is not a variable in .param"),
        ("call (c), f, (a);", "f has 2 arguments, not 1"),
    ],
)
def test_arguments_of_another_size(call, message):
    with pytest.raises(PtxError) as caught:
        kernel(CALL.format(call=call), ".global .b32 tile;" + FUNCTION.format(body=""))
    assert message in str(caught.value)


THREE = """
.func (.reg .b32 a, .reg .b64 b, .reg .pred c) three (.reg .b32 x, .reg .pred p)
{ add.u32 a, x, 1; @p add.u32 a, a, 50; mul.wide.u32 b, x, 7; setp.gt.u32 c, x, 2; ret; }"""
DEEP = """
.func (.param .b32 r) deep (.param .b32 n)
{ .reg .b32 %q<3>; .reg .pred %c; ld.param.b32 %q0, [n]; setp.eq.u32 %c, %q0, 0; @%c bra DONE;
  { .param .b32 m; sub.u32 %q1, %q0, 1; st.param.b32 [m], %q1; call (_), deep, (m); }
  DONE: mul.lo.u32 %q0, %q0, 3; st.param.b32 [r], %q0; ret; }"""


def test_underscores_drop_results_of_a_function_that_is_inlined():
    body = """
    setp.eq.u32 %p0, %r0, 1; call (%r1, _, %p1), three, (%r0, %p0); call (_, %rd2, _), three, (%r1, %p1);
    cvt.u32.u64 %r2, %rd2; @%p1 add.u32 %r2, %r2, 10; st.global.u32 [%rd1], %r2;"""
    assert run(body, 5, before=THREE).tolist() == [7, 364, 21, 38, 45]


def test_underscores_drop_results_of_a_function_that_calls_itself():
    body = "call (_), deep, (%r0); call (%r3), deep, (%r0); st.global.u32 [%rd1], %r3;"
    assert run(body, 5, before=DEEP).tolist() == [0, 3, 6, 9, 12]
