"""Mnemonics and qualifiers: everything legal is understood in every spelling, everything else is refused."""

from dataclasses import fields
from itertools import product

import pytest
from hypothesis import given, strategies

from golden.limits import WORD_CHARACTERS
from golden.ptx import parse_instruction
from golden.ptx.mnemonic import MalformedInstruction
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import SHAPES, Shape
from golden.tables.matrix_instructions import (
    IllegalInstruction,
    LoadInstruction,
    MmaInstruction,
    StoreInstruction,
)

LAYOUTS = ("row", "col")
SPACES = ("global", "shared", "generic")


def legal(kind, choices):
    """Every instruction that the tables allow among the given choices of each field."""
    found = []
    for values in product(*choices.values()):
        try:
            found.append(kind(**dict(zip(choices, values, strict=True))))
        except IllegalInstruction:
            continue
    return found


MEMORY_CHOICES = {"layout": LAYOUTS, "shape": SHAPES, "type": FORMATS, "space": SPACES}
MIXED = {name: pair for pair in (("s8", "u8"), ("s4", "u4"), ("e4m3", "e5m2")) for name in pair}
LOADS = legal(LoadInstruction, {"use": ("a", "b", "c"), **MEMORY_CHOICES})
STORES = legal(StoreInstruction, MEMORY_CHOICES)
MODIFIERS = {
    "a_layout": LAYOUTS,
    "b_layout": LAYOUTS,
    "saturate": (False, True),
    "rounding": (None, "rn", "rz", "rm", "rp"),
    "operation": (None, "xor", "and"),
}
# One value of each modifier that is legal wherever another one is; `operation` has none.
PLAIN = {"a_layout": ("row",), "b_layout": ("col",), "operation": (None, "xor")}


def multiplies(modifiers):
    """Every legal multiply among all types and shapes, and the given modifiers."""
    return [
        instruction
        for a_type, mnemonic in product(FORMATS, ("wmma", "mma"))
        for instruction in legal(
            MmaInstruction,
            {
                "mnemonic": (mnemonic,),
                "a_type": (a_type,),
                "b_type": MIXED.get(a_type, (a_type,)) if mnemonic == "mma" else (a_type,),
                "shape": SHAPES,
                "c_type": ("f16", "f32", "f64", "s32"),
                "d_type": ("f16", "f32", "f64", "s32"),
                **modifiers,
            },
        )
    ]


# Modifiers are varied where the types and the shape are legal: a sixtieth of all combinations.
MULTIPLIES = [
    instruction
    for plain in multiplies(PLAIN)
    for instruction in legal(
        MmaInstruction,
        {**{field.name: (getattr(plain, field.name),) for field in fields(plain)}, **MODIFIERS},
    )
]
INSTRUCTIONS = LOADS + STORES + MULTIPLIES


def test_the_instructions_tried_here_are_all_of_the_specification():
    # shapes x layouts x spaces of A and B, then of C: f16 and f32 in three shapes, f32 of tf32, f64, s32
    multiplicands = {"f16": 3, "bf16": 3, "tf32": 1, "f64": 1, "s8": 3, "u8": 3}
    one_layout = {"s4": 1, "u4": 1, "b1": 1}
    accumulators = {"f16": 3, "f32": 4, "f64": 1, "s32": 5}
    assert len(LOADS) == 3 * (
        2 * 2 * sum(multiplicands.values()) + 2 * sum(one_layout.values()) + 2 * sum(accumulators.values())
    )
    assert len(STORES) == 3 * 2 * sum(accumulators.values())
    f16, bf16, tf32, f64 = 3 * 4 * 4 * 2, 3 * 4 * 2, 4 * 2, 4 * 5
    integer, sub_byte, single_bit = 3 * 4 * 2 * 2, 2 * 2, 2
    wmma = f16 + bf16 + tf32 + f64 + integer + sub_byte + single_bit
    # mma: f16 with two accumulators, in quad pairs with three pairs of types and four of layouts, bf16, tf32,
    # f64 with five roundings, integers of four pairs
    mma = 2 * 2 + 3 * 4 + 2 + 2 + 4 * 5 + 2 * 3 * 4 * 2 + 3 * 2 + 2 * 4 * 2
    assert len(MULTIPLIES) == wmma + mma


@pytest.mark.long
def test_no_other_modifier_makes_an_instruction_legal():
    """All combinations of types, shapes and modifiers."""
    assert sorted(map(str, multiplies(MODIFIERS))) == sorted(map(str, MULTIPLIES))


@given(strategies.sampled_from(INSTRUCTIONS))
def test_text_of_an_instruction_parses_to_it(instruction):
    assert parse_instruction(str(instruction)) == instruction


