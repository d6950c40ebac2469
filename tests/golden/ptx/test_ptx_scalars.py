"""Scalar instructions: the value each computes, as a kernel of one warp stores it."""

import ctypes
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies
from modules import entry

from golden.simt import LaunchError

DECLARATIONS = (
    ".reg .u64 %address, %out; .reg .u32 %stride; .reg .pred %p, %q; "
    ".reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .f64 %fd<4>;"
    "mov.u64 %address, 0; mov.u32 %stride, 0; ld.param.u64 %out, [out];"
)
STORE = "st.global.u64 [%out], %address; st.global.u32 [%out+8], %stride; ret;"


def values(statements, parameters="", arguments=None):
    """What the statements leave in ``%address`` and ``%stride``, the same in all threads."""
    out = np.zeros(2, np.uint64)
    parameters = ".param .u64 out" + (f", {parameters}" if parameters else "")
    entry(f"{DECLARATIONS} {statements} {STORE}", parameters).launch(1, 32, {"out": out, **(arguments or {})})
    return [int(value) for value in out]


def address(statements, **options):
    return values(statements, **options)[0]


def stride(statements, **options):
    return values(statements, **options)[1]


WIDTHS = {
    "u16": ctypes.c_uint16,
    "s16": ctypes.c_int16,
    "u32": ctypes.c_uint32,
    "s32": ctypes.c_int32,
    "u64": ctypes.c_uint64,
    "s64": ctypes.c_int64,
}
REGISTERS = {16: "%h", 32: "%r", 64: "%rd"}
OPERATIONS = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul.lo": lambda a, b, bits: a * b,
    "mul.hi": lambda a, b, bits: a * b >> bits,
    "min": lambda a, b, bits: a if a < b else b,
    "max": lambda a, b, bits: b if a < b else a,
}


