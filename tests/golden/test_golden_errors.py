"""What is refused, and in which words."""

import re

import numpy as np
import pytest

import golden
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import IllegalInstruction, LoadInstruction

F16 = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
S8 = "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32"
U4 = "wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32"
B1 = "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"
F64 = "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64"


def zeros(shape, dtype):
    return np.zeros(shape, dtype)


GOOD = {
    F16: (((16, 16), "u2"), ((16, 16), "u2"), ((16, 16), "u4")),
    S8: (((16, 16), "i1"), ((16, 16), "i8"), ((16, 16), "i4")),
    U4: (((8, 32), "u1"), ((32, 8), "i2"), ((8, 8), "i4")),
    B1: (((8, 128), "u1"), ((128, 8), "u8"), ((8, 8), "i4")),
    F64: (((8, 4), "u8"), ((4, 8), "u8"), ((8, 8), "u8")),
}


def operands(instruction, **changed):
    return {
        name: changed[name] if name in changed else zeros(*spec)
        for name, spec in zip("abc", GOOD[instruction], strict=True)
    }


def refused(message, call, *arguments, **keywords):
    with pytest.raises(golden.InvalidArgument, match=f"^{re.escape(message)}$") as caught:
        call(*arguments, **keywords)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("instruction", GOOD)
def test_good_arguments(instruction):
    assert not golden.mma(instruction, **operands(instruction)).any()


@pytest.mark.parametrize(
    ("instruction", "changed", "message"),
    [
        (
            F16,
            {"a": zeros((16, 16), "f4")},
            "a: got dtype float32; allowed: uint16 (raw bit patterns of f16), or float16 (values)",
        ),
        (
            F16,
            {"b": zeros((16, 16), "i2")},
            "b: got dtype int16; allowed: uint16 (raw bit patterns of f16), or float16 (values)",
        ),
        (
            F16,
            {"c": zeros((16, 16), "f2")},
            "c: got dtype float16; allowed: uint32 (raw bit patterns of f32), or float32 (values)",
        ),
        (
            F16,
            {"c": zeros((16, 16), "u2")},
            "c: got dtype uint16; allowed: uint32 (raw bit patterns of f32), or float32 (values)",
        ),
        (
            F16,
            {"a": [[0] * 16] * 16},
            "a: got dtype int64; allowed: uint16 (raw bit patterns of f16), or float16 (values)",
        ),
        (F16, {"a": [[0], [0, 1]]}, "a: got a ragged sequence; allowed: an array of shape (..., 16, 16)"),
        (
            F64,
            {"a": zeros((8, 4), "f4")},
            "a: got dtype float32; allowed: uint64 (raw bit patterns of f64), or float64 (values)",
        ),
        (S8, {"a": zeros((16, 16), "f4")}, "a: got dtype float32; allowed: any integer dtype (values of s8)"),
        (B1, {"a": zeros((8, 128), "?")}, "a: got dtype bool; allowed: any integer dtype (values of b1)"),
        (S8, {"c": zeros((16, 16), "u4")}, "c: got dtype uint32; allowed: int32 (values of s32)"),
        (S8, {"c": zeros((16, 16), "i8")}, "c: got dtype int64; allowed: int32 (values of s32)"),
        (S8, {"a": np.full((16, 16), 128)}, "a: got the value 128; allowed: s8 from -128 to 127"),
        (S8, {"b": np.full((16, 16), -129)}, "b: got the value -129; allowed: s8 from -128 to 127"),
        (U4, {"a": np.full((8, 32), 16)}, "a: got the value 16; allowed: u4 from 0 to 15"),
        (U4, {"b": np.full((32, 8), -1)}, "b: got the value -1; allowed: u4 from 0 to 15"),
        (B1, {"b": np.full((128, 8), 2)}, "b: got the value 2; allowed: b1 from 0 to 1"),
        (F16, {"a": zeros((16, 8), "u2")}, "a: got shape (16, 8); allowed: shape (..., 16, 16)"),
        (F16, {"a": zeros(16, "u2")}, "a: got shape (16,); allowed: shape (..., 16, 16)"),
        (F16, {"a": np.uint16(0)}, "a: got shape (); allowed: shape (..., 16, 16)"),
        (U4, {"b": zeros((8, 32), "u1")}, "b: got shape (8, 32); allowed: shape (..., 32, 8)"),
        (F16, {"b": zeros((3, 16, 16), "u2")}, "b: got leading axes (3,); allowed: (), as a has"),
        (F16, {"c": zeros((1, 16, 16), "u4")}, "c: got leading axes (1,); allowed: (), as a has"),
    ],
)
def test_refused_operands(instruction, changed, message):
    refused(message, golden.mma, instruction, **operands(instruction, **changed))


