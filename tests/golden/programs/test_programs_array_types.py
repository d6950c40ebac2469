"""Warnings of arrays that are loaded as another type than their values have."""

import warnings

import numpy as np
import pytest

from golden.invalid_argument import ArrayTypeWarning
from golden.memory import Memory
from golden.programs.buffers import BASE
from golden.programs.kernel_run import Output, checked_types, run_program
from golden.ptx import parse_module
from golden.tables.commands import Fill, Load
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import LoadInstruction
from golden.warp import GoldenMachine

SQUARE = Shape(16, 16, 16)
TYPES = {
    "f16": ("a", SQUARE),
    "bf16": ("a", SQUARE),
    "tf32": ("a", Shape(16, 16, 8)),
    "f32": ("c", SQUARE),
    "f64": ("a", Shape(8, 8, 4)),
    "s8": ("a", SQUARE),
    "u8": ("a", SQUARE),
    "s32": ("c", SQUARE),
    "s4": ("a", Shape(8, 8, 32)),
}


def load(type, address, space="global"):
    use, shape = TYPES[type]
    return Load(LoadInstruction(use=use, layout="row", shape=shape, type=type, space=space), 0, address)


def messages(program, arrays, addresses):
    program = [(work, f"line {line}") for line, work in enumerate(program)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert list(checked_types(program, arrays, addresses)) == program
    assert all(warning.category is ArrayTypeWarning for warning in caught)
    return [str(warning.message) for warning in caught]


def warned(type, dtype):
    return messages([load(type, 4096)], {"A": np.zeros(512, dtype)}, {"A": 4096})


@pytest.mark.parametrize(
    ("type", "dtype"),
    [
        ("f16", "float16"),
        ("tf32", "float32"),
        ("f32", "float32"),
        ("f64", "float64"),
        ("s8", "int8"),
        ("u8", "int8"),
        ("s32", "int32"),
        ("s4", "int8"),
        *((type, f"uint{bits}") for type in TYPES for bits in (8, 16, 32, 64)),
    ],
)
def test_values_of_the_type_and_raw_bits_are_accepted(type, dtype):
    assert warned(type, dtype) == []


@pytest.mark.parametrize(
    ("type", "dtype", "expected"),
    [
        ("f16", "float64", "float16, or raw bits in uint16"),
        ("f16", "float32", "float16, or raw bits in uint16"),
        ("f16", "int16", "float16, or raw bits in uint16"),
        ("bf16", "float16", "raw bits in uint16"),
        ("bf16", "float32", "raw bits in uint16"),
        ("tf32", "float16", "float32, or raw bits in uint32"),
        ("f32", "float64", "float32, or raw bits in uint32"),
        ("f64", "float32", "float64, or raw bits in uint64"),
        ("s8", "int64", "int8, or raw bits in uint8"),
        ("s8", "float16", "int8, or raw bits in uint8"),
        ("s32", "float32", "int32, or raw bits in uint32"),
        ("s4", "int32", "int8, or raw bits in uint8"),
    ],
)
def test_values_of_another_type_are_named(type, dtype, expected):
    assert warned(type, dtype) == [
        f"argument A: an array of {dtype} is loaded as {type} (line 0); expected {expected}"
    ]


def test_each_array_and_type_is_named_once_at_its_first_load():
    arrays = {"A": np.zeros(256), "n": np.zeros(256, np.uint16), "B": np.zeros(64, np.float32)}
    addresses = {"A": 4096, "n": 6144, "B": 8192}
    program = [
        Fill(0, 1, 0),
        load("f16", 6144),
        load("f16", 4096 + 512),
        load("f16", 4096),
        load("bf16", 4096, "generic"),
        load("f16", 8192 + 224),
        load("f32", 8192),
        load("f16", 8192 + 256),
        load("f16", 1024),
        load("f16", 8192, "shared"),
    ]
    found = messages(program, arrays, addresses)
    assert [message.partition(";")[0] for message in found] == [
        "argument A: an array of float64 is loaded as f16 (line 2)",
        "argument A: an array of float64 is loaded as bf16 (line 4)",
        "argument B: an array of float32 is loaded as f16 (line 5)",
    ]


def test_a_program_names_the_instruction():
    kernel = parse_module(
        ".version 8.0 .target sm_90 .entry k(.param .u64 A, .param .u64 D) { .reg .f32 %c<8>; .reg .u64 %p;\n"
        "ld.param.u64 %p, [A];\n"
        "wmma.load.c.sync.aligned.row.m16n16k16.f32 {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}, [%p];\n"
        "ld.param.u64 %p, [D];\n"
        "wmma.store.d.sync.aligned.row.m16n16k16.f32 [%p], {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}; }",
        "k.ptx",
    ).entry()
    with pytest.warns(ArrayTypeWarning) as caught:
        run_program(
            kernel,
            lambda size: GoldenMachine(memory=Memory(size, BASE)),
            arguments={"A": np.ones((16, 16))},
            outputs=[Output("D", "f32", (16, 16))],
            registers=64,
        )
    (warning,) = caught
    assert str(warning.message) == (
        "argument A: an array of float64 is loaded as f32 (k.ptx:3: "
        "wmma.load.c.sync.aligned.row.m16n16k16.f32 {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}, [%p];); "
        "expected float32, or raw bits in uint32"
    )
