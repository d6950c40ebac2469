"""Scalar instructions: every captured form to the bit, and what is refused."""

import numpy as np
import pytest
from golden_captures import COMPACT
from scalar_captures import captures, evaluated, narrowed

from golden.scalar import UnsupportedInstruction, operation

OPCODES = sorted({capture.opcode for capture in captures().values()})


def test_the_captures_are_complete():
    assert len(captures()) == 1025
    assert all(capture.results.shape == (512,) for capture in captures().values())


def different(capture):
    """The operands, captured and found result of the first element that differs, or None."""
    found = evaluated(capture, operation)
    where = np.flatnonzero(found != capture.results)
    if not where.size:
        return None
    first = where[0]
    operands = [f"{int(operand[first]):#x}" for operand in capture.operands]
    return capture.text, operands, f"{int(capture.results[first]):#x}", f"{int(found[first]):#x}"


@pytest.mark.parametrize("opcode", OPCODES)
def test_every_form_equals_the_chip(opcode):
    forms = [form for form in captures().values() if form.opcode == opcode]
    assert [difference for form in forms if (difference := different(form)) is not None] == []


with np.load(COMPACT / "elements" / "h200.npz") as _loaded:
    ELEMENTS = {name: _loaded[name] for name in _loaded.files}
ELEMENT_FORMS = sorted(name for name in ELEMENTS if "." in name)


@pytest.mark.parametrize("name", ELEMENT_FORMS)
def test_forms_with_many_operands_equal_the_chip(name):
    type_, mnemonic = name.split("/")
    found = operation(mnemonic)
    operands = [ELEMENTS[f"{type_}/{use}"] for use in "abc"[: len(found.operands)]]
    if mnemonic.endswith("x2"):
        operands = [operand.view(np.uint32) for operand in operands]
    np.testing.assert_array_equal(found.evaluate(*operands).view(ELEMENTS[name].dtype), ELEMENTS[name])


OF_FILL = [
    *((0x7FF7, 0x3C00, 0x3C00, 0), (0xFFF7, 0x3C00, 0x3C00, 0), (0x3C00, 0x7FF7, 0x3C00, 0)),
    *((0x3C00, 0xFFF7, 0x3C00, 0), (0x7FF7, 0x3C00, 0xBC00, 0), (0x0001, 0xFFF7, 0xFFFF, 0)),
    *((0x7FF7, 0x7C00, 0x3C00, 0), (0xFFFF, 0x7FF7, 0x7FFF, 0), (0x7FF7, 0x0001, 0xFFFF, 0)),
    *((0x7FFF, 0x3C00, 0x3C00, 0x7FFF), (0x3C00, 0x7FFF, 0xBC00, 0x7FFF), (0x3C00, 0x3C00, 0x7FF7, 0x7FFF)),
]
"""a, b, c and the result of an H200, the same for all types. All other operands give what ``fma.rn`` does."""


@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_the_fill_of_a_tensor_copy_makes_a_sum_zero(type_, relu):
    a, b, c, d = np.array(OF_FILL, np.uint16).T
    found = operation(f"fma.rn.oob{relu}.{type_}").evaluate(a, b, c)
    np.testing.assert_array_equal(found, d)
    pairs = [(lows | lows[::-1].astype(np.uint32) << 16) for lows in (a, b, c, d)]
    found = operation(f"fma.rn.oob{relu}.{type_}x2").evaluate(*pairs[:3])
    np.testing.assert_array_equal(found, pairs[3])
    others = np.random.default_rng(1).integers(0, 1 << 16, (3, 4096), np.uint16)
    others[:2][(others[:2] & 0x7FFF) == 0x7FF7] = 0
    np.testing.assert_array_equal(
        operation(f"fma.rn.oob{relu}.{type_}").evaluate(*others),
        operation(f"fma.rn{relu}.{type_}").evaluate(*others),
    )


