"""A program of one warp that leaves its arrays: refused with the line, the array, its size and the bytes."""

import re

import numpy as np
import pytest

from golden.memory import Memory
from golden.programs.buffers import BASE
from golden.programs.execution import ProgramFault
from golden.programs.kernel_run import Output, run_program
from golden.ptx.program import parse_module
from golden.warp import GoldenMachine

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.entry k(.param .u64 A, .param .u64 B, .param .u64 D)
{{
.reg .b32 %r<20>; .reg .b64 %rd<9>; .shared .align 128 .b8 tile[512];
ld.param.u64 %rd1, [A]; ld.param.u64 %rd2, [B]; ld.param.u64 %rd3, [D];
{}
ret;
}}
"""
LOAD_A = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd1];"
LOAD_C = "wmma.load.c.sync.aligned.row.m16n16k16{}.f32 {{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}}, {};"
STORE = "wmma.store.d.sync.aligned.row.m16n16k16{}.f32 {}, {{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}}{};"
ROWS = """mov.u32 %r9, %laneid; shl.b32 %r9, %r9, {}; mov.u32 %r10, tile; add.u32 %r9, %r9, %r10;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r0, %r1, %r2, %r3}}, [%r9];"""
SHARED = 0x10000


def opener(size):
    return GoldenMachine(memory=Memory(size, BASE), shared=Memory(4096, SHARED))


def run(body, a=(16, 16), d=(16, 16)):
    entry = parse_module(KERNEL.format(body), "short.ptx").entry()
    arguments = {"A": np.ones(a, np.float16), "B": np.ones(4096, np.float32)}
    outputs = [Output("D", "f32", d)]
    return run_program(entry, opener, arguments=arguments, outputs=outputs, registers=64).outputs["D"]


def test_what_ends_with_its_array_runs():
    body = LOAD_C.format(".global", "[%rd2+15360]") + STORE.format(".global", "[%rd3]", "")
    assert (run(LOAD_A + body) == 1).all()
    assert run(ROWS.format(4)).shape == (16, 16)


BEYOND = {
    "a load": (LOAD_A, {"a": (8, 8)}, "read decode error: 32 bytes at byte 128 of A, which has 128 bytes"),
    "a load of the next array": (
        LOAD_A.replace("[%rd1]", "[%rd1+32]"),
        {},
        "read decode error: 32 bytes at byte 512 of A, which has 512 bytes",
    ),
    "a load between arrays": (
        LOAD_A.replace("[%rd1]", "[%rd1+128]"),
        {"a": (8, 8)},
        "read decode error: 32 bytes at 0x1080, where no array is",
    ),
    "a load with a stride": (
        LOAD_C.format(".global", "[%rd2], %r8").replace("wmma", "mov.u32 %r8, 300; wmma"),
        {},
        "read decode error: 64 bytes at byte 16800 of B, which has 16384 bytes",
    ),
    "a generic load": (
        LOAD_C.format("", "[%rd2+16128]"),
        {},
        "read decode error: 64 bytes at byte 16384 of B, which has 16384 bytes",
    ),
    "a store": (
        LOAD_C.format(".global", "[%rd2]") + STORE.format(".global", "[%rd3]", ""),
        {"d": (4, 16)},
        "write decode error: 64 bytes at byte 256 of D, which has 256 bytes",
    ),
    "a load of shared memory": (
        LOAD_C.format(".shared", "[tile]"),
        {},
        "read decode error: 64 bytes at byte 512 of shared memory, which has 512 bytes",
    ),
    "a generic load of shared memory": (
        "mov.u64 %rd4, tile; cvta.shared.u64 %rd4, %rd4;" + LOAD_C.format("", "[%rd4]"),
        {},
        "read decode error: 64 bytes at byte 512 of shared memory, which has 512 bytes",
    ),
    "a store to shared memory": (
        LOAD_C.format(".global", "[%rd2]") + STORE.format(".shared", "[tile]", ""),
        {},
        "write decode error: 64 bytes at byte 512 of shared memory, which has 512 bytes",
    ),
    "rows of matrices": (
        ROWS.format(5),
        {},
        "read decode error: 16 bytes at byte 512 of shared memory, which has 512 bytes",
    ),
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_leaves_its_array_is_refused(name):
    body, shapes, message = BEYOND[name]
    with pytest.raises(
        ProgramFault, match=rf"{re.escape(message)} \(short\.ptx:\d+: .*(load|store|ldmatrix)"
    ):
        run(body, **shapes)
