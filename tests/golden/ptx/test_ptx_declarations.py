"""Golden accepts the declarations that NVIDIA's assembler accepts."""

import subprocess

import pytest
from assembler import assembler

from golden.ptx.source import PtxError
from golden.simt import Module

MODULE = """.version 9.0
.target sm_90a
.address_size 64
{0}
.visible .entry k() {{
{1}
ret;
}}
"""
DECLARATIONS = """
- .global .bf16 x;
- .global .bf16x2 x;
+ .global .f16 x;
+ .global .f16x2 x;
- .shared .bf16 x;
- .global .f32 x = 1;
+ .global .f32 x = 1.0;
+ .global .f32 x = 0f3f800000;
+ .global .f32 x = 0d3ff0000000000000;
- .global .f64 x = 1;
+ .global .f64 x = 1.5;
+ .global .f64 x = 0f3f800000;
- .global .f16 x = 1.5;
- .global .f16 x = 1;
- .global .u32 x = 1.5;
- .global .u32 x = 0f3f800000;
+ .global .b32 x = 0f3f800000;
+ .global .b32 x = 1.5;
+ .global .b64 x = 1.5;
+ .global .b64 x = 0f3f800000;
- .global .f32 x[2] = {1, 2};
+ .global .f32 x[2] = {1.0, 2.0};
- .shared .u32 x[];
+ .extern .shared .u32 x[];
+ .shared .u32 x;
- .shared .u32 x = 1;
- .extern .shared .u32 x = 1;
- .extern .global .u32 x = 1;
+ .extern .global .u32 x;
+ .extern .const .u32 x;
+ .const .u32 x = 1;
+ .const .u32 x;
- .local .u32 x;
- .local .u32 x[4];
- .visible .local .u32 x;
+ .common .global .u32 x;
- .common .shared .u32 x;
- .common .const .u32 x;
+ .common .global .u32 x = 1;
+ .weak .global .u32 x = 1;
+ .weak .shared .u32 x;
+ .visible .global .u32 x = 1;
+ .visible .shared .u32 x;
- .visible .visible .global .u32 x;
- .extern .visible .global .u32 x;
- .visible .extern .global .u32 x;
- .visible .weak .global .u32 x;
- .weak .common .global .u32 x;
- .global .u32 x[0];
- .global .u32 x[];
+ .global .u32 x[] = {1,2};
- .global .u32 x[] = {};
+ .extern .global .u32 x[];
+ .extern .shared .u32 x[0];
- .shared .u32 x[0];
- .const .u32 x[0];
- .global .u32 x[2][0];
- .global .u32 x[0][2];
+ .global .v2 .f32 x;
+ .global .v4 .f32 x;
- .global .v4 .f64 x;
+ .global .v2 .f64 x;
- .global .v4 .u64 x;
+ .global .v4 .b8 x;
- .global .v2 .b128 x;
+ .global .b128 x;
+ .global .v2 .f32 x = {1.0, 2.0};
- .global .pred x;
+ .global .u32 x = -1;
+ .global .u8 x = 300;
+ .global .s8 x = 200;
+ .global .u8 x = -1;
- .param .u32 x;
- .reg .u32 x;
- .global .u32 x; .global .u32 x;
- .global .u32 x; .const .u32 x;
- @@.reg .bf16 %a;
- @@.reg .bf16x2 %a;
+ @@.reg .f16 %a;
+ @@.reg .f16x2 %a;
+ @@.reg .v2 .f32 %a;
- @@.reg .v4 .f64 %a;
+ @@.reg .v4 .b32 %a;
- @@.reg .v2 .pred %a;
+ @@.reg .b32 %a<0>;
- @@.shared .bf16 x;
- @@.shared .u32 x[];
- @@.extern .shared .u32 x[];
- @@.shared .u32 x = 1;
+ @@.local .u32 x;
- @@.local .u32 x = 1;
- @@.local .u32 x[];
- @@.local .u32 x[0];
- @@.local .v4 .f64 x;
+ @@.global .u32 x = 1;
+ @@.const .u32 x = 1;
- @@.visible .shared .u32 x;
- @@.common .global .u32 x;
- @@.weak .global .u32 x;
- @@.extern .global .u32 x;
+ @@.param .b32 x;
- @@.param .b32 x = 1;
- @@.param .bf16 x;
- @@.reg .u32 %a = 1;
- .func f(.reg .bf16 x) { ret; }
- .func f(.param .bf16 x) { ret; }
+ .func f(.param .b32 x[]) { ret; }
+ .func (.reg .f32 r) f(.reg .f32 x) { ret; }
- .entry e(.param .bf16 x) { ret; }
- .entry e(.param .v4 .f64 x) { ret; }
- .entry e(.param .u32 x[0]) { ret; }
+ .entry e(.param .u32 x[4]) { ret; }
- .visible .weak .entry e() { ret; }
- .visible .visible .entry e() { ret; }
+ .extern .entry e();
- .extern .visible .func f();
- .weak .visible .func f() { ret; }
+ .weak .func f() { ret; }
- .common .func f() { ret; }
""".strip().splitlines()
"""What the assembler accepts and refuses in a module, or after ``@@`` in a function."""


def module(text):
    outside, _, inside = text.partition("@@")
    return MODULE.format(outside, inside)


def verdicts(accepts):
    return [f"{'+' if accepts(line[2:]) else '-'} {line[2:]}" for line in DECLARATIONS]


def test_golden_takes_the_declarations_that_the_assembler_takes():
    def accepts(text):
        try:
            Module(module(text)).kernel("k")
        except PtxError:
            return False
        return True

    assert verdicts(accepts) == DECLARATIONS


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (".visible .weak .global .u32 x;", "4:10: .visible and .weak cannot stand together"),
        (".common .const .u32 x;", "4:9: .common is for variables in .global, not for .const"),
        (".local .u32 x;", "4:1: variables in .local are declared in functions, not in the module"),
        (".shared .u32 x = 1;", "4:14: x in .shared cannot have an initialiser"),
        (".extern .global .u32 x = 1;", "4:22: x with .extern in .global cannot have an initialiser"),
        (".shared .u32 x[];", "4:14: x in .shared must have a size"),
        (".global .u32 x[0];", "4:14: x in .global must have a size"),
        (".global .v4 .f64 x;", "4:13: a vector has at most 128 bits, not 256"),
        (".global .f32 x = 1;", "4:18: '1' cannot initialise an element of type .f32"),
        (".global .f16 x = 1.5;", "4:18: '1.5' cannot initialise an element of type .f16"),
    ],
)
def test_a_refused_declaration_is_named_with_the_rule(declaration, message):
    with pytest.raises(PtxError) as caught:
        Module(module(declaration), "k.ptx")
    assert str(caught.value) == f"k.ptx:{message}"


@pytest.mark.cuda
def test_the_assembler_still_takes_the_declarations_that_are_recorded(tmp_path):
    path = tmp_path / "declarations.ptx"

    def accepts(text):
        path.write_text(module(text))
        command = [assembler(), "-c", "-O0", "-arch", "sm_90a", path, "-o", tmp_path / "out.cubin"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    assert verdicts(accepts) == DECLARATIONS