def test_a_look_up_is_cached_and_frozen():
    found = operation("fma.rn.f32")
    assert found is operation("fma.rn.f32")
    assert (found.name, found.results, found.operands) == ("fma.rn.f32", (32,), (32, 32, 32))
    with pytest.raises(AttributeError):
        found.name = "add.f32"


@pytest.mark.parametrize("order", ["min.NaN.ftz.f32", "min.ftz.NaN.f32", "min.f32.ftz.NaN"])
def test_qualifiers_may_stand_in_any_order(order):
    operands = np.array([1, 0x7FC00000], np.uint32), np.array([0x3F800000, 0], np.uint32)
    assert operation(order).evaluate(*operands).tolist() == [0, 0x7FFFFFFF]


def test_types_stand_in_their_order():
    assert operation("cvt.s64.u8").operands == (8,)
    assert operation("cvt.u8.s64").operands == (64,)
    assert operation("cvt.u8.s64").results == (8,)


@pytest.mark.parametrize(
    ("name", "signed"), [("cvt.s8.s32", True), ("cvt.u8.s32", False), ("cvt.rni.s16.f32", True)]
)
def test_a_narrow_result_says_how_it_is_extended(name, signed):
    assert operation(name).signed is signed


@pytest.mark.parametrize(
    "name",
    [
        "",
        "frobnicate.s32",
        "add",
        "add.f99",
        "add.rn.s32",
        "add.sat.u32",
        "add.s32.s32",
        "add.rn.rz.f32",
        "mul.s32",
        "mul.wide.u64",
        "fma.f32",
        "add.rz.f16",
        "add.ftz.f64",
        "fma.rn.sat.relu.f16",
        "min.xorsign.f32",
        "setp.lt.b32",
        "setp.lo.s32",
        "setp.ltu.s32",
        "set.lt.f16.f64.f32",
        "cvt.f16.f32",
        "cvt.rni.f16.f32",
        "cvt.rn.e4m3x2.f32",
        "prmt.b32.f4e.b4e",
        "lop3.xor.b32",
        "mul24.lo.sat.s32",
        "mad24.hi.sat.u32",
        "ex2.approx.f64",
        "rcp.approx.f64",
        "div.full.f64",
    ],
)
def test_what_is_not_an_instruction_is_refused_by_name(name):
    with pytest.raises(UnsupportedInstruction) as refused:
        operation(name)
    assert str(refused.value).startswith(f"{name}: ")
    assert isinstance(refused.value, ValueError)


def test_a_refusal_lists_the_forms_that_there_are():
    with pytest.raises(UnsupportedInstruction, match=r"popc has no form .* there are: popc \.b32\|\.b64"):
        operation("popc.u32")
    with pytest.raises(UnsupportedInstruction, match="no scalar instruction has the opcode 'ld'"):
        operation("ld.global.f32")


def sources_of(capture):
    """The operation of a capture whose text is a mnemonic, and its operands."""
    found = operation(capture.text)
    return found, [narrowed(*pair) for pair in zip(capture.operands, found.operands, strict=True)]


PLAIN = [text for text in captures() if " " not in text]


def test_operands_stay_as_they_are():
    for text in PLAIN:
        found, sources = sources_of(captures()[text])
        for source in sources:
            source.flags.writeable = False
        found.evaluate(*sources)


def test_one_element_stands_for_all_threads():
    for text in PLAIN:
        found, sources = sources_of(captures()[text])
        for position in range(len(sources)):
            for first in range(0, 24, 4):
                alone = [source[first : first + 1] for source in sources]
                arrays = [np.repeat(source, 512) for source in alone]
                alone[position] = arrays[position] = sources[position]
                expected = found.evaluate(*arrays)
                np.testing.assert_array_equal(found.evaluate(*alone), expected, text)
                scalars = [source[0] for source in alone]
                scalars[position] = sources[position]
                with np.errstate(all="ignore"):
                    np.testing.assert_array_equal(found.evaluate(*scalars), expected, text)
