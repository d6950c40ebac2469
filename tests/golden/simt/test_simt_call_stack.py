"""Functions with bodies of their own, ``alloca`` and addresses of parameters.

The launches of tests/data/language are an H200's: calls.cu as nvcc 13.0 compiles it with and without -G, and
language.ptx, which is written by hand.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from short_kernels import HEADER, kernel, run

from golden.limits import NESTED_CALLS, STACK_BYTES
from golden.ptx.source import PtxError
from golden.simt import KernelFault, Module, device

DATA = Path(__file__).parents[2] / "data" / "language"
COMPILED = (
    *("recursion", "trees", "tables", "pointer_argument", "virtual_functions", "structures"),
    *("dynamic_stack", "barriers"),
)
BY_HAND = ("through_tables", "by_name", "by_lanes", "structures", "stack", "parameters")
UNDEFINED = {
    "pointer_argument": slice(3, None, 4),  # shuffles from lanes that take no part
    "hand/parameters": [8, 14, 15],  # where the chip places parameters
    "hand/stack": [14],  # the assembler gives two pieces of one byte the same register
}
"""Results that nobody defines, or that differ for a known reason."""


@cache
def captured():
    with np.load(DATA / "launches.npz") as file:
        return dict(file)


def differences(file, name, prefix="", **options):
    """The places where a launch differs from the chip's."""
    key = prefix + name
    found = [captured()[f"{key}/{i}"] for i in range(6) if f"{key}/{i}" in captured()]
    arguments = [item.copy() if item.dtype.itemsize > 1 and item.ndim else item for item in found]
    threads = {"barriers": 64}.get(name, 64 if prefix else 256)
    result = Module((DATA / file).read_text(), file).kernel(name).launch(1, threads, arguments, **options)
    expected = captured()[f"{key}/result"]
    same = arguments[0].view(np.uint32) == expected.view(np.uint32)
    if key in UNDEFINED:
        words = same.reshape(threads, -1) if prefix else same
        words[(slice(None), UNDEFINED[key]) if prefix else UNDEFINED[key]] = True
    assert not result.reports
    return np.flatnonzero(~same).tolist()


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("file", ["calls.ptx", "calls_debug.ptx"])
def test_compiled_calls_give_what_the_chip_gave(file, name):
    assert differences(file, name) == []


@pytest.mark.parametrize("name", BY_HAND)
def test_calls_by_hand_give_what_the_chip_gave(name):
    assert differences("language.ptx", name, "hand/") == []


@pytest.mark.parametrize("name", ["structures", "dynamic_stack"])
def test_the_checker_is_silent_about_the_stack(name):
    assert differences("calls_debug.ptx", name, check=True, races=True) == []


DOWN = """.func (.param .b32 r) down(.param .b32 x) {{ .reg .b32 %q<3>; .reg .pred %p; {variables}
ld.param.u32 %q0, [x]; setp.eq.u32 %p, %q0, 0; mov.u32 %q1, 0; @%p bra DONE;
{{ .param .b32 a; .param .b32 b; sub.u32 %q2, %q0, 1; st.param.b32 [a], %q2; call (b), down, (a);
ld.param.b32 %q1, [b]; }}
add.u32 %q1, %q1, %q0; DONE: st.param.b32 [r], %q1; ret; }}"""
TO_ARGUMENT = """{ .param .b32 a; .param .b32 b; ld.global.u32 %r1, [%rd1]; st.param.b32 [a], %r1;
call (b), down, (a); ld.param.b32 %r2, [b]; } st.global.u32 [%rd1], %r2;"""


