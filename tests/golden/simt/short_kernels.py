"""Kernels of a few lines."""

import numpy as np

from golden.simt import Module

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
REGISTERS = (
    ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<9>; .reg .f32 %f<9>; .reg .b16 %h<9>; "
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


def kernel(body, before="", parameters=".param .u64 a"):
    """A kernel; `EACH` goes before its body."""
    text = f"{HEADER}{before}\n.entry k({parameters})\n{{\n{REGISTERS}\n{EACH}\n{body}\nret;\n}}\n"
    return Module(text, "short.ptx").kernel()


def run(body, threads=32, before="", array=None, **options):
    """The array after one launch of one block."""
    out = np.zeros(threads, np.uint32) if array is None else array
    kernel(body, before).launch(1, threads, [out], **options)
    return out
