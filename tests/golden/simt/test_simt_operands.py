"""Operands of kernels: constant expressions, vectors of registers, registers of 128 bits, elements, parts."""

import numpy as np
import pytest
from short_kernels import kernel, run

from golden.ptx import PtxError

WORDS = "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0];"
INPUT = [0x11111111, 0x22222222, 0x33333333, 0x80FF7F01]
ALIGNED = ".reg .v4 .b32 v, w<2>; .reg .v2 .b64 d; .reg .v4 .f32 f; .reg .v2 .b16 h; .reg .b128 q, s<2>;"
SHARED = ".shared .align 16 .b32 t[4][2]; .shared .v2 .b16 u[4];"


def words(body):
    """%r11 to %r14 after a body that finds the input in %r1 to %r4."""
    array = np.array(INPUT, np.uint32)
    kernel(f"{ALIGNED} {SHARED} {WORDS} {body} st.global.v4.u32 [%rd0], {{%r11, %r12, %r13, %r14}};").launch(
        1, 1, [array]
    )
    return array.tolist()


ALL = "mov.v4.b32 {%r11, %r12, %r13, %r14}, v;"
A, B, C, D = INPUT


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"mov.v4.b32 v, {{%r1, %r2, %r3, %r4}}; {ALL}", [A, B, C, D]),
        (
            f"ld.global.v4.u32 v, [%rd0]; mov.v4.b32 w1, v; mov.b32 v.x, 9; mov.v4.b32 v, w1; {ALL}",
            [A, B, C, D],
        ),
        (
            "ld.global.v4.f32 f, [%rd0]; st.global.v4.f32 [%rd0], f; mov.v4.f32 {%r11, %r12, %r13, _}, f;",
            [A, B, C, 0],
        ),
        (f"mov.b32 v.r, %r4; mov.b32 v.g, %r3; mov.b32 v.b, %r2; mov.b32 v.a, %r1; {ALL}", [D, C, B, A]),
        (
            "mov.v4.b32 {%r1, %r2, %r3, %r4}, {%r4, %r1, %r2, %r3}; mov.v4.b32 {%r11, %r12, %r13, %r14}, "
            "{%r1, %r2, %r3, %r4};",
            [D, A, B, C],
        ),
        (
            "mov.b64 d.x, {%r1, %r2}; mov.b64 d.y, {%r3, %r4}; st.global.v2.b64 [%rd0], d; "
            "ld.global.v4.u32 {%r14, %r13, %r12, %r11}, [%rd0];",
            [D, C, B, A],
        ),
        ("mov.b32 h, %r4; cvt.u32.u16 %r11, h.x; cvt.u32.u16 %r12, h.y;", [0x7F01, 0x80FF, 0, 0]),
        (
            "mov.b128 q, {%r1, %r2, %r3, %r4}; mov.b128 s1, q; mov.b128 {%r11, %r12, %r13, %r14}, s1;",
            [A, B, C, D],
        ),
        (
            "mov.b64 %rd2, {%r1, %r2}; mov.b64 %rd3, {%r3, %r4}; mov.b128 q, {%rd3, %rd2}; "
            "mov.b128 {%r11, %r12, %r13, %r14}, q;",
            [C, D, A, B],
        ),
        ("mov.b128 q, -2; mov.b128 {%r11, %r12, %r13, %r14}, q;", [2**32 - 2, 2**32 - 1, 0, 0]),
        (
            "ld.global.b128 q, [%rd0]; st.shared.b128 [t+16], q; ld.shared.u32 %r11, [t+16]; "
            "ld.shared.b128 s0, t[4]; mov.b128 {%rd2, _}, s0; mov.b64 {%r12, %r13}, %rd2;",
            [A, A, B, 0],
        ),
        (
            "mov.b128 q, {%r4, %r3, %r2, %r1}; atom.global.exch.b128 s0, [%rd0], q; "
            "atom.acq_rel.gpu.global.cas.b128 q, [%rd0], s0, s0; atom.cas.b128 _, [%rd0], q, s0; "
            "ld.global.b128 s0, [%rd0]; mov.b128 {_, %rd2}, s0; mov.b64 {%r11, %r12}, %rd2; "
            "mov.b128 {%rd2, _}, q; mov.b64 {%r13, %r14}, %rd2;",
            [C, D, D, C],
        ),
        (
            "mov.b128 q, {%r1, %r2, %r3, %r4}; atom.shared.exch.b128 s0, [t+16], q; "
            "atom.shared.exch.b128 s1, [t+16], s0; mov.b128 {%r11, %r12, %r13, %r14}, s1;",
            [A, B, C, D],
        ),
        (
            "st.shared.u32 t[1+2], %r3; ld.shared.u32 %r11, [t+3*4]; ld.shared.u32 %r12, t[3]; "
            "ld.shared.u32 %r13, [t[3]]; mov.u32 %r14, t[3]; mov.u32 %r5, t; sub.u32 %r14, %r14, %r5;",
            [C, C, C, 12],
        ),
        ("mov.u32 %r11, u[3]; mov.u32 %r5, u; sub.u32 %r11, %r11, %r5;", [6, 0, 0, 0]),
        (
            "add.u32 %r11, %r1, (1<<4)|3; mov.b32 %r12, ~0; mov.b32 %r13, 5>3?-(2+1):7; "
            "mov.b32 %r14, WARP_SZ*2-!0;",
            [A + 19, 2**32 - 1, 2**32 - 3, 63],
        ),
        (
            "ld.global.u32 %r11, [%rd0+2*4]; add.u64 %rd2, %rd0, 16; ld.global.u32 %r12, [%rd2+~15]; "
            "ld.global.u32 %r13, [%rd2+4-8];",
            [C, A, D, 0],
        ),
        (
            "ld.mmio.relaxed.sys.global.u32 %r11, [%rd0]; st.mmio.relaxed.sys.u32 [%rd0+4], %r1; "
            "ld.relaxed.mmio.sys.global.u32 %r12, [%rd0+4];",
            [A, A, 0, 0],
        ),
    ],
)
def test_operands_hold_the_values_that_they_name(body, expected):
    assert words(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("vadd.s32.u32.u32 %r11, %r4.b2, %r4.b1;", 0xFF + 0x7F),
        ("vadd.s32.s32.s32 %r11, %r4.h1, 3+4;", 0xFFFF80FF + 7),
        ("mov.b32 %r11, %r1; vsub.u32.u32.u32 %r11.b2, %r4.b3, 1, %r11;", 0x117F1111),
        ("vmad.s32.s32.s32.sat %r11, -%r4.b1, %r1, %r2;", 0x80000000),
        ("vshl.u32.u32.u32.wrap %r11, %r4.b1, 36, %r2;", 0x7F0),
        ("vmad.u32.u32.u32.po.shr7 %r11, %r4.b0, 127, 0;", 1),
        ("vadd4.u32.u32.u32.sat %r11.b31, %r4.b7610, %r4, 0;", 0xFF00FE00),
        ("vset2.u32.u32.ge.add %r11, %r4.h10, %r1.h22, 5;", 7),
        ("mov.v4.b32 v, {%r4, %r4, %r4, %r4}; vadd.u32.u32.u32 %r11, v.y.b3, v.x.b0;", 0x81),
        (
            "setp.ne.u32 %p1, %r1, 0;"
            " lop3.and.b32 _|%p2, %r1, %r2, %r3, 0x80, !%p1; selp.u32 %r11, 1, 2, %p2;",
            2,
        ),
        ("setp.ne.u32 %p1, %r1, 0; lop3.or.b32 %r11|%p2, %r1, %r2, %r3, 0xFE, %p1;", A | B | C),
        ("fns.b32 %r11, %r1, 8, -2;", 4),
        ("cvt.pack.sat.s8.s32.b32 %r11, %r4, 5, 0xABCD;", 0xABCD8005),
        ("cvt.sat.s32.u64 %r11, 0x1234567890;", 0x7FFFFFFF),
        ("cvt.s8.s32 %h0, %r4; cvt.sat.u8.s16 %h1, %h0; cvt.u32.u16 %r11, %h1;", 1),
        ("mov.b32 %r11, 0x22221111; set.lt.u32.f16x2 %r11, %r1, %r11;", 0xFFFF0000),
    ],
)
def test_parts_of_registers(body, expected):
    assert words(body)[0] == expected % 2**32