@given(strategies.sampled_from(INSTRUCTIONS), strategies.data())
def test_damaged_text_is_refused_or_is_another_instruction(instruction, data):
    parts = str(instruction).split(".")
    index = data.draw(strategies.integers(0, len(parts) - 1))
    words = strategies.sampled_from([*FORMATS, *map(str, SHAPES), "row", "col", "satfinite", "global", "rz"])
    damage = data.draw(strategies.sampled_from(["delete", "f64", "replace", "insert"]))
    if damage == "delete":
        del parts[index]
    elif damage == "f64":
        parts.insert(index, parts[index])
    elif damage == "replace":
        parts[index] = data.draw(words)
    else:
        parts.insert(index + 1, data.draw(words))
    try:
        found = parse_instruction(".".join(parts))
    except IllegalInstruction:
        return
    assert found in INSTRUCTIONS


@pytest.mark.parametrize("instruction", LOADS + STORES, ids=str)
def test_memory_instructions_in_every_order_and_without_aligned(instruction):
    head = f"wmma.load.{instruction.use}" if isinstance(instruction, LoadInstruction) else "wmma.store.d"
    layout, shape = instruction.layout, instruction.shape
    for aligned in (".aligned", ""):
        for space in {"generic": [""], "shared": [".shared", ".shared::cta"]}.get(
            instruction.space, [".global"]
        ):
            grammar = f"{head}.sync{aligned}.{layout}.{shape}{space}.{instruction.type}"
            examples = f"{head}.sync{aligned}.{shape}{space}.{layout}.{instruction.type}"
            assert parse_instruction(grammar) == instruction
            assert parse_instruction(examples) == instruction


@pytest.mark.parametrize(
    ("text", "instruction"),
    [
        (
            "wmma.mma.sync.m16n16k16.row.col.f16.f32",
            MmaInstruction(
                shape=Shape(16, 16, 16),
                a_layout="row",
                b_layout="col",
                a_type="f16",
                b_type="f16",
                c_type="f32",
                d_type="f16",
            ),
        ),
        (
            "  wmma.mma.sync.aligned.m8n8k4.row.col.rz.f64.f64.f64.f64\n",
            MmaInstruction(
                shape=Shape(8, 8, 4),
                a_layout="row",
                b_layout="col",
                a_type="f64",
                b_type="f64",
                c_type="f64",
                d_type="f64",
                rounding="rz",
            ),
        ),
        (
            "wmma.mma.and.popc.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32",
            MmaInstruction(
                shape=Shape(8, 8, 128),
                a_layout="row",
                b_layout="col",
                a_type="b1",
                b_type="b1",
                c_type="s32",
                d_type="s32",
                operation="and",
            ),
        ),
        *(
            (
                text,
                MmaInstruction(
                    mnemonic="mma",
                    shape=Shape(8, 8, 16),
                    a_layout="row",
                    b_layout="col",
                    a_type="s8",
                    b_type="u8",
                    c_type="s32",
                    d_type="s32",
                    saturate=True,
                ),
            )
            for text in (
                "mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32.satfinite",
                "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32",
            )
        ),
    ],
)
def test_spellings_of_multiplies(text, instruction):
    assert parse_instruction(text) == instruction


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.f17",
            "unknown qualifier .f17 after wmma.load.a.sync.aligned.row.m16n16k16; allowed here: .global, "
            ".shared, .shared::cta, .f16, .bf16, .tf32, .f32, .f64, .s8, .u8, .s4, .u4, .b1, .s32, .e4m3, "
            ".e5m2, .e3m2, .e2m3, .e2m1",
        ),
        (
            "wmma.load.a.sync.sync",
            "qualifier .sync given twice, after wmma.load.a.sync; allowed here: "
            ".aligned, .row, .col, .m16n16k16, .m8n32k16, .m32n8k16, .m16n16k8, .m8n8k4, .m8n8k32, .m8n8k128",
        ),
        (
            "wmma.load.a.row.sync.aligned.m16n16k16.f16",
            "qualifier .row out of place after wmma.load.a; allowed here: .sync",
        ),
        (
            "wmma.store.d.sync.aligned.row",
            "missing qualifier after wmma.store.d.sync.aligned.row; allowed here: .m16n16k16, .m8n32k16, "
            ".m32n8k16, .m16n16k8, .m8n8k4, .m8n8k32, .m8n8k128",
        ),
        ("wmma.load.d.sync", "qualifier .d out of place after wmma.load; allowed here: .a, .b, .c"),
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.f16.f16",
            "qualifier .f16 out of place after wmma.load.a.sync.aligned.row.m16n16k16.f16; "
            "allowed here: nothing",
        ),
        (
            "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.f16.f32",
            "qualifier .f16 out of place after wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16; "
            "allowed here: .rn, .rz, .rm, .rp, .satfinite",
        ),
        (
            "wmma.mma.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
            "missing qualifier after wmma.mma; allowed here: .xor, .and",
        ),
        (
            "mma.sync.aligned.row.m8n8k16.col.s32.s8.s8.s32",
            "qualifier .m8n8k16 out of place after mma.sync.aligned.row; allowed here: .row, .col",
        ),
        ("wmma", "missing qualifier after wmma; allowed here: .load, .mma, .store"),
    ],
)
def test_malformed_instructions(text, message):
    with pytest.raises(MalformedInstruction) as caught:
        parse_instruction(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "qualifier", "message"),
    [
        (
            "wmma.load.a.sync.aligned.row.m16n16k8.f16",
            "m16n16k8",
            "illegal qualifier .m16n16k8 for wmma.load.a of .f16; allowed: .m16n16k16, .m8n32k16, .m32n8k16",
        ),
        (
            "wmma.load.b.sync.aligned.row.m8n8k32.s4",
            "row",
            "illegal qualifier .row for wmma.load.b of .s4; allowed: .col",
        ),
        (
            "wmma.mma.sync.aligned.row.col.m16n16k16.f32.s8.s8.s32",
            "s8",
            "illegal qualifier .s8 for wmma.mma.m16n16k16 with D of .f32; allowed: .f16, .f32, .bf16",
        ),
        (
            "wmma.mma.sync.aligned.row.col.m16n16k16.f64.f64.f64.f64",
            "f64",
            "illegal qualifier .f64 for wmma.mma.m16n16k16; allowed: .f16, .f32, .s32",
        ),
        (
            "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32",
            "u8",
            "illegal qualifier .u8 for wmma.mma.m16n16k16 of .s8; allowed: .s8",
        ),
        (
            "wmma.mma.sync.aligned.row.col.m16n16k16.rz.f32.f32",
            "rz",
            "illegal qualifier .rz for wmma.mma.m16n16k16 of .f16; allowed: nothing",
        ),
        (
            "wmma.mma.xor.popc.sync.aligned.row.col.m16n16k16.f32.f32",
            "xor",
            "illegal qualifier .xor for wmma.mma.m16n16k16 of .f16; allowed: nothing",
        ),
        (
            "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64.satfinite",
            "satfinite",
            "illegal qualifier .satfinite for wmma.mma.m8n8k4 of .f64; allowed: nothing",
        ),
        (
            "mma.sync.aligned.m8n8k16.col.col.s32.s8.s8.s32",
            "col",
            "illegal qualifier .col for mma.m8n8k16 of .s8; allowed: .row",
        ),
        ("ldmatrix.sync", "ldmatrix", "unknown instruction 'ldmatrix'; allowed: wmma, mma, wgmma"),
        ("", "", "unknown instruction ''; allowed: wmma, mma, wgmma"),
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.f16 {x}, [p]",
            "wmma.load.a.sync.aligned.row.m16n16k16.f16 {x}, [p]",
            "expected mnemonic and qualifiers without operands, not "
            "'wmma.load.a.sync.aligned.row.m16n16k16.f16 {x}, [p]'",
        ),
    ],
)
def test_illegal_combinations(text, qualifier, message):
    with pytest.raises(IllegalInstruction) as caught:
        parse_instruction(text)
    assert str(caught.value) == message
    assert caught.value.qualifier == qualifier