def test_every_thread_has_its_own_depth():
    depths = np.arange(64, dtype=np.uint32) * 16 % 1009
    found = run(TO_ARGUMENT, 64, before=DOWN.format(variables=""), array=depths.copy())
    assert found.tolist() == (depths.astype(int) * (depths + 1) // 2).tolist()


def test_the_depth_of_calls_is_limited():
    down = kernel(TO_ARGUMENT, before=DOWN.format(variables=""))
    array = np.array([5, NESTED_CALLS - 1, 0], np.uint32)
    down.launch(1, 3, [array])
    assert array.tolist() == [15, (NESTED_CALLS - 1) * NESTED_CALLS // 2, 0]
    message = rf"the calls of down are nested more than {NESTED_CALLS} deep \(kernel k, .*thread \(1, 0, 0\)"
    with pytest.raises(KernelFault, match=message):
        down.launch(1, 3, [np.array([5, NESTED_CALLS, 0], np.uint32)])


def test_the_stack_is_limited():
    down = kernel(TO_ARGUMENT, before=DOWN.format(variables=".local .align 16 .b8 l[1000];"))
    fitting = STACK_BYTES // (1008 + 32 + 32)
    array = np.array([fitting - 2], np.uint32)
    down.launch(1, 1, [array])
    assert array.tolist() == [(fitting - 2) * (fitting - 1) // 2]
    with pytest.raises(KernelFault, match=f"stack of a thread has {STACK_BYTES} bytes, .* and down asks for"):
        down.launch(1, 1, [np.array([100], np.uint32)])
    with pytest.raises(KernelFault, match=f"has {STACK_BYTES} bytes, .* and k asks for"):
        kernel(f"alloca.u32 %r1, {STACK_BYTES + 1};").launch(1, 1, [np.zeros(1, np.uint32)])


F = """.func (.param .b32 r) f(.param .b32 x)
{ .reg .b32 %q; ld.param.b32 %q, [x]; st.param.b32 [r], %q; ret; }"""
G = ".func g(.param .b64 x) { ret; }"
THROUGH = """mov.b64 %rd2, f; {change} {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0;
P: .callprototype (.param .b32 _) _ (.param .b32 _); {call} }}"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("mov.b64 %rd2, 0;", "a call goes to 0x0, which is none of the functions that fit: f"),
        ("mov.b64 %rd2, g;", "a call goes to 0x400000010, which is none of the functions that fit: f"),
        ("add.u64 %rd2, %rd2, 4;", "a call goes to 0x400000004, which is none"),
    ],
)
def test_a_call_of_what_is_no_fitting_function_is_a_fault(change, message):
    body = THROUGH.format(change=change, call="call (b), %rd2, (a), P;")
    with pytest.raises(KernelFault, match=re.escape(message)):
        run(body, before=F + G)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("call (b), %rd2, (a);", "a call through a register needs a list of functions or a prototype"),
        ("call (b), %rd2, (a, a), P;", "the call through %rd2 has 1 arguments, not 2"),
        ("call (%rd3), %rd2, (a), P;", "%rd3 has 8 bytes, but _ of the call through %rd2 has 4"),
        ("call (b), 7, (a), P;", "call needs the name of a function or a register"),
        ("alloca.u32 %r1, 8, 3;", "the alignment of alloca must be a constant power of two"),
        ("alloca.b32 %r1, 8;", "alloca.b32 is not supported"),
        ("stacksave.u64 %r1;", "expected a destination of 64 bits, but %r1 is .b32"),
    ],
)
def test_what_is_malformed_is_refused(call, message):
    with pytest.raises(PtxError, match=re.escape(message)):
        run(THROUGH.format(change="", call=call), before=F)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".func f(); .alias f, g;", "g must be a function with a body"),
        (".func g() { ret; } .alias f, g;", "f must be a function that is declared without a body"),
        (".func f(.param .b8 s[], .param .b32 x);", "parameter s must have a size"),
        (".func (.param .b8 r[]) f();", "parameter r must have a size"),
        (".entry k(.param .b8 s[]) { ret; }", "parameter s must have a size"),
    ],
)
def test_declarations_that_the_assembler_refuses(text, message):
    with pytest.raises(PtxError, match=re.escape(message)):
        Module(HEADER + text)


def test_lanes_come_together_behind_different_functions():
    functions = "".join(
        f".func (.param .b32 r) f{i}(.param .b32 x) {{ .reg .b32 %q; ld.param.b32 %q, [x]; "
        f"{'bar.warp.sync 0x33333333;' if i < 2 else ''} mul.lo.u32 %q, %q, {i}; "
        "st.param.b32 [r], %q; ret; }"
        for i in range(4)
    )
    body = """
    and.b32 %r1, %r0, 3; mul.wide.u32 %rd2, %r1, 8; mov.b64 %rd3, t;
    add.u64 %rd3, %rd3, %rd2; ld.const.u64 %rd4, [%rd3];
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r0;
    P: .callprototype (.param .b32 _) _ (.param .b32 _); call (b), %rd4, (a), P; ld.param.b32 %r2, [b]; }
    shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; st.global.u32 [%rd1], %r3;"""
    expected = [(t ^ 1) * ((t ^ 1) & 3) for t in range(32)]
    table = ".const .align 8 .b64 t[4] = {f0, f1, f2, f3};"
    assert run(body, before=functions + table).tolist() == expected


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_function_may_wait_for_another_block(jobs):
    before = """.func (.param .b32 r) poll(.param .b64 p, .param .b32 n)
    { .reg .b32 %q<3>; .reg .b64 %w; .reg .pred %p; ld.param.b64 %w, [p];
    ld.param.b32 %q1, [n]; setp.eq.u32 %p, %q1, 0; @%p bra READ;
    { .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %w; sub.u32 %q1, %q1, 1;
    st.param.b32 [b], %q1; call (c), poll, (a, b); ld.param.b32 %q0, [c]; } bra DONE;
    READ: ld.volatile.global.u32 %q0, [%w]; DONE: st.param.b32 [r], %q0; ret; }"""
    body = """mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra WRITE;
    LOOP: { .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %rd0; st.param.b32 [b], %r0;
    call (c), poll, (a, b); ld.param.b32 %r2, [c]; } setp.eq.u32 %p2, %r2, 0; @%p2 bra LOOP;
    st.global.u32 [%rd1+4], %r2; ret;
    WRITE: mov.u32 %r3, 9; setp.eq.u32 %p3, %r0, 0; @%p3 st.volatile.global.u32 [%rd0], %r3;"""
    array = device(np.zeros(33, np.uint32))
    kernel(body, before=before).launch(2, 32, [array], jobs=jobs)
    assert array.numpy().tolist() == [9] * 33


def test_a_variable_of_a_function_is_one_for_all_its_calls():
    before = """.func (.param .b32 r) count() { .reg .b32 %q; .shared .b32 s; bar.sync 0;
    atom.shared.add.u32 %q, [s], 1; bar.sync 0; ld.shared.u32 %q, [s]; st.param.b32 [r], %q; ret; }"""
    body = """{ .param .b32 b; call (b), count; ld.param.b32 %r1, [b]; call (b), count;
    ld.param.b32 %r2, [b]; }
    mad.lo.u32 %r1, %r1, 100, %r2; st.global.u32 [%rd1], %r1;"""
    assert run(body, 32, before=before).tolist() == [3264] * 32


@pytest.mark.parametrize(("offset", "found"), [(4, 0), (8, 1)])
def test_the_checker_lets_structures_with_gaps_pass(offset, found):
    """12 bytes of which the caller writes 8; a use of the others is told once, where it is."""
    before = """.func (.param .b32 r) f(.param .align 4 .b8 s[12], .param .b32 n)
    { .reg .b32 %q<3>; .reg .pred %p; .param .align 4 .b8 t[12]; ld.param.b32 %q0, [n];
    ld.param.b32 %q1, [s+PLACE]; setp.eq.u32 %p, %q0, 0; @%p bra DONE;
    { .param .b32 b; .param .b32 c; sub.u32 %q0, %q0, 1; st.param.b32 [b], %q0; call (c), f, (s, b);
    ld.param.b32 %q1, [c]; } DONE: st.param.b32 [r], %q1; ret; }""".replace("PLACE", str(offset))
    body = """{ .param .align 4 .b8 a[12]; .param .b32 b; .param .b32 c; st.param.b32 [a], 3;
    st.param.b32 [a+4], 4; st.param.b32 [b], 2; call (c), f, (a, b);
    ld.param.b32 %r1, [c]; } st.global.u32 [%rd1], %r1;"""
    result = kernel(body, before=before).launch(1, 32, [np.zeros(32, np.uint32)], check=True)
    assert [str(item).count("short.ptx:6") for item in result.reports] == [1] * found


def test_alloca_of_an_inlined_function_ends_with_it():
    before = """.func f(.param .b32 n) { .reg .b32 %q<3>; .reg .pred %p; ld.param.b32 %q0, [n];
    alloca.u32 %q1, 30000; st.local.u32 [%q1], %q0; setp.gt.u32 %p, %q0, 7; @%p ret;
    alloca.u32 %q2, 30000; ret; }"""
    body = """stacksave.u32 %r1; { .param .b32 a; st.param.b32 [a], %r0; call f, (a); call f, (a); }
    stacksave.u32 %r2; sub.u32 %r1, %r1, %r2; add.u32 %r1, %r1, 5; st.global.u32 [%rd1], %r1;"""
    assert run(body, before=before).tolist() == [5] * 32