@pytest.mark.parametrize(
    ("form", "a", "b", "c", "chosen"),
    [
        ("vadd.u32.u32.u32.min", 0xE479B085, 0x80000000, 0xC0000000, 0x6479B085),
        ("vadd.u32.u32.u32.max", 0x21, 0xC0000000, 0xE479B085, 0xC0000021),
        ("vsub.u32.u32.u32.min", 0x2, 0xFFFFFFFE, 0xFFFFFFFE, 0x4),
        ("vsub.u32.u32.u32.max", 0x3F800000, 0x80000001, 0xFFFFFFFF, 0xBF7FFFFF),
        ("vabsdiff.u32.u32.u32.sat.min", 0x2, 0xFFFFFFFE, 0xFFFFFFFE, 0xFFFFFFFC),
        ("vabsdiff.u32.u32.s32.sat.max", 0xE479B085, 0x80000000, 0xC0000000, 0x6479B085),
        ("vabsdiff.u32.s32.u32.sat.min", 0xE479B085, 0xFFFFFFFF, 0x3F800000, 0x3F800000),
        ("vabsdiff.u32.s32.s32.sat.max", 0x5, 0x80000001, 0xC0000000, 0xC0000000),
    ],
)
def test_video_chooses_as_an_h200(form, a, b, c, chosen):
    """The lesser or greater of a result and a third word; 240 forms with 256 operands were captured."""
    values = ", ".join(map(str, (a, b, c)))
    assert (
        words(f"mov.v4.b32 {{%r1, %r2, %r3, _}}, {{{values}, 0}}; {form} %r11, %r1, %r2, %r3;")[0] == chosen
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("add.u32 %r1, 1/0, 2;", "division by zero: the constant 1 / 0"),
        (".reg .v4 .b32 v; mov.b32 %r1, v;", "expected an operand of 8 bits, but v.x is .b32"),
        (".reg .v4 .b32 v; add.u32 %r1, v, 1;", "expected a register or a constant of 32 bits"),
        (".reg .v2 .b32 v; mov.b32 %r1, v.z;", "v.z is not declared"),
        (".reg .v4 .b32 v; mov.v2.b32 {%r1, %r2}, v;", "mov.v2.b32 takes two vectors of 2 registers"),
        (
            ".reg .v4 .b32 v; ld.global.v4.b32 {v, %r1, %r2, %r3}, [%rd0];",
            "expected a single register, not 'v'",
        ),
        (".reg .b128 q; add.u64 %rd1, q, 1;", "add.u64 does not take a .b128 register"),
        (
            ".reg .b128 q; and.b128 q, q, q;",
            "and.b128 is not supported: mov, ld, st, atom.cas, atom.exch take .b128",
        ),
        (".reg .b128 q; atom.or.b128 q, [%rd0], q;", "atom.or.b128 is not supported"),
        (".reg .b128 q; atom.cas.b128 q, [%rd0], q, 5;", "atom.cas.b128 is not supported"),
        (".reg .b128 q; red.exch.b128 [%rd0], q;", "red.exch.b128 is not supported"),
        (
            ".reg .b128 q; mov.b128 q, {%r1, %r2, %r3};",
            "expected a .b128, two or four registers, or an integer",
        ),
        ("ld.global.b128 %rd1, [%rd0];", "ld.global.b128 is not supported"),
        (".reg .b128 q; ld.global.b128 q;", "ld.global.b128 is not supported"),
        (".reg .b128 q; ld.global.v2.b128 q, [%rd0];", "ld.global.v2.b128 is not supported"),
        (
            ".reg .pred q<2>; .reg .v2 .pred v;",
            "a vector of registers has at most 128 bits and no predicates",
        ),
        (".shared .b32 s; mov.u32 %r1, s[1];", "s is not an array declared before"),
        ("mov.u32 %r1, later[1]; .shared .b32 later[2];", "later is not an array declared before"),
        (".shared .b32 s[2]; mov.u32 %r1, s[1.5];", "an index must be an integer"),
        ("add.u32 %r1, %r2.b0, %r3;", "add does not take these parts of its operands: .b0"),
        (
            "vadd.u32.u32.u32.add %r1.b0, %r2, %r3, %r4;",
            "vadd does not take these parts of its operands: .b0",
        ),
        (
            "vadd2.u32.u32.u32 %r1.h01, %r2, %r3, %r4;",
            "vadd2 does not take these parts of its operands: .h01",
        ),
        (
            "vadd4.u32.u32.u32 %r1, %r2.b321, %r3, %r4;",
            "vadd4 does not take these parts of its operands: .b321",
        ),
        ("vmad.u32.u32.u32.po %r1, %r2, %r3, -%r4;", "vmad does not take these parts of its operands"),
        ("vmad.u32.u32.u32 %r1, -%r2, %r3, -%r4;", "vmad does not take these parts of its operands"),
        ("vadd.u32.u32.u32 %r1, %r2;", "takes 2 sources, not 1"),
        ("vshl.u32.u32.u32.wrap.add %r1, %r2, %r3;", "takes 3 sources, not 2"),
        ("lop3.or.b32 %r1, %r2, %r3, %r4, 0x80, %p1;", "results of lop3.or.b32 must be 2, not 1"),
        ("cvt.pack.sat.u8.s32 %r1, %r2, %r3;", "cvt.pack.sat.u8.s32 is not supported"),
        ("ld.mmio.global.u32 %r1, [%rd0];", ".mmio takes .relaxed.sys and one value in .global"),
        ("ld.mmio.relaxed.gpu.global.u32 %r1, [%rd0];", ".mmio takes .relaxed.sys and one value in .global"),
        ("ld.mmio.relaxed.sys.shared.u32 %r1, [%r2];", ".mmio takes .relaxed.sys and one value in .global"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(body, message):
    with pytest.raises(PtxError) as caught:
        kernel(body)
    assert message in caught.value.message


def test_threads_have_their_own_vectors_and_parts():
    body = (
        ".reg .v2 .b32 v; mov.b32 v.x, %r0; mul.lo.u32 v.y, v.x, 0x01010101; setp.gt.u32 %p1, %r0, 3; "
        "@%p1 vadd.u32.u32.u32 v.y.b1, v.x, 1, v.y; st.global.b32 [%rd1], v.y;"
    )
    expected = [t * 0x01010101 if t <= 3 else t * 0x01010101 & 0xFFFF00FF | t + 1 << 8 for t in range(32)]
    assert run(body).tolist() == expected


def test_each_copy_of_a_function_has_its_own_vectors_and_parts():
    function = """.func (.reg .b32 r) f(.reg .b32 x) {
        .reg .v2 .b32 v; .reg .b128 q;
        mov.b32 v.x, x; vadd.u32.u32.u32 v.y, v.x.b1, 1;
        mov.b128 q, {v.x, v.y, v.y, v.x}; mov.b128 {_, _, r, _}, q;
    }"""
    body = """
        call (%r1), f, (%r0); shl.b32 %r2, %r0, 8; call (%r3), f, (%r2);
        add.u32 %r1, %r1, %r3; st.global.b32 [%rd1], %r1;
    """
    assert run(body, before=function).tolist() == [thread + 2 for thread in range(32)]


@pytest.mark.parametrize(
    "statement",
    [
        *("membar.cta", "fence.sc.gpu", "fence.proxy.async", "nanosleep.u32 1", "pmevent 1"),
        *("cp.async.commit_group", "cp.async.wait_group 0", "cp.async.wait_all"),
        *("cp.async.bulk.commit_group", "cp.async.bulk.wait_group.read 0", "griddepcontrol.wait"),
        *("prefetch.global.L1 [%rd1]", "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128"),
    ],
)
def test_what_changes_no_result_may_have_a_guard(statement):
    body = f"setp.lt.u32 %p0, %r0, 3; @%p0 {statement}; st.global.u32 [%rd1], %r0;"
    assert run(body, version="8.3").tolist() == list(range(32))
