"""Golden accepts operands of the types and kinds that NVIDIA's assembler accepts."""

import base64
import re
import zlib
from pathlib import Path

import pytest
from acceptance_exceptions import LOOSER, STRICTER, TYPES_LOOSER, TYPES_STRICTER
from assembler import Golden, refused
from operand_forms import OPERANDS, ORDERS, typed
from test_ptx_acceptance import RECORDED as FORMS
from test_ptx_acceptance import as_text, is_set, reason

RECORDED = Path(__file__).parents[2] / "data" / "ptx_operands.txt"
"""A bit for each statement in order, compressed: whether the assembler accepts it."""


def unpacked(path):
    return zlib.decompress(base64.b64decode("".join(path.read_text().split())))


def recorded(given, folder):
    first = len(OPERANDS)  # of which some are refused without a line
    errors = {*refused(OPERANDS, folder), *(first + number for number in refused(given[first:], folder))}
    return as_text([number for number in range(len(given)) if number not in errors])


@pytest.fixture(scope="module")
def given():
    forms = unpacked(FORMS)
    return [*OPERANDS, *ORDERS, *typed(lambda number: is_set(forms, number), most=20)]


def test_golden_takes_the_operands_that_the_assembler_takes(given):
    golden, accepted, unknown, met = Golden(), unpacked(RECORDED), [], set()
    for number, text in enumerate(given):
        refusal = golden.refusal(text)
        if (refusal is None) == is_set(accepted, number):
            continue
        types, forms = (TYPES_STRICTER, STRICTER) if refusal is not None else (TYPES_LOOSER, LOOSER)
        untyped = re.sub(r"%([bhrd])[ufx]", r"%\1", text)
        pattern = reason(types, text) or reason(forms, untyped)
        met.add(pattern)
        if pattern is None:
            unknown.append((text, refusal))
    assert unknown == []
    assert {*TYPES_STRICTER, *TYPES_LOOSER} <= met


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("add.u32 %r1, %rf2, 1", "expected an operand of .u32, or of bits, but %rf2 is .f32"),
        ("ld.f32 %ru1, [%d1]", "expected a destination of .f32, or of bits, but %ru1 is .u32"),
        ("shl.b32 %r1, %r2, %rf3", "expected an operand of an integer type, or of bits, but %rf3 is .f32"),
        ("add.f32 %r1, %r2, 1", "an integer cannot stand for .f32, which takes f32 or f64"),
        ("add.u32 %r1, %r2, 1.5", "a constant of .f64 cannot stand for .u32, which takes integer"),
        ("add.u32 _, %r1, %r2", "add.u32 must have a destination, not _"),
        ("ld.global.v2.u32 {_, _}, [%d1]", "ld.global.v2.u32 must have a destination, not _"),
        ("add.u32 %r1, %tid.x, 1", "%tid.x cannot be an operand of add.u32; only mov and cvt read it"),
        ("ld.global.u32 %r1, [%r2]", "an address in .global has 64 bits, but %r2 is .b32"),
        ("mul.s32.lo %r1, %r2, 3", "mul.s32.lo is not an instruction: .lo must stand directly after mul"),
        ("ld.shared.u32 %r1, [128]", "the address [128] is a number, which only .local takes, not .shared"),
    ],
)
def test_a_refused_operand_is_named_with_what_is_allowed(statement, message):
    assert Golden().refusal(statement).partition(": ")[2] == message


@pytest.mark.parametrize(
    "statement",
    [
        "setp.ltu.and.f16x2 %p1|%p2, %r1, %r2, 1",
        "setp.lt.or.f32 %p1, %r1, %r2, 0",
        "set.lt.xor.u32.f64 %r1, %d1, %d2, 1",
        "selp.f32 %r1, %r2, %r3, 0",
    ],
)
def test_an_integer_stands_for_a_predicate_beside_operands_of_any_type(statement):
    assert Golden().refusal(statement) is None


@pytest.mark.cuda
def test_the_assembler_still_takes_the_operands_that_are_recorded(given, tmp_path):
    text = recorded(given, tmp_path)
    (tmp_path / RECORDED.name).write_text(text)
    assert text == RECORDED.read_text(), f"write it anew from {tmp_path / RECORDED.name}"