@settings(max_examples=40)
@given(
    strategies.sampled_from(sorted(OPERATIONS)),
    strategies.sampled_from(sorted(WIDTHS)),
    strategies.integers(0, 2**64 - 1),
    strategies.integers(0, 2**64 - 1),
)
def test_arithmetic_wraps_like_the_machine_types_of_c(operation, type_, first, second):
    number = WIDTHS[type_]
    bits = ctypes.sizeof(number) * 8
    a, b = number(first).value, number(second).value
    expected = ctypes.c_uint64(OPERATIONS[operation](a, b, bits) & (2**bits - 1)).value
    register = REGISTERS[bits]
    widen = "mov.b64 %address, %rd2;" if bits == 64 else f"cvt.u64.u{bits} %address, {register}2;"
    found = address(
        f"mov.b{bits} {register}0, {a}; mov.b{bits} {register}1, {b};"
        f"{operation}.{type_} {register}2, {register}0, {register}1; {widen}"
    )
    assert found == expected


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("mul.wide.u32 %address, -1, 2;", 0x1FFFFFFFE),
        ("mul.wide.s32 %address, -1, 2;", 2**64 - 2),
        ("mad.wide.u32 %address, 3, 5, 7;", 22),
        ("mov.b32 %r0, 3; mad.lo.u32 %r1, %r0, 5, -16; cvt.s64.s32 %address, %r1;", 2**64 - 1),
        ("shl.b64 %address, 1, 63;", 1 << 63),
        ("shl.b64 %address, 1, 64;", 0),
        ("shl.b64 %address, 3, 0xFFFFFFFF;", 0),
        ("shr.u64 %address, -1, 60;", 15),
        ("shr.s64 %address, -16, 2;", 2**64 - 4),
        ("shr.s64 %address, -16, 200;", 2**64 - 1),
        ("and.b64 %address, 12, 10;", 8),
        ("or.b64 %address, 12, 10;", 14),
        ("xor.b64 %address, 12, 10;", 6),
        ("not.b64 %address, 0;", 2**64 - 1),
        ("cvt.u64.u32 %address, -1;", 0xFFFFFFFF),
        ("cvt.s64.s32 %address, -1;", 2**64 - 1),
        ("mov.b64 %rd0, -1; cvt.u32.u64 %r0, %rd0; cvt.u64.u32 %address, %r0;", 0xFFFFFFFF),
        ("mov.u64 %rd0, 4096; cvta.to.global.u64 %address, %rd0;", 4096),
        ("mov.u64 %rd0, 4096; cvta.global.u64 %address, %rd0;", 4096),
        ("mov.u64 %address, 0x10;", 16),
        ("mov.u64 %address, 0b101U;", 5),
        ("mov.u64 %address, 017;", 15),
        ("mov.f64 %fd0, 0d3FF0000000000000; mov.b64 %address, %fd0;", 0x3FF0000000000000),
        ("mov.f64 %fd0, -1.5; mov.b64 %address, %fd0;", 0xBFF8000000000000),
        ("mov.b32 %r0, 1; mov.b32 %r1, 2; mov.b64 %address, {%r0, %r1};", 0x200000001),
        ("mov.b64 %rd0, 0x500000006; mov.b64 {%r0, %r1}, %rd0; cvt.u64.u32 %address, %r1;", 5),
        ("mov.b64 %rd0, 0x500000006; mov.b64 {_, %r1}, %rd0; cvt.u64.u32 %address, %r1;", 5),
        ("mov.u32 %r0, 0x1F5; cvt.u8.u32 %h0, %r0; cvt.u64.u16 %address, %h0;", 0xF5),
        ("mov.u32 %r0, 0x1F5; cvt.s8.u32 %h0, %r0; cvt.u64.u16 %address, %h0;", 0xFFF5),
        ("mov.u32 %r0, 0x1F5; cvt.sat.u8.u32 %h0, %r0; cvt.u64.u16 %address, %h0;", 0xFF),
        ("mov.u32 %r0, 0xF5; cvt.s64.s8 %address, %r0;", 2**64 - 11),
        ("cvt.sat.s32.u64 %r0, -1; cvt.u64.u32 %address, %r0;", 0x7FFFFFFF),
        ("cvt.sat.u16.s32 %h0, -1; cvt.u64.u16 %address, %h0;", 0),
        ("cvt.sat.s8.s64 %r0, -1000; cvt.u64.u32 %address, %r0;", 0xFFFFFF80),
        ("mov.u64 %address, (3+4)*2-!0;", 13),
        ("mov.b32 %r0, ~0; cvt.u64.u32 %address, %r0;", 0xFFFFFFFF),
        (".reg .v2 .b32 v; mov.b32 v.y, 7; mov.b32 v.x, v.g; mov.b64 %address, v;", 0x700000007),
        (
            ".reg .v4 .u16 v, w<2>; mov.v4.u16 v, {1, 2, 3, 4}; mov.v4.u16 w1, v; mov.b64 %address, w1;",
            0x4000300020001,
        ),
        (".reg .b128 q, s; mov.b128 q, {3, 4}; mov.b128 s, q; mov.b128 {_, %address}, s;", 4),
        ("div.u64 %address, 1000, 24;", 41),
        ("rem.s32 %r0, -7, 4; cvt.s64.s32 %address, %r0;", 2**64 - 3),
        ("mov.b32 %r0, 5; bfind.u32 %r0, %r0; cvt.u64.u32 %address, %r0;", 2),
        ("add.cc.u32 %r0, -1, 1; addc.u32 %r1, 3, 4; mov.b64 %address, {%r0, %r1};", 8 << 32),
        ("setp.lt.and.u32 %p|%q, 1, 2, !%q; selp.u64 %address, 32, 64, %p;".replace("!%q", "1"), 32),
        ("mov.pred %q, 0; setp.lt.and.u32 %p, 1, 2, !%q; selp.u64 %address, 32, 64, %p;", 32),
        ("mul.rz.f32 %f0, 0f3F800001, 0f3F800001; mov.b32 %r0, %f0; cvt.u64.u32 %address, %r0;", 0x3F800002),
        ("cvt.rn.f16.f32 %h0, 0f3F801000; cvt.u64.u16 %address, %h0;", 0x3C00),
        ("cvt.rzi.u64.f64 %address, 33.75;", 33),
    ],
)
def test_values_in_an_address(statements, expected):
    assert address(statements) == expected


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("mov.f32 %f0, 0f3F800000; mov.b32 %stride, %f0;", 0x3F800000),
        ("mov.f32 %f0, -0f3F800000; mov.b32 %stride, %f0;", 0xBF800000),
        ("mov.f32 %f0, 1e-1; mov.b32 %stride, %f0;", 0x3DCCCCCD),
        ("mov.f32 %f0, 1e300; mov.b32 %stride, %f0;", 0x7F800000),
        ("mov.b32 %stride, 0f3F800000;", 0x3F800000),
        ("mov.b16 %h0, 0x1234; mov.b16 %h1, 0x5678; mov.b32 %stride, {%h0, %h1};", 0x56781234),
        ("mov.u32 %stride, %ntid.x;", 32),
        ("mov.u32 %stride, %ctaid.y;", 0),
        ("mov.u32 %stride, %nctaid.z;", 1),
        ("mov.u32 %stride, %nsmid;", 1),
    ],
)
def test_values_in_a_stride(statements, expected):
    assert stride(statements) == expected


