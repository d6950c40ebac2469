"""Fragments that leave their arrays: refused with the line, the array and its size."""

import re

import numpy as np
import pytest

from golden.simt import KernelFault, Module

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


def run(body, a=(16, 16), d=(16, 16)):
    kernel = Module(KERNEL.format(body), "short.ptx").kernel()
    out = np.zeros(d, np.float32)
    kernel.launch(1, 32, [np.ones(a, np.float16), np.ones(4096, np.float32), out])
    return out


def test_what_ends_with_its_array_runs():
    body = LOAD_C.format(".global", "[%rd2+15360]") + STORE.format(".global", "[%rd3]", "")
    assert (run(LOAD_A + body) == 1).all()
    assert run(ROWS.format(4)).shape == (16, 16)


BEYOND = {
    "a load": (LOAD_A, {"a": (8, 8)}, "0 bytes past the end of A (128 bytes)"),
    "a load of the next array": (
        LOAD_A.replace("[%rd1]", "[%rd1+32]"),
        {},
        "0 bytes past the end of A (512 bytes)",
    ),
    "a load between arrays": (
        LOAD_A.replace("[%rd1]", "[%rd1+128]"),
        {"a": (8, 8)},
        "0 bytes past the end of A (128 bytes)",
    ),
    "a load with a stride": (
        LOAD_C.format(".global", "[%rd2], %r8").replace("wmma", "mov.u32 %r8, 300; wmma"),
        {},
        "416 bytes past the end of B (16384 bytes)",
    ),
    "a generic load": (
        LOAD_C.format("", "[%rd2+16128]"),
        {},
        "0 bytes past the end of B (16384 bytes)",
    ),
    "a store": (
        LOAD_C.format(".global", "[%rd2]") + STORE.format(".global", "[%rd3]", ""),
        {"d": (4, 16)},
        "0 bytes past the end of D (256 bytes)",
    ),
    "a load of shared memory": (
        LOAD_C.format(".shared", "[tile]"),
        {},
        "0 bytes past the end of tile",
    ),
    "a generic load of shared memory": (
        "mov.u64 %rd4, tile; cvta.shared.u64 %rd4, %rd4;" + LOAD_C.format("", "[%rd4]"),
        {},
        "0 bytes past the end of tile",
    ),
    "a store to shared memory": (
        LOAD_C.format(".global", "[%rd2]") + STORE.format(".shared", "[tile]", ""),
        {},
        "0 bytes past the end of tile",
    ),
    "rows of matrices": (ROWS.format(5), {}, "0 bytes past the end of tile"),
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_leaves_its_array_is_refused(name):
    body, shapes, message = BEYOND[name]
    kept = STORE.format(".global", "[%rd3]", "") if "store" not in name else ""
    with pytest.raises(KernelFault, match=re.escape(message)) as caught:
        run(body + kept, **shapes)
    assert re.fullmatch(r"short\.ptx:\d+: .*(load|store|ldmatrix).*", caught.value.place)
