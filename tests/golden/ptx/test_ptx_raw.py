"""Entries that name machine registers: what verification programs are written in."""

import pytest

from golden.ptx.mnemonic import parse_instruction
from golden.ptx.program import parse_module
from golden.ptx.source import PtxError
from golden.tables.commands import Fill, Load, Mma, Move, Store

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry program()
.pragma "openwmma.raw_registers";
{
.reg .b32 %r<64>;
"""
LOAD = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16"
MULTIPLY = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.satfinite"
F64 = "wmma.mma.sync.aligned.row.col.m8n8k4.rz.f64.f64.f64.f64"
STORE = "wmma.store.d.sync.aligned.col.m16n16k16.shared.f16"


def vector(first, count):
    return "{" + ", ".join(f"%r{first + index}" for index in range(count)) + "}"


def commands(*statements):
    body = "\n".join(f"{statement};" for statement in statements)
    entry = parse_module(f"{HEAD}{body}\nret;\n}}").entry()
    return [command for command, _ in entry.commands({}, registers=64)]


def test_registers_are_those_of_their_numbers_and_hold_anything():
    found = commands(
        f"{LOAD} {vector(3, 8)}, [0x4020], 32",
        "mov.b32 %r40, 0x12345678",
        "mov.b32 %r41, 0x12345678",
        "mov.b32 %r50, %r4",
        "mov.b32 %r51, %r5",
        f"{MULTIPLY} {vector(0, 8)}, {vector(5, 8)}, {vector(7, 8)}, {vector(40, 4)}",
        f"{F64} {vector(9, 4)}, {vector(1, 2)}, {vector(2, 2)}, {vector(3, 4)}",
        f"{STORE} [64], {vector(60, 4)}",
    )
    assert found == [
        Load(parse_instruction(LOAD), 3, 0x4020, 32),
        Fill(40, 2, 0x12345678),
        Move(50, 4, 2),
        Mma(parse_instruction(MULTIPLY), d=0, a=5, b=7, c=40),
        Mma(parse_instruction(F64), d=9, a=1, b=2, c=3),
        Store(parse_instruction(STORE), 60, 64),
    ]


def test_a_register_that_no_vector_names_is_filled_all_the_same():
    assert commands("mov.b32 %r9, 1") == [Fill(9, 1, 1)]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (f"{LOAD} {{%r0, %r2, %r1, %r3, %r4, %r5, %r6, %r7}}, [0]", "%r2 follows register 0"),
        (".reg .b32 %x; mov.b32 %x, 1", "%x has no number"),
    ],
)
def test_what_says_no_place_is_refused(statement, message):
    with pytest.raises(PtxError, match=message):
        commands(statement)


def test_without_the_pragma_registers_are_allocated_and_checked():
    text = HEAD.replace('.pragma "openwmma.raw_registers";', '.pragma "nounroll";')
    entry = parse_module(f"{text}{LOAD} {vector(3, 8)}, [0x4020];\nret;\n}}").entry()
    assert [command.register for command, _ in entry.commands({})] == [0]
    store = f"{STORE} [64], {vector(60, 4)}"
    with pytest.raises(PtxError, match="read before it is written"):
        list(parse_module(f"{text}{store};\nret;\n}}").entry().commands({}))