@pytest.mark.parametrize(
    ("comparison", "a", "b", "expected"),
    [
        ("eq.b32", 1, 1, True),
        ("ne.s32", 1, 1, False),
        ("lt.u32", 1, -1, True),
        ("lt.s32", 1, -1, False),
        ("le.s32", -1, -1, True),
        ("gt.u32", 1, -1, False),
        ("gt.s32", 1, -1, True),
        ("ge.u32", 0, 0, True),
        ("lo.u32", 1, -1, True),
        ("ls.u32", 1, 1, True),
        ("hi.u32", -1, 1, True),
        ("hs.u32", 0, 1, False),
    ],
)
def test_comparisons_guard_statements(comparison, a, b, expected):
    text = f"setp.{comparison} %p, {a}, {b}; @%p mov.u64 %address, 64;"
    assert address(text) == (64 if expected else 0)
    assert address(text.replace("@%p", "@!%p")) == (0 if expected else 64)


def test_predicates_are_values():
    text = (
        "setp.eq.u32 %p, 1, 1; mov.pred %q, 0; or.pred %p, %p, %q; not.pred %q, %p; @%q mov.u64 %address, 1;"
    )
    assert address(text) == 0
    assert address(text.replace("@%q", "@%p")) == 1


@pytest.mark.parametrize(
    ("declared", "statement", "argument", "expected"),
    [
        (".u64 x", "ld.param.u64 %address, [x];", 2**64 - 1, 2**64 - 1),
        (".u64 x", "ld.param.b64 %address, [x+0];", -0, 0),
        (".s32 x", "ld.param.s32 %address, [x];", -2, 2**64 - 2),
        (".u32 x", "ld.param.u32 %address, [x];", 2**32 - 1, 2**32 - 1),
        (".u8 x", "ld.param.u8 %address, [x];", 255, 255),
        (".u64 x", "ld.param.u32 %address, [x+4];", 0x500000006, 5),
        (".u64 x", "ld.param.v2.u32 {_, %r0}, [x]; cvt.u64.u32 %address, %r0;", 0x500000006, 5),
        (".b64 x", "ld.param::entry.u64 %address, [x];", -1, 2**64 - 1),
        (".f64 x", "ld.param.f64 %fd0, [x]; mov.b64 %address, %fd0;", 1.0, 0x3FF0000000000000),
        (".f64 x", "ld.param.f64 %fd0, [x]; mov.b64 %address, %fd0;", 4, 0x4010000000000000),
        (".f32 x", "ld.param.f32 %f0, [x]; mov.b32 %r0, %f0; cvt.u64.u32 %address, %r0;", -2.0, 0xC0000000),
        (".f16 x", "ld.param.b16 %h0, [x]; cvt.u64.u16 %address, %h0;", 65504.0, 0x7BFF),
        (".f16 x", "ld.param.b16 %h0, [x]; cvt.u64.u16 %address, %h0;", math.inf, 0x7C00),
        (".u64 .ptr .global .align 32 x", "ld.param.u64 %address, [x];", 64, 64),
        (".align 8 .u64 x", "ld.param.u64 %address, [x];", 64, 64),
    ],
)
def test_parameters(declared, statement, argument, expected):
    assert address(statement, parameters=f".param {declared}", arguments={"x": argument}) == expected


@pytest.mark.parametrize(("type_", "value"), [("f16", 65520.0), ("f32", -3.5e38)])
def test_a_number_that_would_be_infinite_is_refused(type_, value):
    with pytest.raises(LaunchError, match=f"x is .{type_}, which cannot hold {re.escape(str(value))}"):
        address("mov.u64 %address, 0;", parameters=f".param .{type_} x", arguments={"x": value})


def test_loops_and_returns():
    text = (
        "mov.u32 %r0, 0; LOOP: add.u64 %address, %address, 32; add.u32 %r0, %r0, 1;"
        "setp.ne.u32 %p, %r0, 5; @%p bra.uni LOOP; bra DONE; mov.u64 %address, 1; DONE: bar.sync 0;"
        "bar.warp.sync 0xffffffff; setp.eq.u32 %q, 0, 1; @%q exit;"
    )
    assert address(text) == 160


def test_a_return_ends_the_kernel():
    assert address(f"mov.u64 %address, 1; {STORE} mov.u64 %address, 2;") == 1


def test_inner_blocks_have_their_own_registers():
    text = "mov.u64 %rd0, 1; { .reg .b64 %rd<1>; mov.u64 %rd0, 2; } mov.b64 %address, %rd0;"
    assert address(text) == 1
    inner = "mov.u64 %rd0, 1; { .reg .b64 %x; mov.b64 %x, %rd0; mov.b64 %address, %x; }"
    assert address(inner) == 1


def test_addresses_have_offsets():
    for written in ("[%rd0+8]", "[%rd1-8]", "[%rd1+-8]"):
        out = np.zeros(4, np.uint64)
        entry(
            f"{DECLARATIONS} mov.u64 %rd0, %out; add.u64 %rd1, %out, 16; st.global.u64 {written}, 7; ret;",
            ".param .u64 out",
        ).launch(1, 1, [out])
        assert out.tolist() == [0, 7, 0, 0]
