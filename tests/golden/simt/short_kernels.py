"""Kernels of a few lines."""

import numpy as np

from golden.simt import Module

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
REGISTERS = (
    ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<9>; .reg .f32 %f<20>; .reg .b16 %h<9>; "
    ".reg .f64 %fd<9>;"
)
EACH = """
ld.param.u64 %rd0, [a];
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd1, %r0, 4;
add.u64 %rd1, %rd0, %rd1;
"""
"""%rd0 is the argument, %r0 the thread, %rd1 the address of the thread's element of 32 bits."""

MOVES = """
    .shared .align 16 .b8 tile[1024];
    mul.wide.u32 %rd2, %r0, 16;
    add.u64 %rd1, %rd0, %rd2;
    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
    mov.u32 %r5, tile;
    shl.b32 %r6, %r0, 4;
    add.u32 %r5, %r5, %r6;
    st.shared.v4.u32 [%r5], {%r1, %r2, %r3, %r4};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];
    movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r2;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r5];
    stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r5], {%r4, %r2, %r1, %r3};
    bar.sync 0;
    ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r5];
    st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
"""
"""Rearranges the four matrices of 8 x 8 halves of each of two warps: the last one transposed, the second, the
first transposed, the first."""


SINKS = {
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": ("r", 4, 2, "f", 4, "0f3FC00000"),
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16": ("r", 4, 2, "r", 2, "0x3c00bc00"),
    "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32": ("r", 2, 1, "r", 4, "-3"),
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64": ("fd", 1, 1, "fd", 2, "0.75"),
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32": ("r", 8, 8, "f", 8, "0f3FC00000"),
}
"""Multiplies, each with the kind and number of its registers of A and B, of C and D, and a constant for C."""


def sinks(name, dropped):
    """A multiply that writes ``_`` in the place of some registers of D, with constants among C.

    The argument has a row of 64-bit words for A, B and C, and then for each register of D.
    """
    inner, count_a, count_b, outer, count_d, constant = SINKS[name]
    inputs = [(inner, 1), (inner, 2), (outer, 3)]
    size = {"r": "b32", "f": "b32", "fd": "b64"}
    loads = "".join(f"ld.global.{size[kind]} %{kind}{i}, [%rd1+{256 * (i - 1)}];" for kind, i in inputs)
    targets = ["_" if i in dropped else f"%{outer}{i + 4}" for i in range(count_d)]
    c = [f"%{outer}3" if i % 2 else constant for i in range(count_d)]
    fragments = [targets, [f"%{inner}1"] * count_a, [f"%{inner}2"] * count_b, c]
    operands = ", ".join(f"{{{', '.join(fragment)}}}" for fragment in fragments)
    stores = "".join(
        f"st.global.{size[outer]} [%rd1+{256 * (i + 3)}], {target};"
        for i, target in enumerate(targets)
        if target != "_"
    )
    return f"mul.wide.u32 %rd1, %r0, 8; add.u64 %rd1, %rd0, %rd1; {loads} {name} {operands}; {stores}"


def launch_sinks(name, dropped, **options):
    """The rows that `sinks` leaves."""
    rows = np.zeros((11, 32), np.uint64)
    numbers = np.random.default_rng(5).standard_normal((3, 32, 4))
    rows[:3] = (
        (numbers[..., 0] if "f64" in name else numbers.astype(np.float16)).view(np.uint64).reshape(3, 32)
    )
    kernel(sinks(name, dropped)).launch(1, 32, [rows], **options)
    return rows


def kernel(body, before="", parameters=".param .u64 a", version="8.0"):
    """A kernel; `EACH` goes before its body."""
    header = HEADER.replace("8.0", version)
    text = f"{header}{before}\n.entry k({parameters})\n{{\n{REGISTERS}\n{EACH}\n{body}\nret;\n}}\n"
    return Module(text, "short.ptx").kernel()


def run(body, threads=32, before="", array=None, version="8.0", **options):
    """The array after one launch of one block."""
    out = np.zeros(threads, np.uint32) if array is None else array
    kernel(body, before, version=version).launch(1, threads, [out], **options)
    return out
