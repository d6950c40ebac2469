"""Arithmetic on fragment registers: the commands it becomes, what is refused; and its scalar evaluation."""

import numpy as np
import pytest
from modules import commands, entry, vector

from golden.memory import Memory
from golden.ptx import PtxError, parse_instruction
from golden.tables.commands import Elementwise, Fill, Load, Store, Uniform
from golden.warp import GoldenMachine

REGISTERS = (
    ".reg .b32 %a<8>, %r<4>; .reg .f32 %c<8>, %d<8>, %f<4>; .reg .b16 %h<4>; .reg .f64 %x<4>, %y<4>;"
    ".reg .b32 %s<8>; .reg .b64 %rd<4>; .reg .pred %p;"
)
A, C, D, S = vector("%a", 8), vector("%c", 8), vector("%d", 8), vector("%s", 8)
LOAD_A = "wmma.load.a.sync.aligned.row.m16n16k16.f16"
LOAD_C = "wmma.load.c.sync.aligned.row.m16n16k16.f32"
LOAD_S = "wmma.load.c.sync.aligned.row.m16n16k16.s32"
LOAD_H = "wmma.load.c.sync.aligned.row.m16n16k16.f16"
LOAD_X = "wmma.load.c.sync.aligned.row.m8n8k4.f64"
STORE = "wmma.store.d.sync.aligned.row.m16n16k16.f32"
TENTH = Uniform(0x3DCCCCCD)


def each(statement, count=8):
    return "".join(statement.replace("#", str(index)) for index in range(count))


def computed(body, parameters="", arguments=None):
    return [
        command
        for command in commands(f"{REGISTERS} {body}", parameters, arguments)
        if isinstance(command, Elementwise)
    ]


def message_of(body, **options):
    with pytest.raises(PtxError) as caught:
        list(entry(f"{REGISTERS}\n{body}").commands({}, **options))
    return str(caught.value)


def test_a_whole_fragment_is_one_command():
    found = commands(
        f"{REGISTERS} {LOAD_C} {C}, [0]; {each('mul.f32 %c#, %c#, 0.1;')} {STORE} [0], {C};",
    )
    assert found == [
        Load(parse_instruction(LOAD_C), 0, 0),
        Elementwise("mul", "f32", 0, (0, TENTH), 8),
        Store(parse_instruction(STORE), 0, 0),
    ]


def test_results_in_registers_of_their_own():
    found = computed(
        f"{LOAD_C} {C}, [0]; {each('sub.rn.ftz.f32 %d#, %c#, 0.1;')} {STORE} [0], {D}; {STORE} [0], {C};"
    )
    assert found == [Elementwise("sub", "f32", 8, (0, TENTH), 8, True)]


def test_other_constants_and_other_orders_are_commands_of_their_own():
    found = computed(f"{LOAD_C} {C}, [0]; mul.f32 %c0, %c0, 0.1; mul.f32 %c1, %c1, 1.0;")
    assert found == [
        Elementwise("mul", "f32", 0, (0, TENTH), 1),
        Elementwise("mul", "f32", 1, (1, Uniform(0x3F800000)), 1),
    ]
    found = computed(f"{LOAD_C} {C}, [0]; mul.f32 %c1, %c1, 0.1; mul.f32 %c0, %c0, 0.1;")
    assert [command.destination for command in found] == [1, 0]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            f"{LOAD_H} {vector('%a', 4)}, [0]; mov.b16 %h0, 0x4000; mov.b32 %r0, {{%h0, %h0}};"
            "mov.b32 %r1, 0x3C003C00; fma.rn.f16x2 %a0, %a0, %r0, %r1;",
            Elementwise("fma", "f16", 0, (0, Uniform(0x40004000), Uniform(0x3C003C00)), 1),
        ),
        (
            f"{LOAD_X} {{%x0, %x1}}, [0]; {each('max.f64 %x#, %x#, 2.0;', 2)}",
            Elementwise("max", "f64", 0, (0, Uniform(0x4000_0000_0000_0000)), 4),
        ),
        (
            f"{LOAD_S} {S}, [0]; {each('mad.lo.s32 %s#, %s#, -3, %s#;')}",
            Elementwise("fma", "s32", 0, (0, Uniform(0xFFFFFFFD), 0), 8),
        ),
        (
            f"{LOAD_S} {S}, [0]; {each('min.u32 %s#, 5, %s#;')}",
            Elementwise("min", "u32", 0, (Uniform(5), 0), 8),
        ),
        (
            f"{LOAD_C} {C}, [0]; mov.f32 %f0, 0.1; mov.f32 %f1, 1.0; mul.f32 %f0, %f0, %f1;"
            f"{each('mul.f32 %c#, %c#, %f0;')}",
            Elementwise("mul", "f32", 0, (0, TENTH), 8),
        ),
    ],
)
def test_types(body, expected):
    assert computed(body) == [expected]


