"""The checker: fragments used as others than they were made for, and arrays loaded as another type."""

import numpy as np
import pytest

from golden.simt import Module, device
from golden.simt.fragment_origins import type_problem
from golden.simt.grid import GoldenEngine
from golden.tables.formats import FORMATS
from golden.tables.profiles import PROFILES

FIRST = 10
"""Line of the first statement of a kernel's body."""

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
.reg .b32 %a<8>, %b<8>, %r<4>; .reg .f32 %c<8>, %d<8>; .reg .b64 %x; .reg .pred %p;
ld.param.u64 %x, [x];
mov.u32 %r0, %tid.x;
setp.lt.u32 %p, %r0, 32;
"""


def vector(name):
    return "{" + ", ".join(f"%{name}{index}" for index in range(8)) + "}"


A, B, C, D = map(vector, "abcd")
LOAD_A = f"wmma.load.a.sync.aligned.row.m16n16k16.f16 {A}, [%x];"
LOAD_B = f"wmma.load.b.sync.aligned.col.m16n16k16.f16 {B}, [%x];"
LOAD_C = f"wmma.load.c.sync.aligned.row.m16n16k16.f32 {C}, [%x];"
MMA = f"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {D}, {A}, {B}, {C};"
STORE = f"wmma.store.d.sync.aligned.row.m16n16k16.f32 [%x], {D};"
LOADS = f"{LOAD_A}\n{LOAD_B}\n{LOAD_C}\n"
MOVES = "".join(f"mov.b32 %b{index}, %a{index};" for index in range(8))


def reports(body, array=None, block=32):
    kernel = Module(f"{HEAD}{body}\nret;\n}}\n", "k.ptx").kernel()
    array = np.zeros(4096, np.uint8) if array is None else array
    return kernel.launch(1, block, [array], check=True).reports


@pytest.mark.parametrize("block", [32, 64])
def test_fragments_that_fit_are_not_reported(block):
    assert reports(f"{LOADS}{MMA}\n{STORE}", block=block) == ()
    again = MMA.replace(D, C)
    assert reports(f"{LOADS}{again}\n{again}\n{STORE.replace(D, C)}", block=block) == ()


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (LOADS.replace("row", "col", 1) + MMA, 3, "operand a: register 0, from line 10, has .col, not .row"),
        (
            LOADS.replace(LOAD_B, LOAD_B.replace("m16n16k16", "m32n8k16")) + MMA,
            3,
            "operand b: register 0, from line 11, has .m32n8k16, not .m16n16k16",
        ),
        (
            LOADS.replace("load.b", "load.a") + MMA,
            3,
            "operand b: register 0, from line 11, is of matrix a, not of matrix b",
        ),
        (
            LOADS.replace("f32", "s32") + MMA,
            3,
            "operand c: register 0, from line 12, has .s32, not .f32",
        ),
        (
            LOADS.replace("%c0, %c1", "%c1, %c0") + MMA,
            3,
            "operand c: register 0, from line 12, is register 1 of its fragment, not 0",
        ),
        (
            f"{LOAD_A}\n{STORE.replace(D, A)}",
            1,
            "operand d: register 0, from line 10, is of matrix a, not of an accumulator",
        ),
        (
            f"{LOAD_C}\n{STORE.replace('m16n16k16', 'm8n32k16').replace(D, C)}",
            1,
            "operand d: register 0, from line 10, has .m16n16k16, not .m8n32k16",
        ),
        (
            f"{LOADS}{MOVES}\n{MMA}",
            4,
            "operand b: register 0, from line 10, is of matrix a, not of matrix b",
        ),
    ],
)
@pytest.mark.parametrize("block", [32, 96])
def test_a_fragment_that_is_used_as_another_is_reported(body, line, message, block):
    (report,) = reports(body, block=block)
    assert report.message == message
    assert report.place.startswith(f"k.ptx:{FIRST + line}: ")


@pytest.mark.parametrize(
    "change",
    [
        "".join(f"mov.b32 %b{index}, 0;" for index in range(8)),
        "".join(f"add.u32 %b{index}, %b{index}, 0;" for index in range(8)),
        "".join(f"@%p mov.b32 %b{index}, %a{index};" for index in range(8)),
    ],
    ids=["filled", "computed", "guarded"],
)
def test_what_a_kernel_computes_fits_every_fragment(change):
    wrong = LOADS.replace("load.b", "load.a")
    assert len(reports(f"{wrong}{MMA}")) == 1
    assert reports(f"{wrong}{change}\n{MMA}") == ()


def test_mma_sync_takes_registers_of_any_fragment():
    mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%c0, %c1, %c2, %c3}, {%a0, %a1, %a2, %a3}, "
    assert reports(f"{LOADS}{mma}{{%b0, %b1}}, {{%c4, %c5, %c6, %c7}};") == ()


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
        *((type, f"uint{bits}") for type in ("f16", "bf16", "f64", "s8", "s4") for bits in (8, 16, 32, 64)),
    ],
)
def test_values_of_the_type_and_raw_bits_are_accepted(type, dtype):
    assert type_problem(np.dtype(dtype), type) is None


@pytest.mark.parametrize(
    ("type", "dtype", "expected"),
    [
        ("f16", "float64", "float16, or raw bits in uint16"),
        ("f16", "int16", "float16, or raw bits in uint16"),
        ("bf16", "float16", "bfloat16, or raw bits in uint16"),
        ("tf32", "float16", "float32, or raw bits in uint32"),
        ("f64", "float32", "float64, or raw bits in uint64"),
        ("s8", "int64", "int8, or raw bits in uint8"),
        ("s32", "float32", "int32, or raw bits in uint32"),
        ("s4", "int32", "int8, or raw bits in uint8"),
    ],
)
def test_values_of_another_type_are_named(type, dtype, expected):
    assert type in FORMATS
    problem = type_problem(np.dtype(dtype), type)
    assert problem == f"an array of {dtype} is loaded as {type}; expected {expected}"


def test_an_array_of_another_type_is_reported_once_for_each_load():
    array = np.zeros(512, np.float64)
    found = reports(LOADS + MMA, array)
    assert [report.message.partition(";")[0] for report in found] == [
        "x: an array of float64 is loaded as f16",
        "x: an array of float64 is loaded as f16",
        "x: an array of float64 is loaded as f32",
    ]
    assert [report.place.split(":")[1] for report in found] == ["10", "11", "12"]
    (report,) = reports(f"{LOAD_C}\n{STORE.replace(D, C)}", device(np.zeros(512, np.int32), name="buffer"))
    assert report.message.startswith("buffer: an array of int32 is loaded as f32")


CONTAINERS = """.version 8.7
.target sm_120a
.address_size 64
.visible .entry k(.param .u32 a, .param .u32 b)
{
.reg .b32 %a, %b; .reg .f32 %d<4>;
ld.param.u32 %a, [a];
ld.param.u32 %b, [b];
mov.f32 %d0, 0f00000000; mov.f32 %d1, %d0; mov.f32 %d2, %d0; mov.f32 %d3, %d0;
mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.TYPES.f32
    {%d0, %d1, %d2, %d3}, {%a, %a, %a, %a}, {%b, %b}, {%d0, %d1, %d2, %d3};
ret;
}
"""


@pytest.mark.parametrize(
    ("types", "a", "b", "message"),
    [
        ("e2m1.e3m2", 0x3C3C3C3C, 0x3F3F3F3F, None),
        ("e4m3.e5m2", 0xFFFFFFFF, 0xFFFFFFFF, None),
        (
            "e2m1.e3m2",
            0x3C013C3C,
            0,
            "operand a: register 0 is 0x3c013c3c; in containers of e2m1 the bits 0xc3 must",
        ),
        (
            "e2m1.e3m2",
            0,
            0x40000000,
            "operand b: register 0 is 0x40000000; in containers of e3m2 the bits 0xc0 must",
        ),
        (
            "e4m3.e2m3",
            0x80,
            0x80,
            "operand b: register 0 is 0x00000080; in containers of e2m3 the bits 0xc0 must",
        ),
    ],
)
def test_bits_of_containers_that_no_element_uses_are_reported(types, a, b, message):
    kernel = Module(CONTAINERS.replace("TYPES", types), "k.ptx").kernel()
    engine = GoldenEngine(PROFILES["blackwell"])
    found = kernel.launch(1, 32, [a, b], check=True, engine=engine).reports
    assert [report.message for report in found] == ([] if message is None else [f"{message} be zero"])
    assert all("mma.sync" in report.place for report in found)
