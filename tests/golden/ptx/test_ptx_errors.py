"""Bad modules: each message in full, with file, line and column."""

import pytest
from modules import entry, kernels, module, vector

from golden.ptx import PtxError
from golden.simt import LaunchError, Module

REGISTERS = (
    ".reg .b32 %a<8>, %b<8>; .reg .f32 %c<8>, %d<8>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p;"
)
A, B, C, D = vector("%a", 8), vector("%b", 8), vector("%c", 8), vector("%d", 8)
LOAD_A = f"wmma.load.a.sync.aligned.row.m16n16k16.f16 {A}, [0];"
LOAD_B = f"wmma.load.b.sync.aligned.col.m16n16k16.f16 {B}, [0];"
LOAD_C = f"wmma.load.c.sync.aligned.row.m16n16k16.f32 {C}, [0];"
MMA = f"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {D}, {A}, {B}, {C};"

TYPES = (
    ".pred, .b8, .b16, .b32, .b64, .b128, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f16, .f16x2, "
    ".f32, .f64"
)


def message_of(action, *arguments, **options):
    with pytest.raises(PtxError) as caught:
        action(*arguments, **options)
    error = caught.value
    assert str(error) == f"{error.file}:{error.line}:{error.column}: {error.message}"
    return str(error)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.ptx:1:1: expected '.version', not the end of the file"),
        (".version 8", "x.ptx:1:10: expected a version such as 8.0, not '8'"),
        (".version 8.0\n.entry", "x.ptx:2:1: expected '.target', not '.entry'"),
        (".version 8.0 .target sm_90\n.address_size 32", "x.ptx:2:15: .address_size must be 64, not 32"),
        (
            ".version 8.0 .target sm_90\n.visible .texref t;",
            "x.ptx:2:10: unknown directive '.texref'; supported: .address_size, .entry, .func, .global, "
            ".const, .shared, .local, .file, .section, .pragma, .alias",
        ),
        (
            ".version 8.0 .target sm_90 .entry k(\n)\n{ ret",
            "x.ptx:3:6: expected an operand, not the end of the file",
        ),
        (".version 8.0 .target sm_90 .entry k()\n;", "x.ptx:1:35: k is declared, but has no body"),
        (
            ".version 8.0 .target sm_90 .entry k(.reg .b32 A) { }",
            "x.ptx:1:37: expected '.param', not '.reg'",
        ),
        (
            ".version 8.0 .target sm_90 .func f() { }\n.func f() { }",
            "x.ptx:2:7: function f is already defined",
        ),
        (".version 8.0 .target sm_90 .entry k()\n{ ret;", "x.ptx:2:1: body without its end }"),
        (
            ".version 8.0 .target sm_90 .entry k()\n{ .pragma {; ret; }",
            "x.ptx:2:1: body without its end }",
        ),
        (".version 8.0 .target sm_90 .entry k() {\nmov x, {y;\n ret; }", "x.ptx:2:10: expected '}', not ';'"),
        (".version 8.0 /* no end\n", "x.ptx:1:14: comment without its end */"),
        ('.version 8.0 .target sm_90 .file 1 "a', "x.ptx:1:36: string without its end"),
        (".version 8.0 .target sm_90\n  #pragma", "x.ptx:2:3: unexpected '#'"),
        (".version 8.0 .target sm_90 .section .debug {\n{", "x.ptx:1:44: block without its end }"),
        (
            ".version 8.0 .target sm_90 .entry k(.param .u64 A,\n .param .u64 A) { }",
            "x.ptx:2:14: parameter A is already declared",
        ),
        (
            ".version 8.0 .target sm_90 .entry k() { }\n.entry k() { }",
            "x.ptx:2:8: entry k is already defined",
        ),
        (
            ".version 8.0 .target sm_90 .entry k(.param .x64 A) { }",
            f"x.ptx:1:44: expected a type ({TYPES}), not '.x64'",
        ),
    ],
)
def test_modules(text, message):
    assert message_of(kernels, text, "x.ptx") == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("mov.u32 %r0, 0;", "k.ptx:6:9: %r0 is not declared: no register, label, parameter or variable"),
        (
            ".reg .b32 %r<2>;\nmov.u32 %r2, 0;",
            "k.ptx:7:9: %r2 is not declared: no register, label, parameter or variable",
        ),
        (
            ".reg .b32 %r<2>;\nmov.u32 %r01, 0;",
            "k.ptx:7:9: %r01 is not declared: no register, label, parameter or variable",
        ),
        (
            "{ .reg .b32 %x; }\nmov.u32 %x, 0;",
            "k.ptx:7:9: %x is not declared: no register, label, parameter or variable",
        ),
        ("bra AWAY;", "k.ptx:6:5: AWAY is not declared: no register, label, parameter or variable"),
        (".reg .b32 x, x;", "k.ptx:6:14: register x is already declared"),
        ("L: ret;\nL: ret;", "k.ptx:7:1: label L is already defined"),
        (".reg .b32 %r<2>;\n@%r0 ret;", "k.ptx:7:2: expected a .pred register, not '%r0'"),
        (".reg .b32 %r<2>;\nmov.u32 %r0, 0q;", "k.ptx:7:14: malformed constant '0q'"),
        (".reg .b32 %r<2>;\nmov.u32 %r0, 08;", "k.ptx:7:14: malformed constant '08'"),
        (
            ".reg .b64 %r<2>;\nmov.u64 %r0, 18446744073709551616;",
            "k.ptx:7:14: constant 18446744073709551616 exceeds 64 bits",
        ),
        (
            f".reg .b64 %r<2>;\nmov.u64 %r0, 0x{'f' * 70};",
            "k.ptx:7:14: constant 0xffffffffff... exceeds 64 bits",
        ),
        ("call (r), f, (a);", "k.ptx:6:7: r is not declared: no register, label, parameter or variable"),
        ("ret ^;", "k.ptx:6:5: expected an operand, not '^'"),
        (
            ".maxntid 32;",
            "k.ptx:6:1: unknown directive '.maxntid' in a body; supported: "
            ".reg, .loc, .pragma, .branchtargets, .shared, .local, .global, .const, .param",
        ),
        (".reg .b32 x.y;", "k.ptx:6:11: expected a register name, not 'x.y'"),
        (".reg .b32 %r<2>, %r<3>;", "k.ptx:6:18: registers %r are already declared"),
        (".reg .b32 %r<1048577>;", "k.ptx:6:14: 1048577 registers exceed 1048576"),
        (
            ".reg .v4 .b64 x;",
            "k.ptx:6:6: a vector of registers has at most 128 bits and no predicates, not .v4 .b64",
        ),
        (".shared .b8 x; x: ret;", "k.ptx:6:16: label x is already defined"),
        ("x: ret; .shared .b8 x;", "k.ptx:6:21: x is already declared"),
        (".shared .b8 x = 1;", "k.ptx:6:13: x in .shared cannot have an initialiser"),
        (".branchtargets L;", "k.ptx:6:1: .branchtargets needs a label"),
        (
            "T: .branchtargets\nL;",
            "k.ptx:7:1: L is not declared: no register, label, parameter or variable",
        ),
        ("{ L: ret; }\nbra L;", "k.ptx:7:5: L is not declared: no register, label, parameter or variable"),
        ("mov.u32 x, [%tid.x];", "k.ptx:6:12: an address must be a register, a name or a number"),
        ("ret L|1;", "k.ptx:6:5: both sides of | must be registers"),
        (".reg .b32 %r<2>\nret;", "k.ptx:7:1: expected ';', not 'ret'"),
    ],
)
def test_bodies(body, message):
    assert message_of(kernels, module(body)) == message


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ret.maybe;", "k.ptx:7:1: ret.maybe is not supported: qualifier .maybe"),
        ("mul.wide.f32 %c0, %c1, %c2;", "k.ptx:7:1: mul.wide.f32 is not supported"),
        ("setp.lt.b32 %p, 0, 0;", "k.ptx:7:1: setp.lt.b32 is not supported"),
        ("mov.u64 %rd0, %ctaid.x;", "k.ptx:7:15: %ctaid.x has 32 bits, not 64"),
        ("add.u32 %r0, %rd1, 0;", "k.ptx:7:14: expected an operand of 32 bits, but %rd1 is .b64"),
        ("add.u32 %r0, 1;", "k.ptx:7:1: add.u32 takes 2 sources, not 1"),
        ("ret %r0;", "k.ptx:7:1: ret takes 0 operands, not 1"),
        ("add.u32 5, %r0, 1;", "k.ptx:7:9: the destination must be a register"),
        ("add.u32 %p|_, %r0, 1;", "k.ptx:7:1: results of add.u32 must be 1, not 2"),
        ("bar.sync (%r0);", "k.ptx:7:10: expected a register or a constant of 32 bits"),
        ("call (%r0), k, (%r1);", "k.ptx:7:1: k is not a function of this module"),
        ("add.u32 %r0, [%r1], 1;", "k.ptx:7:14: expected a register or a constant of 32 bits"),
        ("mov.b32 %r0, {%r1, %r2};", "k.ptx:7:15: expected an operand of 16 bits, but %r1 is .b32"),
        ("mov.b32 %r0, {%r1, %r2, %r3};", "k.ptx:7:14: .b32 does not split into 3 registers"),
        ("bra x;", "k.ptx:7:5: x is not a label"),
        ("bra.conv x;", "k.ptx:7:1: bra.conv is not supported: qualifier .conv"),
        ("ld.param.u32 %r0, x;", "k.ptx:7:19: the address must be in brackets, as in [%rd1]"),
        ("ld.param.u64 %rd0, [x+8];", "k.ptx:7:20: 8 bytes at offset 8 of x, which has 8"),
        ("ld.param.u32 %r0, [L];", "k.ptx:7:20: L is not a variable or parameter"),
    ],
)
def test_scalar_statements(statement, message):
    body = f"{REGISTERS} L:\n{statement}"
    assert message_of(entry, body, ".param .u64 x, .param .b8 y[4]") == message


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            f"wmma.load.a.sync.aligned.row.m16n16k8.f16 {A}, [0];",
            "k.ptx:7:1: illegal qualifier .m16n16k8 for wmma.load.a of .f16; "
            "allowed: .m16n16k16, .m8n32k16, .m32n8k16",
        ),
        (
            f"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite {D}, {A}, {B}, {C};",
            "k.ptx:7:1: illegal qualifier .satfinite for wmma.mma.m16n16k16 of .f16 in PTX ISA 8.0 "
            "(removed after PTX ISA 6.4); allowed: nothing",
        ),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {}, {}, {}, {};".replace("{}", "{%r0}"),
            "k.ptx:7:51: expected 4 registers for fragment d of .f32 in .m16n8k16, not 1",
        ),
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%a0, %a1, %a2}, [0];",
            "k.ptx:7:44: expected 8 registers for fragment a of .f16 in .m16n16k16, not 3",
        ),
        (
            "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%rd0, %rd1}, [0];",
            "k.ptx:7:41: expected 1 register for fragment a of .f64 in .m8n8k4, not 2",
        ),
        (
            "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%r0}, [0];",
            "k.ptx:7:42: expected a 64-bit register for fragment a of .f64 in .m8n8k4, but %r0 is .b32",
        ),
        (
            "wmma.load.a.sync.aligned.row.m8n8k4.f64 {0}, [0];",
            "k.ptx:7:42: expected a register for fragment a of .f64 in .m8n8k4",
        ),
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.f16 %r0, [0];",
            "k.ptx:7:44: fragment a of .f16 in .m16n16k16 must be a vector of registers in braces",
        ),
        (
            f"wmma.load.a.sync.aligned.row.m16n16k16.f16 {A};",
            "k.ptx:7:1: wmma.load.a.sync.aligned.row.m16n16k16.f16 takes a fragment, an address and "
            "optionally a stride, not 1 operands",
        ),
        (
            f"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {D}, {A}, {B};",
            "k.ptx:7:1: wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 takes the fragments d, a, b and c, "
            "not 3 operands",
        ),
        (
            "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%rd0}, %rd1;",
            "k.ptx:7:49: the address must be in brackets, as in [%rd1]",
        ),
        (
            "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%rd0}, [%c1];",
            "k.ptx:7:50: an address cannot be in %c1, which is .f32",
        ),
        (
            "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%rd0}, [x];",
            "k.ptx:7:50: x is in .param, but the instruction accesses generic addresses",
        ),
        (
            "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%rd0}, [0], %rd1;",
            "k.ptx:7:54: expected an operand of 32 bits, but %rd1 is .b64",
        ),
        (
            "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%rd0}, [0], -4;",
            "k.ptx:7:54: the stride -4 is not in 0 to 4294967295",
        ),
    ],
)
def test_matrix_statements(statement, message):
    assert message_of(entry, f"{REGISTERS}\n{statement}", ".param .u64 x") == message


def test_choice_of_entry():
    program = Module(".version 8.0 .target sm_90 .entry first() { ret; } .entry second() { ret; }", "k.ptx")
    assert program.entries == ("first", "second")
    assert program.kernel("second").name == "second"
    with pytest.raises(LaunchError, match=r"^k\.ptx: name one of the kernels; kernels: first, second$"):
        program.kernel()
    with pytest.raises(LaunchError, match=r"^k\.ptx: no kernel third; kernels: first, second$"):
        program.kernel("third")


def test_an_illegal_entry_does_not_spoil_the_others():
    program = Module(".version 8.0 .target sm_90 .entry a() { foo; } .entry b() { ret; }", "k.ptx")
    assert program.kernel("b").launch(1, 32).warp_instructions == 1
    assert message_of(program.kernel, "a") == "k.ptx:1:41: foo is not supported"