SATURATING = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite"


INTEGER_WIDTHS = (8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256)
"""Of the PTX ISA's table of shapes; floating point has every multiple of 8."""


@pytest.mark.parametrize("n", range(4, 268, 4))
def test_widths_of_wgmma(n):
    for types, widths in (("s32.s8.u8", INTEGER_WIDTHS), ("f32.e4m3.e5m2", range(8, 264, 8))):
        text = f"wgmma.mma_async.sync.aligned.m64n{n}k32.{types}"
        if n in widths:
            assert parse_instruction(text).shape.n == n
        else:
            with pytest.raises(IllegalInstruction):
                parse_instruction(text)


LONG = "x" * 10_000


@pytest.mark.parametrize("blanks", ["", " "])
@pytest.mark.parametrize("place", range(8))
def test_long_words_are_shortened_in_messages(place, blanks):
    parts = ["wmma", "load", "a", "sync", "aligned", "row", "m16n16k16", "f16"]
    parts[place] = f"x{blanks}{LONG}"
    with pytest.raises(IllegalInstruction) as caught:
        parse_instruction(".".join(parts))
    assert len(str(caught.value)) < 4 * WORD_CHARACTERS


def test_satfinite_of_f16_belongs_to_old_versions():
    assert parse_instruction(SATURATING).saturate
    assert parse_instruction(SATURATING, ptx_version=(6, 4)).saturate
    with pytest.raises(IllegalInstruction) as caught:
        parse_instruction(SATURATING, ptx_version=(6, 5))
    assert str(caught.value) == (
        "illegal qualifier .satfinite for wmma.mma.m16n16k16 of .f16 in PTX ISA 6.5 "
        "(removed after PTX ISA 6.4); allowed: nothing"
    )


def test_satfinite_of_bf16_is_not_ptx():
    text = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32.satfinite"
    assert parse_instruction(text).saturate
    with pytest.raises(IllegalInstruction) as caught:
        parse_instruction(text, ptx_version=(6, 0))
    assert str(caught.value) == (
        "illegal qualifier .satfinite for wmma.mma.m16n16k16 of .bf16 "
        "(the WMMA API has it, PTX does not); allowed: nothing"
    )


def test_satfinite_of_integers_is_in_every_version():
    text = "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32.satfinite"
    assert parse_instruction(text, ptx_version=(8, 0)).saturate