def test_refused_profile():
    names = "hopper, blackwell, ada, ampere, turing, volta, exact, exact.rn, exact.rz, exact.rm, exact.rp"
    refused(f"profile: got 'pascal'; allowed: {names}", golden.mma, F16, **operands(F16), profile="pascal")
    refused(
        "profile: got 7; allowed: a name, a Profile or an ExactProfile",
        golden.mma,
        F16,
        **operands(F16),
        profile=7,
    )


def test_refused_instruction():
    allowed = "allowed: a multiply, as PTX text without operands or parsed"
    load = LoadInstruction(use="a", layout="row", shape=Shape(16, 16, 16), type="f16")
    refused(f"instruction: got {load!r}; {allowed}", golden.mma, load, **operands(F16))
    text = "wmma.load.a.sync.aligned.row.m16n16k16.f16"
    refused(f"instruction: got {text!r}; {allowed}", golden.mma, text, **operands(F16))
    with pytest.raises(IllegalInstruction, match=r"\.m16n16k8 .*allowed"):
        golden.mma(F16.replace("m16n16k16", "m16n16k8"), **operands(F16))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("e", "f16", "m16n16k16"), "use: got 'e'; allowed: a, b, c, d"),
        (
            ("a", "f8", "m16n16k16"),
            "type: got 'f8'; allowed: f16, bf16, tf32, f64, s8, u8, s4, u4, b1, "
            "e4m3, e5m2, e3m2, e2m3, e2m1 for a",
        ),
        (("c", "bf16", "m16n16k16"), "type: got 'bf16'; allowed: f16, f32, f64, s32 for c"),
        (
            ("a", "f16", "m16n16k8"),
            "shape: got 'm16n16k8'; allowed: m16n16k16, m8n32k16, m32n8k16, m16n8k8, m16n8k16, m8n8k4 "
            "for a of f16",
        ),
        (
            ("b", "s4", Shape(8, 8, 4)),
            "shape: got 'm8n8k4'; allowed: m8n8k32, m16n8k32, m16n8k64 for b of s4",
        ),
    ],
)
def test_refused_fragments(arguments, message):
    refused(message, golden.fragment_layout, *arguments)
    refused(message, golden.distribute, zeros((16, 16), "u2"), *arguments)
    refused(message, golden.collect, zeros((8, 32), "u4"), *arguments)


def test_refused_registers():
    collect = golden.collect
    refused(
        "registers: got dtype int64; allowed: uint32", collect, zeros((8, 32), "i8"), "a", "f16", "m16n16k16"
    )
    refused(
        "registers: got shape (4, 32); allowed: shape (..., 8, 32)",
        collect,
        zeros((4, 32), "u4"),
        "a",
        "f16",
        "m16n16k16",
    )
    refused(
        "matrix: got shape (16, 8); allowed: shape (..., 16, 16)",
        golden.distribute,
        zeros((16, 8), "u2"),
        "a",
        "f16",
        "m16n16k16",
    )


def test_refused_rows():
    row = zeros(16, "u2")
    refused("a_row: got shape (8,); allowed: shape (16,)", golden.explain, F16, zeros(8, "u2"), row, 0)
    refused(
        "b_column: got shape (2, 16); allowed: shape (16,)", golden.explain, F16, row, zeros((2, 16), "u2"), 0
    )
    bits = "raw bit patterns of f32 from 0 to 4294967295, or floating-point values"
    refused(f"c: got the value 4294967296; allowed: {bits}", golden.explain, F16, row, row, 2**32)
    refused(f"c: got the value -1; allowed: {bits}", golden.explain, F16, row, row, -1)
    refused("c: got shape (1,); allowed: shape ()", golden.explain, F16, row, row, zeros(1, "u4"))