def test_a_parameter_is_a_uniform_operand():
    body = f"{LOAD_C} {C}, [0]; ld.param.f32 %f0, [alpha]; {each('mul.f32 %c#, %f0, %c#;')}"
    (command,) = computed(body, ".param .f32 alpha", {"alpha": -0.5})
    assert command.sources == (Uniform(0xBF000000), 0)


def test_a_negative_is_a_product_with_minus_one():
    found = computed(f"{LOAD_C} {C}, [0]; {each('neg.ftz.f32 %d#, %c#;')} {STORE} [0], {D};")
    assert found == [Elementwise("mul", "f32", 8, (0, Uniform(0xBF800000)), 8, True)]


def test_a_constant_in_a_fragment_is_filled_before_each_use():
    fragments = "{%a0, %a1, %a2, %a3}, {%a4, %a5}, {0f3F000000, %c1, %c2, 0f40000000}"
    found = commands(
        f"{REGISTERS} {each('mov.b32 %a#, 0;')} {each('mov.f32 %c#, 1.0;')}"
        f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%d0, %d1, %d2, %d3}}, {fragments};"
    )
    *_, multiply = found
    machine = GoldenMachine(memory=Memory(64))
    for command in found[:-1]:
        machine.execute(command)
    held = machine.read_registers(multiply.c, 4).view(np.float32)
    assert held.tolist() == [[0.5] * 32, [1.0] * 32, [1.0] * 32, [2.0] * 32]


def test_an_accumulator_computed_from_uniform_values_is_filled():
    found = commands(f"{REGISTERS} mov.f32 %f0, 1.5; {each('add.f32 %c#, %f0, %f0;')} {STORE} [0], {C};")
    assert found[0] == Fill(0, 8, 0x40400000)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("mov.f32 %f0, 0.1; mul.f32 %f1, %f0, 3.0; mov.b32 %r0, %f1;", np.float32(0.1) * np.float32(3)),
        ("mov.f32 %f0, 0.1; sub.f32 %f1, %f0, 3.0; mov.b32 %r0, %f1;", np.float32(0.1) - np.float32(3)),
        ("fma.rn.f32 %f1, 0f3F800001, 0f3F800001, 0fBF800002; mov.b32 %r0, %f1;", np.float32(2.0**-46)),
        ("min.f32 %f1, 0f7FC00000, 2.0; mov.b32 %r0, %f1;", np.float32(2)),
        ("mul.ftz.f32 %f1, 0f00800000, 0.5; mov.b32 %r0, %f1;", np.float32(0)),
        ("mov.f64 %x0, 0.1; add.f64 %x1, %x0, 0.2; mov.b64 %rd0, %x1; cvt.u32.u64 %r0, %rd0;", 0x33333334),
        ("mov.b16 %h0, 0x3C00; add.f16 %h1, %h0, %h0; mov.b32 %r0, {%h1, %h0};", 0x3C004000),
        ("mov.b32 %r1, 0x3C004000; mov.b32 %r2, 0x3C003C00; add.f16x2 %r0, %r1, %r2;", 0x40004200),
    ],
)
def test_scalars(statements, expected):
    (command,) = commands(f"{REGISTERS} {statements} {LOAD_A} {A}, [0], %r0;")
    pattern = int(expected.view(np.uint32)) if isinstance(expected, np.float32) else expected
    assert command.stride == pattern


@pytest.mark.parametrize(
    ("body", "message"),
    [
        *(
            (f"{LOAD_C} {C}, [0];\n{statement}", f"8:{message}")
            for statement, message in (
                (
                    "mul.rz.f32 %c0, %c1, %f2;",
                    "1: qualifier .rz of mul.rz.f32 on a fragment is not supported; supported: .rn, .ftz",
                ),
                (
                    "mul.sat.f32 %c0, %f1, %c2;",
                    "1: qualifier .sat of mul.sat.f32 on a fragment is not supported; supported: .rn, .ftz",
                ),
                (
                    "max.NaN.f32 %c0, %c1, %f2;",
                    "1: qualifier .NaN of max.NaN.f32 on a fragment is not supported; supported: .ftz",
                ),
                ("add %c0, %c1, %f2;", "1: add is not supported"),
                ("fma.f32 %c0, %c1, %f2, %f3;", "1: fma.f32 lacks its rounding; supported: .rn"),
                ("fma.rn.f32 %c0, %c1, %f2;", "1: fma.rn.f32 takes 4 operands, not 3"),
                ("mul.f32 %x0, %c1, %f2;", "9: expected a destination of 32 bits, but %x0 is .f64"),
                ("mul.f32 _, %c1, %f2;", "9: mul.f32 must have a destination, not _"),
                ("mul.f64 %x0, %c1, 1.0;", "14: expected an operand of 64 bits, but %c1 is .f32"),
            )
        ),
        (
            f"{LOAD_X} {{%x0, %x1}}, [0];\nadd.ftz.f64 %x0, %x1, %x0;",
            "8:1: qualifier .ftz of add.ftz.f64 on a fragment is not supported; supported: .rn",
        ),
        (
            f"{LOAD_X} {{%x0, %x1}}, [0];\nmin.rn.f64 %x0, %x1, %x0;",
            "8:1: qualifier .rn of min.rn.f64 on a fragment is not supported; supported: nothing",
        ),
        ("mul.f32 %x0, %f1, %f2;", "7:9: expected a destination of 32 bits, but %x0 is .f64"),
        (f"{LOAD_C} {C}, [0];\nmul.f32 %c0, %c0, %f0;", "8:19: %f0 is read before it is written"),
        (f"mul.f32 %c0, %c0, 1.0;\n{STORE} [0], {C};", "7:14: %c0 is read before it is written"),
        (
            f"{LOAD_C} {C}, [0];\nsetp.eq.b32 %p, %c0, 0;",
            "8:17: %c0 belongs to a fragment and differs between lanes; only mov to a register of the same "
            "width and arithmetic on whole elements may read it: add, sub, mul, fma, min, max and neg in "
            "f16x2, f32 and f64, add, sub, mul.lo, mad.lo, min and max in s32 and u32",
        ),
        (
            f"{LOAD_A} {A}, [0];\nmul.f32 %a0, %a0, 1.0;",
            "8:14: %a0 from line 7 holds .f16, whose elements .f32 arithmetic does not take",
        ),
        (
            f"{LOAD_S} {S}, [0];\nadd.f16x2 %s0, %s0, %s0;",
            "8:16: %s0 from line 7 holds .s32, whose elements .f16 arithmetic does not take",
        ),
        (
            f"{LOAD_C} {C}, [0];\n{LOAD_C} {D}, [0];\nadd.f32 %c0, %c0, %d1;",
            "9:19: %d1 from line 8 and %c0 from line 7 do not hold the same elements of like fragments",
        ),
        (
            f"{LOAD_C} {C}, [0];\n{LOAD_C.replace('m16n16', 'm8n32')} {D}, [0];\nadd.f32 %c0, %c0, %d0;",
            "9:19: %d0 from line 8 and %c0 from line 7 do not hold the same elements of like fragments",
        ),
        (
            f"{LOAD_C} {C}, [0];\nadd.f32 %d1, %c0, 1.0;\n{STORE} [0], {D.replace('%d0', '%c0')};",
            "9:56: operand d: %d1 from line 8 is register 0 of its fragment, not 1",
        ),
    ],
)
def test_what_is_refused(body, message):
    assert message_of(body) == f"k.ptx:{message}"


def test_results_are_of_the_fragment_they_come_from():
    scaled = each("mul.f32 %d#, %c#, 2.0;")
    wrong = STORE.replace("m16n16k16", "m8n32k16")
    *_, work, store = commands(f"{REGISTERS} {LOAD_C} {C}, [0]; {scaled} {STORE} [0], {D};")
    assert (work.destination, work.count) == (store.register, 8)
    message = message_of(f"{LOAD_C} {C}, [0];\n{scaled}\n{wrong} [0], {D};")
    assert message == "k.ptx:9:50: operand d: %d0 from line 8 has .m16n16k16, not .m8n32k16"


def test_a_fragment_and_its_scaled_copy_keep_apart():
    body = f"{LOAD_C} {C}, [0]; {each('mul.f32 %d#, %c#, 2.0;')} {STORE} [0], {D}; {STORE} [1024], {C};"
    assert entry(f"{REGISTERS} {body}").registers == 16
    assert entry(f"{REGISTERS} {LOAD_C} {C}, [0]; {each('mul.f32 %c#, %c#, 2.0;')}").registers == 8
